"""The fault spectrum, simulated, against formulas and Markov chains that share no line with the simulator.

Every group of settings is judged as a whole: no setting is off by more than `LARGEST_Z` standard errors, and the sum
of squares is that of as many independent normal variables, from both sides (1 in 1000 groups would miss each).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_shares, gross_shares
from ckptplan.interval.finite import expected_time
from ckptplan.interval.host_copy import host_copy_shares
from ckptplan.simulate.spectrum import (
    FailStop,
    SpectrumLongRun,
    SpectrumProcess,
    simulate_spectrum,
    simulate_spectrum_runs,
)

M = 10_000.0
LARGEST_Z = 4.0


def judge(z: list[float], settings: int) -> None:
    """Largest difference, and all of them together, in standard errors."""
    assert len(z) == settings
    assert np.max(np.abs(z)) < LARGEST_Z
    low, high = stats.chi2.ppf([0.001, 0.999], settings)
    assert low < np.sum(np.square(z)) < high


def goodput_z(run: SpectrumLongRun, predicted: float) -> float:
    """Difference of the goodput from a prediction, in standard errors."""
    return (run.goodput - predicted) / run.goodput_error


def test_one_level_against_the_exact_shares():
    """Fail-stop causes on one level give the exact shares, whatever is struck, with drains at any speed: 24 settings.

    Two causes of half the rate each are one; goodput and restarts are judged, rework in each setting.
    """
    useful, restart = [], []
    drains = ((0.0, 1.0), (300.0, 0.8), (1000.0, 1.0), (700.0, 0.0))
    grid = itertools.product(Strike, drains, (20.0, 100.0))
    for seed, (strike, (flush, speed), d) in enumerate(grid):
        causes = (FailStop("a", 2 * M, 1), FailStop("b", 2 * M, (1.0,)))
        process = SpectrumProcess(
            1100.0, (d,), (600.0,), causes, (1,), (flush,), (speed,), downtime_s=100.0, strike=strike
        )
        run = simulate_spectrum(process, failures=8000, seed=seed)
        exact = exact_shares(1100.0, d, M, downtime=100.0, restart=600.0, strike=strike, flush=flush, speed=speed)
        useful.append(goodput_z(run, float(exact.useful)))
        restart.append((run.kept.restart.value - float(exact.restart)) / run.kept.restart.error)
        assert run.kept.save.value == pytest.approx(float(exact.save) * run.goodput / float(exact.useful), rel=1e-9)
        assert abs(run.kept.rework.value - float(exact.rework)) < LARGEST_Z * run.kept.rework.error
    judge(useful, 24)
    judge(restart, 24)


def test_one_level_against_the_gross_ledger():
    """Every second in a save is booked as one in the ledger "gross"."""
    process = SpectrumProcess(1100.0, (200.0,), (600.0,), (FailStop("crash", M),))
    run = simulate_spectrum(process, failures=200_000, seed=1)
    exact = gross_shares(1100.0, 200.0, M, restart=600.0)
    for part in ("save", "rework"):
        share = getattr(run.gross, part)
        assert abs(share.value - float(getattr(exact, part))) < LARGEST_Z * share.error


def _chain_goodput(process: SpectrumProcess) -> float:
    """Goodput of synchronous levels: time from top save to top save by one linear system.

    Unknown are the times to the next top save from each save in between, and from each recovery begun there.
    """
    n, levels = process.every[-1], len(process.every)
    rates = np.zeros(levels)
    for cause in process.causes:
        rates += (
            np.eye(levels)[cause.level - 1] / cause.mtbf_s
            if isinstance(cause.level, int)
            else np.divide(cause.level, cause.mtbf_s)
        )
    rate = rates.sum()
    size = n * (1 + levels)  # V_j at j, Y_{m,j} at n (1 + m) + j
    matrix, right = np.eye(size), np.zeros(size)
    for j in range(n):
        level = max(m for m in range(levels) if (j + 1) % process.every[m] == 0)
        through = math.exp(-rate * (process.interval_s + process.slot_stall_s[level]))
        right[j] = (1 - through) / rate
        if j + 1 < n:
            matrix[j, j + 1] -= through
        for m in range(levels):
            matrix[j, n * (1 + m) + j] -= (1 - through) * rates[m] / rate
            row, R, D = n * (1 + m) + j, process.restart_s[m], process.downtime_s
            safe, struck = {"safe": (D + R, 0.0), "R": (D, R), "DR": (0.0, D + R)}[str(process.strike)]
            passes = math.exp(-rate * struck)
            right[row] = safe + (1 - passes) / rate
            matrix[row, j // process.every[m] * process.every[m]] -= passes
            for k in range(levels):
                matrix[row, n * (1 + max(m, k)) + j] -= (1 - passes) * rates[k] / rate
    return n * process.interval_s / float(np.linalg.solve(matrix, right)[0])


TWO = SpectrumProcess(600.0, (5.0, 65.0), (60.0, 600.0), (FailStop("a", 8000.0, 1), FailStop("b", 40000.0, 2)), (1, 4))
THREE = SpectrumProcess(
    300.0,
    (2.0, 22.0, 202.0),
    (30.0, 120.0, 900.0),
    (FailStop("a", 4000.0, 1), FailStop("b", 20000.0, 2), FailStop("c", 80000.0, 3)),
    (1, 3, 12),
)
LEVELS = (
    TWO,
    THREE,
    TWO._replace(interval_s=2000.0, every=(1, 1), restart_s=(600.0, 200.0)),
    # A copy in the memory of a peer is left with probability 0.8, the next level in the other cases.
    TWO._replace(causes=(FailStop("a", 3000.0, (0.8, 0.2)),), slot_stall_s=(1.0, 30.0), every=(1, 10)),
    THREE._replace(causes=(FailStop("a", 1500.0, (0.5, 0.3, 0.2)), FailStop("b", 20000.0, 3)), every=(1, 2, 4)),
    THREE._replace(interval_s=100.0, slot_stall_s=(0.0, 10.0, 50.0), every=(1, 5, 20)),
)


@pytest.mark.parametrize(
    ("process", "strike", "expected"),
    [(TWO, "safe", 0.8813463537), (TWO, "DR", 0.8804652366), (THREE, "DR", 0.8219838671)],
)
def test_the_chain_itself(process, strike, expected):
    """The linear system of this file gives the reference values of the Markov chain."""
    assert _chain_goodput(process._replace(strike=Strike(strike))) == pytest.approx(expected, rel=1e-9)


def test_levels_against_the_chain():
    """Nested levels without drains give the goodput of their Markov chain: 36 settings."""
    z = []
    for seed, (process, strike, down) in enumerate(itertools.product(LEVELS, Strike, (0.0, 150.0))):
        played = process._replace(strike=strike, downtime_s=down)
        z.append(goodput_z(simulate_spectrum(played, failures=12_000, seed=seed), _chain_goodput(played)))
    judge(z, 36)


def test_a_host_copy_that_survives():
    """A copy in host memory as level 1 and its drain as level 2 give the exact shares: 12 settings."""
    z = []
    grid = itertools.product(Strike, (0.3, 0.9), ((2000.0, 0.9), (1500.0, 0.5)))
    for seed, (strike, phi, (flush, speed)) in enumerate(grid):
        process = SpectrumProcess(
            1800.0, (20.0, 20.0), (1500.0, 1500.0), (FailStop("a", M, (phi, 1 - phi)),), (1, 1), (0.0, flush),
            (1.0, speed), 200.0, strike,
        )  # fmt: skip
        exact = host_copy_shares(
            1800.0, 20.0, M, survives=phi, downtime=200.0, restart=1500.0, strike=strike, flush=flush, speed=speed
        )
        z.append(goodput_z(simulate_spectrum(process, failures=8000, seed=seed), float(exact.useful)))
    judge(z, 12)


@pytest.mark.parametrize("strike", list(Strike))
def test_a_drain_to_the_second_level(strike):
    """The reference: goodput between 1 - H and 1/(1 + H) of the first-order form, whatever failures strike."""
    process = SpectrumProcess(
        300.0, (2.0, 2.0), (60.0, 600.0), (FailStop("a", 20_000.0, 1), FailStop("b", 60_000.0, 2)), (1, 4),
        (0.0, 400.0), (1.0, 0.95), strike=strike,
    )  # fmt: skip
    H = _drained_overhead(process)
    assert pytest.approx(0.06016666667, rel=1e-9) == H
    run = simulate_spectrum(process, failures=100_000, seed=1)
    assert run.goodput_error < 2e-4
    assert 1 - H + 4 * run.goodput_error < run.goodput < 1 / (1 + H) - 4 * run.goodput_error


def test_drains_over_a_grid():
    """Over 8 settings with an overhead of 7 to 54 %, one close to the floor, goodput lies between the same bounds."""
    grid = itertools.product((150.0, 600.0), (4, 12), (0.5, 0.95))
    for seed, (W, n, speed) in enumerate(grid):
        causes = (FailStop("a", 20_000.0, 1), FailStop("b", 60_000.0, 2))
        process = SpectrumProcess(
            W, (2.0, 2.0), (60.0, 600.0), causes, (1, n), (0.0, 600.0), (1.0, speed), strike=Strike.SAFE
        )
        run, H = simulate_spectrum(process, failures=20_000, seed=seed), _drained_overhead(process)
        assert 1 - H < run.goodput < 1 / (1 + H)


def _drained_overhead(process: SpectrumProcess) -> float:
    """First order: saves, slow-down by the drain, and half a period of each level plus the drained work."""
    W, n, om, flush = process.interval_s, process.every[1], process.speed[1], process.flush_s[1]
    first, second = (1 / cause.mtbf_s for cause in process.causes)
    lost = first * (W / 2 + process.restart_s[0]) + second * (n * W / 2 + om * flush + process.restart_s[1])
    return process.slot_stall_s[0] / W + (1 - om) * flush / (n * W) + lost


def test_whole_runs():
    """Whole runs of one level take the expected time of the formula, whatever failures strike."""
    for strike in Strike:
        process = SpectrumProcess(
            3000.0, (1500.0,), (1000.0,), (FailStop("crash", 4000.0),), downtime_s=200.0, strike=strike
        )
        wall = simulate_spectrum_runs(process, 20_000.0, runs=8000, seed=1).wall
        expected = float(expected_time(20_000.0, 3000.0, 1500.0, 4000.0, downtime=200.0, restart=1000.0, strike=strike))
        assert abs(wall.mean - expected) < LARGEST_Z * wall.standard_error


def test_a_long_run_of_finite_work_is_the_long_run():
    """Whole runs of 600 segments on three levels have the goodput of the chain, but for their ends."""
    runs = simulate_spectrum_runs(THREE, 180_000.0, runs=300, seed=1)
    # The start has no recovery behind it, the last segment no save: less than a period of the top level in fifty.
    bound = 4 * runs.wall.standard_error / runs.wall.mean + 0.3 / 50
    assert abs(runs.work_s / runs.wall.mean - _chain_goodput(THREE)) < bound
