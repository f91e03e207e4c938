"""The way of saving whose history is planned: where its saves go, how far apart they are, and what they survive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ckptplan.cost.scenario import Scenario
from ckptplan.cost.size import sizes
from ckptplan.cost.tier_survival import MEMORY
from ckptplan.cost.tiers import TierCost
from ckptplan.plan.case import Case
from ckptplan.plan.chosen import chosen
from ckptplan.plan.record import TIERS
from ckptplan.plan.spectrum.assembly import single_tiers
from ckptplan.plan.spectrum.shares import verification
from ckptplan.plan.tiers.tiering import Tiering, tiering_of

STORAGE = "storage"  # what a strategy without tiers saves to


class Place(NamedTuple):
    """Where saves go. ``work_s`` and ``period_s`` are from one save there to the next. [s, bytes, 1]."""

    name: str
    kind: str
    every: int  # slots
    work_s: float
    period_s: float  # the same in running time: stalls included, failures not
    bytes_per_save: float
    fits: int | None
    endurance_bytes: float | None
    survives: tuple[bool, ...]  # by class, surely

    @property
    def is_memory(self) -> bool:
        """Whether it holds no history."""
        return self.kind in MEMORY


class Saving(NamedTuple):
    """One way of saving at one interval. ``places`` are those that are saved to, the cheapest first. [s, 1]."""

    strategy: str
    case: Case
    asked_interval_s: float | None  # as it was given, before it was raised to the floor
    interval_s: float  # work between two saves, to any place
    interval_steps: int | None
    goodput: float
    places: tuple[Place, ...]


def saving_of(scenario: Scenario, *, strategy: str | None = None, interval_s: float | None = None) -> Saving:
    """The way of saving that `plan` recommends, or another one, at its best interval or at a given one.

    Parameters
    ----------
    scenario : Scenario
        The run.
    strategy : str, optional
        One of `ways_of_saving`.
    interval_s : float, optional
        Work between two saves; raised where a flush or a drain must end first. [s]

    Returns
    -------
    Saving
    """
    case, tiering = chosen(scenario, strategy)
    if tiering is None:
        return _of_case(scenario, case, interval_s)
    at_interval = tiering if interval_s is None else tiering_of(scenario, case, interval_s=interval_s)
    return _of_tiers(case.of_spec, at_interval or tiering, interval_s)


def period_of_slots(interval_s: float, every: Sequence[int], slot_stall_s: Sequence[float]) -> float:
    """Running time from one save to the last of several tiers to the next.

    Parameters
    ----------
    interval_s : float
        Work between two slots. [s]
    every : sequence of int
        Slots from one save of a tier or a higher one to the next; each divides the next. [1]
    slot_stall_s : sequence of float
        Stall of a slot whose highest tier it is. [s]

    Returns
    -------
    float
        Work and stalls of ``every[-1]`` slots, without failures. [s]
    """
    slots = every[-1]
    counts = [slots // n for n in every] + [0]
    highest = [here - above for here, above in pairwise(counts)]
    return slots * interval_s + sum(n * stall_s for n, stall_s in zip(highest, slot_stall_s, strict=True))


def _of_case(scenario: Scenario, case: Case, asked_s: float | None) -> Saving:
    interval_s = case.typed_interval_s if asked_s is None else case.raised(asked_s)
    check_s = 0.0
    if case.spectrum is not None:
        verify_s, checks = verification(case, case.spectrum)
        check_s = verify_s * checks
    period_s = interval_s + case.effective_stall_s + check_s
    return Saving(
        strategy=case.save.name,
        case=case,
        asked_interval_s=asked_s,
        interval_s=interval_s,
        interval_steps=case.steps_if_whole(interval_s),
        goodput=case.goodput(interval_s),
        places=(_single(scenario, case, interval_s, period_s),),
    )


def _single(scenario: Scenario, case: Case, work_s: float, period_s: float) -> Place:
    """The one place of a strategy: a tier, or storage of which only the size of a save is known."""
    spectrum = case.spectrum
    if spectrum is not None and scenario.storage.tiers:
        for alone in single_tiers(scenario, spectrum):
            if alone.save.name == case.save.name:
                return _place(alone.tier, 1, work_s, period_s)
    classes = () if spectrum is None else spectrum.classes
    size_bytes = sizes(scenario.model, scenario.cluster).total_bytes
    return Place(STORAGE, STORAGE, 1, work_s, period_s, size_bytes, None, None, (True,) * len(classes))


def _of_tiers(case: Case, found: Tiering, asked_s: float | None) -> Saving:
    made, last = found.plan, found.every[-1]
    period_s = period_of_slots(made.interval_s, found.every, found.slot_stall_s)
    places = [
        _place(tier, n, n * made.interval_s, period_s * n / last)
        for tier, n in zip(found.costs, found.every, strict=True)
    ]
    return Saving(TIERS, case, asked_s, made.interval_s, made.interval_steps, made.goodput, tuple(places))


def _place(tier: TierCost, every: int, work_s: float, period_s: float) -> Place:
    return Place(
        name=tier.name,
        kind=str(tier.kind),
        every=every,
        work_s=work_s,
        period_s=period_s,
        bytes_per_save=tier.bytes_per_save,
        fits=tier.fits,
        endurance_bytes=tier.endurance_bytes,
        survives=tuple(there >= 1.0 for there in tier.survival),
    )
