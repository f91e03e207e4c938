"""Bytes to write: random, so that they cannot be compressed, and no page twice, so that none is stored just once."""

import mmap
import os

import numpy as np

PAGE_BYTES = 4096
_POOL_BYTES = 8 << 20  # longer than compressing file systems look back
_WORDS_PER_PAGE = PAGE_BYTES // 8


class Blocks:
    """Blocks of one writer, one after another in memory that begins on a page, as direct I/O needs it."""

    def __init__(self, block_bytes: int, pool_bytes: int = _POOL_BYTES) -> None:
        self.block_bytes = block_bytes
        self._count = max(1, pool_bytes // block_bytes)
        self._map = paged_memory(self._count * block_bytes)
        self._words = np.frombuffer(self._map, dtype=np.uint64)
        generator = np.random.default_rng(np.frombuffer(os.urandom(32), dtype=np.uint32))
        self._words[:] = generator.integers(0, 2**64, size=self._words.size, dtype=np.uint64)
        self._salt = np.uint64(generator.integers(0, 2**64, dtype=np.uint64))
        self._pages = np.uint64(0)

    def next(self) -> memoryview:
        """The next block; every page of it carries a number that no other page has."""
        pages = self.block_bytes // PAGE_BYTES
        at = int(self._pages // np.uint64(pages)) % self._count
        words = self._words[at * self.block_bytes // 8 : (at + 1) * self.block_bytes // 8]
        words[::_WORDS_PER_PAGE] = (self._pages + np.arange(pages, dtype=np.uint64)) ^ self._salt
        self._pages += np.uint64(pages)
        return memoryview(self._map)[at * self.block_bytes : (at + 1) * self.block_bytes]


def paged_memory(size_bytes: int) -> mmap.mmap:
    """Memory of our own that begins on a page.

    Raises
    ------
    MemoryError
        If there is none.
    """
    try:
        return mmap.mmap(-1, size_bytes)
    except OSError as error:
        raise MemoryError from error


def memory_needed(block_bytes: int, pool_bytes: int = _POOL_BYTES) -> int:
    """Bytes that the blocks of one writer take."""
    return max(1, pool_bytes // block_bytes) * block_bytes
