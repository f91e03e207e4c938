from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.laws import hazard, survival
from ckptplan.cost.scenario import LawName, Strike
from ckptplan.interval.renewal import renewal_goodput
from ckptplan.interval.renewal_optimum import renewal_interval
from ckptplan.interval.schedule import fluid_schedule


def _reference():
    return fluid_schedule(60, 10000, LawName.WEIBULL, 0.7, restart=600)


def test_reference_instants():
    """The first and the tenth period of the reference schedule."""
    periods = np.diff(_reference().instants_s, prepend=0)
    assert periods[0] == pytest.approx(685.5437958, rel=1e-9)
    assert periods[9] == pytest.approx(1199.848956, rel=1e-9)


def test_reference_goodput():
    """The reference goodput stops at a survival of 1e-9; what it leaves out is 4e-9 of it."""
    plan = _reference()
    alive = survival(plan.instants_s, 10000, LawName.WEIBULL, 0.7)
    gained = plan.works_s * alive / 10600
    assert np.sum(gained[alive > 0.98e-9]) == pytest.approx(0.8478904135, rel=1e-9)
    assert np.sum(gained) == pytest.approx(plan.goodput, rel=1e-14)
    assert plan.goodput == pytest.approx(0.8478904135, rel=5e-9)


@pytest.mark.parametrize(("shape", "points"), [(0.7, 0.13), (0.5, 0.47)])
def test_published_gain(shape, points):
    """At d/M = 0.006 the schedule gains 0.13 points of goodput at shape 0.7 and 0.47 at 0.5."""
    plan = fluid_schedule(60, 10000, LawName.WEIBULL, shape, restart=600)
    assert round(100 * plan.gain, 2) == points


def test_periodic_plan_beside_it():
    """The plan compared with is the best periodic one under the same law and convention."""
    plan = fluid_schedule(60, 10000, LawName.GAMMA, 0.6, restart=600, strike=Strike.DR)
    case = (60, 10000, LawName.GAMMA, 0.6)
    W = renewal_interval(*case, restart=600)
    assert plan.periodic_interval_s == W
    assert plan.periodic_goodput == renewal_goodput(W, *case, restart=600)
    assert plan.gain == plan.goodput - plan.periodic_goodput


def test_constant_hazard_is_young():
    """Without memory the schedule is periodic, with Young's period, and hardly loses to the exact interval."""
    plan = fluid_schedule(60, 10000, LawName.EXPONENTIAL, restart=600)
    assert np.diff(plan.instants_s, prepend=0) == pytest.approx(np.sqrt(2 * 60 * 10000), rel=1e-9)
    assert -1e-4 < plan.gain < 0


@pytest.mark.parametrize("strike", Strike)
@pytest.mark.parametrize(
    ("name", "shape"), [(LawName.WEIBULL, 0.5), (LawName.GAMMA, 0.5), (LawName.LOGNORMAL, 1.5), (LawName.WEIBULL, 2.0)]
)
def test_goodput_is_that_of_the_process(name, shape, strike):
    """Sampled gaps, counted up to the last save before each failure, give the goodput within 4 standard errors."""
    mtbf, D, R = 10000.0, 100.0, 600.0
    plan = fluid_schedule(60, mtbf, name, shape, downtime=D, restart=R, strike=strike)
    rng = np.random.default_rng(12)
    level = rng.random(100_000)
    ages = mtbf * np.exp(np.linspace(-40, 12, 200_001))
    gaps = np.interp(level, survival(ages, mtbf, name, shape)[::-1], ages[::-1])
    start = {"safe": 0.0, "R": R, "DR": D + R}[strike]
    wall = gaps + D + R - start
    done = np.concatenate(([0.0], np.cumsum(plan.works_s)))
    work = done[np.searchsorted(plan.instants_s, gaps - start, side="right")]
    excess = work - plan.goodput * wall
    assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(gaps.size)


@pytest.mark.parametrize(("name", "shape"), [(LawName.WEIBULL, 0.5), (LawName.GAMMA, 0.5)])
def test_falling_hazard_saves_often_at_first(name, shape):
    """Where the hazard falls, periods grow; the density of saves follows the root of the hazard."""
    plan = fluid_schedule(6, 10000, name, shape)
    periods = np.diff(plan.instants_s, prepend=0)
    assert np.all(np.diff(periods[:100]) > 0)
    middle = 0.5 * (plan.instants_s[49] + plan.instants_s[50])
    assert periods[50] == pytest.approx(np.sqrt(2 * 6 / hazard(middle, 10000, name, shape)), rel=1e-3)
    assert plan.gain > 0


def test_two_instants_closer_than_a_save():
    """Where the hazard is so high that a period is shorter than a save, the work of that period is 0."""
    plan = fluid_schedule(3000, 10000, LawName.WEIBULL, 5.0)
    assert np.min(plan.works_s) == 0
    assert np.all(plan.works_s >= 0)
    assert 0 < plan.goodput < 1


def test_horizon_shortens_the_list_only():
    """A horizon cuts the list of instants and leaves the goodput as it is."""
    whole = _reference()
    plan = fluid_schedule(60, 10000, LawName.WEIBULL, 0.7, restart=600, horizon=20_000)
    assert plan.goodput == whole.goodput
    assert plan.instants_s[-1] <= 20_000 < whole.instants_s[plan.instants_s.size]


def test_invalid_is_refused():
    """A stall, mean or shape that is not positive, or a negative recovery, is an error."""
    for stall, mtbf, shape, R in [(0, 1, 1, 0), (1, 0, 1, 0), (1, 1, 0, 0), (1, 1, 1, -1)]:
        with pytest.raises(ValueError, match="positive"):
            fluid_schedule(stall, mtbf, LawName.WEIBULL, shape, restart=R)
