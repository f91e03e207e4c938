"""How much each writer can write: by free space, by memory, and what is said of it."""

from __future__ import annotations

import pytest

from ckptplan.errors import InputError
from ckptplan.measure import room
from ckptplan.measure.blocks import PAGE_BYTES
from ckptplan.measure.host import FileSystem, HostMemory
from ckptplan.measure.room import fitting, limit_of_shards
from ckptplan.measure.setting import Setting

UNKNOWN = HostMemory(None, None, None)
LARGE = Setting(4, 10**10, PAGE_BYTES, 1)


class _Space:
    """A file system of 1.024 TB in blocks of 4096 bytes."""

    f_blocks, f_frsize = 250_000_000, 4096

    def __init__(self, free_bytes: float) -> None:
        self.f_bavail = int(free_bytes) // 4096


def _free(monkeypatch: pytest.MonkeyPatch, free_bytes: float, kind: str = "ext4") -> None:
    monkeypatch.setattr(room.os, "statvfs", lambda _: _Space(free_bytes))
    monkeypatch.setattr(room, "file_system_of", lambda _: FileSystem(kind))


def test_room_is_left_on_the_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 5 % of 1.024 TB kept free, 4 writers share what is left of 60 GB; less than that is written as asked."""
    _free(monkeypatch, 60e9)
    fitted, notes = fitting("/x", LARGE, memory=UNKNOWN)
    assert fitted.size_bytes == pytest.approx((60e9 - 0.05 * 1.024e12) / 4, abs=8192)
    assert fitted.size_bytes % PAGE_BYTES == 0
    assert notes[0].startswith("only 2.2 GB per writer fit, and 2.2 GB are measured, not 10 GB: /x has 60 GB free")
    small = LARGE._replace(size_bytes=10**6)
    assert fitting("/x", small, memory=UNKNOWN) == (small, ())


def test_too_little_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that is fuller than 95 % is left alone."""
    _free(monkeypatch, 51e9)
    with pytest.raises(InputError, match="too little to measure with"):
        fitting("/x", LARGE, memory=UNKNOWN)


def test_direct_writes_are_whole_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under direct I/O a size is rounded up to pages."""
    _free(monkeypatch, 900e9)
    odd = LARGE._replace(size_bytes=3 * PAGE_BYTES + 5, direct=True)
    assert fitting("/x", odd, memory=UNKNOWN)[0].size_bytes == 4 * PAGE_BYTES


def test_files_that_live_in_memory_take_half_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tmpfs with 900 GB free on a machine with 8 GB available takes 1 GB from each of 4 writers; a disk takes all."""
    memory = HostMemory(16e9, 8e9, 1.6e9)
    _free(monkeypatch, 900e9, "tmpfs")
    fitted, notes = fitting("/x", LARGE, memory=memory)
    assert fitted.size_bytes == 10**9 // PAGE_BYTES * PAGE_BYTES
    assert "half of the 8 GB of memory" in notes[0]
    _free(monkeypatch, 900e9)
    assert fitting("/x", LARGE, memory=memory)[0].size_bytes == 10**10


@pytest.mark.parametrize("writers", [1, 8, 64])
def test_shards_and_buffers_take_a_quarter_of_the_memory(writers: int) -> None:
    """A shard and a buffer of every writer, and one block, fill a quarter of 24 GB but for less than a page each."""
    setting = Setting(writers, 10**12, 1 << 24, 3)
    each = limit_of_shards(setting, HostMemory(32e9, 24e9, 4e9)).bytes_
    taken = 2 * writers * each + setting.block_bytes
    assert 6e9 - 2 * writers * PAGE_BYTES < taken <= 6e9


def test_what_has_to_be_filled_is_bounded_on_large_machines_too() -> None:
    """With 4 TB of memory, or memory of unknown size, shards and buffers take 64 GiB, which are soon filled."""
    setting = Setting(8, 10**12, 1 << 24, 3)
    for memory in (HostMemory(4e12, 4e12, 8e11), UNKNOWN):
        limit = limit_of_shards(setting, memory)
        assert 2 * 8 * limit.bytes_ <= 64 * 2**30 < 2 * 8 * (limit.bytes_ + PAGE_BYTES) + setting.block_bytes
        assert "64 GiB" in limit.why


def test_the_tightest_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of room and memory the smaller one decides and is the only one named."""
    memory = HostMemory(32e9, 24e9, 4e9)
    for free, phrase in ((900e9, "a quarter of the 24 GB"), (52e9, "52 GB free")):
        _free(monkeypatch, free)
        notes = fitting("/x", LARGE, limit_of_shards(LARGE, memory), memory=memory)[1]
        assert len(notes) == 1
        assert phrase in notes[0]
