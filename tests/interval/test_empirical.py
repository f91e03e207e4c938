from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.asynchronous import interval_floor
from ckptplan.interval.empirical import empirical_goodput, empirical_interval, empirical_shares
from ckptplan.interval.renewal import renewal_shares
from ckptplan.interval.renewal_optimum import renewal_interval

GAPS = [812, 1530, 2210, 3333, 4100, 5875, 7300, 9050, 14800, 40990]


def test_reference():
    """The best interval of ten recorded gaps, its goodput, and that at Young's interval."""
    found = empirical_interval(GAPS, 60, restart=600, strike=Strike.SAFE)
    assert found.interval_s == 1400
    assert found.goodput == pytest.approx(0.8604166667, rel=1e-9)
    assert found.young_goodput == pytest.approx(0.8443747687, rel=1e-9)
    assert found.young_interval_s == pytest.approx(np.sqrt(2 * 60 * 9000), rel=1e-15)
    assert found.gaps == 10


def test_a_save_that_is_durable_at_the_failure_counts():
    """At a period that divides a gap, all of the gap is covered, although the quotient may round down."""
    for pieces in range(1, 200):
        period = 1000 / pieces
        assert empirical_goodput(period - 1, [1000.0], 1, strike=Strike.SAFE) == pytest.approx(
            (period - 1) * pieces / 1000, rel=1e-12
        )


@pytest.mark.parametrize("strike", Strike)
def test_no_candidate_is_better(strike):
    """On small random records, nothing among all candidates, the floor and a fine grid beats the answer."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        gaps = rng.integers(5, 400, rng.integers(1, 9)).astype(float)
        d, F, R, D = (float(rng.integers(low, high)) for low, high in ((1, 60), (0, 30), (0, 50), (0, 20)))
        om, b = float(rng.choice([0, 0.5, 1])), int(rng.integers(1, 4))
        case = {"downtime": D, "restart": R, "strike": strike, "flush": F, "speed": om, "in_flight": b}
        floor = float(interval_floor(F, om, in_flight=b, stall=d))
        found = empirical_interval(gaps, d, **case)
        start = {"safe": 0, "R": R, "DR": D + R}[strike] + om * F
        jumps = [(x - start) / np.arange(1, 200) - d - (1 - om) * F for x in gaps if x > start]
        tried = np.concatenate([*jumps, [floor], np.linspace(floor, 400, 200)])
        best = np.max(empirical_goodput(tried[tried >= floor], gaps, d, **case))
        assert found.goodput == pytest.approx(float(best), rel=1e-12)
        assert found.goodput >= found.young_goodput


def test_many_gaps_tend_to_their_law():
    """On 10,000 gaps drawn from a law the goodput is that of the law, and the interval is near its optimum."""
    gaps = np.random.default_rng(2).weibull(0.7, 10_000)
    gaps *= 10_000 / gaps.mean()
    found = empirical_interval(gaps, 60, restart=600)
    W = float(renewal_interval(60, 10_000, LawName.WEIBULL, 0.7, restart=600))
    law = renewal_shares(W, 60, 10_000, LawName.WEIBULL, 0.7, restart=600)
    own = empirical_shares(W, gaps, 60, restart=600)
    assert [float(x) for x in own] == pytest.approx([float(x) for x in law], abs=0.01)
    assert found.interval_s == pytest.approx(W, rel=0.3)
    assert 0 <= found.goodput - float(own.useful) < 1e-3


def test_slices_do_not_change_the_answer(monkeypatch):
    """Sorting the candidates in small slices gives the same interval as all at once."""
    gaps = np.random.default_rng(4).exponential(5000, 300)
    whole = empirical_interval(gaps, 2, restart=100)
    monkeypatch.setattr("ckptplan.interval.empirical._SLICE", 500)
    assert empirical_interval(gaps, 2, restart=100) == whole


@given(
    st.lists(st.floats(1, 1e6), min_size=1, max_size=20),
    st.floats(0, 1e4),
    st.floats(0, 1e4),
    st.floats(0, 1e4),
    st.floats(0, 1e4),
    st.sampled_from(Strike),
    st.floats(0, 1),
)
def test_shares_sum_to_one(gaps, W, d, D, R, strike, om):
    """The four shares are not negative and sum to one."""
    shares = empirical_shares(W, gaps, d, downtime=D, restart=R, strike=strike, flush=W, speed=om)
    # A quotient that counts as whole within 1e-9 may cover that much more than the gap.
    assert float(sum(shares)) == pytest.approx(1, abs=2e-9)
    assert min(shares) >= 0


def test_without_a_stall_the_floor_is_best():
    """Without a stall goodput falls with the interval."""
    found = empirical_interval(GAPS, 0, strike=Strike.SAFE)
    assert (found.interval_s, found.goodput) == (0, 1)


def test_no_gap_long_enough():
    """Where no save ever becomes durable there is no best interval."""
    found = empirical_interval([10.0, 20.0], 5, restart=30)
    assert np.isnan(found.interval_s)
    assert found.goodput == 0


def test_invalid_is_nan():
    """Scalars outside their domain give nan; an empty record or a gap that is not positive is an error."""
    assert np.isnan(empirical_interval(GAPS, -1).interval_s)
    assert np.isnan(empirical_goodput(100, GAPS, 60, speed=2))
    assert np.isnan(empirical_goodput([-1, 10], GAPS, 60, flush=20)).all()
    for gaps in ([], [5, 0], [5, np.inf]):
        with pytest.raises(ValueError, match="at least one"):
            empirical_interval(gaps, 60)
