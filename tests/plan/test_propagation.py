"""Inputs that are not known exactly, carried through a plan."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.interval.exact import exact_interval
from ckptplan.load import load
from ckptplan.plan import Plan, Unsure, plan
from ckptplan.plan.propagation import propagate

_SAVE = "save=[{name: blocking, mode: sharded, stall: 40 s .. 90 s}]"


def _planned(*sets: str, seed: int = 0) -> Plan:
    spec = load("llama3-405b", sets=["failures={mtbf: 3 h}", "training={}", _SAVE, *sets])
    return plan(spec.scenario, methods=["exact"], unsure=Unsure(spec.spreads, spec.with_values), seed=seed)


def test_a_range_of_the_stall_becomes_a_range_of_the_interval() -> None:
    """A uniform stall of 40 to 90 s spreads the best interval as the exact formula does at its 5 and 95 % quantiles."""
    spread = _planned().spread
    assert spread is not None
    low, middle, high = (float(exact_interval(stall, 3 * 3600.0)) for stall in (42.5, 65.0, 87.5))
    # 400 draws: the level of a quantile is off by one percent of probability or two.
    assert spread.interval_s == pytest.approx((low, middle, high), rel=0.03)
    assert spread.goodput[0] < spread.goodput[1] < spread.goodput[2]
    assert spread.typed_goodput[1] <= spread.goodput[1]
    assert 0 < spread.expected_loss < 0.001
    assert [cause.key for cause in spread.causes] == ["save[0].stall"]


def test_causes_share_the_variance() -> None:
    """Of a wide stall and a narrow restart, the stall causes most of the spread, and the shares sum to one."""
    causes = _planned("restart.total={mean: 10 min, cv: 0.05}").spread.causes  # type: ignore[union-attr]
    assert [cause.key for cause in causes] == ["save[0].stall", "restart.total"]
    assert causes[0].share > 0.8
    assert sum(cause.share for cause in causes) == pytest.approx(1.0)


def test_a_count_is_one_more_unsure_input() -> None:
    """With three failures counted, they spread the goodput more than the stall does."""
    causes = _planned("failures={interruptions: {count: 3, over: 9 h}}").spread.causes  # type: ignore[union-attr]
    assert causes[0].key == "failures.interruptions.count"
    assert causes[0].share > 0.9


def test_one_seed_one_answer() -> None:
    """The same seed gives the same figures, another one others."""
    assert _planned(seed=1).spread == _planned(seed=1).spread
    assert _planned(seed=1).spread != _planned(seed=2).spread


def test_one_more_input_does_not_change_the_draws_of_the_others() -> None:
    """Every input has its own stream: a second one that matters little moves the quantiles of the first a little."""
    alone, both = (_planned(*sets).spread for sets in ((), ("restart.total={mean: 10 min, cv: 0.001}",)))
    assert alone is not None
    assert both is not None
    assert both.interval_s == alone.interval_s


def test_exact_inputs_have_no_spread() -> None:
    """Without an unsure input nothing is drawn."""
    assert _planned("save=[{name: blocking, mode: sharded, stall: 60 s}]").spread is None


def test_values_that_do_not_fit_each_other_are_an_error() -> None:
    """If most draws make no scenario, the error says so and names the inputs."""
    spec = load("llama3-405b", sets=[_SAVE])

    def refuse(values: object) -> object:
        raise InputError("nothing fits")

    with pytest.raises(InputError, match="more than half of the draws"):
        propagate(spec.scenario, spec.spreads, refuse, strategy="blocking", interval_s=1000.0)  # type: ignore[arg-type]


def test_a_rate_that_is_unsure_reaches_the_mtbf() -> None:
    """A range of the MTBF itself is carried through: goodput spreads as it does between its ends."""
    spread = _planned("failures={mtbf: 2 h .. 4 h}", "save=[{name: blocking, mode: sharded, stall: 60 s}]").spread
    assert spread is not None
    ends = [float(exact_interval(60.0, hours * 3600.0)) for hours in (2.1, 3.9)]
    assert np.allclose([spread.interval_s[0], spread.interval_s[2]], ends, rtol=0.03)
