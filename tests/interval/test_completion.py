from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.completion import completion_cdf, completion_quantiles
from ckptplan.interval.finite import expected_time, finite_run, time_variance
from ckptplan.interval.inversion import _euler_sum
from tests.interval.finite_simulation import Case, play

LEVELS = (0.05, 0.5, 0.95)
MANY = [
    Case(100_000, 3600, 60, 11135, 0, 600, Strike.SAFE),
    Case(100_000, 1000, 5, 11135, 100, 600, Strike.R, 900, 0.8),
    Case(100_000, 1156, 60, 11135, 100, 500, Strike.DR),
]
FEW = [
    Case(50_000, 1000, 10, 20_000, 0, 7200, Strike.SAFE),
    Case(20_000, 3000, 1500, 4000, 200, 1000, Strike.SAFE),
    Case(10_000, 1156, 60, 11135, 0, 600, Strike.DR),
    Case(30_000, 700, 5, 20_000, 500, 600, Strike.R, 650, 0.9),
    Case(65_000, 22_000, 40, 27_000, 0, 15_000, Strike.SAFE, 22_000, 1.0),
]
LONG_PIECES = [
    Case(12_000, 20_000, 10, 3000, 0, 600, Strike.DR),
    Case(100_000, 20_000, 10, 8000, 0, 600, Strike.R, 8000, 0.7),
]


def _names(case):
    return f"{case.strike.value}-{case.work:g}-{case.flush:g}"


@pytest.mark.parametrize("case", [*MANY, *FEW, *LONG_PIECES], ids=_names)
def test_quantiles_against_simulation(case):
    """As many of 40,000 simulated runs end within a quantile as its probability says, to four standard errors."""
    time = play(case, 20_000, 3).time
    quantiles = completion_quantiles(LEVELS, *case[:4], **case.options)
    shortest = float(finite_run(*case[:4], **case.options).shortest_s)
    for level, quantile in zip(LEVELS, quantiles, strict=True):
        within = np.mean(time <= quantile * (1 + 1e-9))
        if quantile == shortest:
            assert level <= np.exp(-shortest / case.mtbf)
        else:
            assert abs(within - level) < 4 * np.sqrt(level * (1 - level) / time.size)


@pytest.mark.parametrize("case", [*MANY, *FEW, *LONG_PIECES], ids=_names)
def test_cdf_against_simulation(case):
    """Probabilities over the whole range agree with 40,000 simulated runs within 4.5 standard errors."""
    time = np.sort(play(case, 20_000, 4).time)
    at = np.linspace(time[0] * 1.0001, time[-1], 60)
    cdf = completion_cdf(at, *case[:4], **case.options)
    error = np.sqrt(np.maximum(cdf * (1 - cdf), 1e-4) / time.size)
    known = ~np.isnan(cdf)
    assert known.sum() >= 58
    within = np.searchsorted(time, at, side="right") / time.size
    assert np.all(np.abs(within - cdf)[known] < 4.5 * error[known])
    assert np.all(np.diff(cdf[known]) >= -1e-8)


def _characteristic(case, omega):
    """Characteristic function by recursion over the saves that remain, not by the product that the package uses."""
    theta, lam = -1j * omega, 1 / case.mtbf
    z, D, R = lam + theta, case.downtime, case.restart

    def uninterrupted(length, each):
        """Time through a stretch that a failure starts again, after a wait whose transform is given."""
        through = np.exp(-z * length)
        return through / (1 - each * lam / z * (1 - through))

    rho = {
        Strike.SAFE: np.exp(-theta * (D + R)),
        Strike.R: np.exp(-theta * D) * uninterrupted(R, np.exp(-theta * D)),
        Strike.DR: uninterrupted(D + R, 1.0),
    }[case.strike]
    run = finite_run(*case[:4], **case.options)
    P, r, exposed = float(run.period_s), float(run.last_piece_s), float(run.exposed_s)
    kappa = rho * lam / z
    fresh = np.exp(-z * r) / (1 - kappa * (1 - np.exp(-z * r)))
    to_end = np.exp(-z * (r - exposed))
    durable = to_end + kappa * (1 - to_end) * fresh
    for _ in range(int(run.saves)):
        first, later = np.exp(-z * (P + exposed)), np.exp(-z * P)
        fresh = first * durable / (1 - kappa * (1 - first))
        durable = later * durable + kappa * (1 - later) * fresh
    return fresh


@pytest.mark.parametrize("case", MANY, ids=_names)
def test_many_failures_against_plain_inversion(case):
    """The distribution equals the integral of Gil-Pelaez, taken plainly over 260,000 points, to 1e-7."""
    spread = float(np.sqrt(time_variance(*case[:4], **case.options)))
    mean = float(expected_time(*case[:4], **case.options))
    quantiles = completion_quantiles(LEVELS, *case[:4], **case.options)
    step = 2 * np.pi / (60 * spread)
    omega = (np.arange(1 << 18) + 0.5) * step
    transform = _characteristic(case, omega) * np.exp(-1j * omega * mean)
    for level, quantile in zip(LEVELS, quantiles, strict=True):
        plain = 0.5 - np.sum(np.imag(transform * np.exp(-1j * omega * (quantile - mean))) / omega) * step / np.pi
        # The step of no failure leaves the tail of the plain integral; its size is that of the step over the phase.
        atom = np.exp(-float(finite_run(*case[:4], **case.options).shortest_s) / case.mtbf)
        assert plain == pytest.approx(level, abs=1e-7 + atom / (omega[-1] * spread))


def test_one_piece_without_recovery_is_known_in_closed_form():
    """Time through one stretch x, failures costing nothing but the work: the step and the uniform part after it."""
    M, work = 1000.0, 400.0
    atom = np.exp(-work / M)
    # Up to one more stretch only single failures fit in: density atom/M exp(-y/M), then the part of two and more.
    y = np.array([0.0, 1e-6, 50.0])
    single = atom * -np.expm1(-y / M)
    double = atom * (1 - np.exp(-y / M) * (1 + y / M))
    triple = atom * (1 - np.exp(-y / M) * (1 + y / M + (y / M) ** 2 / 2))
    fourth = atom * (y / M) ** 4 / 24
    cdf = completion_cdf(work + y, work, 500, 10, M)
    assert cdf == pytest.approx(atom + single + double + triple + fourth, abs=1e-7)


@pytest.mark.parametrize("case", [*MANY, *FEW], ids=_names)
def test_moments_of_the_distribution(case):
    """Integrals over the distribution equal the closed mean and variance."""
    mean = float(expected_time(*case[:4], **case.options))
    variance = float(time_variance(*case[:4], **case.options))
    shortest = float(finite_run(*case[:4], **case.options).shortest_s)
    edges = np.linspace(shortest, mean + 25 * np.sqrt(variance), 1501)
    t = (edges[1:] + edges[:-1]) / 2
    beyond = 1 - completion_cdf(t, *case[:4], **case.options)
    width = edges[1] - edges[0]
    # The midpoint rule is off by a small part of a cell at each kink of the distribution.
    assert shortest + beyond.sum() * width == pytest.approx(mean, abs=0.01 * width)
    second = shortest**2 + 2 * (t * beyond).sum() * width
    assert second - mean**2 == pytest.approx(variance, rel=1e-3)  # a difference of squares 50 times as large


@pytest.mark.parametrize("case", [*MANY, *FEW], ids=_names)
def test_quantile_is_the_inverse_of_the_distribution(case):
    """The probability of a quantile is its level, unless the quantile is the shortest time."""
    levels = np.array([0.01, 0.05, 0.3, 0.5, 0.9, 0.95, 0.999])
    quantiles = completion_quantiles(levels, *case[:4], **case.options)
    assert np.all(np.diff(quantiles) >= 0)
    atom = np.exp(-quantiles[0] / case.mtbf)
    inside = levels > atom
    assert completion_cdf(quantiles[inside], *case[:4], **case.options) == pytest.approx(levels[inside], abs=1e-9)


def test_no_failure_expected_takes_the_shortest_time():
    """Where no failure is likelier than the probability, the quantile is the time without failures, exactly."""
    quantiles = completion_quantiles(LEVELS, 1000, 300, 10, 1e12, restart=600)
    assert quantiles.tolist() == [1030.0] * 3
    assert completion_cdf([1029.9, 1030.0], 1000, 300, 10, 1e12, restart=600).tolist() == [0.0, np.exp(-1030e-12)]


def test_the_two_sums_agree_where_both_apply():
    """Fourier and Euler sum give the same probabilities for a few long pieces."""
    case = LONG_PIECES[1]
    levels = np.array([0.2, 0.5, 0.8, 0.99])
    quantiles = completion_quantiles(levels, *case[:4], **case.options)
    assert completion_cdf(quantiles, *case[:4], **case.options) == pytest.approx(levels, abs=1e-8)
    transform = _euler_sum(lambda theta: 1 / (theta * (1 + theta)), np.array([0.5, 2.0]), 40)
    assert transform == pytest.approx(-np.expm1(-np.array([0.5, 2.0])), abs=1e-9)


def test_unresolved_is_nan_and_never_a_guess(monkeypatch):
    """If neither sum reaches its precision there is no answer."""
    monkeypatch.setattr("ckptplan.interval.inversion._MOST_TERMS", 128)
    case = Case(50_000, 60, 1, 20_000, 0, 7200, Strike.SAFE)
    assert np.isnan(completion_quantiles([0.95], *case[:4], **case.options)).all()


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((-1, 10, 1, 100), {}),
        ((100, 10, 1, 0), {}),
        ((100, 10, 1, np.nan), {}),
        ((100, 10, 1, 50), {"flush": 20}),
        ((100, 10, 1, 50), {"restart": -1}),
        ((1e9, 1e9, 1, 50), {}),
    ],
)
def test_invalid_or_endless_is_nan(arguments, options):
    """Input outside its domain, and a run that never ends, give nan without a warning."""
    assert np.isnan(completion_quantiles(LEVELS, *arguments, **options)).all()
    if arguments[0] < 1e9:
        assert np.isnan(completion_cdf([2e9], *arguments, **options)).all()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_impossible_level_is_nan(level):
    """Levels outside the open interval have no quantile."""
    assert np.isnan(completion_quantiles(level, 1e5, 1000, 10, 11135))
