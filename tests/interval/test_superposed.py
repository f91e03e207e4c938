from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.laws import equilibrium_survival, survival
from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.renewal import renewal_shares
from ckptplan.interval.renewal_optimum import renewal_interval
from ckptplan.interval.superposed import (
    early_life_first_failures,
    long_run_failures,
    palm_law,
    rejuvenate_all_mtbf,
    superposed_goodput,
    superposed_interval,
    superposed_shares,
)

NODE = 178160.0
PARAMETRIC = [LawName.EXPONENTIAL, LawName.WEIBULL, LawName.GAMMA, LawName.LOGNORMAL]


def test_reference_goodput():
    """Goodput of 16 nodes that keep their age, and that of Poisson failures of the same mean."""
    W = 1155.94117497
    goodput = superposed_goodput(W, 60, NODE, LawName.WEIBULL, 0.7, nodes=16, restart=600)
    assert goodput == pytest.approx(0.8540744209, rel=1e-9)
    assert exact_goodput(W, 60, NODE / 16, restart=600) == pytest.approx(0.8524979741, rel=1e-9)


def test_reference_rejuvenate_all():
    """The MTBF if every failure renewed all 16 nodes is 3.3 times too short."""
    assert rejuvenate_all_mtbf(NODE, 16, LawName.WEIBULL, 0.7) == pytest.approx(3393.42926, rel=1e-9)


def test_reference_early_life():
    """1,419 of 16,384 new nodes fail in the first 54 days, against 419 failures in the long run."""
    first = early_life_first_failures(1296, 50677, 16384, LawName.WEIBULL, 0.7)
    assert first == pytest.approx(1419.098374, rel=1e-9)
    assert long_run_failures(1296, 50677, 16384) == pytest.approx(419.0000197, rel=1e-9)


@pytest.mark.parametrize("strike", Strike)
@pytest.mark.parametrize(
    ("name", "shape"), [(LawName.WEIBULL, 0.7), (LawName.WEIBULL, 4.0), (LawName.GAMMA, 2.0), (LawName.LOGNORMAL, 1.2)]
)
def test_one_node_is_its_own_law(name, shape, strike):
    """With one node, shares and interval are those of its law."""
    case = {"restart": 60, "downtime": 30, "strike": strike, "flush": 20}
    one = superposed_shares(100, 10, 1000, name, shape, nodes=1, **case)
    assert [float(x) for x in one] == pytest.approx(
        [float(x) for x in renewal_shares(100, 10, 1000, name, shape, **case)], rel=1e-12
    )
    assert superposed_interval(10, 1000, name, shape, nodes=1, **case) == pytest.approx(
        float(renewal_interval(10, 1000, name, shape, **case)), rel=1e-9
    )


@pytest.mark.parametrize("nodes", [1, 2, 16, 16384])
def test_exponential_nodes_make_an_exponential_job(nodes):
    """Nodes without memory make a job without memory, for any number of them."""
    case = {"restart": 600, "downtime": 100}
    goodput = superposed_goodput(1000, 60, 11135.0 * nodes, LawName.EXPONENTIAL, nodes=nodes, **case)
    assert goodput == pytest.approx(float(exact_goodput(1000, 60, 11135, **case)), rel=1e-12)
    interval = superposed_interval(60, 11135.0 * nodes, LawName.EXPONENTIAL, nodes=nodes, **case)
    assert interval == pytest.approx(float(exact_interval(60, 11135)), rel=1e-9)


def test_many_nodes_tend_to_poisson():
    """The distance from the exponential goodput falls with the number of nodes at a given MTBF of the job."""
    M, exact = 11135.0, float(exact_goodput(1000, 60, 11135.0))
    nodes = np.array([16, 256, 4096, 65536, 1e6])
    distance = np.abs(superposed_goodput(1000, 60, M * nodes, LawName.WEIBULL, 0.7, nodes=nodes) - exact)
    assert np.all(np.diff(distance) < 0)
    assert distance[-1] < 1e-4


@pytest.mark.parametrize("nodes", [2, 50])
def test_palm_law_by_quadrature(nodes):
    """The law has mean M_node/N, its density is minus its slope, and its integral is that of S S_e^(N-1)."""
    law = palm_law(LawName.WEIBULL, np.array([0.7]), np.array([float(nodes)]))
    for t in (0.01, 0.3, 2.0):
        alive, fall = law.curve(np.array([t]), *law.parameters)
        wanted = survival(t * 1.0, nodes, LawName.WEIBULL, 0.7)
        wanted = wanted * equilibrium_survival(t, nodes, LawName.WEIBULL, 0.7) ** (nodes - 1)
        assert alive[0] == pytest.approx(float(wanted), rel=1e-12)
        h = 1e-5 * t
        above, below = (law.curve(np.array([x]), *law.parameters).survival[0] for x in (t + h, t - h))
        assert fall[0] == pytest.approx(t * (below - above) / (2 * h), rel=1e-7)
        area = mp.quad(
            lambda u: mp.exp(u) * float(law.curve(np.array([float(mp.exp(u))]), *law.parameters).survival[0]),
            [-40, -20, -10, -5, -2, mp.log(t)],
        )
        assert law.integral(np.array([t]), *law.parameters)[0] == pytest.approx(float(area), rel=1e-10)
    assert law.integral(np.array([np.inf]), *law.parameters)[0] == 1


def test_against_a_played_cluster():
    """40 Weibull nodes that keep their age, played over 400 failures each: the goodput of the Palm law holds."""
    nodes, k, W, d, R = 40, 0.7, 900.0, 30.0, 200.0
    rng = np.random.default_rng(8)
    node_mtbf = 4000.0 * nodes
    scale = node_mtbf / float(mp.gamma(1 + 1 / mp.mpf(k)))
    # Each node is a renewal process of its own; its first fifth is left out, so that ages are mixed.
    times = np.cumsum(scale * rng.weibull(k, (nodes, 4000)), axis=1)
    begin, end = 0.1 * times[:, -1].min(), 0.9 * times[:, -1].min()
    gaps = np.diff(np.sort(times[(times > begin) & (times < end)]))
    saves = np.floor(np.maximum(gaps - R, 0) / (W + d))
    share = float(superposed_goodput(W, d, node_mtbf, LawName.WEIBULL, k, nodes=nodes, restart=R))
    excess = W * saves - share * gaps
    assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(gaps.size)


@pytest.mark.parametrize(("name", "shape"), [(LawName.GAMMA, 1.0), (LawName.LOGNORMAL, 0.8)])
def test_rejuvenate_all_is_the_mean_of_the_least(name, shape):
    """The integral of S^N is the mean of the least of N lives."""
    if name is LawName.GAMMA:
        assert rejuvenate_all_mtbf(500, [1, 10, 1000], name, shape) == pytest.approx([500, 50, 0.5], rel=1e-12)
        return
    lives = np.exp(0.8 * np.random.default_rng(6).standard_normal((200_000, 10)) - 0.32).min(axis=1)
    assert rejuvenate_all_mtbf(1, 10, name, shape) == pytest.approx(
        lives.mean(), abs=4 * lives.std() / np.sqrt(lives.size)
    )


@given(st.sampled_from(PARAMETRIC), st.floats(0.4, 4), st.floats(1, 1e5), st.floats(1e-4, 5), st.floats(0, 2))
def test_shares_sum_to_one(name, shape, nodes, W, R):
    """The four shares are not negative and sum to one."""
    shares = superposed_shares(W, 0.1, nodes, name, shape, nodes=nodes, restart=R)
    assert float(sum(shares)) == pytest.approx(1, abs=1e-12)
    assert min(shares) >= 0


def test_invalid_is_nan():
    """Fewer than one node, or a bad mean or shape, gives nan."""
    assert np.isnan(superposed_goodput(100, 10, 1000, LawName.WEIBULL, 0.7, nodes=[0, -1, 0.5, np.nan])).all()
    assert np.isnan(superposed_interval(10, [1000, -1], LawName.WEIBULL, [-1, 0.7], nodes=4)).all()
    assert np.isnan(rejuvenate_all_mtbf([1, -1], [0, 5], LawName.LOGNORMAL, 1.0)).all()
    assert np.isnan(early_life_first_failures([-1, 1], 10, 5, LawName.WEIBULL, [0.7, -1])).all()
    assert np.isnan(long_run_failures(-1, 10, 5))
