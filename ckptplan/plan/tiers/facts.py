"""What a tier plan says of each tier: how often to save to it, what it is worth, or why it is left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.interval.tier_patterns import pattern_goodputs
from ckptplan.plan.tiers.job import Floats, Pattern, TierJob, without

_RATIOS = 16  # tried for a tier that was dropped, to say what it would have cost


class TierFacts(NamedTuple):
    """One tier: how often a save goes there, and what comes back from it. [s, 1].

    ``every`` counts slots, ``every_steps`` steps from one save of this tier or a higher one to the next; None for a
    tier that is not kept. ``catches`` is the share of the failures that go back to it. ``gain`` is what it adds to the
    goodput: of a kept tier against the best plan without it, of a dropped one (not positive) against that with it.
    ``why`` says why a tier is left out, or kept though nothing goes back to it.
    """

    name: str
    kind: str
    kept: bool
    every: int | None
    every_steps: int | None
    interval_s: float | None
    stall_s: float
    flush_s: float
    load_s: float | None
    catches: float
    gain: float | None
    fits: int | None
    why: str


def facts_of(job: TierJob, made: Pattern) -> tuple[TierFacts, ...]:
    """Every tier of a job."""
    rate = np.asarray(job.saves.causes.rate)
    places = np.searchsorted(made.kept, np.asarray(job.saves.causes.level) - 1)
    total = rate.sum()
    catches = np.bincount(places, rate, minlength=len(made.kept)) / (total if total > 0.0 else 1.0)
    return tuple(_facts(job, made, index, catches) for index in range(len(job.costs)))


def _facts(job: TierJob, made: Pattern, index: int, catches: Floats) -> TierFacts:
    tier = job.costs[index]
    gain = _gain(job, made, index)
    facts = TierFacts(
        name=tier.name,
        kind=str(tier.kind),
        kept=False,
        every=None,
        every_steps=None,
        interval_s=None,
        stall_s=tier.stall_s,
        flush_s=tier.flush_s,
        load_s=tier.load_s,
        catches=0.0,
        gain=gain,
        fits=tier.fits,
        why=_why_not(job, index, gain),
    )
    if index not in made.kept:
        return facts
    place = int(np.searchsorted(made.kept, index))
    every, steps = made.every[place], made.best.steps
    return facts._replace(
        kept=True,
        every=every,
        every_steps=None if np.isnan(steps) else every * round(float(steps)),
        interval_s=every * float(made.best.interval_s),
        stall_s=tier.alone_stall_s if place == 0 else tier.stall_s,
        catches=float(catches[place]),
        why=_why_kept(job, index, float(catches[place])),
    )


def _gain(job: TierJob, made: Pattern, index: int) -> float | None:
    """What a tier adds to the goodput; None for one that cannot be used or cannot be left out."""
    last = len(job.available) - 1
    if not job.available[index] or index == last:
        return None
    best = made.best
    if best.kept[index]:
        return float(best.goodput - without(made, index).goodput)
    with_it = pattern_goodputs(job.saves, _with_level(best.every, index), step_time_s=job.case.step_time_s)
    return float(np.nanmax(with_it.goodput) - best.goodput)


def _with_level(every: Floats, index: int) -> Floats:
    """Patterns with one more level: ``down`` slots of the level below in one of it, ``up`` of it in the next."""
    kept = np.flatnonzero(~np.isnan(every))
    below, above = kept[kept < index], kept[kept > index]
    base = every[below[-1]] if below.size else 1.0
    rows = []
    for up in range(1, _RATIOS + 1):
        for down in range(1, _RATIOS + 1) if below.size else (1,):
            row = every.copy()
            row[index] = base * down
            row[above] = every[above] / every[above[0]] * row[index] * up
            rows.append(row)
    return np.array(rows)


def _why_kept(job: TierJob, index: int, catches: float) -> str:
    """What to say of a last tier to which no failure goes back; announced ends may need it all the same."""
    if catches > 0.0 or index != len(job.costs) - 1:
        return ""
    below = [tier for tier, there in zip(job.costs[:index], job.available[:index], strict=True) if there]
    enough = [tier.name for tier in below if min(tier.survival) >= 1.0]
    if not enough:
        return ""
    return (
        "kept because the last tier must survive everything; no failure of the spec goes back to it, and "
        f"{enough[0]} survives everything too: it can be deleted"
    )


def _why_not(job: TierJob, index: int, gain: float | None) -> str:
    if not job.available[index]:
        return "no save fits into it"
    needs = np.asarray(job.saves.causes.level) == index + 1
    if not needs.any():
        return "no failure goes back to it that a cheaper tier would not survive"
    cost = f"{100.0 * max(-(gain or 0.0), 0.0):.2g} points"
    return f"its saves would take more than the failures it survives: {cost} less"
