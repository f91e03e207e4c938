"""Folders of safetensors as checkpoints: against the library's own answers, damaged files and indices."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format
from ckptplan.errors import InputError
from tests.checkpoint.formats.test_safetensors_header import save, write
from tests.checkpoint.formats.truth import compare
from tests.checkpoint.shared_fixtures import folder_of, needs_collection, truth_of


@pytest.mark.parametrize("name", ["hf-safetensors-single", "hf-safetensors-sharded", "safetensors-dtypes"])
def test_folders_are_read_as_the_library_reads_them(name: str) -> None:
    """Tensors, bytes, missing kinds, files and digests; nothing in weights alone tells ranks or a step."""
    manifest = read_manifest(folder_of(name))
    assert (manifest.format, manifest.world_size, manifest.step) == (Format.SAFETENSORS, None, None)
    compare(manifest, truth_of(name))


def test_one_file_and_the_index_lead_to_the_same(tmp_path: Path) -> None:
    """A file alone is a checkpoint; an index stands for its folder."""
    compare(read_manifest(folder_of("safetensors-dtypes") / "model.safetensors"), truth_of("safetensors-dtypes"))
    index = folder_of("hf-safetensors-sharded") / "model.safetensors.index.json"
    compare(read_manifest(index), truth_of("hf-safetensors-sharded"))
    (tmp_path / "weights").write_bytes((folder_of("safetensors-dtypes") / "model.safetensors").read_bytes())
    assert len(read_manifest(tmp_path / "weights").tensors) == 14


def test_every_broken_header_is_a_fault_of_its_own_file() -> None:
    """Each file of the folder says what is wrong with it, and none stops the others."""
    truth = truth_of("safetensors-bad-headers")
    manifest = read_manifest(folder_of("safetensors-bad-headers"))
    assert (manifest.format, manifest.tensors) == (Format.SAFETENSORS, ())
    said = {fault.file: fault.message for fault in manifest.faults}
    assert len(said) == len(manifest.faults)
    assert set(said) == set(truth["damage"]["files"])
    assert {fault.flaw for fault in manifest.faults} == {Flaw.CORRUPT}
    words = {
        "header-longer-than-file.safetensors": "only 81 follow: the file is cut off",
        "header-not-json.safetensors": "the header is not JSON",
        "overlapping.safetensors": "'b' overlaps the one before",
        "hole.safetensors": "'b' leaves a hole of 8 bytes",
        "negative-shape.safetensors": "'w' has a shape that is not a list of at most 64 counts",
        "reversed-offsets.safetensors": "'w' has data_offsets that are not a beginning and an end",
        "empty-file.safetensors": "0 bytes are no safetensors file",
        "header-is-a-list.safetensors": "the header does not begin with {",
    }
    assert all(words[name] in message for name, message in said.items() if name is not None)
    assert {file.name: file.size_bytes for file in manifest.files} == truth["files"]


def sharded(tmp_path: Path, weights: dict[str, str]) -> Path:
    """Two shards, and an index that says where tensors are."""
    save(tmp_path / "model-00001-of-00002.safetensors", {"a": ("F32", (2, 3))})
    save(tmp_path / "model-00002-of-00002.safetensors", {"b": ("BF16", (4,))})
    index = {"metadata": {"total_size": 32}, "weight_map": weights}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    return tmp_path


def test_what_an_index_names_and_is_not_there_is_said(tmp_path: Path) -> None:
    """Files that are missing, tensors that their file lacks, names that lead out of the folder."""
    folder = sharded(
        tmp_path,
        {
            "a": "model-00001-of-00002.safetensors",
            "b": "model-00001-of-00002.safetensors",
            "c": "model-00003-of-00003.safetensors",
            "d": "model-00003-of-00003.safetensors",
            "e": "../../etc/passwd",
            "f": "/etc/passwd",
        },
    )
    manifest = read_manifest(folder)
    assert [tensor.key for tensor in manifest.tensors] == ["a", "b"]
    assert [(fault.flaw, fault.file, fault.key) for fault in manifest.faults] == [
        (Flaw.MISSING_ENTRY, "model-00001-of-00002.safetensors", "b"),
        (Flaw.MISSING_FILE, "model-00003-of-00003.safetensors", "c"),
        (Flaw.MISSING_FILE, "../../etc/passwd", "e"),
        (Flaw.MISSING_FILE, "/etc/passwd", "f"),
    ]
    assert "2 tensors" in manifest.faults[1].message
    assert all("leads out of the folder" in fault.message for fault in manifest.faults[2:])


@needs_collection
def test_a_shard_that_was_not_copied_is_said(tmp_path: Path) -> None:
    """A real model without one of its seven files: how many tensors are lost, and the rest is there."""
    source = folder_of("hf-safetensors-sharded")
    for file in source.iterdir():
        if "00003" not in file.name:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (fault,) = read_manifest(tmp_path).faults
    lost = [key for key, facts in truth_of("hf-safetensors-sharded")["tensors"].items()
            if "00003" in facts["shards"][0]["file"]]  # fmt: skip
    assert (fault.flaw, fault.file) == (Flaw.MISSING_FILE, "model-00003-of-00007.safetensors")
    assert f"{len(lost)} tensors" in fault.message
    assert len(read_manifest(tmp_path).tensors) == 30 - len(lost)


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{", b'{"weight_map": 5}', b'{"weight_map": {"a": 5}}', b"\xff", b"[" * 100_000, b'{"a": ' * 90_000,
     b'{"weight_map": {}, "metadata": {"total_size": 1e999}}', b'{"n": ' + b"9" * 5_000 + b"}"],
)  # fmt: skip
def test_a_broken_index_is_a_fault(tmp_path: Path, text: bytes) -> None:
    """The shards are read all the same; an index without a map that is readable is said."""
    folder = sharded(tmp_path, {})
    (folder / "model.safetensors.index.json").write_bytes(text)
    manifest = read_manifest(folder)
    assert [tensor.key for tensor in manifest.tensors] == ["a", "b"]
    assert {fault.file for fault in manifest.faults} <= {"model.safetensors.index.json"}
    assert bool(manifest.faults) == (b'"weight_map": {}' not in text)


def test_many_faults_of_an_index_are_counted(tmp_path: Path) -> None:
    """A hundred are told."""
    folder = sharded(tmp_path, {f"t{n}": "model-00001-of-00002.safetensors" for n in range(5_000)})
    faults = read_manifest(folder).faults
    assert len(faults) == 101
    assert "4,900 more" in faults[-1].message


def test_tensors_of_one_name_in_two_files_stay_apart(tmp_path: Path) -> None:
    """Two models in a folder: the second one's keys get their file in front."""
    save(tmp_path / "one.safetensors", {"w": ("F32", (2,))})
    save(tmp_path / "two.safetensors", {"w": ("F32", (3,))})
    shapes = {tensor.key: tensor.shape for tensor in read_manifest(tmp_path).tensors}
    assert shapes == {"w": (2,), "two.safetensors:w": (3,)}


def test_types_below_a_byte_are_read_whole(tmp_path: Path) -> None:
    """Four bits for each element."""
    write(tmp_path / "m.safetensors", {"w": {"dtype": "F4", "shape": [2, 3], "data_offsets": [0, 3]}}, b"\x12\x34\x56")
    manifest = read_manifest(tmp_path)
    (tensor,) = manifest.tensors
    assert (tensor.dtype, tensor.logical_bytes, tensor.kind) == ("float4_e2m1fn", 3, StateKind.PARAMETER)
    assert manifest.source.read(tensor, 0).tobytes() == b"\x12\x34\x56"


def test_a_link_to_a_shard_is_not_followed(tmp_path: Path) -> None:
    """What it leads to could be anything; the manifest says that it was left out."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    secret = save(elsewhere / "secret.safetensors", {"s": ("F32", (2,))})
    folder = tmp_path / "model"
    folder.mkdir()
    save(folder / "a.safetensors", {"a": ("F32", (2,))})
    (folder / "b.safetensors").symlink_to(secret)
    manifest = read_manifest(folder)
    assert [tensor.key for tensor in manifest.tensors] == ["a"]
    assert manifest.remarks == ("1 link is not followed: b.safetensors",)


def test_pipes_and_devices_do_not_hang(tmp_path: Path) -> None:
    """They are no files of a checkpoint."""
    os.mkfifo(tmp_path / "model.safetensors")
    with pytest.raises(InputError):
        read_manifest(tmp_path)
    with pytest.raises(InputError, match="neither a file nor a folder"):
        read_manifest(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        read_manifest("/dev/zero")


def test_mutated_headers_end_in_a_manifest_or_one_error(tmp_path: Path) -> None:
    """Three thousand changed files: every tensor that is listed lies within the file."""
    draw = random.Random(23)  # noqa: S311 - seeded
    source = save(
        tmp_path / "m.safetensors", {"a": ("F32", (2, 3)), "b": ("BF16", (4,)), "c": ("I64", ())}
    ).read_bytes()
    whole = 0
    for number in range(3_000):
        data = bytearray(source)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data) - 40 if number % 3 else len(data))] = draw.choice(
                b'0123456789[]{},:"- \xff\0F'
            )
        if number % 10 == 0:
            del data[draw.randrange(len(data)) :]
        (tmp_path / "m.safetensors").write_bytes(data)
        try:
            manifest = read_manifest(tmp_path)
        except InputError:
            continue
        for tensor in manifest.tensors:
            assert len(manifest.source.read(tensor, 0)) == tensor.logical_bytes
        whole += not manifest.faults
    assert 0 < whole < 3_000
