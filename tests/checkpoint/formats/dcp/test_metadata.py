from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.formats.dcp.metadata import read_metadata
from ckptplan.checkpoint.manifest import Flaw
from ckptplan.errors import InputError
from tests.checkpoint.formats.dcp.metadata_writer import WRITER, opcode_by_opcode, plain

FIXTURES = Path(__file__).parents[5] / "shared" / "fixtures" / "checkpoints"
OWN = Path(__file__).parents[2] / "fixtures" / "dcp-3rank" / ".metadata"
FILES = sorted(FIXTURES.glob("*/ckpt/**/.metadata")) if FIXTURES.is_dir() else []
HOSTILE = {"dcp-malicious-metadata", "dcp-malicious-variants", "dcp-corrupt-metadata"}
SOUND = [path for path in FILES if path.relative_to(FIXTURES).parts[0] not in HOSTILE]
WANTED = {
    "dcp-malicious-metadata": "io.open",
    "c-protocol0-os-system": "os.system",
    "e-build-setstate": "builtins.open",
    "g-binbytes8-claims-4EiB": "4,611,686,018,427,387,904 bytes",
    "i-not-a-metadata": "a dict",
    "dcp-corrupt-metadata": "cut off",
}


ENTRIES = [
    ("w", (0, 0), "__0_0.distcp", 0, 50),
    ("w", (2, 0), "__1_0.distcp", 0, 50),
    ("step", None, "__0_0.distcp", 50, 9),
]


def shards(found: Any, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Boxes and items of one tensor as truth.json has them."""
    columns = (found.offsets, found.sizes, found.files, found.item_offsets, found.item_bytes)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return sorted((offset, size, names[file], start, length) for offset, size, file, start, length in rows)


@pytest.mark.skipif(not FILES, reason="the shared checkpoints are not at hand")
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.relative_to(FIXTURES).parts[0])
def test_fixtures(path):
    """Tensors, boxes, items, objects, paths and the number of entries are those that torch told while it wrote."""
    name = path.relative_to(FIXTURES).parts[0]
    truth = json.loads((FIXTURES / name / "truth.json").read_text(encoding="utf-8"))
    found = read_metadata(path.read_bytes(), str(path))
    assert found.entries == truth["metadata_entries"]
    assert found.version == truth.get("dcp_metadata_version")
    assert found.has_local_plans == name.startswith("megatron")
    assert not found.faults
    assert plain(found) == plain(opcode_by_opcode(path.read_bytes()))
    for key, wanted in truth["tensors"].items():
        tensor = found.tensors[key]
        assert (tensor.dtype, list(tensor.shape)) == (wanted["dtype"], wanted["shape"])
        boxes = [
            (each["offset"], each["size"], each["file"].split("/")[-1], each["item_offset"], each["item_length"])
            for each in wanted["shards"]
        ]
        if name != "dcp-overlapping-chunks":  # one box of it was changed, the truth is that of the intact twin
            assert shards(tensor, found.file_names) == sorted(boxes)
        assert tensor.packed == ("zstd" if name == "dcp-zstd" else None)
        if found.paths is not None:
            assert list(found.paths[key]) == wanted.get("path", list(found.paths[key]))
    for key, wanted in truth.get("objects", {}).items():
        if "item_offset" in wanted and key in found.objects:
            item = found.objects[key]
            assert item is not None
            assert (item.offset, item.length) == (wanted["item_offset"], wanted["item_length"])


@pytest.mark.skipif(not FILES, reason="the shared checkpoints are not at hand")
@pytest.mark.parametrize("path", sorted(set(FILES) - set(SOUND)), ids=str)
def test_hostile_fixtures(path, tmp_path, monkeypatch):
    """Each is an error that names the file and what it wanted, and nothing runs."""
    monkeypatch.chdir(tmp_path)
    wanted = next(said for name, said in WANTED.items() if name in path.parts)
    with pytest.raises(InputError) as caught:
        read_metadata(path.read_bytes(), str(path))
    assert wanted in caught.value.render()
    assert str(path) in caught.value.render()
    assert not list(tmp_path.iterdir())


def small(**changes: Any) -> bytes:
    """A file of one tensor in two chunks and one object, with some attributes changed."""
    boxes = [((0, 0), (2, 3)), ((2, 0), (2, 3))]
    listed = {"w": WRITER.tensor((4, 3), boxes), "step": WRITER.BytesStorageMetadata()}
    entries = [
        ("w", (0, 0), "__0_0.distcp", 0, 50),
        ("w", (2, 0), "__1_0.distcp", 0, 50),
        ("step", None, "__0_0.distcp", 50, 9),
    ]
    stored = changes.pop("entries", entries)
    made = {WRITER.index_of(name, at, None): WRITER.info_of(*item) for name, at, *item in stored}
    whole = WRITER.whole(changes.pop("listed", listed), made, {"w": ("w",), "step": ("train", 0)})
    for name, value in changes.items():
        setattr(whole, name, value)
    return WRITER.pickled(whole)


def faults(entries: list[Any]) -> list[tuple[Flaw, str | None]]:
    """Flaws and keys of what is wrong with a file of some entries."""
    return [(fault.flaw, fault.key) for fault in read_metadata(small(entries=entries), ".metadata").faults]


def test_a_sound_file():
    """All of it, with two files, a path of a number, and no fault."""
    found = read_metadata(small(), ".metadata")
    assert not found.faults
    assert found.file_names == ("__0_0.distcp", "__1_0.distcp")
    assert found.paths == {"w": ("w",), "step": ("train", 0)}
    assert found.objects["step"] == (0, 50, 9, None)
    assert found.tensors["w"].offsets.tolist() == [[0, 0], [2, 0]]
    assert (found.entries, found.version, found.has_local_plans) == (3, "1.0.0", False)


def test_older_files():
    """Without version, with a planner that left nothing, with Megatron's plans: read with what is there."""
    whole = read_metadata(small(planner_data=None, all_local_plans=[1]), ".metadata")
    assert whole.paths is None
    assert whole.has_local_plans
    assert read_metadata(small(version=None), ".metadata").version is None
    assert read_metadata(small(planner_data={"w": [1]}), ".metadata").paths is None


def test_missing_entries():
    """A chunk or an object without an entry is a fault; its row has no file."""
    assert faults(ENTRIES[1:]) == [(Flaw.MISSING_ENTRY, "w")]
    assert faults(ENTRIES[:2]) == [(Flaw.MISSING_ENTRY, "step")]
    found = read_metadata(small(entries=ENTRIES[1:]), ".metadata")
    assert found.tensors["w"].files.tolist() == [-1, 0]
    assert read_metadata(small(entries=ENTRIES[:2]), ".metadata").objects == {"step": None}


def test_entries_without_a_place():
    """Entries of keys or chunks that are not listed, and two for one chunk, are faults."""
    assert faults([*ENTRIES, ("other", (0,), "f", 0, 1)]) == [(Flaw.CORRUPT, "other")]
    assert faults([*ENTRIES, ("w", (1, 0), "f", 0, 1)]) == [(Flaw.CORRUPT, "w")]
    assert faults([*ENTRIES, ("w", None, "f", 0, 1)]) == [(Flaw.CORRUPT, "w")]
    twice = read_metadata(small(entries=[*ENTRIES, ("w", (2, 0), "f", 7, 1)]), ".metadata")
    assert [(fault.flaw, fault.key) for fault in twice.faults] == [(Flaw.CORRUPT, "w")]
    assert twice.tensors["w"].item_offsets.tolist() == [0, 7]  # the later one counts, as in a dict
    assert twice.entries == 3


def test_items_that_cannot_be():
    """Items with negative numbers, and items that share bytes, are faults; empty items share nothing."""
    assert faults([*ENTRIES[:2], ("step", None, "__0_0.distcp", -5, 3)]) == [(Flaw.CORRUPT, "step")]
    assert faults([*ENTRIES[:2], ("step", None, "__0_0.distcp", 49, 9)]) == [
        (Flaw.OVERLAP, "step"),
        (Flaw.OVERLAP, "w"),
    ]
    assert faults([*ENTRIES[:2], ("step", None, "__0_0.distcp", 10, 0)]) == []


def test_two_chunks_on_one_item():
    """Chunks with the same offset have one item between them."""
    listed = {"w": WRITER.tensor((4, 3), [((0, 0), (2, 3)), ((0, 0), (4, 3))])}
    found = read_metadata(small(listed=listed, entries=ENTRIES[:1]), ".metadata")
    assert [(fault.flaw, fault.key) for fault in found.faults] == [(Flaw.OVERLAP, "w")]


def test_many_faults_are_counted():
    """Twenty of a kind are told, the others counted."""
    boxes = [((row,), (1,)) for row in range(500)]
    found = read_metadata(small(listed={"w": WRITER.tensor((500,), boxes)}, entries=[]), ".metadata")
    assert len(found.faults) == 21
    assert found.faults[-1].message == "480 more chunks without a storage entry"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"state_dict_metadata": [1]}, "state_dict_metadata is a list"),
        ({"storage_data": None}, "storage_data is a NoneType"),
        ({"state_dict_metadata": {"w": 5}}, "the entry of 'w' is a int"),
        ({"state_dict_metadata": {5: 5}}, "a key of state_dict_metadata is a int"),
        ({"storage_data": {"w": 5}}, "a key of the storage entries is a str"),
        ({"entries": [("w", (0, 1.5), "f", 0, 1)]}, "1.5"),
        ({"entries": [("w", (0, 0), "f", 1 << 63, 1)]}, "9223372036854775808"),
        ({"entries": [("w", (0, 0), 7, 0, 1)]}, "name"),
        ({"entries": [("w", (0,) * 65, "f", 0, 1)]}, "64 lengths"),
        ({"listed": {"w": WRITER.tensor((4,), [((0, 0), (2, 3))])}}, "2 offsets and 2 sizes"),
        ({"listed": {"w": WRITER.tensor((-4,), [])}}, "the shape of 'w'"),
    ],
)
def test_what_is_no_metadata(changes, said):
    """Parts of other types, and numbers beyond 64 bits, are errors that say which part."""
    with pytest.raises(InputError) as caught:
        read_metadata(small(**changes), "here/.metadata")
    assert said in caught.value.render()
    assert "here/.metadata" in caught.value.render()


def test_types_of_elements_that_are_not_known():
    """A tensor of a type without a known size is an error that names it."""
    data = small().replace(b"\x8c\x07float32", b"\x8c\x07quint88")
    with pytest.raises(InputError, match=r"torch\.quint88"):
        read_metadata(data, ".metadata")


FOREIGN = [
    ("torch.distributed.checkpoint.metadata", "os.system"),
    ("torch", "load"),
    ("os", "system"),
    ("torch", "Size.x"),
]


@pytest.mark.parametrize(("module", "name"), FOREIGN)
@pytest.mark.parametrize("popped", [False, True])
def test_dotted_and_foreign_names(module, name, popped, tmp_path, monkeypatch):
    """A call before a sound file is refused, also one whose value is dropped, and one by a dotted name."""
    monkeypatch.chdir(tmp_path)
    texts = (module, name, "touch CKPTPLAN_PICKLE_EXECUTED")
    first, second, third = (b"\x8c" + bytes((len(text),)) + text.encode() for text in texts)
    call, whole = first + second + b"\x93" + third + b"\x85R", small()
    with pytest.raises(InputError) as caught:
        read_metadata(whole[:2] + call + (b"0" + whole[2:] if popped else b"."), ".metadata")
    assert f"{module}.{name}" in caught.value.render()
    assert not list(tmp_path.iterdir())


def test_guards_hold_for_metadata():
    """Claims of bytes, deep nests and cut files are errors here as well."""
    for data in (
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62),
        b"\x80\x04" + b"]" * 50_000,
        b"",
        b"\x80\x04",
        b"\x80\x02N.",
    ):
        with pytest.raises(InputError):
            read_metadata(data, ".metadata")
    whole = small()
    for end in range(0, len(whole), 3):
        with pytest.raises(InputError):
            read_metadata(whole[:end], ".metadata")


def test_mutations_of_a_file_by_torch():
    """Bytes of a file that torch wrote, changed: metadata or an error, and arrays of one length."""
    whole, rng = OWN.read_bytes(), random.Random(11)  # noqa: S311
    read = 0
    for _ in range(2_000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            found = read_metadata(bytes(data), ".metadata")
        except InputError:
            continue
        read += 1
        for each in found.tensors.values():
            assert each.offsets.shape == each.sizes.shape == (len(each.files), len(each.shape))
            assert each.offsets.dtype == each.files.dtype == each.item_bytes.dtype == np.int64
    assert read > 100
