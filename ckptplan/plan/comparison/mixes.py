"""The scenarios between two: the goodput of each, planned once and only when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.chosen import best_case, saves_to_tiers
from ckptplan.plan.comparison.groups import mixed


def goodput_of(scenario: Scenario, cases: Sequence[Case]) -> float:
    """What the best way of saving yields, typed: as ``Plan.best_goodput``, without the rest of the plan.

    Raises
    ------
    InputError
        If no way of saving can be planned.
    """
    best, found = best_case(cases)
    if saves_to_tiers(scenario):
        tiers = _goodput_of_tiers(scenario, best, found)
        found = found if tiers is None else tiers
    return found


def _goodput_of_tiers(scenario: Scenario, case: Case, single: float) -> float | None:
    """What saves to several tiers yield, if that is more than a single save does."""
    from ckptplan.plan.tiers.tiering import tiering_of

    tiering = tiering_of(scenario, case)
    return tiering.plan.goodput if tiering is not None and tiering.plan.beats(single) else None


class Mixes:
    """Scenarios that take some groups from the second of two; a set of groups is a sum of powers of two."""

    def __init__(self, first: Scenario, second: Scenario, groups: Sequence[str]) -> None:
        self.first, self.second, self.groups = first, second, tuple(groups)
        self.everything = (1 << len(self.groups)) - 1
        self.planned = 0  # mixes whose interval was sought
        self._cases: dict[int, list[Case]] = {}
        self._goodputs: dict[int, float] = {}
        self._refusals: dict[int, str] = {}
        self._alike: dict[tuple[object, ...], list[tuple[list[Case], float]]] = {}

    def know(self, members: int, goodput: float) -> None:
        """Take a goodput that is known already."""
        self._goodputs[members] = goodput

    def refusal(self, members: int, *, whole: bool = True) -> str | None:
        """Why a mix cannot be planned, None if it can; not ``whole``: as far as its costs show."""
        if members not in self._goodputs and members not in self._refusals:
            try:
                self._find(members) if whole else self._cases_of(members)
            except InputError as error:
                self._refusals[members] = error.problems[0].message
        return self._refusals.get(members)

    def goodput(self, members: int) -> float:
        """Goodput of a mix.

        Raises
        ------
        InputError
            If it cannot be planned.
        """
        refusal = self.refusal(members)
        if refusal is not None:
            raise InputError(refusal)
        return self._goodputs[members]

    def scenario(self, members: int) -> Scenario:
        """The mix itself."""
        return mixed(self.first, self.second, self.names(members))

    def names(self, members: int) -> tuple[str, ...]:
        """The groups of a set."""
        return tuple(name for place, name in enumerate(self.groups) if members >> place & 1)

    def _cases_of(self, members: int) -> list[Case]:
        if members not in self._cases:
            found = cases_of(self.scenario(members))
            if not found:
                raise InputError("neither a save nor a tier that survives everything is left")
            self._cases[members] = found
        return self._cases[members]

    def _find(self, members: int) -> None:
        scenario, cases = self.scenario(members), self._cases_of(members)
        self.planned += 1
        if scenario.storage.tiers:  # a pattern of tiers depends on more than its cases show
            self._goodputs[members] = goodput_of(scenario, cases)
            return
        bare = [_bare(case) for case in cases]
        bucket = self._alike.setdefault(tuple((c.mtbf_s, c.save.stall_s, c.restart.total_s) for c in bare), [])
        known = next((goodput for others, goodput in bucket if others == bare), None)
        self._goodputs[members] = goodput_of(scenario, cases) if known is None else known
        if known is None:
            bucket.append((bare, self._goodputs[members]))


def _bare(case: Case) -> Case:
    """A case without its names and its notes, which no goodput depends on: many mixes are the same run."""
    save = case.save._replace(name="", notes=(), write=None, binds="", host_memory_per_node_bytes=0.0, fits=True)
    return case._replace(save=save)
