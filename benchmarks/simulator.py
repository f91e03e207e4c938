"""Speed of the simulator, as ratios in one run: ``python benchmarks/simulator.py``.

Per failure, the long run and whole runs are measured against numpy drawing one exponential, and against a plain
event loop in Python (`event_loop.py`) at the same setting: a save every 0.05 MTBF, with a flush beside training.
Exits with 1 if a limit is missed. Whole runs keep the books of each run apart and have no limit against the loop.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from event_loop import Setting, play

from ckptplan.cost.scenario import LawName
from ckptplan.simulate import Process, law, simulate_cycles, simulate_runs

FAILURES = 1_000_000
LOOPED = 10_000
REPEATS = 7
MOST_DRAWS = 15.0  # of the time numpy takes for the same number of exponentials
LEAST_SPEEDUP = {"long run": 200.0, "whole runs": 0.0}  # over the event loop

# P = 0.05 M, at a ratio of stall, flush and restart to the MTBF of large public runs.
SETTING = Setting(interval_s=540.0, stall_s=5.0, flush_s=120.0, speed=0.9, recovery_s=600.0, mtbf_s=11140.0)
PROCESS = Process(SETTING.interval_s, SETTING.stall_s, SETTING.flush_s, SETTING.speed, restart_s=SETTING.recovery_s)
GAPS = law(LawName.EXPONENTIAL, SETTING.mtbf_s)


def best_times(calls: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Best time per failure of each call [s], over repeats in turn, so that a disturbance hits all alike."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(REPEATS):
        for name, call in calls.items():
            start = time.perf_counter()
            failures = call()
            best[name] = min(best[name], (time.perf_counter() - start) / failures)
    return best


def draw() -> int:
    """The exponentials alone."""
    np.random.default_rng(1).standard_exponential(FAILURES)
    return FAILURES


def loop() -> int:
    """The event loop."""
    play(SETTING, LOOPED, seed=1)
    return LOOPED


def long_run() -> int:
    """A run without end."""
    return simulate_cycles(PROCESS, GAPS, failures=FAILURES, seed=1).failures


def whole_runs() -> int:
    """Whole runs of about 250 failures each."""
    return int(simulate_runs(PROCESS, GAPS, 200.0 * SETTING.mtbf_s, runs=4096, seed=1).failures.sum())


def main() -> int:
    """Print the table of ratios; 1 if a limit is missed."""
    best = best_times({"draw": draw, "loop": loop, "long run": long_run, "whole runs": whole_runs})
    print(f"numpy draws one exponential in {1e9 * best['draw']:.1f} ns; event loop: {1e6 * best['loop']:.2f} us")
    print(f"{'simulator':<12} {'ns/failure':>11} {'draws':>7} {'at most':>8} {'speed-up':>9} {'at least':>9}")
    missed = False
    for name, least in LEAST_SPEEDUP.items():
        draws, speedup = best[name] / best["draw"], best["loop"] / best[name]
        bad = draws > MOST_DRAWS or speedup < least
        missed |= bad
        numbers = f"{1e9 * best[name]:11.1f} {draws:7.2f} {MOST_DRAWS:8.0f} {speedup:9.0f} {least or '-':>9}"
        print(f"{name:<12} {numbers}{'  missed' if bad else ''}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
