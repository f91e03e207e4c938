from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import asynchronous_interval
from ckptplan.interval.breakdown import exact_shares
from ckptplan.interval.host_copy import host_copy_interval, host_copy_shares

SETTINGS = [
    (900.0, 20.0, 600.0, 0.7, 2000.0, 0.8),
    (1500.0, 5.0, 1500.0, 1.0, 4000.0, 0.6),
    (600.0, 0.0, 900.0, 0.5, 3000.0, 1.0),
    (400.0, 30.0, 200.0, 0.0, 1000.0, 0.3),
]


def _timeline(W, d, F, om, until, anew):
    """Instants after a resume at which saves are copied and are durable; ``anew``: it begins with a flush."""
    clock, flush_left = 0.0, F if anew else 0.0
    copied, durable = ([0.0], [F]) if anew else ([], [])
    while clock < until:
        slowly = min(W, om * flush_left)
        clock += (slowly / om if slowly else flush_left if om == 0 else 0.0) + (W - slowly) + d
        copied.append(clock)
        durable.append(clock + F)
        flush_left = F
    return np.array(copied), np.array(durable)


def _recoveries(rng, count, M, D, R, strike, phi):
    """Length of recoveries, and whether a copy outlives the failures inside."""
    unstruck, struck = {Strike.SAFE: (D + R, 0.0), Strike.R: (D, R), Strike.DR: (0.0, D + R)}[strike]
    length, alive, open_ = np.zeros(count), np.ones(count, dtype=bool), np.arange(count)
    while open_.size:
        gap = rng.exponential(M, open_.size)
        fails = gap < struck
        length[open_] += unstruck + np.where(fails, gap, struck)
        open_ = open_[fails]
        alive[open_] &= rng.random(open_.size) < phi
    return length, alive


def _play(W, d, F, om, M, D, R, strike, phi, failures, seed):
    """Useful time and wall time between failures, over many failures."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(M, failures)
    recovery, alive = _recoveries(rng, failures, M, D, R, strike, phi)
    leaves = (rng.random(failures) < phi) & alive
    outcomes = []
    for anew in (False, True):
        copied, durable = _timeline(W, d, F, om, gaps.max() + W + F, anew)
        saves = np.searchsorted(durable, gaps)
        outcomes.append((saves, np.searchsorted(copied, gaps) > saves))
    kept, state = np.empty(failures), 0
    for i in range(failures):
        saves, in_flight = outcomes[state]
        kept[i] = saves[i]
        state = int(in_flight[i] and leaves[i])
    return W * kept, gaps + recovery


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize(("W", "d", "F", "om", "M", "phi"), SETTINGS)
def test_against_simulation(W, d, F, om, M, phi, strike):
    """Goodput agrees with 60,000 simulated failures within four standard errors."""
    D, R = 100.0, 300.0
    useful, wall = _play(W, d, F, om, M, D, R, strike, phi, 60_000, 8)
    goodput = useful.sum() / wall.sum()
    residual = (useful - goodput * wall).reshape(-1, 50).sum(axis=1)  # in blocks: what is kept hangs on the last one
    error = residual.std() / np.sqrt(residual.size) / (50 * wall.mean())
    shares = host_copy_shares(W, d, M, survives=phi, downtime=D, restart=R, strike=strike, flush=F, speed=om)
    assert abs(goodput - shares.useful) < 4 * error
    assert sum(shares) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(("W", "d", "F", "om", "M", "phi"), SETTINGS)
def test_no_surviving_copy_is_the_plain_process(W, d, F, om, M, phi):
    """With phi = 0 the shares are those of asynchronous saves, and the interval is theirs."""
    options = {"downtime": 60, "restart": 500, "flush": F, "speed": om}
    copied, plain = host_copy_shares(W, d, M, survives=0, **options), exact_shares(W, d, M, **options)
    assert np.array(copied) == pytest.approx(np.array(plain), rel=1e-12)
    assert host_copy_interval(d, F, om, M, survives=0) == asynchronous_interval(d, F, om, M)


def test_copy_that_always_survives_pays_no_flush():
    """To first order, a fraction phi of surviving copies takes phi of the flush off the cost of a failure."""
    W, d, F, M = 2000.0, 10.0, 300.0, 1e7
    rework = [float(host_copy_shares(W, d, M, survives=phi, flush=F).rework) * M for phi in (0.0, 0.5, 1.0)]
    assert rework == pytest.approx([W / 2 + d / 2 + F, W / 2 + d / 2 + F / 2, W / 2 + d / 2], rel=2e-3)


def test_with_slow_down_a_copy_is_worth_more_than_first_order_says():
    """A copy that always survives is worth F less the second slow-down, not om F, of each failure."""
    W, d, F, om, M = 2000.0, 10.0, 1500.0, 0.6, 1e7
    plain, copied = (host_copy_shares(W, d, M, survives=phi, flush=F, speed=om) for phi in (0.0, 1.0))
    gain = float(plain.rework - copied.rework) * M
    P = W + d + (1 - om) * F
    # A failure finds a flush under way with probability F/P. Then the copy keeps a period, less one slow-down more.
    assert gain == pytest.approx(F / P * (P - (1 - om) * F), rel=2e-3)
    assert om * F < gain < F


def test_keeps_its_digits_where_failures_are_rare():
    """Rework over a period of 1e-9 of the MTBF equals that of 50-digit arithmetic."""
    import mpmath

    W, d, F, om, M, phi = 1000, 10, 600, 0.75, 1e12, 0.5
    with mpmath.workdps(50):
        exp = mpmath.exp
        lam, P = 1 / mpmath.mpf(M), mpmath.mpf(W + d + (1 - om) * F)
        a = (exp((1 - om) * F * lam) - exp(-om * F * lam)) / (exp(P * lam) - 1)
        b = (1 - exp(-F * lam)) / (1 - exp(-P * lam))
        p = phi * a / (1 - phi * b + phi * a)
        n = (1 - p) * exp(-om * F * lam) / (exp(P * lam) - 1) + p * exp(-F * lam) / (1 - exp(-P * lam))
        rework = float(1 - n * P * lam)
    assert host_copy_shares(W, d, M, survives=phi, flush=F, speed=om).rework == pytest.approx(rework, rel=1e-12)


def test_interval_beats_its_neighbourhood():
    """No interval of a fine grid from the floor to ten times the answer has a higher goodput."""
    for d, F, om, M, phi in (
        (20, 600, 0.7, 2000, 0.8),
        (5, 120, 0.95, 11135, 0.9),
        (1, 600, 1.0, 1824, 1.0),
        (60, 900, 0.3, 1200, 0.5),
        (5, 0, 1.0, 11135, 0.5),
        (0, 900, 0.2, 3000, 1.0),
        (0.01, 2000, 1.0, 2e5, 1.0),
    ):
        W = float(host_copy_interval(d, F, om, M, survives=phi))
        grid = np.maximum(np.geomspace(max(om * F, W / 30), 10 * W, 4000), om * F)
        options = {"survives": phi, "flush": F, "speed": om}
        best = host_copy_shares(grid, d, M, **options).useful.max()
        assert host_copy_shares(W, d, M, **options).useful >= best * (1 - 1e-12)
        assert om * F * (1 - 1e-12) <= W


def test_works_on_arrays():
    """The shape is that of the broadcast arguments, element by element."""
    M, phi = np.array([[2000.0], [8000.0]]), np.array([0.0, 0.4, 1.0])
    W = host_copy_interval(20, 600, 0.7, M, survives=phi)
    assert W.shape == (2, 3)
    assert W[1, 1] == pytest.approx(float(host_copy_interval(20, 600, 0.7, 8000, survives=0.4)), rel=1e-12)


@pytest.mark.parametrize(
    ("W", "d", "M", "phi", "F"),
    [(100, 1, 1000, 0.5, 200), (-1, 1, 1000, 0.5, 0), (100, 1, 0, 0.5, 0), (100, 1, 1000, 1.1, 0), (100, -1, 9, 0, 0)],
)
def test_invalid_is_nan(W, d, M, phi, F):
    """Below the floor and outside the domain the shares are nan."""
    assert np.isnan(host_copy_shares(W, d, M, survives=phi, flush=F).useful)
    assert np.isnan(host_copy_interval(5, 10, 1.0, 100, survives=-0.1))
    assert np.isnan(host_copy_interval(5, 10, 1.0, -100, survives=0.1))
