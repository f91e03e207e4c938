"""Given intervals in pictures of a plan, and its strategies by the names that are drawn."""

from __future__ import annotations

from ckptplan.plan.record import Plan, Record
from ckptplan.render.numbers import points, seconds
from ckptplan.render.plots.lettering import distinct, shortened
from ckptplan.render.plots.style import SMALL

NAME = 2.4  # most that a name takes in a sentence [inch]


def names_of(plan: Plan) -> dict[str, str]:
    """The strategies as they are drawn."""
    return distinct([record.strategy for record in plan.records], "strategy")


def given_of(plan: Plan) -> list[Record]:
    """One record for each given interval and strategy, by the method that knows most."""
    found: dict[tuple[str, float | None], Record] = {}
    for record in plan.given():
        found[record.strategy, record.asked_interval_s] = record
    return list(found.values())


def given_notes(plan: Plan) -> list[str]:
    """What each given interval loses by each strategy, where there are several."""
    names = {name: shortened(text, NAME, SMALL) for name, text in names_of(plan).items()}
    found: dict[float, list[Record]] = {}
    for record in given_of(plan):
        found.setdefault(record.interval_s, []).append(record)
    return [
        f"A save every {seconds(interval_s)} loses "
        + ", ".join(f"{points(record.lost_goodput)} with {names[record.strategy]}" for record in records)
        + ", each against the best interval of the same strategy."
        for interval_s, records in found.items()
        if len(records) > 1
    ]
