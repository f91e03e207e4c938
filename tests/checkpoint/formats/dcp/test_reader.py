from __future__ import annotations

import shutil

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp import hf_storage, reader
from ckptplan.checkpoint.formats.dcp.items import check_crc, check_items
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format, Manifest
from ckptplan.errors import InputError
from tests.checkpoint.formats.dcp.against_truth import (
    facts_differ,
    kinds_differ,
    load,
    objects_differ,
    tensors_differ,
)
from tests.checkpoint.shared_fixtures import COLLECTION, needs_collection, truth_of

pytestmark = needs_collection

DAMAGED = {
    "dcp-corrupt-metadata", "dcp-malicious-metadata", "dcp-malicious-object", "dcp-malicious-variants",
    "dcp-missing-file", "dcp-overlapping-chunks", "dcp-stale-files", "dcp-strided-uneven-4x2", "dcp-truncated",
    "dcp-uncommitted",
}  # fmt: skip
INTACT = sorted({path.name for path in COLLECTION.glob("dcp-*")} - DAMAGED)


def flaws(manifest: Manifest) -> list[Flaw]:
    """Kinds of what is wrong."""
    return [fault.flaw for fault in manifest.faults]


def read(name: str) -> Manifest:
    """The manifest of one checkpoint of the collection."""
    return reader.read(CheckpointFolder(COLLECTION / name / "ckpt"))


@pytest.mark.parametrize("name", INTACT)
def test_checkpoints_as_torch_wrote_them(name):
    """Tensors, boxes, places, elements, objects, kinds, files, ranks and step are those that torch itself tells."""
    module = hf_storage if name == "dcp-hf-storage-2rank" else reader
    truth, manifest = load(name, module.read)
    assert tensors_differ(truth, manifest) == []
    assert {tensor.key for tensor in manifest.tensors} == set(truth["tensors"])
    assert objects_differ(truth, manifest) == []
    assert kinds_differ(truth, manifest) == []
    assert facts_differ(truth, manifest) == []
    assert manifest.faults == ()
    assert check_items(manifest) == ()
    assert check_crc(manifest) == ()


@pytest.mark.parametrize("name", sorted(path.name for path in COLLECTION.glob("dcp-*")))
def test_folders_are_recognised(name):
    """Every folder of DCP is known by its files; the one of variants has none of its own."""
    folder = CheckpointFolder(COLLECTION / name / "ckpt")
    module = hf_storage if name == "dcp-hf-storage-2rank" else reader
    assert module.recognised(folder) == (name != "dcp-malicious-variants")
    assert not (reader.recognised(folder) and hf_storage.recognised(folder))


def test_formats_are_told_apart():
    """Global metadata, metadata of ranks, and sharded safetensors are three formats."""
    assert read("dcp-tiny-2rank").format is Format.DCP
    assert read("dcp-rank-local-metadata").format is Format.DCP_RANK_LOCAL
    assert load("dcp-hf-storage-2rank", hf_storage.read)[1].format is Format.DCP_SAFETENSORS


@pytest.mark.parametrize("name", ["dcp-missing-file", "dcp-truncated", "dcp-stale-files", "dcp-malicious-object"])
def test_damaged_files_leave_the_metadata_readable(name):
    """Tensors, objects and kinds are those of the intact twin; only places in lost files are gone."""
    truth, manifest = load(name, reader.read)
    lost = truth["damage"]["file"] if name == "dcp-missing-file" else None
    for group in (truth["tensors"], truth["objects"]):
        for told in group.values():
            for shard in told.get("shards", [told]):
                shard["file"] = None if shard["file"] == lost else shard["file"]
    assert tensors_differ(truth, manifest, intact=False) == []
    assert objects_differ(truth, manifest) == []
    # The totals told for the hostile object are still those of its twin: the object itself is shorter.
    positions = [told for told in truth["objects"].values() if told["kind"] == "dataloader"]
    truth["bytes_by_kind"]["dataloader"]["stored_bytes"] = sum(told["stored_bytes"] for told in positions)
    assert kinds_differ(truth, manifest) == []
    assert {file.name: file.size_bytes for file in manifest.files} == truth["files"]


@pytest.mark.parametrize(("name", "flaw"), [("dcp-missing-file", Flaw.MISSING_FILE), ("dcp-truncated", Flaw.TRUNCATED)])
def test_lost_bytes_are_told_with_the_keys_in_them(name, flaw):
    """One fault for the file, with how many keys are lost and the first of them."""
    truth, manifest = load(name, reader.read)
    assert flaws(manifest) == [flaw]
    fault = manifest.faults[0]
    keys = truth["damage"]["unreadable_keys"]
    assert fault.file == truth["damage"]["file"]
    assert f"{len(keys)} keys ({', '.join(sorted(keys)[:3])}" in fault.message
    assert check_items(manifest) == check_crc(manifest) == ()  # what is known to be lost is not opened again


def test_files_left_over_are_said():
    """Files of an older, larger save are not referenced, and not writers of this one."""
    truth, manifest = load("dcp-stale-files", reader.read)
    assert [file.name for file in manifest.files if not file.referenced] == truth["damage"]["files"]
    assert manifest.writer_ranks == (0, 1)
    assert any("__2_0.distcp, __3_0.distcp" in remark for remark in manifest.remarks)
    assert manifest.faults == ()


def test_a_save_that_never_ended():
    """Without metadata only files are known, and the fault says why."""
    truth, manifest = load("dcp-uncommitted", reader.read)
    assert flaws(manifest) == [Flaw.UNCOMMITTED]
    assert manifest.faults[0].file == truth["damage"]["file"]
    assert not manifest.committed
    assert manifest.tensors == manifest.objects == ()
    assert {file.name: file.size_bytes for file in manifest.files} == truth["files"]
    assert manifest.world_size == truth["world_size"]


def test_items_without_any_metadata(tmp_path):
    """Not even a temporary metadata file: the save ended earlier still."""
    shutil.copy(COLLECTION / "dcp-tiny-2rank" / "ckpt" / "__1_0.distcp", tmp_path)
    folder = CheckpointFolder(tmp_path)
    assert reader.recognised(folder)
    manifest = reader.read(folder)
    assert flaws(manifest) == [Flaw.UNCOMMITTED]
    assert manifest.world_size == 2


def test_metadata_that_ends_in_the_middle():
    """Corrupt metadata is a fault of a manifest of files alone."""
    truth, manifest = load("dcp-corrupt-metadata", reader.read)
    assert flaws(manifest) == [Flaw.CORRUPT]
    assert manifest.faults[0].file == ".metadata"
    assert {file.name: file.size_bytes for file in manifest.files} == truth["files"]


@pytest.mark.parametrize(
    ("variant", "flaw", "said"),
    [
        ("c-protocol0-os-system", Flaw.FOREIGN_CODE, "os.system"),
        ("e-build-setstate", Flaw.FOREIGN_CODE, "builtins.open"),
        ("g-binbytes8-claims-4EiB", Flaw.CORRUPT, "4,611,686,018,427,387,904 bytes"),
        ("i-not-a-metadata", Flaw.CORRUPT, "dict"),
    ],
)
def test_hostile_metadata_is_a_fault(variant, flaw, said, tmp_path, monkeypatch):
    """What it would call, or what it claims, is said; nothing runs."""
    monkeypatch.chdir(tmp_path)
    manifest = reader.read(CheckpointFolder(COLLECTION / "dcp-malicious-variants" / "ckpt" / variant))
    assert flaws(manifest) == [flaw]
    assert said in manifest.faults[0].message
    assert list(tmp_path.iterdir()) == []


def test_hostile_metadata_among_files(tmp_path, monkeypatch):
    """A valid Metadata with one more entry that opens a file on loading."""
    monkeypatch.chdir(tmp_path)
    manifest = read("dcp-malicious-metadata")
    assert flaws(manifest) == [Flaw.FOREIGN_CODE]
    assert "io.open" in manifest.faults[0].message
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_object_is_told_and_not_given(tmp_path, monkeypatch):
    """The fault names the key and the call; asking for the value is an error that names it too."""
    monkeypatch.chdir(tmp_path)
    truth, manifest = load("dcp-malicious-object", reader.read)
    assert [(fault.flaw, fault.key, fault.file) for fault in manifest.faults] == [
        (Flaw.FOREIGN_CODE, truth["damage"]["key"], truth["damage"]["file"])
    ]
    entry = next(entry for entry in manifest.objects if entry.key == truth["damage"]["key"])
    with pytest.raises(InputError, match=r"would call io\.open"):
        manifest.source.value(entry)
    assert [fault.key for fault in check_items(manifest)] == [truth["damage"]["key"]]
    assert list(tmp_path.iterdir()) == []


def test_uneven_strided_shards_are_unlike_their_items():
    """Saved by torch without a word: the metadata gives another rank the row than the one whose item holds it."""
    truth, manifest = load("dcp-strided-uneven-4x2", reader.read)
    assert tensors_differ(truth, manifest) == []
    found = check_items(manifest)
    told = truth["damage"]["items"]
    assert [(fault.flaw, fault.key, fault.file) for fault in found] == [
        (Flaw.MISMATCH, truth["damage"]["key"], item["file"]) for item in told
    ]
    for fault, item in zip(found, told, strict=True):
        assert f"offset {tuple(item['offset'])}: float32 {item['size']} by the metadata" in fault.message
        assert f"float32 {item['stored_shape']} as stored" in fault.message
    tensor = manifest.tensors[0]
    with pytest.raises(InputError, match="the item holds float32"):
        manifest.source.read(tensor, 6)


def test_a_chunk_that_is_longer_than_its_item():
    """The box says nine rows, the item holds eight."""
    truth, manifest = load("dcp-overlapping-chunks", reader.read)
    found = check_items(manifest)
    assert [(fault.flaw, fault.key) for fault in found] == [(Flaw.MISMATCH, truth["damage"]["key"])]
    assert str(truth["damage"]["overlapping_box"]["size"]) in found[0].message
    tensor = next(tensor for tensor in manifest.tensors if tensor.key == truth["damage"]["key"])
    assert truth["damage"]["overlapping_box"]["size"] in tensor.shards.sizes.tolist()


def test_states_of_some_ranks_only():
    """The states of single ranks carry the rank, so that the missing ones can be named."""
    truth, manifest = load("dcp-partial-rng-dataloader", reader.read)
    states = [*manifest.tensors, *manifest.objects]
    for word, kind in (("rng", StateKind.RANDOM), ("dataloader", StateKind.DATA_POSITION)):
        ranks = {state.rank for state in states if state.kind is kind}
        assert ranks == set(truth["partial"][word]["saved_by_ranks"])


def test_states_belong_to_their_parameters():
    """Moments and steps name the key of their parameter; numbered ones by order and shape, which a remark says."""
    for name in ("dcp-tiny-2rank", "dcp-torchtitan-style", "dcp-pp2-fsdp2", "dcp-optimizer-ids"):
        manifest = read(name)
        shapes = {tensor.key: tensor.shape for tensor in manifest.tensors if tensor.kind is StateKind.PARAMETER}
        moments = [tensor for tensor in manifest.tensors if tensor.kind is StateKind.FIRST_MOMENT]
        assert {moment.parameter for moment in moments} == set(shapes)
        for moment in moments:
            assert moment.shape == shapes[moment.parameter or ""]
        guessed = any("numbered, not named" in remark for remark in manifest.remarks)
        assert guessed == (name == "dcp-optimizer-ids")


def test_values_of_objects():
    """Numbers, texts and groups come as plain values."""
    manifest = read("dcp-tiny-2rank")
    values = {entry.key: manifest.source.value(entry) for entry in manifest.objects}
    assert values["optim.param_groups.0.betas"] == (0.9, 0.95)
    assert values["lr_scheduler.last_epoch"] == 3
    assert isinstance(values["optim.param_groups.0.params"], list)


def test_a_changed_bit_is_found_by_its_checksum(tmp_path):
    """One bit of one tensor: the metadata and every item agree, only the CRC-32 tells."""
    folder = tmp_path / "ckpt"
    shutil.copytree(COLLECTION / "dcp-tiny-2rank" / "ckpt", folder)
    truth = truth_of("dcp-tiny-2rank")
    shard = truth["tensors"]["model.tok_embeddings.weight"]["shards"][1]
    file = folder / shard["file"]
    data = bytearray(file.read_bytes())
    data[shard["data_offset"] + 100] ^= 4
    file.write_bytes(data)
    manifest = reader.read(CheckpointFolder(folder))
    assert manifest.faults == check_items(manifest) == ()
    found = check_crc(manifest)
    assert [(fault.flaw, fault.key, fault.file) for fault in found] == [
        (Flaw.CHECKSUM, "model.tok_embeddings.weight", shard["file"])
    ]


def test_every_byte_of_an_item_is_guarded(tmp_path):
    """Any bit of a packed item: either it does not unpack, or the checksum within tells."""
    folder = tmp_path / "ckpt"
    shutil.copytree(COLLECTION / "dcp-zstd" / "ckpt", folder)
    truth = truth_of("dcp-zstd")
    key = "model.tok_embeddings.weight"
    shard = truth["tensors"][key]["shards"][0]
    file = folder / shard["file"]
    data = bytearray(file.read_bytes())
    data[shard["item_offset"] + shard["item_length"] // 2] ^= 1
    file.write_bytes(data)
    found = check_crc(reader.read(CheckpointFolder(folder)))
    assert [fault.key for fault in found] == [key]
    assert found[0].flaw in {Flaw.CHECKSUM, Flaw.UNREADABLE}


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path):
    """A file of items that is a link is missing, whatever it leads to."""
    folder = tmp_path / "ckpt"
    shutil.copytree(COLLECTION / "dcp-tiny-2rank" / "ckpt", folder)
    (folder / "__1_0.distcp").rename(tmp_path / "outside")
    (folder / "__1_0.distcp").symlink_to(tmp_path / "outside")
    manifest = reader.read(CheckpointFolder(folder))
    assert flaws(manifest) == [Flaw.MISSING_FILE]
    assert "link" in manifest.faults[0].message


def test_ranks_without_metadata_of_their_own(tmp_path):
    """With metadata per rank, a rank that wrote items and no metadata did not end its save."""
    folder = tmp_path / "ckpt"
    shutil.copytree(COLLECTION / "dcp-rank-local-metadata" / "ckpt", folder)
    (folder / "__1.metadata").unlink()
    manifest = reader.read(CheckpointFolder(folder))
    assert flaws(manifest) == [Flaw.UNCOMMITTED]
    assert "rank 1" in manifest.faults[0].message
    assert not manifest.committed


def test_sharded_safetensors_with_a_file_gone(tmp_path):
    """A gap in the numbers of files is a missing file."""
    source = COLLECTION / "dcp-hf-storage-2rank" / "ckpt"
    first = "shard-00001-model-00001-of-00001.safetensors"
    shutil.copy(source / first, tmp_path / "shard-00003-model-00001-of-00001.safetensors")
    shutil.copy(source / first, tmp_path / first)
    assert flaws(hf_storage.read(CheckpointFolder(tmp_path))) == [Flaw.MISSING_FILE]
