"""Speed of the optimizers, as ratios to one ``numpy.log1p`` pass: ``python benchmarks/optimizers.py``.

Each method runs over 1e6 scenarios, d/M from 1e-8 to 10 in random order, against one pass of ``numpy.log1p``
over the array of the same ratios. The ratio of two times taken in turn in one process hardly depends on the
clock of the machine; it does depend on which of numpy's loops use the widest registers there. Exits with 1 if
a limit is exceeded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from ckptplan.interval.methods import METHODS

SCENARIOS = 1_000_000
REPEATS = 25
LIMITS = {"young": 2.0, "daly": 2.0, "exact": 12.0}  # passes of log1p


def best_times(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Best time of each call [s], over repeats in turn, so that a disturbance hits all alike."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(REPEATS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> int:
    """Print the table of ratios; 1 if a limit is exceeded."""
    rng = np.random.default_rng(1)
    ratio = 10.0 ** rng.uniform(-8, 1, SCENARIOS)
    mtbf = 10.0 ** rng.uniform(2, 7, SCENARIOS)
    stall = ratio * mtbf
    calls: dict[str, Callable[[], object]] = {"log1p": partial(np.log1p, ratio)}
    for name, method in METHODS.items():
        if method.function is None:
            continue  # it depends on more than stall and MTBF: benchmarks/renewal.py
        calls[name] = partial(method.function, stall, mtbf)
        calls[f"{name}, one MTBF"] = partial(method.function, ratio, 1.0)
    best = best_times(calls)
    unit = best.pop("log1p")
    print(f"{SCENARIOS:,} scenarios; one pass of numpy.log1p = 1")
    print(f"{'method':<18} {'passes':>7} {'limit':>6}")
    exceeded = False
    for name, seconds in best.items():
        limit = LIMITS[name.split(",")[0]]
        over = seconds > limit * unit
        exceeded |= over
        print(f"{name:<18} {seconds / unit:7.2f} {limit:6.0f}{'  exceeded' if over else ''}")
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
