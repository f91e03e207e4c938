"""The file of finished parts: torn, damaged, foreign, hostile, and written to by two."""

from __future__ import annotations

import errno
import json
import os
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.sweep import journal as room
from ckptplan.sweep.columns import Column, Columns, Labels
from ckptplan.sweep.identity import Identity
from ckptplan.sweep.journal import Journal
from ckptplan.sweep.journal_head import SCHEMA, sealed
from ckptplan.sweep.packing import Damaged, packed, unpacked
from tests.sweep.evaluations import draw

CHUNKS = 5
IDENTITY = Identity("ab" * 32, CHUNKS, {"ckptplan": "1", "numpy": "2"})


def small(index: int) -> Columns:
    """A part of a few bytes."""
    return {"goodput": np.array([index / 3]), "strategy": Labels(np.array([0], np.int32), (f"p{index}",))}


def written(path: Path, indices: tuple[int, ...], part: Callable[[int], Columns] = small) -> list[int]:
    """A journal of some chunks; where the first line and each record end."""
    ends = []
    with Journal(path, IDENTITY) as journal:
        ends.append(path.stat().st_size)
        for index in indices:
            journal.append(index, part(index))
            ends.append(path.stat().st_size)
    return ends


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of journals without waiting for a disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def test_columns_come_back_to_the_last_bit(tmp_path: Path) -> None:
    """Signs and last bits, nan, infinity, whole numbers beyond 2^53, texts of any script, and the order of columns."""
    written(tmp_path / "j", (3, 0), lambda index: draw(1, index))
    with Journal(tmp_path / "j", IDENTITY) as journal:
        assert journal.finished == {0, 3}
        for index in (0, 3):
            expected, found = draw(1, index), journal.read(index)
            assert list(found) == list(expected)
            for name, column in expected.items():
                back = found[name]
                if isinstance(column, Labels):
                    assert isinstance(back, Labels)
                    assert back.texts() == column.texts()
                    assert (back.names, back.codes.dtype) == (column.names, column.codes.dtype)
                else:
                    assert not isinstance(back, Labels)
                    assert (back.dtype, back.tobytes()) == (column.dtype, column.tobytes())


def test_parts_without_rows_or_columns() -> None:
    """Nothing comes back as nothing."""
    empty: dict[str, Column] = {"x": np.empty(0), "t": Labels(np.empty(0, np.int32), ())}
    for columns in ({}, empty):
        assert packed(unpacked(packed(columns))) == packed(columns)


@pytest.mark.usefixtures("unsynced")
def test_torn_at_every_byte(tmp_path: Path) -> None:
    """Cut off anywhere, it holds what was whole, takes the rest, and is then like one that was never torn."""
    order = (2, 0, 1)
    ends = written(tmp_path / "whole", order)
    data = (tmp_path / "whole").read_bytes()
    assert len(data) == ends[-1]
    path = tmp_path / "torn"
    for size in range(len(data)):
        path.write_bytes(data[:size])
        count = sum(end <= size for end in ends[1:])
        with Journal(path, IDENTITY) as journal:
            assert journal.finished == set(order[:count])
            assert journal.cut_bytes == (size - ends[count] if size >= ends[0] else 0)
            assert [packed(journal.read(index)) for index in order[:count]] == [packed(small(i)) for i in order[:count]]
            for index in order[count:]:
                journal.append(index, small(index))
        assert path.read_bytes() == data


@pytest.mark.usefixtures("unsynced")
def test_a_byte_changed_anywhere(tmp_path: Path) -> None:
    """With any byte of a record changed it gives the parts before that one; of its first line, it is refused."""
    order = (2, 0, 1)
    ends = written(tmp_path / "whole", order)
    data = (tmp_path / "whole").read_bytes()
    path = tmp_path / "changed"
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x10
        path.write_bytes(changed)
        if place < ends[0]:
            with pytest.raises(InputError, match="its first line is damaged"):
                Journal(path, IDENTITY)
            assert path.read_bytes() == changed
            continue
        with Journal(path, IDENTITY) as journal:
            assert journal.finished == set(order[: sum(end <= place for end in ends[1:])])
            assert all(packed(journal.read(index)) == packed(small(index)) for index in journal.finished)


@pytest.mark.parametrize("tail", [b"\0" * 4096, b"\xff" * 100, bytes(range(256)) * 40])
def test_rubbish_behind_the_records(tmp_path: Path, tail: bytes) -> None:
    """What a lost machine leaves behind the last record is cut off."""
    ends = written(tmp_path / "j", (0, 1))
    with (tmp_path / "j").open("ab") as stream:
        stream.write(tail)
    with Journal(tmp_path / "j", IDENTITY) as journal:
        assert journal.finished == {0, 1}
        assert journal.cut_bytes == len(tail)
    assert (tmp_path / "j").stat().st_size == ends[-1]


def head(**changes: object) -> bytes:
    """A first line with changes."""
    said = {"schema": SCHEMA, "fingerprint": IDENTITY.fingerprint, "chunks": CHUNKS, "versions": IDENTITY.versions}
    return sealed({**said, **changes})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name: Llama 3 405B\nmodel:\n  parameters: 405e9\n", "no journal of a sweep"),
        (b"a", "no journal of a sweep"),
        (b"\0" * 5000, "no journal of a sweep"),
        (b"[" * 100_000, "no journal of a sweep"),
        (b'{"schema": "ckptplan.plan/1"}\n', "no journal of a sweep"),
        (b'{"schema": 7}\n' + b"x" * 1000, "no journal of a sweep"),
        (b"\xff\xfe{\0", "no journal of a sweep"),
        (b"x" * 3_000_000, "no journal of a sweep"),
        (head(schema="ckptplan.sweep-part/2"), "another version"),
        (head(versions={"ckptplan": "0.9\x1b[31m", "numpy": "2"}), "another version"),
        (head(versions=[]), "another version"),
        (head(fingerprint="cd" * 32), "another sweep"),
        (head(chunks=CHUNKS + 1), "another sweep"),
        (head(chunks="many"), "another sweep"),
    ],
)
def test_other_files_are_left_as_they_are(tmp_path: Path, content: bytes, said: str) -> None:
    """Whatever is no journal of this study is named with a hint, and not touched."""
    path = tmp_path / "mine"
    path.write_bytes(content)
    before = path.stat()
    with pytest.raises(InputError, match=said) as caught:
        Journal(path, IDENTITY)
    assert path.read_bytes() == content
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    shown = caught.value.render()
    assert shown.startswith(str(path))
    assert "hint: name another file" in shown
    assert shown.replace("\n", "").isprintable()


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _dangling(path: Path) -> Path:
    path.symlink_to(path.with_name("gone") / "away")
    return path


def _loop(path: Path) -> Path:
    path.symlink_to(path)
    return path


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (_folder, "is a folder"),
        (_fifo, "is a pipe"),
        (lambda _: Path("/dev/null"), "device, not a regular file"),
        (lambda path: path / "deeper" / "j", "No such file"),
        (_dangling, "exists"),
        (_loop, "symbolic links"),
        (lambda path: path.with_name("a\0b"), "null"),
        (lambda path: path.with_name("n" * 300), "too long"),
    ],
)
def test_places_that_are_no_file(tmp_path: Path, made: Callable[[Path], Path], said: str) -> None:
    """Folders, pipes, devices and names that cannot be are refused without waiting."""
    with pytest.raises(InputError, match=f"(?i){said}"):
        Journal(made(tmp_path / "j"), IDENTITY)


def test_an_empty_file_is_begun(tmp_path: Path) -> None:
    """Where there is nothing to lose, a journal is begun."""
    (tmp_path / "j").touch()
    written(tmp_path / "j", (1,))
    with Journal(tmp_path / "j", IDENTITY) as journal:
        assert journal.finished == {1}


def test_two_writers(tmp_path: Path) -> None:
    """A second run is refused while the first one writes, and may go on after it."""
    with Journal(tmp_path / "j", IDENTITY) as first:
        first.append(0, small(0))
        with pytest.raises(InputError, match="another run writes to it"):
            Journal(tmp_path / "j", IDENTITY)
        first.append(1, small(1))
    with Journal(tmp_path / "j", IDENTITY) as second:
        assert second.finished == {0, 1}


def test_a_chunk_is_noted_once(tmp_path: Path) -> None:
    """What is there already is not written again."""
    ends = written(tmp_path / "j", (0, 1))
    assert written(tmp_path / "j", (1, 0))[-1] == ends[-1]


def _halved(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the next write get half of it down, and then fail."""
    real = os.pwrite

    def half(handle: int, data: Any, start: int) -> int:
        monkeypatch.setattr(os, "pwrite", real)
        real(handle, memoryview(data)[: len(data) // 2], start)
        raise error

    monkeypatch.setattr(os, "pwrite", half)


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one error; what was there before is kept, and nothing torn is left."""
    with Journal(tmp_path / "j", IDENTITY) as journal:
        journal.append(0, small(0))
        size = (tmp_path / "j").stat().st_size
        _halved(monkeypatch, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        with pytest.raises(InputError, match="cannot be written: No space left"):
            journal.append(1, small(1))
        assert (tmp_path / "j").stat().st_size == size


def test_interrupted_while_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an interruption left half written is written over by the next part, not followed by it."""
    with Journal(tmp_path / "j", IDENTITY) as journal:
        _halved(monkeypatch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            journal.append(0, draw(0, 0))
        journal.append(1, small(1))
        journal.append(0, small(0))
    with Journal(tmp_path / "j", IDENTITY) as journal:
        assert journal.finished == {0, 1}
        assert packed(journal.read(0)) == packed(small(0))


def record(index: int, payload: bytes) -> bytes:
    """A record with the right checksum, as one who means harm can make it."""
    return room._RECORD.pack(index, len(payload), room._checksum(index, len(payload), payload)) + payload


def titled(said: object, rest: bytes = b"") -> bytes:
    """A payload with titles of one's own."""
    raw = said if isinstance(said, bytes) else json.dumps(said).encode()
    return len(raw).to_bytes(4, "little") + raw + rest


HOSTILE = {
    "nothing": b"",
    "a length alone": b"\xff\xff\xff\xff",
    "titles that are not there": (1 << 31).to_bytes(4, "little") + b"[]",
    "no JSON": titled(b"\x80\x04K\x01."),
    "deep JSON": titled(b"[" * 200_000),
    "no list": titled({"x": 1}),
    "no rows": titled([None, []]),
    "rows that are true": titled([True, [["x", "f8", 0]]], b"\0" * 8),
    "fewer than no rows": titled([-1, [["x", "f8", 0]]]),
    "broken rows": titled([1.5, [["x", "f8", 0]]], b"\0" * 12),
    "endless rows": titled([1 << 62, [["x", "f8", 0]]]),
    "rows beyond 64 bits": titled([1 << 70, [["x", "f8", 0]]]),
    "an object array": titled([1, [["x", "O", 0]]], b"\0" * 8),
    "a name that is none": titled([1, [[7, "f8", 0]]], b"\0" * 8),
    "one name twice": titled([1, [["x", "f8", 0], ["x", "f8", 0]]], b"\0" * 16),
    "a title too short": titled([1, [["x", "f8"]]], b"\0" * 8),
    "a kind that is a list": titled([1, [["x", ["f8"], 0]]], b"\0" * 8),
    "more than the columns": titled([1, [["x", "f8", 0]]], b"\0" * 9),
    "less than the columns": titled([1, [["x", "f8", 0]]], b"\0" * 7),
    "a text that is not there": titled([1, [["x", "text", 1]]], b"\1\0\0\0" + b"\0" * 8),
    "a row below none": titled([1, [["x", "text", 1]]], b"\xfe\xff\xff\xff" + b"\0" * 8),
    "endless texts": titled([0, [["x", "text", 1 << 60]]]),
    "a text without end": titled([0, [["x", "text", 1]]], (1 << 62).to_bytes(8, "little")),
    "texts that overflow": titled([0, [["x", "text", 2]]], (1 << 63).to_bytes(8, "little") * 2),
    "a text before the first": titled([0, [["x", "text", 2]]], b"\xff" * 8 + (1).to_bytes(8, "little")),
    "no UTF-8": titled([0, [["x", "text", 1]]], (1).to_bytes(8, "little") + b"\xff"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_parts(tmp_path: Path, name: str) -> None:
    """A part that was made to do harm is one error that names it, with little memory."""
    (tmp_path / "j").write_bytes(head() + record(1, HOSTILE[name]))
    with Journal(tmp_path / "j", IDENTITY) as journal:
        assert journal.finished == {1}
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match="part 2 is damaged"):
                journal.read(1)
            assert tracemalloc.get_traced_memory()[1] < 8_000_000
        finally:
            tracemalloc.stop()


def test_parts_of_unequal_columns(tmp_path: Path) -> None:
    """Parts that do not fit together are an error, not a broken table."""
    with Journal(tmp_path / "j", IDENTITY) as journal:
        journal.append(0, small(0))
        journal.append(1, {"goodput": np.array([1.0])})
        journal.read(0)
        with pytest.raises(InputError, match="not those of the other parts"):
            journal.read(1)


@pytest.mark.parametrize("length", [1 << 39, (1 << 64) - 1, (1 << 30) + 1])
def test_a_record_that_claims_too_much(tmp_path: Path, length: int) -> None:
    """A huge length in a huge, hollow file is not read."""
    start = head() + record(0, packed(small(0)))
    (tmp_path / "j").write_bytes(start + room._RECORD.pack(1, length, b"\0" * 16))
    os.truncate(tmp_path / "j", 1 << 40)
    tracemalloc.start()
    try:
        with Journal(tmp_path / "j", IDENTITY) as journal:
            assert journal.finished == {0}
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert (tmp_path / "j").stat().st_size == len(start)


@pytest.mark.parametrize("index", [CHUNKS, 1 << 63, 0])
def test_records_of_chunks_that_cannot_be(tmp_path: Path, index: int) -> None:
    """A chunk beyond the last one, or there already, ends what is used."""
    good = head() + record(0, packed(small(0)))
    (tmp_path / "j").write_bytes(good + record(index, packed(small(1))) + record(2, packed(small(2))))
    with Journal(tmp_path / "j", IDENTITY) as journal:
        assert journal.finished == {0}
        assert packed(journal.read(0)) == packed(small(0))


def test_shortened_while_it_is_open(tmp_path: Path) -> None:
    """A part that another program cut off meanwhile is an error, not a wait without end."""
    with Journal(tmp_path / "j", IDENTITY) as journal:
        journal.append(0, small(0))
        os.truncate(tmp_path / "j", 10)
        with pytest.raises(InputError, match="shortened"):
            journal.read(0)


def test_random_bytes_never_become_columns() -> None:
    """Whatever bytes come, they are columns that pack to the same bytes, or damaged."""
    rng = np.random.default_rng(7)
    good = packed(draw(0, 0))
    for _ in range(3_000):
        data = bytearray(good)
        for place in rng.integers(0, min(len(data), 200), rng.integers(1, 4)):
            data[place] = rng.integers(0, 256)
        try:
            columns: Mapping[str, Column] = unpacked(bytes(data[: rng.integers(0, len(data) + 1)]))
        except Damaged:
            continue
        assert unpacked(packed(columns)).keys() == columns.keys()
