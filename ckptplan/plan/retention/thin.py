"""Rules that are enough: as many newest saves as are needed, and thinner ones that need fewer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from ckptplan.errors import InputError
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import floor_to_whole
from ckptplan.interval.retention import checkpoints_to_keep
from ckptplan.interval.thinning import Thinning, kept, thinning
from ckptplan.interval.thinning_choice import thinning_for
from ckptplan.plan.retention.given import typed_time
from ckptplan.plan.retention.rules import Late, holds, leaves, missing_of

_MOST_NEEDED = 300_000  # newest saves, beyond which the thinnest rule is not looked for: it would take minutes
_NAMED = 5  # spacings of a rule that are all named


def newest_of(period_s: float, lates: Sequence[Late]) -> tuple[str, Thinning]:
    """As many newest saves as the class needs that needs most."""
    needed = max((late.needed for late in lates), default=1)
    return f"keep: {needed}", thinning(period_s, keep_all=needed * period_s)


def two_steps(period_s: float, lates: Sequence[Late]) -> tuple[str, Thinning] | None:
    """All saves for a while, then one in as long a while: as few saves as such a rule can do with.

    Returns
    -------
    tuple or None
        The keys of the spec, whose times are rounded up so that they can be typed, and the rule; None where it would
        hold no fewer saves than the newest ones alone.

    Notes
    -----
    With every k-th save kept, the m(k) newest of which are needed, and all of the newest k, ``k + m(k) - 1`` are
    held: about ``2 sqrt(m(1))`` at best.
    """
    needed = max((late.needed for late in lates), default=1)
    ks = np.arange(2.0, 3.0 * math.sqrt(needed) + 3.0)
    k = ks[np.argmin(ks + _needed_at(ks, lates))]
    every_s, every = typed_time(k * period_s)
    spacing = float(floor_to_whole(np.asarray(every_s / period_s)))
    reach_s = float(_needed_at(np.asarray(spacing), lates)) * spacing * period_s
    for round_up in (False, True):  # a little less may be enough, and holds one save fewer
        for_s, until = typed_time(reach_s, up=round_up)
        rule = thinning(period_s, keep_all=every_s, then_every=every_s, then_for=for_s)
        if _enough(rule, lates):
            break
    if for_s <= every_s or kept(rule).most >= needed:
        return None
    return f"keep_all: {every}, then_every: {every}, then_for: {until}", rule


def fewest(period_s: float, lates: Sequence[Late]) -> tuple[str, Thinning] | None:
    """The thinning, ever sparser with age, that needs fewest saves; None where it needs as many as the newest alone."""
    needed = max((late.needed for late in lates), default=1)
    if needed > _MOST_NEEDED:
        return None
    by_class = []
    for late in lates:
        try:
            choice = thinning_for(late.accepted, period_s, late.periods * period_s, law=late.law)
        except InputError:  # the rule would repeat too late to be gone through
            return None
        by_class.append(choice.thinning)
    # What any of the rules wants is enough for each class.
    rules = [rule for rule in by_class if _enough(rule, lates)] + [_merged(period_s, by_class)]
    best = min(rules, key=lambda rule: kept(rule).most)
    return None if kept(best).most >= needed or len(best.stages) < 2 else (_in_words(best), best)


def _needed_at(spacing: Floats, lates: Sequence[Late]) -> Floats:
    """Saves needed if only every so many are kept. [1]."""
    each = [checkpoints_to_keep(late.accepted, spacing, late.periods, law=late.law) for late in lates]
    return np.asarray(np.maximum.reduce([np.ones_like(spacing), *each]))


def _enough(rule: Thinning, lates: Sequence[Late]) -> bool:
    alone = [missing_of(rule, late) for late in lates]
    missing = leaves(rule, lates).missing if None in alone else alone
    return all(part is not None and holds(late, part) for late, part in zip(lates, missing, strict=True))


def _merged(period_s: float, rules: Sequence[Thinning]) -> Thinning:
    """What any of some rules wants."""
    stages = sorted({stage for rule in rules for stage in rule.stages}, key=lambda stage: (stage.every, -stage.until_s))
    return Thinning(period_s, tuple(next(group) for _, group in groupby(stages, key=lambda stage: stage.every)))


def _in_words(rule: Thinning) -> str:
    """``the newest 2 of all saves, of every 2nd and 4th; the newest 3 of every 8th``."""
    numbers = [(stage.every, round(stage.until_s / (stage.every * rule.period_s))) for stage in rule.stages]
    groups = [(count, [every for every, _ in group]) for count, group in groupby(numbers, key=lambda pair: pair[1])]
    return "; ".join(f"the newest {count:,} of {_levels(every)}" for count, every in groups)


def _levels(every: Sequence[int]) -> str:
    """``all saves and of every 2nd, 4th, 8th ... 256th``: each is twice the one before."""
    later = [ordinal(n) for n in every if n > 1]
    if len(later) > _NAMED:
        later = [*later[:3], f"... {later[-1]}"]
    text = ", ".join(later).replace(", ...", " ...")
    parts = (["all saves"] if every[0] == 1 else []) + ([f"every {text}"] if later else [])
    return " and of ".join(parts)


def ordinal(n: int) -> str:
    """``1st``, ``2nd``, ``11th``."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th") if n % 100 not in (11, 12, 13) else "th"
    return f"{n:,}{ending}"
