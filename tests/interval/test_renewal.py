from __future__ import annotations

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.breakdown import exact_shares
from ckptplan.interval.renewal import renewal_goodput, renewal_shares
from ckptplan.interval.renewal_sum import durable_saves, gap_law

YOUNG = 1095.44511501  # sqrt(2 60 10000)
PARAMETRIC = [LawName.EXPONENTIAL, LawName.WEIBULL, LawName.GAMMA, LawName.LOGNORMAL]


@pytest.mark.parametrize(
    ("name", "shape", "strike", "goodput"),
    [
        (LawName.WEIBULL, 0.5, Strike.DR, 0.8660885568),
        (LawName.WEIBULL, 0.7, Strike.SAFE, 0.8465514918),
        (LawName.LOGNORMAL, 1.5, Strike.SAFE, 0.8444180754),
        (LawName.GAMMA, 3, Strike.SAFE, 0.8427296939),
    ],
)
def test_reference_goodput(name, shape, strike, goodput):
    """Goodput at a given interval equals the reference for each law and both clocks."""
    assert renewal_goodput(YOUNG, 60, 10000, name, shape, restart=600, strike=strike) == pytest.approx(
        goodput, rel=1e-9
    )


@pytest.mark.parametrize("strike", Strike)
@pytest.mark.parametrize("name", [LawName.EXPONENTIAL, LawName.WEIBULL, LawName.GAMMA])
def test_exponential_is_the_closed_form(name, strike):
    """With shape 1 each share is that of the exact exponential account, for any flush and recovery."""
    rng = np.random.default_rng(5)
    n = 500
    M = 10 ** rng.uniform(2, 6, n)
    d, W = M * 10 ** rng.uniform(-8, 1, n), M * 10 ** rng.uniform(-5, 1, n)
    case = {
        "downtime": M * rng.uniform(0, 2, n),
        "restart": M * rng.uniform(0, 2, n),
        "flush": W * rng.uniform(0, 2, n),
        "in_flight": rng.integers(1, 4, n),
        "speed": rng.uniform(0, 1, n),
        "strike": strike,
    }
    exact, summed = exact_shares(W, d, M, **case), renewal_shares(W, d, M, name, 1.0, **case)
    for one, other in zip(summed, exact, strict=True):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-14, nan_ok=True)
    assert np.mean(np.isnan(exact.useful)) < 0.5  # those below the floor


def _weibull(k):
    eta = 1 / mp.gamma(1 + 1 / mp.mpf(k))
    return lambda t: mp.exp(-((t / eta) ** mp.mpf(k)))


def _weibull_tail(k):
    eta = 1 / mp.gamma(1 + 1 / mp.mpf(k))
    return lambda t: mp.gammainc(1 / mp.mpf(k), (t / eta) ** mp.mpf(k), regularized=True)


def _lognormal(sigma):
    return lambda t: mp.erfc((mp.log(t) + mp.mpf(sigma) ** 2 / 2) / (sigma * mp.sqrt(2))) / 2


def _lognormal_tail(sigma):
    def tail(t):
        z = (mp.log(t) - mp.mpf(sigma) ** 2 / 2) / (sigma * mp.sqrt(2))
        return mp.erfc(z) / 2 - t * _lognormal(sigma)(t)

    return tail


def _euler_maclaurin(alive, tail, period, offset, first=200, terms=8):
    """The sum at 40 digits: the first terms as they are, the rest by the Euler-Maclaurin formula."""
    P, c = mp.mpf(period), mp.mpf(offset)
    head = mp.fsum(alive(c + k * P) for k in range(1, first))
    x = c + first * P
    series = mp.taylor(lambda k: alive(c + k * P), first, 2 * terms)
    ends = mp.fsum(mp.bernoulli(2 * j) / (2 * j) * series[2 * j - 1] for j in range(1, terms + 1))
    return head + tail(x) / P + alive(x) / 2 - ends


@pytest.mark.parametrize("period", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("offset", [0.0, 0.3])
@pytest.mark.parametrize(
    ("name", "shape", "alive", "tail"),
    [
        (LawName.WEIBULL, 0.5, _weibull, _weibull_tail),
        (LawName.WEIBULL, 2.0, _weibull, _weibull_tail),
        (LawName.LOGNORMAL, 1.5, _lognormal, _lognormal_tail),
    ],
)
def test_sums_at_40_digits(name, shape, alive, tail, period, offset):
    """Heavy and light tails, a few to millions of terms: 13 digits against the Euler-Maclaurin formula."""
    with mp.workdps(40):
        wanted = float(_euler_maclaurin(alive(shape), tail(shape), period, offset))
    found = durable_saves(gap_law(name, np.array([shape])), np.array([period]), np.array([offset]))
    assert found.saves[0] == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize(("shape", "period"), [(10.0, 0.07), (6.0, 0.03), (0.3, 10.0), (1.0, 40.0)])
def test_sharp_laws_and_long_periods_by_plain_sums(shape, period):
    """A sharp law and a period of many MTBFs agree with the plain 40-digit sum and its derivative."""
    with mp.workdps(40):
        alive, P = _weibull(shape), mp.mpf(period)
        wanted = mp.fsum(alive(k * P) for k in range(1, 5000))
        slope = mp.fsum(-mp.mpf(shape) * mp.log(alive(k * P)) * alive(k * P) for k in range(1, 5000))
    found = durable_saves(gap_law(LawName.WEIBULL, np.array([shape])), np.array([period]), np.zeros(1))
    assert found.saves[0] == pytest.approx(float(wanted), rel=1e-12)
    assert found.fall[0] == pytest.approx(float(slope), rel=1e-12)


def test_without_flush_the_speed_does_not_matter():
    """A flush of length 0 is a synchronous save, whatever the speed."""
    case = {"restart": 600, "downtime": 60}
    one = renewal_shares(1000, 60, 10000, LawName.WEIBULL, 0.7, flush=0, speed=0.3, **case)
    assert one == renewal_shares(1000, 60, 10000, LawName.WEIBULL, 0.7, **case)


def test_clocks_agree_without_recovery():
    """Without downtime and restart the three conventions are the same process."""
    shares = [renewal_shares(1000, 60, 10000, LawName.LOGNORMAL, 1.2, strike=strike, flush=90) for strike in Strike]
    assert shares[0] == shares[1] == shares[2]


@pytest.mark.parametrize("strike", Strike)
def test_against_played_cycles(strike):
    """Playing 200,000 gaps save by save gives the same shares within 4 standard errors."""
    W, d, M, D, R, F, om, k = 300.0, 20.0, 1500.0, 50.0, 250.0, 200.0, 0.6, 0.7
    rng = np.random.default_rng(17)
    gaps = rng.weibull(k, 200_000) * M * float(1 / mp.gamma(1 + 1 / k))
    start = {"safe": 0.0, "R": R, "DR": D + R}[strike]
    training = np.maximum(gaps - start, 0.0)
    period = W + d + (1 - om) * F
    saves = np.maximum(np.floor((training - om * F) / period), 0.0)
    wall = {"safe": gaps + D + R, "R": gaps + D, "DR": gaps}[strike]
    shares = renewal_shares(W, d, M, LawName.WEIBULL, k, downtime=D, restart=R, strike=strike, flush=F, speed=om)
    for part, share in ((W * saves, shares.useful), (wall - training, shares.restart)):
        excess = part - share * wall  # of mean 0 if the share is right
        assert abs(excess.mean()) < 4 * np.std(excess) / np.sqrt(gaps.size)


@given(
    st.sampled_from(PARAMETRIC),
    st.floats(0.3, 6),
    st.floats(1e-5, 10),
    st.floats(0, 3),
    st.floats(0, 3),
    st.floats(0, 3),
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(Strike),
)
def test_shares_sum_to_one(name, shape, W, d, D, R, part, om, strike):
    """The four shares lie between 0 and 1 and sum to one, for any law and any recovery."""
    shares = renewal_shares(W, d, 1, name, shape, downtime=D, restart=R, strike=strike, flush=part * W, speed=om)
    assert float(sum(shares)) == pytest.approx(1, abs=1e-13)
    assert all(0 <= share <= 1 + 1e-14 for share in shares)


def test_limits_of_the_interval():
    """Without a stall and an interval nothing is lost; an interval without end leaves nothing."""
    assert renewal_goodput(0, 0, 100, LawName.WEIBULL, 0.7) == 1
    assert renewal_goodput(np.inf, 1, 100, LawName.WEIBULL, 0.7) == 0
    assert renewal_goodput(0, 1, 100, LawName.WEIBULL, 0.7) == 0


def test_invalid_is_nan():
    """Input outside the domain, an interval below the floor included, gives nan in every share."""
    assert np.isnan(renewal_goodput(1000, 60, 1e4, LawName.WEIBULL, 0.7, in_flight=0))
    bad = [
        (-1, 60, 100, 0.7, 0),
        (10, -1, 100, 0.7, 0),
        (10, 1, -1, 0.7, 0),
        (10, 1, 100, -1, 0),
        (10, 1, 100, 0.7, 30),
    ]
    for W, d, M, k, F in [*bad, (np.nan, 1, 100, 0.7, 0), (10, 1, np.nan, 0.7, 0), (10, 1, 100, np.nan, 0)]:
        shares = renewal_shares(W, d, M, LawName.WEIBULL, k, flush=F)
        assert np.isnan(shares).all()


def test_broadcasts():
    """Arguments broadcast, and a bad element leaves the others alone."""
    shares = renewal_shares([[100.0], [200.0]], [10, 20, -1], 1000, LawName.GAMMA, 2.0, restart=50)
    assert shares.useful.shape == (2, 3)
    assert np.isnan(shares.useful[:, 2]).all()
    assert shares.useful[1, 0] == renewal_goodput(200, 10, 1000, LawName.GAMMA, 2.0, restart=50)


def test_exponential_gaps_load_no_scipy():
    """The exponential law, also through the sums, needs numpy only."""
    code = (
        "import sys\n"
        "from ckptplan.cost.scenario import LawName\n"
        "from ckptplan.interval.renewal import renewal_goodput\n"
        "from ckptplan.interval.renewal_optimum import renewal_interval\n"
        "work = renewal_interval(60, 11135, LawName.EXPONENTIAL)\n"
        "assert renewal_goodput(work, 60, 11135, LawName.EXPONENTIAL) > 0.8\n"
        "sys.exit('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_empty_arrays():
    """No scenarios give no shares."""
    assert renewal_goodput([], 60, 100, LawName.WEIBULL, 0.7).shape == (0,)
