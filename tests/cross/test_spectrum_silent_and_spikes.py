"""Silent errors, spikes, slow nodes and notice, simulated, against formulas that share no line with the simulator.

Each group of settings is judged as a whole, as the levels are.
"""

from __future__ import annotations

import itertools
import math

import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.simulate.spectrum import FailStop, Noticed, Silent, Slow, SpectrumProcess, Spike, simulate_spectrum
from tests.cross.test_spectrum_against_chain import LARGEST_Z, M, goodput_z, judge


def _verified_goodput(W: float, V: float, C: float, m: int, lf: float, ls: float, R: float) -> float:
    """Work over the expected time of a verified segment; R without failures (Benoit et al. 2016)."""
    w = W / m
    step = math.exp(-lf * (w + V) - ls * w)
    p = step**m * math.exp(-lf * C)
    time = sum(step**i for i in range(m)) * -math.expm1(-lf * (w + V)) / lf
    time += step**m * -math.expm1(-lf * C) / lf + (1 - p) * R
    return W * p / time


def test_verified_saves():
    """Verified saves give the exact goodput with one or more verifications per segment: 24 settings."""
    assert _verified_goodput(2000, 30, 60, 1, 8.98069151325e-05, 2.5e-05, 600) == pytest.approx(0.776760708, rel=1e-9)
    z = []
    grid = itertools.product((800.0, 3000.0), (1, 2, 5), (20.0, 200.0), (5_000.0, 40_000.0))
    for seed, (W, m, V, silent) in enumerate(grid):
        causes = (FailStop("crash", M), Silent("sdc", silent))
        process = SpectrumProcess(W, (60.0,), (600.0,), causes, strike=Strike.SAFE, verifications=m, verify_s=V, keep=1)
        run = simulate_spectrum(process, failures=15_000, seed=seed)
        z.append(goodput_z(run, _verified_goodput(W, V, 60.0, m, 1 / M, 1 / silent, 600.0)))
        assert run.causes[1].unkept == 0
    judge(z, 24)


P = 1200.0
RARE = 1e7  # mean work between errors: the phase in the period is uniform, and all places are taken again


def _unkept(process: SpectrumProcess, seed: int) -> tuple[int, int]:
    run = simulate_spectrum(process, failures=20_000, seed=seed)
    return run.causes[0].unkept, run.causes[0].events


def test_retention_with_an_exponential_delay():
    """The share of errors for which no clean save is left is that of the formula: 12 settings.

    The phase of an error is uniform over the work of a period; the formula has it over the period, and holds without
    stall. With a stall of 300 s the share follows from the same condition, phase + delay < k P.
    """
    z = []
    for seed, (keep, mean, stall) in enumerate(itertools.product((1, 2, 5), (1200.0, 3600.0), (0.0, 300.0))):
        process = SpectrumProcess(P - stall, (stall,), (60.0,), (Silent("sdc", RARE, mean),), keep=keep)
        W = P - stall
        expected = math.exp(-keep * P / mean) * math.expm1(W / mean) * mean / W
        if stall == 0.0:
            formula = math.exp(-(keep - 1) * P / mean) * -math.expm1(-P / mean) * mean / P
            assert expected == pytest.approx(formula, rel=1e-12)
        unkept, events = _unkept(process, seed)
        z.append((unkept / events - expected) / math.sqrt(expected * (1 - expected) / events))
    judge(z, 12)


def test_saves_to_keep():
    """22 saves of 1200 s leave less than one error in 1000 without a clean one at a mean delay of an hour, 21 more."""
    sdc = Silent("sdc", RARE, 3600.0)
    for keep, expected in ((21, 1.0824e-3), (22, 7.7558e-4)):
        run = simulate_spectrum(SpectrumProcess(P, (0.0,), (60.0,), (sdc,), keep=keep), failures=400_000, seed=keep)
        unkept, events = run.causes[0].unkept, run.causes[0].events
        assert abs(unkept - events * expected) < LARGEST_Z * math.sqrt(events * expected)


@pytest.mark.parametrize(
    ("delay", "keep", "expected"),
    [(3600.0, 4, 0.0), (3600.0, 3, 1.0), (3000.0, 3, 0.5), (3000.0, 4, 0.0), (300.0, 1, 0.25), (300.0, 2, 0.0)],
)
def test_retention_with_a_fixed_delay(delay, keep, expected):
    """A delay of L needs ``ceil(L/P) + 1`` saves; with one fewer the phase decides."""
    process = SpectrumProcess(P, (0.0,), (60.0,), (Silent("sdc", RARE, delay, fixed=True),), keep=keep)
    unkept, events = _unkept(process, seed=1)
    assert abs(unkept - events * expected) <= LARGEST_Z * math.sqrt(events * expected * (1 - expected))
    assert keep < math.ceil(delay / P) + 1 or unkept == 0


def _spike_overhead(W: float, d: float, mtbf: float, back: float, lag: float, R: float) -> float:
    """Saves of new work; per spike the work from the mean save before it, the saves in that, and a restart."""
    return d / W + (back + lag + W / 2 + d * (back + lag) / W + R) / mtbf


def test_spikes():
    """Loss spikes give the overhead of the formula in the limit of short steps: 16 settings."""
    z = []
    grid = itertools.product((300.0, 2000.0), (0.0, 700.0), (0.0, 60.0), (2000.0, 50_000.0))
    for seed, (W, back, lag, mtbf) in enumerate(grid):
        causes = (Spike("spike", mtbf, back, lag),)
        process = SpectrumProcess(W, (10.0,), (300.0,), causes)
        run = simulate_spectrum(process, failures=15_000, seed=seed)
        z.append(goodput_z(run, 1 / (1 + _spike_overhead(W, 10.0, mtbf, back, lag, 300.0))))
        assert run.causes[0].unkept == 0
    judge(z, 16)


def test_spikes_in_whole_steps():
    """The reference with 50 steps of 6 s: the same saves are chosen with B - 1 steps back, noticed B + 1/2 later.

    A spike in the middle of its step then loses 134.5 steps on average, but half a step's share of the saves less.
    Four saves are enough, three are not.
    """
    t, d, n, B, lag, per_step = 6.0, 10.0, 50, 100, 10, 0.000990099009901
    reference = d / (n * t) + per_step * ((B + lag + (n - 1) / 2) * t + d * (B + lag) / n + 300.0) / t
    assert reference == pytest.approx(0.2196369637, rel=1e-9)
    causes = (Spike("spike", t / per_step, (B - 1) * t, (lag + 0.5) * t),)
    process = SpectrumProcess(n * t, (d,), (300.0,), causes, keep=4)
    run = simulate_spectrum(process, failures=100_000, seed=1)
    spikes = run.causes[0].events
    # The phase of the spike is uniform: its standard deviation is W over the root of 12.
    steps_lost = run.causes[0].rework.value * run.wall_s / spikes / t
    assert abs(steps_lost - 134.5) < LARGEST_Z * n / math.sqrt(12 * spikes)
    assert abs(goodput_z(run, 1 / (1 + reference - per_step / t * d * 0.5 / n))) < LARGEST_Z
    assert run.causes[0].unkept == 0
    assert simulate_spectrum(process._replace(keep=3), failures=10_000, seed=2).causes[0].unkept > 0


def test_slow_nodes_and_notice():
    """With free saves an eviction and a planned interruption cost what a cycle of them costs: 12 settings."""
    z = []
    for seed, (slowdown, delay, fixed) in enumerate(itertools.product((0.1, 1.0), (300.0, 5000.0), (True, False))):
        slow = Slow("slow", M, slowdown, delay, fixed=fixed, save_s=40.0, downtime_s=60.0)
        run = simulate_spectrum(SpectrumProcess(500.0, (0.0,), (600.0,), (slow,)), failures=8000, seed=seed)
        z.append(goodput_z(run, (M + delay / (1 + slowdown)) / (M + delay + 700.0)))
        share = run.gross.slow
        assert share.value == run.causes[0].slow.value
        expected = delay * slowdown / (1 + slowdown) / (M + delay + 700.0)
        assert abs(share.value - expected) < LARGEST_Z * share.error
    for seed, (save_s, down) in enumerate(itertools.product((0.0, 500.0), (0.0, 200.0)), start=100):
        noticed = Noticed("maintenance", M, save_s=save_s, downtime_s=down)
        run = simulate_spectrum(SpectrumProcess(500.0, (0.0,), (600.0,), (noticed,)), failures=8000, seed=seed)
        z.append(goodput_z(run, M / (M + save_s + down + 600.0)))
        for ledger in (run.gross, run.kept):
            assert ledger.rework.value == pytest.approx(0.0, abs=1e-12)
    judge(z, 12)
