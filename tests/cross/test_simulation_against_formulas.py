from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_goodput, exact_shares, gross_shares
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.finite import expected_time, time_variance
from ckptplan.interval.host_copy import host_copy_shares
from ckptplan.interval.renewal import renewal_goodput
from ckptplan.simulate import Process, law, nodes, simulate_cycles, simulate_runs, standard_errors

M = 11135.0
LARGEST_Z = 4.0
LARGEST_MEAN_Z = 0.3


def _settings() -> list[tuple[Process, int]]:
    """66 processes that span the ranges, each with its own seed: 45 synchronous, 21 asynchronous."""
    strikes = itertools.cycle(Strike)
    restarts = itertools.cycle((0.0, 0.05, 0.3, 1.0))
    settings = []
    for stall, longer in itertools.product((1e-4, 1e-3, 1e-2, 1e-1, 1.0), (0.3, 1.0, 3.0)):
        W = float(exact_interval(stall * M, M)) * longer
        for restart in (0.0, 0.1, 1.0):
            settings.append(Process(W, stall * M, 0.0, 1.0, 0.02 * M, restart * M, next(strikes)))
    for flush, speed in itertools.product((1e-3, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0), (0.0, 0.7, 1.0)):
        W = max(0.1 * M, speed * flush * M)
        settings.append(Process(W, 1e-3 * M, flush * M, speed, 0.01 * M, next(restarts) * M, next(strikes)))
    return [(process, seed) for seed, process in enumerate(settings)]


def _arguments(process: Process) -> dict[str, object]:
    return {"downtime": process.downtime_s, "restart": process.restart_s, "strike": process.strike}


def _flush(process: Process) -> dict[str, float]:
    return {"flush": process.flush_s, "speed": process.speed}


@pytest.fixture(scope="module")
def simulated():
    """Each setting, simulated."""
    gaps = law("exponential", M)
    return [simulate_cycles(process, gaps, failures=400_000, seed=seed) for process, seed in _settings()]


def test_the_grid_spans_the_ranges():
    """There are at least 60 settings, from d/M = 1e-4 to 1, F/M, om and R/M from 0 to 1, with every kind of strike."""
    processes = [process for process, _ in _settings()]
    assert len(processes) >= 60
    for field, low, high in (("stall_s", 1e-4 * M, M), ("flush_s", 0, M), ("speed", 0, 1), ("restart_s", 0, M)):
        values = [getattr(process, field) for process in processes]
        assert (min(values), max(values)) == (low, high)
    assert {process.strike for process in processes} == set(Strike)


@pytest.mark.parametrize("part", ["useful", "save", "rework", "restart"])
def test_kept_ledger(simulated, part):
    """Every share of the ledger "kept" is that of the exact form, without bias over the grid."""
    z = []
    for run in simulated:
        p = run.process
        exact = exact_shares(p.interval_s, p.stall_s, M, **_arguments(p), **_flush(p))
        share = getattr(run.kept, part)
        if share.error == 0.0:  # no recovery at all
            assert share.value == float(getattr(exact, part))
            continue
        z.append(standard_errors(share.value, share.error, float(getattr(exact, part))))
    assert abs(np.mean(z)) <= LARGEST_MEAN_Z
    assert np.max(np.abs(z)) <= LARGEST_Z


@pytest.mark.parametrize("part", ["save", "rework"])
def test_gross_ledger(simulated, part):
    """Synchronous saves: the ledger "gross" is that of the exact form, without bias over the grid."""
    z = []
    for run in simulated:
        p = run.process
        if p.flush_s > 0.0:
            continue
        exact = gross_shares(p.interval_s, p.stall_s, M, **_arguments(p))
        z.append(standard_errors(*getattr(run.gross, part), float(getattr(exact, part))))
    assert len(z) == 45
    assert abs(np.mean(z)) <= LARGEST_MEAN_Z
    assert np.max(np.abs(z)) <= LARGEST_Z


def _renewal_goodput(process: Process, survival) -> float:
    """Durable work per failure over time per failure: W sum_k S(k P + om F, after what a failure may strike) / C."""
    p = process
    period = p.interval_s + p.stall_s + (1 - p.speed) * p.flush_s
    D, R = p.downtime_s, p.restart_s
    struck, cycle = {"safe": (0.0, M + D + R), "R": (R, M + D), "DR": (D + R, M)}[str(p.strike)]
    k = np.arange(1, 400_000)
    return float(p.interval_s * survival(struck + k * period + p.speed * p.flush_s).sum() / cycle)


def _frozen(name: str, shape: float):
    match name:
        case "weibull":
            unit = stats.weibull_min(shape)
        case "gamma":
            unit = stats.gamma(shape)
        case _:
            unit = stats.lognorm(shape)
    return lambda t: unit.sf(t * unit.mean() / M)


LAWS = [
    ("weibull", 0.5),
    ("weibull", 0.7),
    ("weibull", 1.0),
    ("weibull", 2.0),
    ("gamma", 0.5),
    ("gamma", 1.0),
    ("gamma", 3.0),
    ("lognormal", 0.5),
    ("lognormal", 1.5),
]


def test_other_laws():
    """Weibull, gamma and log-normal gaps give the goodput of the renewal sum, whatever a failure may strike."""
    z = []
    for seed, ((name, shape), strike) in enumerate(itertools.product(LAWS, Strike)):
        process = Process(1100.0, 30.0, 300.0, 0.8, 100.0, 600.0, strike)
        run = simulate_cycles(process, law(name, M, shape), failures=300_000, seed=1000 + seed)
        predicted = _renewal_goodput(process, _frozen(name, shape))
        formula = renewal_goodput(1100.0, 30.0, M, name, shape, **_arguments(process), **_flush(process))
        assert float(formula) == pytest.approx(predicted, rel=1e-8)
        z.append(standard_errors(run.goodput, run.goodput_error, predicted))
    assert abs(np.mean(z)) <= 4 / np.sqrt(len(z))
    assert np.max(np.abs(z)) <= LARGEST_Z


@pytest.mark.parametrize(("number", "name", "shape"), [(n, *one) for n, one in enumerate(LAWS, start=1)])
def test_other_laws_over_the_grid(number, name, shape):
    """Over at least 60 of the settings each law gives the goodput of the renewal formula, without bias.

    Left out are settings in which hardly any save is ever kept (fewer than 400 in 40,000 failures).
    """
    z = []
    for p, seed in _settings():
        predicted = float(renewal_goodput(p.interval_s, p.stall_s, M, name, shape, **_arguments(p), **_flush(p)))
        cycle = {"safe": M + p.downtime_s + p.restart_s, "R": M + p.downtime_s, "DR": M}[str(p.strike)]
        if 40_000 * predicted * cycle / p.interval_s < 400:
            continue
        run = simulate_cycles(p, law(name, M, shape), failures=40_000, seed=10_000 * number + seed)
        z.append(standard_errors(run.goodput, run.goodput_error, predicted))
    assert len(z) >= 60
    assert abs(np.mean(z)) <= LARGEST_MEAN_Z
    assert np.max(np.abs(z)) <= LARGEST_Z


def test_several_saves_in_flight():
    """At full speed while flushing, saves closer together than a flush give the exact shares, both ways of striking."""
    z = []
    for seed, (buffers, strike) in enumerate(itertools.product((2, 3, 8), Strike), start=3000):
        p = Process(0.2 * M / buffers, 0.01 * M, 0.2 * M, 1.0, 0.02 * M, 0.05 * M, strike, in_flight=buffers)
        run = simulate_cycles(p, law("exponential", M), failures=200_000, seed=seed)
        exact = exact_shares(p.interval_s, p.stall_s, M, **_arguments(p), **_flush(p), in_flight=buffers)
        z += [standard_errors(*getattr(run.kept, part), float(getattr(exact, part))) for part in ("useful", "rework")]
    assert np.max(np.abs(z)) <= LARGEST_Z


def test_laws_meet_at_shape_1():
    """Weibull and gamma with shape 1 give the exact goodput of exponential failures."""
    process = Process(1100.0, 60.0, restart_s=600.0)
    exact = float(exact_goodput(1100.0, 60.0, M, restart=600.0))
    for seed, name in enumerate(("weibull", "gamma"), start=2000):
        run = simulate_cycles(process, law(name, M, 1.0), failures=300_000, seed=seed)
        assert abs(standard_errors(run.goodput, run.goodput_error, exact)) <= LARGEST_Z


def test_nodes_that_keep_their_age():
    """16 Weibull nodes give the goodput of the stationary law of their gaps, 0.8540744209."""
    W, node_mean = 1155.94117497, 178160.0
    process = Process(W, 60.0, restart_s=600.0)
    run = simulate_cycles(process, nodes(law("weibull", node_mean, 0.7), 16), failures=400_000, seed=3000)
    assert run.goodput_error < 5e-4
    # The law of one gap is known; successive gaps are not quite independent, which does not change the mean.
    assert abs(standard_errors(run.goodput, run.goodput_error, 0.8540744209)) <= LARGEST_Z


def _host_copy_goodput(p: Process) -> float:
    """Markov chain of two states at each failure: from a durable save, or from a copy that is not durable.

    A hard failure that strikes the recovery loses the copy; a soft one keeps it.
    """
    W, F, om, phi = p.interval_s, p.flush_s, p.speed, p.host_copy_survives
    P = W + p.stall_s + (1 - om) * F
    D, R = p.downtime_s, p.restart_s
    struck, cycle = {"safe": (0.0, M + D + R), "R": (R, M + D), "DR": (D + R, M)}[str(p.strike)]
    through = np.exp(-struck / M)
    to_copy = (np.exp((1 - om) * F / M) - np.exp(-om * F / M)) / np.expm1(P / M)
    to_copy_again = -np.expm1(-F / M) / -np.expm1(-P / M)
    saves, saves_from_copy = np.exp(-om * F / M) / np.expm1(P / M), np.exp(-F / M) / -np.expm1(-P / M)
    enter, stay = phi * through * to_copy, phi * (1 - through + through * to_copy_again)
    from_copy = enter / (1 - stay + enter)
    return float(through * ((1 - from_copy) * saves + from_copy * saves_from_copy) * W / cycle)


def test_host_copy_that_survives():
    """Where a fraction of the failures is soft, goodput is that of the chain of resumes."""
    z = []
    grid = itertools.product(Strike, (0.3, 0.9, 1.0), ((300.0, 0.0), (2000.0, 0.9), (1500.0, 0.5)))
    for seed, (strike, phi, (flush, speed)) in enumerate(grid):
        process = Process(1800.0, 20.0, flush, speed, 200.0, 1500.0, strike, phi)
        run = simulate_cycles(process, law("exponential", M), failures=200_000, seed=4000 + seed)
        predicted = _host_copy_goodput(process)
        exact = host_copy_shares(1800.0, 20.0, M, survives=phi, **_arguments(process), **_flush(process))
        assert float(exact.useful) == pytest.approx(predicted, rel=1e-12)
        z.append(standard_errors(run.goodput, run.goodput_error, predicted))
        assert abs(standard_errors(*run.kept.rework, float(exact.rework))) <= LARGEST_Z
    assert abs(np.mean(z)) <= 4 / np.sqrt(len(z))
    assert np.max(np.abs(z)) <= LARGEST_Z


@pytest.mark.parametrize(("interval", "published"), [(657.267, 26231.1), (2000.0, 30063.4)])
def test_published_event_simulation(interval, published):
    """A published case: save 60 s, recovery 30 s that failures strike, MTBF 1 h, 6 h of work."""
    process = Process(interval, 60.0, restart_s=30.0)
    wall = simulate_runs(process, law("exponential", 3600.0), 21_600.0, runs=40_000, seed=5000).wall
    assert float(expected_time(21_600.0, interval, 60.0, 3600.0, restart=30.0)) == pytest.approx(published, abs=0.05)
    assert abs(wall.mean - published) <= 4 * wall.standard_error
    assert wall.standard_error < 25.0


@pytest.mark.parametrize("strike", list(Strike))
def test_finite_mean(strike):
    """Whole runs take the expected time of the formula, whatever a failure may strike."""
    process = Process(3000.0, 1500.0, 0.0, 1.0, 200.0, 1000.0, strike)
    wall = simulate_runs(process, law("exponential", 4000.0), 20_000.0, runs=30_000, seed=6000).wall
    expected = float(expected_time(20_000.0, 3000.0, 1500.0, 4000.0, downtime=200.0, restart=1000.0, strike=strike))
    assert abs(wall.mean - expected) <= 4 * wall.standard_error


def test_finite_variance():
    """With recoveries that are not struck, wall time has the variance of the formula."""
    process = Process(3600.0, 60.0, restart_s=600.0, strike=Strike.SAFE)
    wall_s = simulate_runs(process, law("exponential", M), 100_000.0, runs=40_000, seed=7000).wall_s
    expected = float(time_variance(100_000.0, 3600.0, 60.0, M, recovery=600.0))
    deviation = (wall_s - wall_s.mean()) ** 2
    assert abs(deviation.mean() - expected) <= 4 * deviation.std() / np.sqrt(wall_s.size)


def test_a_long_finite_run_is_the_long_run():
    """Whole asynchronous runs of a thousand saves have the goodput of the exact form, but for their ends."""
    process = Process(600.0, 5.0, 200.0, 0.9, 60.0, 400.0)
    runs = simulate_runs(process, law("exponential", 4000.0), 600_000.0, runs=1000, seed=8000)
    exact = float(exact_goodput(600.0, 5.0, 4000.0, downtime=60.0, restart=400.0, flush=200.0, speed=0.9))
    wall = runs.wall
    # The start has no recovery behind it, the last piece no save: less than one period in a thousand.
    assert abs(runs.work_s / wall.mean - exact) < 4 * wall.standard_error / wall.mean + 1e-3
