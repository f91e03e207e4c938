from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.simulate.cycles import Share
from ckptplan.simulate.spectrum import (
    FailStop,
    Noticed,
    Silent,
    Slow,
    SpectrumProcess,
    Spike,
    simulate_spectrum,
    simulate_spectrum_runs,
)
from ckptplan.simulate.spectrum.process import checked
from ckptplan.simulate.spectrum.shares import ratio
from tests.simulate.spectrum_event_loop import Loop

NODE, RACK = FailStop("node", 1500.0, 1), FailStop("rack", 6000.0, 2)
ANY, MOST = FailStop("any", 1500.0, (0.6, 0.3, 0.1)), FailStop("most", 6000.0, (0.0, 0.5, 0.5), restart_s=50.0)
TWO = SpectrumProcess(300.0, (2.0, 8.0), (60.0, 300.0), (NODE, RACK), (1, 4), downtime_s=30.0, keep=9)
DRAINED = TWO._replace(flush_s=(0.0, 400.0), speed=(1.0, 0.8))
THREE = SpectrumProcess(
    200.0, (2.0, 5.0, 20.0), (30.0, 100.0, 300.0), (ANY, MOST), (1, 2, 6), (0.0, 150.0, 500.0), (1.0, 0.9, 0.6), keep=9
)
TIGHT = THREE._replace(interval_s=100.0, every=(1, 1, 4), flush_s=(0.0, 80.0, 250.0))
SDC = Silent("sdc", 5000.0, 2000.0)
PROCESSES = {
    "two levels": TWO,
    "drain of several segments": DRAINED,
    "drains in sequence": THREE,
    "drains that newer ones replace": TIGHT._replace(causes=(ANY, MOST, Spike("spike", 2000.0, 200.0, 50.0))),
    "late detection": DRAINED._replace(causes=(NODE, RACK, SDC), keep=(2, 2)),
    "archive": DRAINED._replace(causes=(NODE, RACK, SDC), keep=2, archive_every=3),
    "fixed delay, also on stalls": TWO._replace(
        causes=(NODE, Silent("sdc", 4000.0, 1500.0, fixed=True, on_stalls=True)), keep=(3, 1), strike=Strike.SAFE
    ),
    "restarts by cause and level": DRAINED._replace(
        causes=(
            NODE._replace(restart_s=(40.0, 400.0)),
            RACK._replace(restart_s=(0.0, 1000.0)),
            Noticed("maintenance", 5000.0, level=(0.7, 0.3), restart_s=(100.0, 900.0)),
        ),
    ),
    "verifications": TWO._replace(
        causes=(NODE, RACK, Silent("sdc", 2500.0), Noticed("maintenance", 6000.0, save_s=20.0)),
        verifications=3,
        verify_s=15.0,
    ),
    "spikes": TWO._replace(
        causes=(NODE, RACK, Spike("a", 5000.0, 400.0, 100.0, restart_s=50.0), Spike("b", 8000.0, 0.0, 700.0)),
        keep=(2, 3),
    ),
    "slow nodes": DRAINED._replace(
        causes=(
            NODE,
            RACK,
            Slow("half", 4000.0, 0.5, 1500.0),
            Slow("third", 4000.0, 2.0, 800.0, fixed=True, save_s=300.0),
            Noticed("maintenance", 5000.0),
        ),
    ),
    "everything": THREE._replace(
        causes=(
            FailStop("any", 2500.0, (0.6, 0.3, 0.1)),
            FailStop("all", 9000.0, 3),
            Silent("sdc", 7000.0, 1500.0),
            Spike("spike", 6000.0, 300.0, 100.0),
            Slow("slow", 7000.0, 0.5, 1500.0),
            Noticed("maintenance", 9000.0, level=2),
            Noticed("preempted", 15000.0, notice_s=2.0),
        ),
        keep=(2, 2, 3),
        verifications=1,
        verify_s=5.0,
    ),
}
LOOPS, WARM_UP, RECOVERIES = 20, 10, 80


def _seen(loop: Loop) -> list[float]:
    """Wall time, and all that is compared as a part of it."""
    seen = [loop.wall, loop.position() * loop.p.interval_s, loop.saving, loop.verifying, loop.slowed]
    for name in loop.recovering:
        seen += [loop.recovering[name], loop.thrown_back[name], loop.unkept[name], *loop.rollbacks[name]]
    return seen


def _looped(process: SpectrumProcess) -> np.ndarray:
    rows = []
    for seed in range(LOOPS):
        loop = Loop(checked(process), seed)
        while loop.recoveries < WARM_UP:
            loop.advance()
        start = _seen(loop)
        while loop.recoveries < WARM_UP + RECOVERIES:
            loop.advance()
        rows.append(np.subtract(_seen(loop), start))
    return np.array(rows).T


def _simulated(process: SpectrumProcess) -> list[Share]:
    """The same parts; a count is known to about its square root, far better than the loop knows it."""
    run = simulate_spectrum(process, failures=20_000, seed=1)
    parts = [run.gross.useful, run.gross.save, run.gross.verify, run.gross.slow]
    for cause in run.causes:
        counts = [Share(n / run.wall_s, np.sqrt(n) / run.wall_s) for n in (cause.unkept, *cause.rollbacks)]
        parts += [cause.restart, cause.rework, *counts]
    return parts


def _differences() -> list[float]:
    """Differences in standard errors, of the parts that occur at least 30 times or are no counts."""
    z = []
    for process in PROCESSES.values():
        wall, *looped = _looped(process)
        for part, simulated in zip(looped, _simulated(process), strict=True):
            if np.count_nonzero(part) < LOOPS // 2:
                continue
            value, error = ratio(part, wall)
            z.append((value - simulated.value) / np.hypot(error, simulated.error))
    return z


def test_the_plain_event_loop_agrees():
    """In 12 processes with every kind of cause, each part of wall time and each count is that of a plain loop."""
    z = np.array(_differences())
    assert z.size > 150
    assert np.max(np.abs(z)) < 4.5
    # Parts of one process are correlated, so that the mean square scatters more than that of as many normal variables.
    assert 0.5 < np.mean(z**2) < 1.5


@pytest.mark.parametrize("name", ["drains in sequence", "everything"])
def test_whole_runs_of_the_plain_event_loop(name):
    """Whole runs take as long as those of the loop: mean and spread of the wall time of 20 segments."""
    process = PROCESSES[name]
    work_s = 20.3 * process.interval_s
    walls = np.array([_whole_run(process, work_s, seed) for seed in range(100)])
    runs = simulate_spectrum_runs(process, work_s, runs=4000, seed=2)
    assert abs(walls.mean() - runs.wall.mean) < 4 * np.hypot(
        walls.std() / np.sqrt(walls.size), runs.wall.standard_error
    )
    assert walls.std() == pytest.approx(runs.wall.sd, rel=0.25)


def _whole_run(process: SpectrumProcess, work_s: float, seed: int) -> float:
    """Wall time to the first moment at which the work is done. [s]."""
    loop = Loop(checked(process), seed, is_new=True)
    while loop.position() * process.interval_s < work_s:
        loop.advance(work_s)
    return loop.wall
