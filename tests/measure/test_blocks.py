"""Bytes to write: no page twice, and nothing that can be compressed."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from ckptplan.measure.blocks import PAGE_BYTES, Blocks, memory_needed


@pytest.mark.parametrize("block_bytes", [PAGE_BYTES, 16 * PAGE_BYTES])
def test_no_page_comes_twice(block_bytes: int) -> None:
    """Far beyond the pool, and for two writers, every page of 4 KiB differs from every other one."""
    seen: set[bytes] = set()
    count = 0
    for blocks in (Blocks(block_bytes, pool_bytes=1 << 16), Blocks(block_bytes, pool_bytes=1 << 16)):
        for _ in range(100):
            data = bytes(blocks.next())
            assert len(data) == block_bytes
            pages = [data[at : at + PAGE_BYTES] for at in range(0, block_bytes, PAGE_BYTES)]
            seen.update(pages)
            count += len(pages)
    assert len(seen) == count


def test_it_does_not_compress() -> None:
    """The default pool, written once over, does not get smaller."""
    blocks = Blocks(1 << 20)
    data = b"".join(bytes(blocks.next()) for _ in range(16))
    assert len(zlib.compress(data, 6)) > 0.999 * len(data)


def test_it_begins_on_a_page() -> None:
    """Direct I/O needs memory that begins on a page."""
    blocks = Blocks(PAGE_BYTES, pool_bytes=8 * PAGE_BYTES)
    for _ in range(10):
        assert np.frombuffer(blocks.next(), dtype=np.uint8).ctypes.data % PAGE_BYTES == 0


def test_memory_is_told_beforehand() -> None:
    """A pool holds whole blocks, one at least."""
    assert memory_needed(1 << 20, 8 << 20) == 8 << 20
    assert memory_needed(16 << 20, 8 << 20) == 16 << 20
    assert memory_needed(3 << 20, 8 << 20) == 6 << 20
