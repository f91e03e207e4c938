"""Headers of safetensors files, written by these tests themselves: what is right is counted, the rest is refused."""

from __future__ import annotations

import json
import os
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.checkpoint.formats.safetensors_header import BITS, MOST_PROBLEMS, StoredTensor, read_header
from ckptplan.errors import InputError

GOOD = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}


def write(path: Path, header: object, data: bytes | int = 24, *, length: int | None = None) -> Path:
    """A file of the format: the length, the header (an object or its bytes), and data or that many zeros."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = bytes(data) if isinstance(data, int) else data
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + body)
    return path


def save(path: Path, tensors: dict[str, tuple[str, tuple[int, ...]]], metadata: dict[str, str] | None = None) -> Path:
    """A file with these names, types and shapes, its data a hole in the file."""
    header: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        size = int(np.prod(shape, dtype=object)) * BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    return path


def refusal(path: Path) -> tuple[str, ...]:
    """The messages of a refusal, each with file and hint, in plain ASCII."""
    with pytest.raises(InputError) as caught:
        read_header(path)
    problems = caught.value.problems
    assert all(problem.place is not None and problem.place.file == str(path) for problem in problems)
    assert all(problem.hint for problem in problems if not problem.message.startswith("and "))
    assert "".join(p.message + (p.hint or "") for p in problems).isascii()
    return tuple(problem.message for problem in problems)


def test_names_types_and_shapes_are_read(tmp_path: Path) -> None:
    """Every entry is given as it is written, scalars and empty tensors too."""
    path = save(
        tmp_path / "m.safetensors",
        {"w": ("BF16", (3, 5)), "scalar": ("F64", ()), "none": ("I32", (0, 7)), "half": ("F4", (2, 8))},
        {"format": "pt"},
    )
    header = read_header(path)
    assert header.metadata == {"format": "pt"}
    assert header.tensors == (
        StoredTensor("w", "BF16", (3, 5)),
        StoredTensor("scalar", "F64", ()),
        StoredTensor("none", "I32", (0, 7)),
        StoredTensor("half", "F4", (2, 8)),
    )
    assert [(t.elements, t.size_bytes) for t in header.tensors] == [(15, 30), (1, 8), (0, 0), (16, 8)]


@pytest.mark.parametrize(("dtype", "size"), [("F32", 4), ("F64", 8), ("I16", 2), ("U8", 1), ("BOOL", 1), ("C64", 8)])
def test_types_have_the_bytes_that_numpy_gives_them(dtype: str, size: int) -> None:
    """Bits of each type against numpy's own item size."""
    names = {"F32": "f4", "F64": "f8", "I16": "i2", "U8": "u1", "BOOL": "?", "C64": "c8"}
    assert BITS[dtype] == 8 * np.dtype(names[dtype]).itemsize == 8 * size


def test_data_is_not_read(tmp_path: Path) -> None:
    """A sparse file of 4 TB is read as fast as its header."""
    path = save(tmp_path / "huge.safetensors", {"w": ("F32", (1_000_000, 1_000_000))})
    assert read_header(path).tensors[0].elements == 10**12


ENTRY = GOOD["a"]


@pytest.mark.parametrize(
    ("header", "data", "message"),
    [
        (GOOD, 23, "cut off"),
        (GOOD, 25, "longer than its header says"),
        ({"a": {**ENTRY, "dtype": "F16"}}, 24, "6 elements of F16 take 12"),
        ({"a": {**ENTRY, "dtype": "Q4"}}, 24, "unknown type 'Q4'"),
        ({"a": {**ENTRY, "dtype": 7}}, 24, "unknown type"),
        ({"a": {**ENTRY, "shape": [2, -3]}}, 24, "list of at most"),
        ({"a": {**ENTRY, "shape": [2, 3.0]}}, 24, "list of at most"),
        ({"a": {**ENTRY, "shape": [6, True]}}, 24, "list of at most"),
        ({"a": {**ENTRY, "shape": "6"}}, 24, "list of at most"),
        ({"a": {**ENTRY, "shape": [1] * 65}}, 24, "list of at most"),
        ({"a": {**ENTRY, "shape": [2**62, 2**62]}}, 24, "2^63"),
        ({"a": {**ENTRY, "shape": [2**64]}}, 24, "list of at most"),
        ({"a": {**ENTRY, "data_offsets": [24, 0]}}, 24, "beginning and an end"),
        ({"a": {**ENTRY, "data_offsets": [0]}}, 24, "beginning and an end"),
        ({"a": {**ENTRY, "more": 1}}, 24, "exactly dtype, shape"),
        ({"a": []}, 24, "exactly dtype, shape"),
        ({"a": {"dtype": "F4", "shape": [3], "data_offsets": [0, 1]}}, 1, "3 elements of F4 take 2"),
        ({"a": ENTRY, "b": {**ENTRY, "data_offsets": [25, 49]}}, 49, "hole of 1 bytes"),
        ({"a": ENTRY, "b": {**ENTRY, "data_offsets": [20, 44]}}, 44, "overlaps"),
        ({"__metadata__": {"a": 1}}, 0, "__metadata__"),
        ([1], 0, "begin with {"),
        (b'{"a": 1, "a": 2}', 0, "'a' stands twice"),
        (b'{"a": NaN}', 0, "NaN is no number"),
        (b'{"a": ', 0, "not JSON"),
        (b'{"\xff": 1}', 0, "not UTF-8"),
        (b'{"a": ' + b"[" * 100_000, 0, "nested too deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", 0, "not JSON"),
        (b'{"a": [' + b"," * 1_000_001, 0, "more than 1,000,000 values"),
        (b'{"\\ud800\\u001b": 1}', 0, "\\ud800\\x1b"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, header: object, data: int, message: str) -> None:
    """Each way in which a header is wrong has its sentence."""
    (found,) = refusal(write(tmp_path / "m.safetensors", header, data))
    assert message in found


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes are no safetensors file"),
        (b"\1\2\3", "3 bytes are no safetensors file"),
        (struct.pack("<Q", 50) + b"{}", "only 2 follow"),
        (struct.pack("<Q", 100_000_001) + b"{}", "100,000,000 are the most"),
        (struct.pack("<Q", 2**63) + b"{}", "100,000,000 are the most"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS"),
        (b'{"weight_map": {}}', "JSON, not a safetensors file"),
        (b"PK\x03\x04 a pickle in a zip", "pickled"),
        (b"\x80\x02}q\x00. a pickle", "pickled"),
        (struct.pack("<Q", 0), "begin with {"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    """What is no safetensors file is named for what it is."""
    path = tmp_path / "m.safetensors"
    path.write_bytes(data)
    (found,) = refusal(path)
    assert message in found


def test_many_faults_are_counted(tmp_path: Path) -> None:
    """Twenty faults are told, and how many more there are."""
    header = {f"t{n}": {"dtype": "?", "shape": [], "data_offsets": [0, 0]} for n in range(50)}
    found = refusal(write(tmp_path / "m.safetensors", header, 0))
    assert len(found) == MOST_PROBLEMS + 1
    assert found[-1] == "and 30 more faults"


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe without a writer does not block; folders and missing files are told."""
    os.mkfifo(tmp_path / "pipe.safetensors")
    assert "pipe or device" in refusal(tmp_path / "pipe.safetensors")[0]
    assert "no such file" in refusal(tmp_path / "missing.safetensors")[0]
    assert "pipe or device" in refusal(Path("/dev/zero"))[0]


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).filter(lambda name: name != "__metadata__")
shapes = st.lists(st.integers(0, 9), max_size=4).map(tuple)


@given(st.dictionaries(names, st.tuples(st.sampled_from(["F32", "BF16", "I64", "U8"]), shapes), max_size=8))
def test_whatever_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, tensors: dict) -> None:
    """Any names, types and shapes come back."""
    path = save(tmp_path_factory.getbasetemp() / "any.safetensors", tensors)
    assert {t.name: (t.dtype, t.shape) for t in read_header(path).tensors} == tensors


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Random bytes end in a header or in one error."""
    path = tmp_path_factory.getbasetemp() / "random.safetensors"
    path.write_bytes(struct.pack("<Q", max(len(data) - 4, 0)) + data)
    with suppress(InputError):
        read_header(path)


def test_a_header_whose_length_looks_like_a_pickle_is_read(tmp_path: Path) -> None:
    """640 bytes of header begin the file with the same two bytes as a pickle does."""
    text = json.dumps(GOOD).encode().ljust(0x280)
    path = write(tmp_path / "m.safetensors", text)
    assert path.read_bytes().startswith(b"\x80\x02")
    assert len(read_header(path).tensors) == 1


def test_half_a_surrogate_pair_is_no_name(tmp_path: Path) -> None:
    """The reference implementation refuses such a file, and nothing can print or look up the name."""
    text = json.dumps({"\ud800w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (said,) = refusal(write(tmp_path / "m.safetensors", text, bytes(4)))
    assert "half a surrogate pair" in said
    text = json.dumps({"\U00010000w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    assert read_header(write(tmp_path / "whole.safetensors", text, bytes(4))).tensors[0].name == "\U00010000w"
