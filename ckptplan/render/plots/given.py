"""Given intervals in pictures of a plan, and its strategies by the names that are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckptplan.plan.record import Plan, Record
from ckptplan.render.numbers import points, seconds
from ckptplan.render.plots.lettering import distinct, shortened
from ckptplan.render.plots.style import SMALL

NAME = 2.4  # most that a name takes in a sentence [inch]
_MOST = 4  # strategies in one sentence: a note has three lines


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
    return [_note(interval_s, records, names) for interval_s, records in found.items() if len(records) > 1]


def _note(interval_s: float, records: Sequence[Record], names: Mapping[str, str]) -> str:
    told = ", ".join(f"{points(one.lost_goodput)} with {names[one.strategy]}" for one in records[:_MOST])
    left = len(records) - _MOST
    more = f" (and {left} more)" if left > 0 else ""
    of_each = "each against the best interval of the same strategy"
    return f"A save every {seconds(interval_s)} loses {told}{more}, {of_each}."
