"""Memory that is kept from block to block, in large pages where the system has them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_PAGE_BYTES = 1 << 21  # a large page of x86-64, and of Arm with small pages of 4 kB
_ASKED_BYTES = 1 << 22  # numpy asks Linux for large pages for arrays of at least this size


def buffer(size_bytes: int) -> NDArray[np.uint8]:
    """Bytes of no meaning, from the start of a large page on.

    With pages of 4 kB a pass over some megabytes looks up the places of more pages than a core remembers. What lies
    before and behind is asked for and never touched, so that it takes no memory.
    """
    held = np.empty(max(size_bytes + _PAGE_BYTES, _ASKED_BYTES), dtype=np.uint8)
    start = -held.ctypes.data % _PAGE_BYTES
    return held[start : start + size_bytes]
