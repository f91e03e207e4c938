"""What a rule of keeping saves holds, and what it leaves when an error is found late."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.interval.retention import DelayLaw, checkpoints_to_keep, no_clean_probability
from ckptplan.interval.thinning import Stage, Thinning, kept
from ckptplan.interval.thinning_choice import clean_checkpoint

_MOST_PAIRS = 500_000  # of an index and an age that are gone through; a longer rule is coarsened
_SHORT_ROW = 5e-4  # cost of an age that is only reserved, against one that is gone through
_LONGEST_CYCLE = 250_000  # saves after which a rule repeats
_SIZES = 32  # of groups that are tried
_NEGLIGIBLE = 1e-12  # of a probability: rounding
_MOST_DIGITS = 10  # after the point, of a probability in percent
_TAIL = 45.0  # mean delays after which nothing is found any more


class Late(NamedTuple):
    """A class whose errors are found when saves have been made since, reckoned in periods of the place it goes to."""

    name: str
    rate_per_s: float
    periods: float  # delay, or way back, over the period
    law: DelayLaw
    missing: float  # probability of no clean save that is accepted
    is_way_back: bool = False  # known steps, for which a save can always be there

    @property
    def accepted(self) -> float:
        """Probability of no clean save for which a number is chosen."""
        return 0.0 if self.is_way_back else self.missing

    @property
    def needed(self) -> int:
        """Least number of newest saves."""
        return int(checkpoints_to_keep(self.accepted, 1.0, self.periods, law=self.law))

    def missing_of_newest(self, keep: int) -> float:
        """Probability that none of so many newest saves is clean."""
        return _rounded(float(no_clean_probability(keep, 1.0, self.periods, law=self.law)))


class Measure(NamedTuple):
    """What a rule is measured by: bytes of one save, saves that there is room for, goodput if all are kept."""

    size_bytes: float
    fits: int | None
    goodput: float


class Leaves(NamedTuple):
    """What a rule leaves when an error is found: by class, and on average over the errors."""

    missing: tuple[float, ...]  # probability of no clean save
    extra_rework_s: tuple[float, ...]  # expected, against keeping all saves


class Rule(NamedTuple):
    """One rule and what comes of it. Saves and bytes are the most that it ever holds. [1, bytes, s]."""

    rule: str
    keep: str  # to type, or to carry out
    stages: tuple[Stage, ...]  # without the archive
    archive_every: int | None  # saves
    saves: int  # complete ones
    mean_saves: float
    room_bytes: float  # with the one under way
    fits: bool | None  # None: the room is not known
    is_enough: bool  # for every class
    probability: float  # of a clean save, for the class that finds one least often
    missing: float  # its complement, with full precision where it is small
    least_sure: str | None  # that class
    only_in_archive: float  # probability that nothing younger than the archive is clean
    none_left_every_s: float  # mean time between errors that leave no clean save
    extra_rework_s: float  # per error, against keeping all saves
    lost_goodput: float  # by that, to first order


def leaves(rule: Thinning, lates: Sequence[Late]) -> Leaves:
    """Probability of no clean save and expected extra rework, by class.

    Notes
    -----
    By `clean_checkpoint`; a long rule with groups of saves taken as one, which makes both a little worse than they are.
    The probability in closed form wherever the sparsest stage alone holds the oldest save.
    """
    coarse = None if _is_dense(rule) else _coarser(rule, lates)
    missing, extra = [], []
    for late in lates:
        found = None if coarse is None else clean_checkpoint(coarse, late.periods * rule.period_s, law=late.law)
        clean = 0.0 if found is None else float(found.probability)
        extra.append(clean * float(found.extra_rework_s) if found is not None and clean > 0.0 else 0.0)
        alone = missing_of(rule, late)
        missing.append(float(found.no_clean_probability) if alone is None and found is not None else alone or 0.0)
    return Leaves(tuple(map(_rounded, missing)), tuple(extra))


def missing_of(rule: Thinning, late: Late) -> float | None:
    """Probability of no clean save where the stage that lasts longest holds the oldest one; None elsewhere.

    Notes
    -----
    Of a stage with every k-th save up to an age U, the age of the oldest is uniform in ``(U - k P, U)``: that is
    `no_clean_probability` of whole numbers with the rest as a way back.
    """
    *others, last = sorted(rule.stages, key=lambda stage: stage.until_s)
    if last.until_s == math.inf:
        return 0.0
    until = last.until_s / rule.period_s
    if any(stage.until_s / rule.period_s > until - last.every for stage in others):
        return None
    keep = math.ceil(until / last.every)
    back = max(0.0, keep * last.every - until)
    return _rounded(float(no_clean_probability(keep, last.every, late.periods, law=late.law, rollback=back)))


def _doubt(late: Late, missing: float, missing_of_young: float) -> tuple[bool, float, float]:
    """Order of the classes by how little a rule does for them: not enough first, then seldom enough, then far back."""
    return not holds(late, missing), missing_of_young, late.periods


def holds(late: Late, missing: float) -> bool:
    """Whether a probability of no clean save is accepted, to rounding."""
    return missing <= late.missing * (1.0 + 1e-9) + _NEGLIGIBLE


def judged(name: str, keep: str, rule: Thinning, lates: Sequence[Late], measure: Measure) -> Rule:
    """A rule with what it holds and what it leaves.

    Parameters
    ----------
    name, keep : str
        What it is called, and how it is typed.
    rule : Thinning
        With its archive, as a stage that never ends.
    lates : sequence of Late
        Classes that go back to what it keeps.
    measure : Measure
        What it is measured by.
    """
    bare = rule._replace(stages=tuple(stage for stage in rule.stages if stage.until_s < math.inf))
    archive = [stage.every for stage in rule.stages if stage.until_s == math.inf]
    held, young = kept(bare), leaves(bare, lates)
    found = leaves(rule, lates) if archive else young
    rates = [late.rate_per_s for late in lates]
    none_left = sum(rate * missing for rate, missing in zip(rates, found.missing, strict=True))
    lost_s = sum(rate * extra for rate, extra in zip(rates, found.extra_rework_s, strict=True))
    worst = max(range(len(lates)), key=lambda i: _doubt(lates[i], found.missing[i], young.missing[i]), default=None)
    missing = 0.0 if worst is None else found.missing[worst]
    return Rule(
        rule=name,
        keep=keep,
        stages=bare.stages,
        archive_every=min(archive, default=None),
        saves=int(held.most),
        mean_saves=held.mean,
        room_bytes=(held.most + 1.0) * measure.size_bytes,
        fits=None if measure.fits is None else held.most + 1.0 <= measure.fits,
        is_enough=all(holds(late, part) for late, part in zip(lates, found.missing, strict=True)),
        probability=1.0 - missing,
        missing=missing,
        least_sure=None if worst is None else lates[worst].name,
        only_in_archive=0.0 if worst is None else young.missing[worst] - missing,
        none_left_every_s=1.0 / none_left if none_left > 0.0 else math.inf,
        extra_rework_s=lost_s / sum(rates) if sum(rates) > 0.0 else max(found.extra_rework_s, default=0.0),
        lost_goodput=measure.goodput * lost_s,
    )


def _is_dense(rule: Thinning) -> bool:
    """Whether every save up to an age is kept, and no other."""
    return [stage.every for stage in rule.stages] == [1]


def certainty(missing: float) -> str:
    """What is not missing, in percent: ``39.06 %``, ``99.99977 %``, ``100 %``; never rounded to more than it is."""
    if missing == 0.0:
        return "100 %"
    lacks = 100.0 * missing
    digits = min(max(2, 1 - math.floor(math.log10(lacks))), _MOST_DIGITS)
    return f"{math.floor(round((100.0 - lacks) * 10.0**digits, 6)) / 10.0**digits:.{digits}f} %"


def _coarser(rule: Thinning, lates: Sequence[Late]) -> Thinning:
    """The same rule with groups of saves as one, where it would take too long to go through all of them."""
    spacings = sorted(stage.every for stage in rule.stages)
    cycle = math.lcm(*spacings)
    reach = max((_TAIL * late.periods for late in lates), default=0.0) + spacings[-1]
    ages = sum(min(stage.until_s / rule.period_s, reach) / stage.every for stage in rule.stages)
    rows = sum(reach / every for every in spacings)  # what a row of ages is taken to be long
    work = cycle * max(ages, rows * _SHORT_ROW)
    least = max(math.ceil(math.sqrt(work / _MOST_PAIRS)), -(-cycle // _LONGEST_CYCLE))
    if least <= 1:
        return rule
    group = min(_groups(least), key=lambda size: sum(_grouped(spacings, size)) * size)
    scaled = dict(zip(spacings, _grouped(spacings, group), strict=True))
    stages = tuple(stage._replace(every=scaled[stage.every]) for stage in rule.stages)
    return Thinning(rule.period_s * group, stages)


def _groups(least: int) -> set[int]:
    """Sizes of groups to choose from, up to twice the least."""
    return {1 << (least - 1).bit_length(), *(least + least * step // _SIZES for step in range(_SIZES + 1))}


def _grouped(spacings: Sequence[int], group: int) -> list[int]:
    """Spacings in groups, none shorter than it was, each a multiple of the one before as it was."""
    found, before = [], 1
    for every in spacings:
        before *= math.ceil(every / (group * before))
        found.append(before)
    return found


def _rounded(probability: float) -> float:
    """A probability without what is only rounding."""
    return 0.0 if probability < _NEGLIGIBLE else probability
