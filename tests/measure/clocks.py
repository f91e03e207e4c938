"""A clock that does not depend on how fast the machine is."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable


def ticking(step_s: float = 0.5) -> Callable[[], float]:
    """Every reading is one step later than the one before, whichever thread reads."""
    ticks, lock = itertools.count(), threading.Lock()

    def read() -> float:
        with lock:
            return next(ticks) * step_s

    return read
