"""Closed cases side by side: each array says of one case what the case says of itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckptplan.load import load, shipped_configs
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.closed import closed_cases

_FACTORS = (1.0, 0.37, 1e-3, 40.0)


def closed() -> list[Case]:
    """Every closed case of the shipped configs, at several failure rates."""
    found = []
    for config in shipped_configs():
        scenario = load(config.name, environment={}).scenario
        for factor in _FACTORS:
            failures = replace(scenario.failures, mtbf_per_gpu_s=scenario.failures.mtbf_per_gpu_s * factor)
            found += cases_of(replace(scenario, failures=failures))
    return [case for case in found if case.is_closed]


CASES = closed()


@pytest.mark.parametrize("method", ["young", "daly", "exact", "renewal"])
def test_optimum_steps_and_shares_are_those_of_each_case(method: str) -> None:
    """To the last bit, for every method and every closed case of the shipped configs."""
    side_by_side = closed_cases(CASES)
    interval_s = side_by_side.optimum(method)
    assert interval_s.tolist() == [case.optimum(method) for case in CASES]
    steps = side_by_side.steps(interval_s)
    wanted = [case.steps(found) for case, found in zip(CASES, interval_s.tolist(), strict=True)]
    assert [None if np.isnan(count) else count for count in steps.tolist()] == wanted
    shares = side_by_side.shares(interval_s)
    each = [case.shares(found) for case, found in zip(CASES, interval_s.tolist(), strict=True)]
    for name in ("useful", "save", "rework", "restart"):
        assert getattr(shares, name).tolist() == [float(getattr(one, name)) for one in each]


@pytest.mark.parametrize("asked_s", [1.0, 60.0, 1800.0, 1e6])
def test_given_intervals_are_raised_and_counted_as_each_case_does(asked_s: float) -> None:
    """Intervals below the floor are raised to the first whole step above it; whole steps are counted where they are."""
    side_by_side = closed_cases(CASES)
    raised = side_by_side.raised(np.array(asked_s))
    assert raised.tolist() == [case.raised(asked_s) for case in CASES]
    whole = side_by_side.steps_if_whole(raised).tolist()
    wanted = [case.steps_if_whole(found) for case, found in zip(CASES, raised.tolist(), strict=True)]
    assert [None if np.isnan(count) else count for count in whole] == wanted


def test_what_is_typed_is_whole_steps_where_they_are_known() -> None:
    """The typed interval of the optimum is that of each case."""
    side_by_side = closed_cases(CASES)
    assert side_by_side.typed(side_by_side.optimum("exact")).tolist() == [case.typed_interval_s for case in CASES]


def test_a_case_without_numbers_leaves_the_others_as_they_are() -> None:
    """A block with nan in it gives the last digits of a block without it."""
    broken = CASES[0]._replace(mtbf_s=float("nan"))
    for method in ("young", "daly", "exact"):
        alone = closed_cases(CASES).optimum(method)
        beside = closed_cases([broken, *CASES]).optimum(method)
        assert np.isnan(beside[0])
        assert beside[1:].tolist() == alone.tolist()


def test_only_closed_cases_whose_failures_strike_alike_go_side_by_side() -> None:
    """No case, an open one, or two readings of a recovery are refused."""
    struck = CASES[0]._replace(strike=next(s for s in type(CASES[0].strike) if s is not CASES[0].strike))
    opened = CASES[0]._replace(law=CASES[0].law._replace(name="weibull", shape=0.7))  # type: ignore[arg-type]
    for wrong in ([], [CASES[0], struck], [opened]):
        with pytest.raises(ValueError, match="side by side"):
            closed_cases(wrong)
