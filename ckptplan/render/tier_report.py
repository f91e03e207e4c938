"""Saves to several tiers: the answer in one sentence, the table of tiers, and which one is not worth having."""

from __future__ import annotations

from ckptplan.errors import printable
from ckptplan.plan.record import Plan
from ckptplan.plan.tiers.facts import TierFacts
from ckptplan.render.numbers import hundredths, percent, points, seconds, whole
from ckptplan.render.sheet import Column, Sheet, plain
from ckptplan.units import format_time

_COLUMNS = (
    Column("name", "tier", printable, right=False),
    Column("kind", show=None),
    Column("kept", show=None),
    Column("every", "every", whole),
    Column("every_steps", "steps", whole),
    Column("interval_s", "interval", seconds),
    Column("stall_s", "stall", seconds),
    Column("flush_s", "drain", seconds),
    Column("load_s", "load", format_time),
    Column("catches", "failures %", hundredths),
    Column("gain", "points", hundredths),
    Column("fits", "room for", whole),
    Column("why", "note", plain, right=False),
)


def tier_sheet(plan: Plan) -> Sheet | None:
    """One row per tier, the cheapest first; None if the spec has no tiers."""
    if plan.tiers is None:
        return None
    idle = set()
    if plan.step_time_s is None:
        idle |= {"every_steps"}
    for key in ("flush_s", "load_s", "fits", "why"):
        if not any(getattr(tier, key) for tier in plan.tiers.tiers):
            idle |= {key}
    columns = tuple(c._replace(show=None) if c.key in idle else c for c in _COLUMNS)
    return Sheet(columns, tuple(tuple(tier) for tier in plan.tiers.tiers))


def tier_title() -> str:
    """What the table of tiers shows."""
    return (
        "Saves to several tiers (every: slots from one save of a tier or a higher one to the next; points: of "
        "goodput, against the best plan without it):"
    )


def tier_answer(plan: Plan) -> list[str]:
    """How often to save to each tier, and what that yields."""
    made = plan.tiers
    if made is None:
        return []
    kept = [tier for tier in made.tiers if tier.kept]
    first, *rest = (printable(tier.name) for tier in kept)
    steps = "" if made.interval_steps is None else f" = {whole(made.interval_steps)} step{_s(made.interval_steps)}"
    text = f"tiers: save every {seconds(made.interval_s)}{steps} to {first}"
    for below, tier, name in zip(kept, kept[1:], rest, strict=False):
        text += f", {_ratio(below, tier)} of those to {name}"
    text += f"; goodput {percent(made.goodput)}"
    return [text + (" (best)" if plan.tiers_are_best else ""), *_against(plan)]


def _against(plan: Plan) -> list[str]:
    made = plan.tiers
    if made is None or made.single is None or made.single_goodput is None:
        return []
    gain = made.goodput - made.single_goodput
    if abs(gain) < 5e-5:
        return [f"tiers yield as much as {printable(made.single)}, the best single tier"]
    side = "more" if gain > 0 else "less"
    return [f"tiers yield {points(abs(gain))} {side} than {printable(made.single)}, the best single tier"]


def _ratio(below: TierFacts, tier: TierFacts) -> str:
    count = round((tier.every or 1) / (below.every or 1))
    if count == 1:
        return "each"
    return f"every {count}{_ENDINGS.get(count % 10, 'th') if count % 100 not in (11, 12, 13) else 'th'}"


_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def _s(count: int) -> str:
    return "" if count == 1 else "s"
