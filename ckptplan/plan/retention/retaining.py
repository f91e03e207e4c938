"""How many saves to keep so that a clean one is left when an error is found late, and what that takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ckptplan.cost.classes import ClassCost, FailureKind
from ckptplan.cost.protection import Retention
from ckptplan.cost.scenario import Scenario
from ckptplan.cost.tier_survival import BACK_PAST_SEVERAL
from ckptplan.interval.retention import DelayLaw
from ckptplan.plan.retention.given import archive_of, of_the_spec
from ckptplan.plan.retention.room import Demand, Holds, Room, holds_of, refuse_what_does_not_fit, room_of
from ckptplan.plan.retention.rules import Late, Measure, Rule, judged
from ckptplan.plan.retention.saving import Place, Saving, saving_of
from ckptplan.plan.retention.thin import fewest, newest_of, two_steps

NEWEST, TWO_STEPS, FEWEST, OF_THE_SPEC = "newest", "two steps", "fewest", "spec"
VERIFIED = "verified"


class _Class(NamedTuple):
    """A class, the index of the place that it goes back to, and what it asks of it; None if a check finds it."""

    one: ClassCost
    place: int
    late: Late | None


class ClassNeed(NamedTuple):
    """What one class needs. ``law`` is that of the delay, or that a check finds it before the save. [s, 1]."""

    name: str
    kind: str
    every_s: float  # mean running time between two; infinite for never
    law: str
    delay_s: float  # until it is found while training goes on
    back_s: float  # work back from a loss spike, its lag included
    tier: str  # that it goes back to
    needed: int
    missing: float  # probability that so many newest saves hold no clean one
    binds: bool  # needs most of those that go back to the history


class RetentionPlan(NamedTuple):
    """What ``ckptplan retain`` prints."""

    name: str
    gpus: int
    probability: float  # wanted
    saving: Saving
    history: Place
    classes: tuple[ClassNeed, ...]
    rules: tuple[Rule, ...]  # that are enough: as many newest saves as are needed first
    given: Rule | None  # of the spec
    remedy: tuple[str, ...]  # if it is not
    tiers: tuple[Holds, ...]
    archive_every: int | None  # saves from one of the archive to the next
    archive_full_s: float | None  # until the archive has filled the room
    assumptions: tuple[str, ...]


def retention_plan(
    scenario: Scenario,
    *,
    strategy: str | None = None,
    interval_s: float | None = None,
    probability: float | None = None,
) -> RetentionPlan:
    """Plan which saves to keep.

    Parameters
    ----------
    scenario : Scenario
        The run.
    strategy : str, optional
        One of `ways_of_saving`; by default the one that `plan` recommends.
    interval_s : float, optional
        Work between two saves; by default the best one. [s]
    probability : float, optional
        Wanted, of a clean save; by default that of the spec. [1]

    Returns
    -------
    RetentionPlan

    Raises
    ------
    InputError
        There is no room for what is needed, or for what the spec keeps.
    """
    given = scenario.retention or Retention()
    wanted = given.probability if probability is None else probability
    saving = saving_of(scenario, strategy=strategy, interval_s=interval_s)
    found = _classes(saving, 1.0 - wanted)
    history = max((one.place for one in found if one.late is not None), default=len(saving.places) - 1)
    place = saving.places[history]
    lates = [one.late for one in found if one.late is not None and one.place == history]
    room = room_of(scenario, place)
    measure = Measure(place.bytes_per_save, None if room is None else room.fits, saving.goodput)
    rules = tuple(_rules(place.period_s, lates, measure))
    of_spec = of_the_spec(given, place.name, place.period_s)
    rule = None if of_spec is None else judged(OF_THE_SPEC, *of_spec, lates, measure)
    chosen = rule or rules[0]
    others = [(there, _needed_at(index, found)) for index, there in enumerate(saving.places) if index != history]
    refuse_what_does_not_fit(Demand(place, chosen, rules[1:], tuple(lates), room), others)
    archive = archive_of(given, place.period_s)
    tiers = [holds_of(there, saves, fits=there.fits, archive_every=None) for there, saves in others]
    tiers.insert(history, holds_of(place, chosen.saves, fits=measure.fits, archive_every=archive))
    return RetentionPlan(
        name=scenario.name,
        gpus=scenario.cluster.gpus,
        probability=wanted,
        saving=saving,
        history=place,
        classes=tuple(_needs(saving, found, history)),
        rules=rules,
        given=rule,
        remedy=() if rule is None or rule.is_enough else tuple(_remedy(rules, lates)),
        tiers=tuple(tiers),
        archive_every=archive,
        archive_full_s=_archive_full(chosen, archive, place, room),
        assumptions=tuple(_assumptions(saving, found, place, archive)),
    )


def _classes(saving: Saving, missing: float) -> list[_Class]:
    """The classes that go back past several saves, each with the place that it goes back to."""
    spectrum = saving.case.spectrum
    if spectrum is None:
        return []
    last, found = len(saving.places) - 1, []
    for index, one in enumerate(spectrum.classes):
        if one.kind not in BACK_PAST_SEVERAL:
            continue
        if one.kind is FailureKind.SILENT and spectrum.verification is not None:
            found.append(_Class(one, last, None))  # the check stands before saves to the last place
            continue
        place = next(at for at, there in enumerate(saving.places) if there.survives[index])
        found.append(_Class(one, place, _late(one, saving, saving.places[place], missing)))
    return found


def _late(one: ClassCost, saving: Saving, place: Place, missing: float) -> Late:
    """Silent corruption is found after running time; a loss spike goes back by work, however long its saves took."""
    rate = one.rate_per_s(saving.case.mtbf_s)
    if one.kind is FailureKind.SPIKE:
        return Late(
            one.name, rate, (one.back_s + one.lag_s) / place.work_s, DelayLaw.BOUNDED, missing, is_way_back=True
        )
    law = DelayLaw.BOUNDED if one.delay_is_fixed else DelayLaw.EXPONENTIAL
    return Late(one.name, rate, one.delay_s / place.period_s, law, missing)


def _needed_at(index: int, found: Sequence[_Class]) -> int:
    """Complete saves that a place must hold: the newest, and more if a class goes back to it."""
    return max((one.late.needed for one in found if one.late is not None and one.place == index), default=1)


def _rules(period_s: float, lates: Sequence[Late], measure: Measure) -> Iterator[Rule]:
    """Rules that are enough, each with fewer saves than the one before."""
    keep, plain = newest_of(period_s, lates)
    least = judged(NEWEST, keep, plain, lates, measure)
    yield least
    for name, make in ((TWO_STEPS, two_steps), (FEWEST, fewest)):
        made = make(period_s, lates)
        if made is not None and (rule := judged(name, *made, lates, measure)).saves < least.saves:
            least = rule
            yield rule


def _needs(saving: Saving, found: Sequence[_Class], history: int) -> Iterator[ClassNeed]:
    most = _needed_at(history, found)
    for one, place, late in found:
        rate = one.rate_per_s(saving.case.mtbf_s)
        needed = 1 if late is None else late.needed
        law = VERIFIED if late is None else "fixed" if late.law is DelayLaw.BOUNDED else "exponential"
        yield ClassNeed(
            name=one.name,
            kind=str(one.kind),
            every_s=1.0 / rate if rate > 0.0 else math.inf,
            law=law,
            delay_s=0.0 if late is None else one.delay_s,
            back_s=one.back_s + one.lag_s,
            tier=saving.places[place].name,
            needed=needed,
            missing=0.0 if late is None else late.missing_of_newest(needed),
            binds=late is not None and place == history and needed == most,
        )


def _remedy(rules: Sequence[Rule], lates: Sequence[Late]) -> Iterator[str]:
    """What would be enough."""
    for rule in rules:
        if rule.fits is not False and rule.rule != FEWEST:
            yield f"{{{rule.keep}}}, {rule.saves:,} save{'' if rule.saves == 1 else 's'} at most"
    if any(not late.is_way_back for late in lates):
        yield "a check before each save (verification), which finds the error before it is saved"


def _archive_full(rule: Rule, archive: int | None, place: Place, room: Room | None) -> float | None:
    """Running time until an archive has filled what the other saves leave of the room. [s]."""
    if archive is None or room is None:
        return None
    return max(0, room.fits - rule.saves - 1) * archive * place.period_s


def _assumptions(saving: Saving, found: Sequence[_Class], place: Place, archive: int | None) -> Iterator[str]:
    late = [one for one in found if one.late is not None]
    if late:
        yield (
            "a corruption comes at any moment between two saves; failures and the work done again after them lengthen "
            "the time from save to save, so that fewer saves would be enough"
        )
        yield "ages are of running time: count saves, not the clock, where the job stands still for long"
    if any(one.late.law is DelayLaw.EXPONENTIAL for one in late if one.late is not None):
        yield "the delay of silent corruption is exponential around its mean (detect_delay: fixed says that it is not)"
    if any(one.late is None for one in found):
        yield "a check finds every error that was made since the last one"
    yield "the oldest save is deleted when the next one is complete, so that there is room for one more"
    if any(other is not place for other in saving.places):
        yield (
            f"tiers other than {place.name} hold the newest save and, in a second buffer, the one under way; with room "
            "for one only, they hold none while it is written"
        )
    if any(other.endurance_bytes is not None for other in saving.places):
        yield "SSDs write each byte once (write amplification 1), evenly over their cells"
    if archive is not None:
        yield f"the archive takes one of every {archive:,} save{'' if archive == 1 else 's'} and gives none up"
