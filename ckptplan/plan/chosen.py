"""The way of saving that a plan recommends, or the one asked for, without the plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.record import TIERS

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario
    from ckptplan.plan.tiers.tiering import Tiering


def ways_of_saving(scenario: Scenario) -> tuple[str, ...]:
    """Names of the strategies, and of all tiers together if there are some."""
    names = [case.save.name for case in cases_of(scenario)]
    return (*names, TIERS) if scenario.storage.tiers else tuple(names)


def saves_to_tiers(scenario: Scenario) -> bool:
    """Whether saves to all tiers together are one of its ways: there are some, and they are not left out."""
    return bool(scenario.storage.tiers) and TIERS in (scenario.strategies or (TIERS,))


def best_case(cases: Sequence[Case]) -> tuple[Case, float]:
    """The way of saving to one tier that yields most, typed, with what it yields; the first of equals.

    Raises
    ------
    InputError
        If none can be planned.
    """
    goodputs = [case.typed_goodput for case in cases]
    planned = [place for place, goodput in enumerate(goodputs) if math.isfinite(goodput)]
    if not planned:
        raise InputError("no way of saving has an interval")
    best = max(planned, key=goodputs.__getitem__)
    return cases[best], goodputs[best]


def chosen(scenario: Scenario, strategy: str | None = None) -> tuple[Case, Tiering | None]:
    """The case of one of `ways_of_saving`, and the plan over all tiers if that is the way.

    Parameters
    ----------
    scenario : Scenario
        The run.
    strategy : str, optional
        One of `ways_of_saving`; by default the one that `plan` recommends.

    Returns
    -------
    tuple
        With all tiers, the case is the best of the single ways, and there is a plan; otherwise None stands for it.
    """
    cases = {case.save.name: case for case in cases_of(scenario)}
    if strategy in cases:
        return cases[strategy], None
    best, goodput = best_case(tuple(cases.values()))
    if not scenario.storage.tiers:
        return best, None
    from ckptplan.plan.tiers.tiering import tiering_of

    tiering = tiering_of(scenario, best)
    wins = tiering is not None and (strategy == TIERS or tiering.plan.beats(goodput))
    return best, tiering if wins else None
