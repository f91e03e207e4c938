"""One point of a study: the scenario with its values, at its number of GPUs, and its ways of saving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ckptplan.cost.scenario import Scenario
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.record import TIERS, Record
from ckptplan.plan.scale.size import Size, size_at
from ckptplan.sweep.study import GPUS, INTERVAL, Member, Study


@dataclass(frozen=True)
class Point:
    """A scenario with the values of one point, at its number of GPUs, and what is asked of it beside them."""

    size: Size
    given_s: tuple[float, ...]  # the interval, if one is given

    @property
    def scenario(self) -> Scenario:
        """The same work by that number of GPUs."""
        return self.size.scenario

    @cached_property
    def cases(self) -> list[Case]:
        """Its ways of saving."""
        return cases_of(self.scenario)

    def case_of(self, record: Record) -> Case:
        """The way of saving of a record; of one over several tiers any of them."""
        return next((case for case in self.cases if case.save.name == record.strategy), self.cases[0])

    def is_closed(self, record: Record) -> bool:
        """Whether a closed form gives the wall time of the run by the way of saving of a record."""
        return record.strategy != TIERS and self.case_of(record).is_closed


def rebuilt(member: Member, values: dict[str, float]) -> Scenario:
    """The scenario of a spec with other values, and only the ways of saving that are wanted.

    Raises
    ------
    InputError
        If no scenario has these values together.
    """
    if not values:
        return member.scenario
    return only_wanted(member, member.rebuild(values))


def only_wanted(member: Member, scenario: Scenario) -> Scenario:
    """A scenario of a spec with only the ways of saving that are wanted."""
    wanted = member.scenario.strategies
    if wanted is None:
        return scenario
    return replace(scenario, saves=tuple(save for save in scenario.saves if save.name in wanted), strategies=wanted)


def point_at(study: Study, member: Member, indices: Sequence[int]) -> Point:
    """The point with these values of the axes.

    Raises
    ------
    InputError
        If no scenario has them together.
    """
    at = {axis.key: axis.values[index] for axis, index in zip(study.axes, indices, strict=True)}
    gpus, given_s = at.pop(GPUS, None), at.pop(INTERVAL, None)
    scenario = rebuilt(member, at)
    size = size_at(scenario, scenario.cluster.gpus if gpus is None else int(gpus))
    return Point(size, () if given_s is None else (given_s,))
