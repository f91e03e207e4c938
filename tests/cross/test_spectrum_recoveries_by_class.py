"""Recoveries that differ by class and by tier, one of them as long as the MTBF: simulation and formula against a chain.

The chain is one linear system with a state for each recovery: its class, the level that it goes back to, and the slot
after which it was struck. It shares no line with either.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.tier_chain import tier_goodput
from ckptplan.interval.tier_recovery import Causes
from ckptplan.simulate.spectrum import FailStop, SpectrumProcess, simulate_spectrum
from tests.cross.test_spectrum_against_chain import goodput_z, judge

MANUAL = 12_000.0  # about the MTBF of all classes together
ORDINARY = FailStop("process", 14_000.0, 1, 180.0, (250.0, 420.0))
HARD = FailStop("manual", 55_000.0, 1, 60.0, (MANUAL, MANUAL))
RACK = FailStop("rack", 100_000.0, 2, 180.0, (250.0, 900.0))
TWO = SpectrumProcess(320.0, (5.0, 65.0), (0.0, 0.0), (ORDINARY, HARD, RACK), (1, 10))
PROCESSES = (
    TWO,
    TWO._replace(causes=(ORDINARY, RACK._replace(mtbf_s=40_000.0, restart_s=(0.0, MANUAL)))),
    TWO._replace(causes=(ORDINARY, HARD._replace(restart_s=(600.0, MANUAL)), RACK), interval_s=900.0, every=(1, 3)),
    SpectrumProcess(
        300.0,
        (2.0, 22.0, 102.0),
        (0.0, 0.0, 0.0),
        (
            FailStop("process", 14_000.0, 1, 60.0, (100.0, 300.0, 900.0)),
            FailStop("manual", 60_000.0, 2, 0.0, (0.0, 9000.0, MANUAL)),
            FailStop("rack", 90_000.0, 3, 120.0, (0.0, 0.0, 2000.0)),
        ),
        (1, 3, 12),
    ),
)


def chain_goodput(process: SpectrumProcess) -> float:
    """Goodput from the time from one top save to the next, by one linear system."""
    n, levels, causes = process.every[-1], len(process.every), process.causes
    rates = np.array([1.0 / cause.mtbf_s for cause in causes])
    rate = rates.sum()
    states = itertools.product(range(len(causes)), range(levels), range(n))
    recovering = {state: n + number for number, state in enumerate(states)}
    matrix, right = np.eye(n + len(recovering)), np.zeros(n + len(recovering))
    for j in range(n):
        level = max(m for m in range(levels) if (j + 1) % process.every[m] == 0)
        through = math.exp(-rate * (process.interval_s + process.slot_stall_s[level]))
        right[j] = (1.0 - through) / rate
        if j + 1 < n:
            matrix[j, j + 1] -= through
        for c, cause in enumerate(causes):
            matrix[j, recovering[c, cause.level - 1, j]] -= (1.0 - through) * rates[c] / rate
    for (c, m, j), row in recovering.items():
        D, R = causes[c].downtime_s, causes[c].restart_s[m]
        safe, struck = {"safe": (D + R, 0.0), "R": (D, R), "DR": (0.0, D + R)}[str(process.strike)]
        passes = math.exp(-rate * struck)
        right[row] = safe + (1.0 - passes) / rate
        matrix[row, j // process.every[m] * process.every[m]] -= passes
        for k, striker in enumerate(causes):
            matrix[row, recovering[k, max(m, striker.level - 1), j]] -= (1.0 - passes) * rates[k] / rate
    return n * process.interval_s / float(np.linalg.solve(matrix, right)[0])


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("process", PROCESSES)
def test_the_formula_is_the_chain(process: SpectrumProcess, strike: Strike) -> None:
    """The closed form over several tiers is the chain for recoveries that differ by class and by tier."""
    D = np.array([[cause.downtime_s] for cause in process.causes])
    R = np.array([cause.restart_s for cause in process.causes])
    levels = [cause.level for cause in process.causes]
    causes = Causes([1.0 / cause.mtbf_s for cause in process.causes], levels, recovery_parts(D, R, strike))
    found = tier_goodput(process.interval_s, process.every, process.slot_stall_s, causes)
    assert float(found) == pytest.approx(chain_goodput(process._replace(strike=strike)), rel=1e-11)


def test_the_simulation_is_the_chain() -> None:
    """Each class is played with its own recovery from each tier: 12 settings."""
    z = []
    for seed, (process, strike) in enumerate(itertools.product(PROCESSES, Strike)):
        played = process._replace(strike=strike)
        z.append(goodput_z(simulate_spectrum(played, failures=40_000, seed=seed), chain_goodput(played)))
    judge(z, 12)


def test_a_mean_recovery_would_not_do() -> None:
    """The mean recovery of each tier, in place of those of the classes, is three points off where they are struck."""
    process = TWO._replace(strike=Strike.DR)
    rates = np.array([1.0 / cause.mtbf_s for cause in process.causes[:2]])
    mean = tuple(float(rates @ [cause.restart_s[m] for cause in process.causes[:2]] / rates.sum()) for m in (0, 1))
    alike = [cause._replace(restart_s=mean) for cause in process.causes[:2]]
    assert chain_goodput(process) - chain_goodput(process._replace(causes=(*alike, RACK))) > 0.03
