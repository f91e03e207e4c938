"""Writing safetensors: the file by an own reading of its format, and that nothing half-written is ever left."""

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.writing import places
from ckptplan.checkpoint.writing import single as writing
from ckptplan.checkpoint.writing.header import Entry
from ckptplan.checkpoint.writing.sharded import INDEX, ShardedSafetensorsWriter, cut
from ckptplan.checkpoint.writing.single import SafetensorsWriter
from ckptplan.errors import InputError

ENTRIES = (
    Entry("a", "float32", (3, 4)),
    Entry("flags", "bool", (3,)),
    Entry("empty", "float16", (0, 5)),
    Entry("step", "int64", ()),
    Entry("\N{LATIN SMALL LETTER A WITH DIAERESIS}.scale", "float8_e4m3fn", (5,)),
)
DATA = {entry.name: np.random.default_rng(n).bytes(entry.size_bytes) for n, entry in enumerate(ENTRIES)}


def fill(writer: SafetensorsWriter | ShardedSafetensorsWriter, names: tuple[str, ...] = tuple(DATA)) -> None:
    """All data, each tensor in three parts of which the last comes first."""
    for name in names:
        data = DATA[name]
        third = len(data) // 3
        writer.write(name, 2 * third, data[2 * third :])
        writer.write(name, 0, np.frombuffer(data[:third], np.uint8))
        writer.write(name, third, memoryview(data)[third : 2 * third])


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def read(path: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The head and the bytes of every tensor, as the format's own text says."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + length])
    assert raw[8:9] == b"{"
    assert length % 8 == 0
    places = sorted(one["data_offsets"] for name, one in head.items() if name != "__metadata__")
    ends = [0, *(end for _, end in places)]
    assert [start for start, _ in places] == ends[:-1]  # no hole, no overlap
    assert len(raw) == 8 + length + ends[-1]
    data = {
        name: raw[8 + length + one["data_offsets"][0] : 8 + length + one["data_offsets"][1]]
        for name, one in head.items()
        if name != "__metadata__"
    }
    return head, data


def test_every_tensor_is_in_the_file_as_it_was_given(tmp_path: Path) -> None:
    """Shapes, types, texts and bytes are there, and the folder holds nothing else."""
    path = tmp_path / "out.safetensors"
    with SafetensorsWriter(path, ENTRIES, {"format": "pt"}) as writer:
        fill(writer)
        writer.finish()
    head, data = read(path)
    assert data == DATA
    assert head["__metadata__"] == {"format": "pt"}
    assert {name: (one["dtype"], one["shape"]) for name, one in head.items() if name != "__metadata__"} == {
        "a": ("F32", [3, 4]),
        "flags": ("BOOL", [3]),
        "empty": ("F16", [0, 5]),
        "step": ("I64", []),
        ENTRIES[4].name: ("F8_E4M3", [5]),
    }
    assert names(tmp_path) == ["out.safetensors"]


def test_the_reference_library_reads_it(tmp_path: Path) -> None:
    """The library of the format gives back what was written."""
    numpy_files = pytest.importorskip("safetensors.numpy")
    with SafetensorsWriter(tmp_path / "out.safetensors", [("x", "float32", (2, 3))]) as writer:
        writer.write("x", 0, np.arange(6, dtype=np.float32))
        writer.finish()
    found = numpy_files.load_file(tmp_path / "out.safetensors")
    assert found["x"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_data_is_aligned_to_its_elements(tmp_path: Path) -> None:
    """A reader that maps the file gets elements of eight bytes at multiples of eight."""
    with SafetensorsWriter(tmp_path / "out.safetensors", ENTRIES) as writer:
        fill(writer)
        writer.finish()
    head, _ = read(tmp_path / "out.safetensors")
    for entry in ENTRIES:
        width = {"float32": 4, "int64": 8, "float16": 2}.get(entry.dtype, 1)
        assert head[entry.name]["data_offsets"][0] % width == 0


def test_a_file_of_that_name_stands_until_the_end(tmp_path: Path) -> None:
    """The old content is whole until the new one is; its permissions are kept."""
    path = tmp_path / "out.safetensors"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with SafetensorsWriter(path, ENTRIES, overwrite=True) as writer:
        fill(writer)
        assert path.read_bytes() == b"old"
        writer.finish()
    assert read(path)[1] == DATA
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("sharded", [False, True])
def test_what_is_not_finished_leaves_nothing(tmp_path: Path, *, sharded: bool) -> None:
    """An exception, a missing byte, or a context that just ends: no file, no folder, nothing aside."""
    kind = ShardedSafetensorsWriter if sharded else SafetensorsWriter
    with kind(tmp_path / "out", ENTRIES) as writer:
        fill(writer)
    with pytest.raises(KeyboardInterrupt), kind(tmp_path / "out", ENTRIES) as writer:
        raise KeyboardInterrupt
    with kind(tmp_path / "out", ENTRIES) as writer:
        fill(writer, tuple(name for name in DATA if name != "a"))
        with pytest.raises(InputError, match="48 bytes of a were never written"):
            writer.finish()
    assert names(tmp_path) == []


@pytest.mark.parametrize(("start", "length", "fault"), [(8, 4, "twice"), (3, 6, "twice"), (46, 4, "outside")])
def test_a_byte_is_written_once(tmp_path: Path, start: int, length: int, fault: str) -> None:
    """What would overwrite bytes, or leave the tensor, is refused."""
    with SafetensorsWriter(tmp_path / "out", ENTRIES) as writer:
        writer.write("a", 8, bytes(20))
        with pytest.raises(InputError, match=fault):
            writer.write("a", start, bytes(length))


def test_random_parts_fill_a_tensor(tmp_path: Path) -> None:
    """Parts in any order, adjacent or not, are accounted for to the byte."""
    generator = np.random.default_rng(5)
    data = generator.bytes(1000)
    cuts = np.unique(np.concatenate([[0, 1000], generator.integers(0, 1001, 200)])).tolist()
    parts = list(pairwise(cuts))
    with SafetensorsWriter(tmp_path / "out", [("x", "uint8", (1000,))]) as writer:
        for place in generator.permutation(len(parts)).tolist():
            start, end = parts[place]
            writer.write("x", start, data[start:end])
        writer.finish()
    assert read(tmp_path / "out")[1]["x"] == data


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (("x", "complex128", (2,)), "cannot hold complex128"),
        (("__metadata__", "float32", (2,)), "of this name"),
        (("\ud800", "float32", (2,)), "of this name"),
        (("x", "float4_e2m1fn", (3,)), "whole number of bytes"),
        (("a", "float32", (3, 4)), "two tensors"),
    ],
)
def test_what_the_format_cannot_hold_is_named(
    tmp_path: Path, entry: tuple[str, str, tuple[int, ...]], fault: str
) -> None:
    """Each such tensor is a fault of its own, found before anything is written."""
    with pytest.raises(InputError, match=fault):
        SafetensorsWriter(tmp_path / "out", [*ENTRIES, entry])
    assert names(tmp_path) == []


def test_of_many_faults_twenty_are_told(tmp_path: Path) -> None:
    """And how many more there are."""
    with pytest.raises(InputError) as caught:
        SafetensorsWriter(tmp_path / "out", [(f"x{n}", "complex128", ()) for n in range(50)])
    assert len(caught.value.problems) == 21
    assert "30 more" in caught.value.problems[-1].message


def test_nothing_of_the_inputs_is_replaced(tmp_path: Path) -> None:
    """Neither a file that is read, by whatever name, nor anything within a folder that is read."""
    inside = tmp_path / "checkpoint"
    inside.mkdir()
    (inside / "model.safetensors").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(inside / "model.safetensors")
    (tmp_path / "way").symlink_to(inside)
    for path in (inside / "model.safetensors", tmp_path / "link"):
        with pytest.raises(InputError, match="would overwrite or join"):
            SafetensorsWriter(path, ENTRIES, inputs=[inside / "model.safetensors"])
    for path in (inside / "new", tmp_path / "way" / "new", tmp_path / "link", inside / ".." / "checkpoint" / "new"):
        with pytest.raises(InputError, match="would overwrite or join"):
            SafetensorsWriter(path, ENTRIES, inputs=[inside])
    with pytest.raises(InputError, match="would overwrite or join"):
        ShardedSafetensorsWriter(inside / "new", ENTRIES, inputs=[inside])
    assert names(inside) == ["model.safetensors"]
    assert (inside / "model.safetensors").read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["", "none/out", "pipe", "x\0y", "x" * 5000, "file/out"])
@pytest.mark.parametrize("kind", [SafetensorsWriter, ShardedSafetensorsWriter])
def test_a_place_that_cannot_be_written_is_one_message(
    tmp_path: Path, kind: type[SafetensorsWriter | ShardedSafetensorsWriter], name: str
) -> None:
    """A folder, a pipe, a name that no file can have: refused before anything is written."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    if kind is ShardedSafetensorsWriter and name == "":
        name = "file"
    with pytest.raises(InputError):
        kind(tmp_path / name, ENTRIES)
    assert names(tmp_path) == ["file", "pipe"]


def test_a_full_disk_is_said_before_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is not begun."""
    free = os.statvfs(tmp_path)
    small = os.statvfs_result((4096, 4096, 10, 0, 0, *tuple(free)[5:]))
    monkeypatch.setattr(places.os, "statvfs", lambda _: small)
    with pytest.raises(InputError, match="0 are free"):
        SafetensorsWriter(tmp_path / "out", ENTRIES)
    assert names(tmp_path) == []


def test_shards_and_their_index(tmp_path: Path) -> None:
    """Each tensor is in the file that the index names, and the index gives the sum of their bytes."""
    folder = tmp_path / "out"
    with ShardedSafetensorsWriter(folder, ENTRIES, {"format": "pt"}, shard_bytes=16) as writer:
        fill(writer)
        assert not folder.exists()
        writer.finish()
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    assert index["metadata"]["total_size"] == sum(len(data) for data in DATA.values())
    assert {name: read(folder / file)[1][name] for name, file in index["weight_map"].items()} == DATA
    assert names(folder) == sorted({*index["weight_map"].values(), INDEX})
    assert names(tmp_path) == ["out"]


def test_what_fits_in_one_file_has_no_index(tmp_path: Path) -> None:
    """An empty folder is taken; one that is not is refused."""
    folder = tmp_path / "out"
    folder.mkdir()
    with ShardedSafetensorsWriter(folder, ENTRIES) as writer:
        fill(writer)
        writer.finish()
    assert names(folder) == ["model.safetensors"]
    with pytest.raises(InputError, match="not empty"):
        ShardedSafetensorsWriter(folder, ENTRIES)


def test_a_file_that_is_there_is_replaced_only_when_told_so(tmp_path: Path) -> None:
    """Refused before anything is written, also if it comes while the other is written; replaced whole if asked."""
    path = tmp_path / "out.safetensors"
    path.write_bytes(b"precious")
    with pytest.raises(InputError, match="is there already") as caught:
        SafetensorsWriter(path, ENTRIES)
    assert "--overwrite" in (caught.value.problems[0].hint or "")
    assert path.read_bytes() == b"precious"
    with SafetensorsWriter(path, ENTRIES, overwrite=True) as writer:
        fill(writer)
        assert path.read_bytes() == b"precious"
        writer.finish()
    assert read(path)[1] == DATA
    late = tmp_path / "late.safetensors"
    with SafetensorsWriter(late, ENTRIES) as writer:
        fill(writer)
        late.write_bytes(b"precious")
        with pytest.raises(InputError, match="is there already"):
            writer.finish()
    assert late.read_bytes() == b"precious"
    assert names(tmp_path) == ["late.safetensors", "out.safetensors"]


def test_a_folder_is_replaced_only_if_it_holds_nothing_but_shards(tmp_path: Path) -> None:
    """No shard of the old result stays among the new ones, and a folder of other things is never removed."""
    folder = tmp_path / "out"
    with ShardedSafetensorsWriter(folder, ENTRIES, shard_bytes=16) as writer:
        fill(writer)
        writer.finish()
    with ShardedSafetensorsWriter(folder, ENTRIES, overwrite=True) as writer:
        fill(writer)
        writer.finish()
    assert names(folder) == ["model.safetensors"]
    assert read(folder / "model.safetensors")[1] == DATA
    for other in ("config.json", "model-1.safetensors"):
        (folder / other).write_text("{}")
        with pytest.raises(InputError, match=f"such as {other}"):
            ShardedSafetensorsWriter(folder, ENTRIES, overwrite=True)
        (folder / other).unlink()
    with ShardedSafetensorsWriter(folder, ENTRIES, overwrite=True) as writer:
        fill(writer)
        (folder / "notes.txt").write_text("came late")
        with pytest.raises(InputError, match=r"such as notes\.txt"):
            writer.finish()
    assert names(folder) == ["model.safetensors", "notes.txt"]
    assert names(tmp_path) == ["out"]


def test_many_files_are_written_with_few_open(tmp_path: Path) -> None:
    """Two hundred shards in turn, with as many descriptors as a strict system allows."""
    entries = [Entry(f"x{n:03d}", "uint8", (4,)) for n in range(200)]
    with ShardedSafetensorsWriter(tmp_path / "out", entries, shard_bytes=4) as writer:
        for half in (0, 2):
            for entry in entries:
                writer.write(entry.name, half, entry.name[half : half + 2].encode())
            assert len(names(Path("/proc/self/fd"))) < 100
        writer.finish()
    assert len(writer.files) == 200
    last = read(tmp_path / "out" / "model-00200-of-00200.safetensors")[1]
    assert last == {"x199": b"x199"}


def test_no_tensor_is_cut() -> None:
    """Files hold at most the given bytes, and one tensor that is larger has one of its own."""
    sizes = [3, 3, 9, 1, 1, 5]
    parts = cut([Entry(str(n), "uint8", (size,)) for n, size in enumerate(sizes)], 6)
    assert [[entry.size_bytes for entry in part] for part in parts] == [[3, 3], [9], [1, 1], [5]]


def test_storing_begins_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time enough is written the system is told of a range that holds all of it; the file is the same as ever."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(writing, "_EARLY_BYTES", 1000)
    monkeypatch.setattr(os, "posix_fadvise", lambda _, start, length, hint: told.append((start, start + length)))
    data = np.random.default_rng(1).bytes(5000)
    with SafetensorsWriter(tmp_path / "early.safetensors", [Entry("a", "uint8", (5000,))]) as writer:
        for start in (400, 0, 800, 4000, 1200, 2000):  # 1,200 bytes out of order, then too few, then 3,400 in all
            end = {800: 1200, 4000: 5000, 1200: 2000, 2000: 4000}.get(start, start + 400)
            writer.write("a", start, data[start:end])
        writer.finish()
    raw = (tmp_path / "early.safetensors").read_bytes()
    head = len(raw) - 5000
    assert told == [(head, head + 1200), (head + 4000, head + 5000), (head + 1200, head + 4000)]
    assert raw[head:] == data
