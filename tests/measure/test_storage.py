"""Writes and reads: how much, where, and what is said of them. Nothing here depends on how long anything takes."""

from __future__ import annotations

import errno
import os
import types
from pathlib import Path
from typing import Any

import pytest

from ckptplan.errors import InputError
from ckptplan.measure import reading, room, storage, writing
from ckptplan.measure.blocks import PAGE_BYTES, Blocks
from ckptplan.measure.folder import own_folder
from ckptplan.measure.host import HostMemory
from ckptplan.measure.reading import Past, read_round, resident_share
from ckptplan.measure.setting import Setting
from ckptplan.measure.storage import measure_storage
from ckptplan.measure.writing import WriteRound, WriterTime, file_name, write_round
from tests.measure.clocks import ticking

SMALL = Setting(writers=2, size_bytes=3 * PAGE_BYTES + 5, block_bytes=PAGE_BYTES, repeats=2)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_round_by_its_slowest_writer() -> None:
    """200 bytes by two writers: until the last write returned, and until the slowest was closed."""
    found = WriteRound(100, (WriterTime(1.0, 4.0), WriterTime(2.0, 3.0)))
    assert found.burst_bytes_per_s == 100.0
    assert found.sustained_bytes_per_s == 50.0
    assert found.seconds == 4.0


def test_every_writer_writes_all_its_bytes_and_flushes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file has its size, no two have equal pages, and each is flushed before the time is taken."""
    flushed: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (flushed.append(os.fstat(handle).st_size), real(handle))[1])
    with own_folder(str(tmp_path)) as folder:
        blocks = [Blocks(PAGE_BYTES), Blocks(PAGE_BYTES)]
        found = write_round(folder, SMALL.size_bytes, blocks, direct=False, clock=ticking())
        data = [(Path(folder.path) / file_name(n)).read_bytes() for n in range(2)]
    assert [len(one) for one in data] == [SMALL.size_bytes] * 2
    assert data[0][:PAGE_BYTES] != data[1][:PAGE_BYTES]
    assert flushed == [SMALL.size_bytes] * 2
    assert len(found.times) == 2
    assert all(time.closed_s > time.returned_s > 0.0 for time in found.times)


def test_writes_that_storage_takes_in_part_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that writes less than it was given is followed by one for the rest."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:1000]))
    with own_folder(str(tmp_path)) as folder:
        write_round(folder, 10_000, [Blocks(PAGE_BYTES)], direct=False, clock=ticking())
        assert (Path(folder.path) / file_name(0)).stat().st_size == 10_000


def test_the_rates_follow_from_the_clock(tmp_path: Path) -> None:
    """One writer, one block: start, returned and closed are three readings of the clock, half a second apart."""
    setting = Setting(writers=1, size_bytes=PAGE_BYTES, block_bytes=PAGE_BYTES, repeats=3, read=False)
    found = measure_storage(str(tmp_path), setting, clock=ticking(0.5))
    assert found.burst is not None
    assert found.burst.values == (PAGE_BYTES / 0.5,) * 3
    assert found.sustained.values == (PAGE_BYTES / 1.0,) * 3
    assert found.seconds.values == (1.0,) * 3
    assert (found.read, found.past) == (None, None)


def test_repetitions_writers_and_reads_are_counted(tmp_path: Path) -> None:
    """Two repetitions of two writers give two rates of the node, four of writers, and two of reading."""
    found = measure_storage(str(tmp_path), SMALL, clock=ticking())
    assert len(found.sustained.values) == 2
    assert len(found.writers.values) == 4
    assert found.read is not None
    assert len(found.read.values) == 2
    assert found.past is not None
    assert _names(tmp_path) == []


def test_progress_tells_what_is_done(tmp_path: Path) -> None:
    """Every repetition is announced, and ends with all its bytes."""
    told: dict[str, tuple[int, int]] = {}
    measure_storage(
        str(tmp_path), SMALL, clock=ticking(), progress=lambda what, done, total: told.update({what: (done, total)})
    )
    total = 2 * SMALL.size_bytes
    assert told == {f"{what} {n} of 2": (total, total) for what in ("write", "read") for n in (1, 2)}


def test_nothing_else_is_touched(tmp_path: Path) -> None:
    """Files, folders and links beside the measurement are as they were."""
    (tmp_path / "other").write_bytes(b"kept")
    (tmp_path / "shard-00000.bin").write_bytes(b"kept too")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    before = [(path.name, path.lstat().st_mtime_ns, path.lstat().st_ino) for path in sorted(tmp_path.iterdir())]
    measure_storage(str(tmp_path), SMALL, clock=ticking())
    assert [(p.name, p.lstat().st_mtime_ns, p.lstat().st_ino) for p in sorted(tmp_path.iterdir())] == before
    assert (tmp_path / "shard-00000.bin").read_bytes() == b"kept too"


@pytest.mark.parametrize(
    ("number", "phrase"),
    [
        (errno.ENOSPC, "the file system is full"),
        (errno.EDQUOT, "the quota is used up"),
        (errno.EIO, "input/output error"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "may not be written"),
        (errno.EFBIG, "as large"),
        (errno.ESTALE, "lost the folder"),
        (errno.EXDEV, "cross-device"),
    ],
)
@pytest.mark.parametrize("call", ["write", "fsync"])
def test_what_storage_refuses_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, phrase: str
) -> None:
    """An error of a write or a flush ends in one sentence, and all is removed."""

    def refuse(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(writing.os, call, refuse)
    with pytest.raises(InputError, match=f"(?i){phrase}") as caught:
        measure_storage(str(tmp_path), SMALL, clock=ticking())
    assert caught.value.problems[0].hint
    monkeypatch.undo()
    assert _names(tmp_path) == []


def test_a_file_system_without_direct_access_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """EINVAL under --direct is no riddle."""

    def refuse(*_: Any) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(writing.os, "write", refuse)
    with pytest.raises(InputError, match="takes no direct I/O"):
        measure_storage(str(tmp_path), SMALL._replace(direct=True), clock=ticking())


def test_a_system_without_direct_access_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no direct I/O at all, --direct is refused and not passed over."""
    monkeypatch.setattr(writing, "DIRECT", 0)
    with pytest.raises(InputError, match="takes no direct I/O"):
        measure_storage(str(tmp_path), SMALL._replace(direct=True), clock=ticking())


def test_what_is_measured_instead_is_announced_before_the_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where room is short, the note is there while the new folder is still empty, and once more in the result."""
    told: list[tuple[str, int]] = []
    real = os.statvfs(tmp_path)
    small = types.SimpleNamespace(f_blocks=real.f_blocks, f_frsize=4096, f_bavail=int(0.05 * real.f_blocks) + 1024)
    monkeypatch.setattr(room.os, "statvfs", lambda _: small)
    monkeypatch.setattr(room, "_KEPT_FREE_BYTES", 10**18)

    def announce(text: str) -> None:
        told.append((text, sum(1 for path in tmp_path.rglob("*") if path.is_file())))

    found = measure_storage(
        str(tmp_path), Setting(2, 10**12, 1 << 20, 1, read=False), clock=ticking(), announce=announce
    )
    assert found.setting.size_bytes <= 512 * PAGE_BYTES
    assert [files for _, files in told] == [0]
    assert told[0][0].startswith("only ")
    assert told[0][0] in found.notes


def test_blocks_that_do_not_fit_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand writers with blocks of 1 GiB do not eat the memory of the node."""
    monkeypatch.setattr(storage, "host_memory", lambda: HostMemory(1e10, 1e10, 2e9))
    with pytest.raises(InputError, match="more than a quarter"):
        measure_storage(str(tmp_path), Setting(1000, PAGE_BYTES, 1 << 30, 1), clock=ticking())
    assert _names(tmp_path) == []


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """A folder of our own with two files of 16 pages."""
    with own_folder(str(tmp_path)) as folder:
        write_round(folder, 16 * PAGE_BYTES, [Blocks(PAGE_BYTES)] * 2, direct=False, clock=ticking())
        yield folder


def _read(folder: Any, **changes: Any) -> reading.ReadRound:
    options: dict[str, Any] = {"direct": False, "drop_all": False, "clock": ticking(), **changes}
    return read_round(folder, 16 * PAGE_BYTES, 2, PAGE_BYTES, **options)


def test_resident_pages_are_counted(written: Any) -> None:
    """What was just read is in the page cache, all of it; of nothing, nothing can be told."""
    (Path(written.path) / file_name(0)).read_bytes()
    handle = written.open(file_name(0))
    try:
        assert resident_share(handle, 16 * PAGE_BYTES) == 1.0
        assert resident_share(handle, 0) is None
    finally:
        os.close(handle)


def test_the_gentlest_way_past_the_cache_that_works_is_taken(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dropped if it is verified, else direct, else nothing: then the rate is that of the cache, and is called that."""
    monkeypatch.setattr(reading, "resident_share", lambda *_: 0.0)
    assert _read(written).past is Past.DROPPED
    monkeypatch.setattr(reading, "resident_share", lambda *_: 1.0)
    monkeypatch.setattr(reading, "_takes_direct", lambda *_: False)
    assert _read(written).past is Past.CACHE
    monkeypatch.setattr(reading, "resident_share", lambda *_: None)
    assert _read(written).past is Past.CACHE


def test_the_cache_of_the_node_is_dropped_only_if_asked(
    written: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kernel's switch is written to with --drop-caches, where nothing else helps."""
    switch = tmp_path / "drop_caches"
    monkeypatch.setattr(reading, "_DROP_ALL", switch)
    monkeypatch.setattr(reading, "resident_share", lambda *_: 1.0)
    monkeypatch.setattr(reading, "_takes_direct", lambda *_: False)
    _read(written)
    assert not switch.exists()
    assert _read(written, drop_all=True).past is Past.DROPPED_ALL
    assert switch.read_text(encoding="ascii") == "1"
    switch.unlink()
    switch.mkdir()
    assert _read(written, drop_all=True).past is Past.CACHE
    switch.rmdir()


def test_a_file_that_has_become_shorter_is_an_error(written: Any) -> None:
    """Reading back less than was written is no success."""
    os.truncate(Path(written.path) / file_name(1), PAGE_BYTES)
    with pytest.raises(InputError, match="cannot be read back"):
        _read(written)
