"""What was found, as blocks of a report: the answer, the shares of time, the strategies, the run to its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ckptplan.cost.scenario import Mode, Scenario
from ckptplan.errors import printable
from ckptplan.plan.curve import GoodputCurve
from ckptplan.plan.progress import makes_progress
from ckptplan.plan.record import TIERS, Plan
from ckptplan.render import class_report, plan_report, run_report, tier_report
from ckptplan.render.bars import basis, recommended_rows
from ckptplan.render.numbers import hundredths, percent, seconds, whole
from ckptplan.render.page.blocks import Block, Numbers, Points, Text, table
from ckptplan.render.plan_sheet import reading_sheet
from ckptplan.render.sheet import Column, Sheet

if TYPE_CHECKING:
    from ckptplan.plan.levers.record import Levers
    from ckptplan.plan.scale.scaling import Scaling
    from ckptplan.render.page.pictures import Pictures

_SHARES = (
    Column("strategy", "strategy", printable, right=False),
    Column("interval_s", "interval", seconds),
    Column("interval_steps", "steps", whole),
    Column("goodput", "useful %", hundredths),
    Column("save_fraction", "save %", hundredths),
    Column("rework_fraction", "rework %", hundredths),
    Column("restart_fraction", "restart %", hundredths),
    Column("slow_fraction", "slow %", hundredths),
    Column("waiting_fraction", "waiting %", hundredths),
)


_NEAR = 0.15  # of goodput
_POINTS = 13  # of a curve, in a table


def answer(plan: Plan, levers: Levers | None) -> Iterator[Block]:
    """The number to type, what it yields, which strategy is best, what to do first; then all strategies in a line."""
    steps, interval_s = _typed(plan)
    number, more = seconds(interval_s), "of work between two saves"
    if steps is not None:
        number, more = f"{whole(steps)} step{'' if steps == 1 else 's'}", f"{number} {more}"
    best = plan.best_record
    lost = f"{percent(1.0 - plan.best_goodput)} of the time is lost"
    items = [("Goodput", percent(plan.best_goodput), lost)]
    if plan.makes_progress:
        items.insert(0, ("Save every", number, more))
        if len(plan.optima()) > 1 or plan.tiers_are_best:
            compared = len(plan.optima()) + (plan.tiers is not None)
            items.append(("Best strategy", printable(best.strategy), f"of {compared} compared"))
    yield Numbers(tuple(items))
    for text in plan_report.no_progress(plan):
        yield Text(text, kind="lead")
    if levers is not None:
        yield Text(printable(levers.first), kind="lead")
    yield Points(
        (
            *plan_report.answers(plan),
            *tier_report.tier_answer(plan),
            *plan_report.habits(plan),
            plan_report.facts(plan),
        )
    )


def _typed(plan: Plan) -> tuple[int | None, float]:
    best = plan.best_record
    return best.interval_steps, best.typed_interval_s(plan.step_time_s)


def breakdown(plan: Plan, pictures: Pictures | None) -> Iterator[Block]:
    """The shares of wall time of each strategy at its best interval."""
    if pictures is not None:
        yield pictures.breakdown
    records = recommended_rows(plan)
    idle = {key for key in ("slow_fraction", "waiting_fraction") if all(getattr(r, key) == 0.0 for r in records)}
    idle |= {"interval_steps"} if all(record.interval_steps is None for record in records) else set()
    columns = tuple(column for column in _SHARES if column.key not in idle)
    rows = tuple(tuple(getattr(record, column.key) for column in columns) for record in records)
    stressed = frozenset(i for i, record in enumerate(records) if plan.is_best(record))
    yield table(Sheet(columns, rows, stressed), "Shares of wall time at the best interval of each strategy")
    told_apart = basis(plan)
    if told_apart:
        yield Text(told_apart)


def strategies(plan: Plan, scenario: Scenario) -> Iterator[Block]:
    """Every strategy by every method, with what each given interval loses."""
    said = [*plan_report.ways(plan), *run_report.verified(plan), *_modes(scenario)]
    if said:
        yield Points(tuple(said))
    sheet, notes = reading_sheet(plan)
    yield table(sheet, "Each strategy by each method", notes=tuple(map(printable, notes)))
    unequal = run_report.unequal(plan)
    if unequal:
        yield Points(tuple(unequal))


_MEANT = {
    Mode.GATHERED: "one writer writes all",
    Mode.SHARDED: "every rank writes its part while training waits",
    Mode.ASYNCHRONOUS: "training waits for a copy to host memory, which is written in the background",
}


def _modes(scenario: Scenario) -> list[str]:
    """What each strategy does, in words."""
    named = ((printable(save.name), save.mode) for save in scenario.saves)
    return [f"{name}{'' if name == mode else f' ({mode})'}: {_MEANT[mode]}" for name, mode in named]


def curve(goodputs: GoodputCurve, pictures: Pictures | None) -> Iterator[Block]:
    """How flat the optimum is: a sentence, the picture, and some points of it; nothing where nothing is useful."""
    places = _places(goodputs)
    if not places:
        return
    flat = goodputs.flat
    if flat is not None:
        low, high = seconds(flat.low_s), seconds(flat.high_s)
        way = "tiers" if goodputs.best == TIERS else printable(goodputs.best)
        within = f"within {100 * flat.within_fraction:g} point of the best"
        yield Text(f"With {way}, any interval from {low} to {high} yields {within}.")
    if pictures is not None and pictures.curve is not None:
        yield pictures.curve
    columns = [Column("interval_s", "interval", seconds)]
    columns += [Column(line.strategy, f"{printable(line.strategy)} %", _finite) for line in goodputs.lines]
    rows = tuple((goodputs.interval_s[i], *(line.goodput[i] for line in goodputs.lines)) for i in places)
    empty = any(value != value for row in rows for value in row)  # noqa: PLR0124 - nan
    caption = "Goodput at intervals around the best ones"
    yield table(Sheet(tuple(columns), rows), f"{caption} (-: the flush takes longer)" if empty else caption)


def _places(goodputs: GoodputCurve) -> list[int]:
    """Points of the curve, evenly spread over what is not far below the best, and as many as a table can have."""
    import numpy as np

    values = np.nan_to_num(np.array([line.goodput for line in goodputs.lines]), nan=-1.0)
    if not makes_progress(float(values.max())):
        return []
    near = np.flatnonzero(np.any(values >= values.max() - _NEAR, axis=0))
    return [int(place) for place in np.unique(np.linspace(near[0], near[-1], _POINTS).round())]


def _finite(value: float) -> str:
    return "-" if value != value else hundredths(float(value))  # noqa: PLR0124 - nan


def tiers(plan: Plan) -> Iterator[Block]:
    """Which tier is worth having."""
    sheet = tier_report.tier_sheet(plan)
    if sheet is not None:
        yield Text(tier_report.tier_title().rstrip(":"))
        yield table(sheet, "Tiers, the cheapest first")


def classes(plan: Plan) -> Iterator[Block]:
    """What each class of failures takes, and what guards against it."""
    sheet = class_report.class_sheet(plan)
    if sheet is not None:
        yield table(sheet, class_report.class_title(plan).rstrip(":"))
    guards = class_report.guards(plan)
    if guards:
        yield Text(f"{class_report.guards_title(plan)}:")
        yield Points(tuple(guards))


def run(plan: Plan) -> Iterator[Block]:
    """When the run ends."""
    said = run_report.to_the_end(plan)
    if said:
        yield Points(tuple(said))


def sure(plan: Plan) -> Iterator[Block]:
    """What the count of failures and the unsure inputs leave open."""
    said = run_report.how_sure(plan)
    yield Points(tuple(said) or ("the spec gives neither a count of failures nor ranges: nothing says how sure it is",))


def scale(plan: Plan, made: Scaling | None, refused: str, pictures: Pictures | None) -> Iterator[Block]:
    """Where more GPUs stop helping; what to type at the numbers of GPUs that were asked for."""
    asked = plan_report.scales(plan)
    if asked:
        yield Points(tuple(asked))
    if made is None:
        if refused:
            yield Text(f"Not known: {printable(refused)}")
        return
    from ckptplan.render import scale_report
    from ckptplan.render.scale_sheets import curve_sheet

    helps = scale_report.stops(made)[: len(made.peaks)]  # what follows is on an option that a report does not have
    yield Points((*scale_report.planned(made), *helps, *scale_report.batch(made)))
    if pictures is not None and pictures.scale is not None:
        yield pictures.scale
    sheet, notes = curve_sheet(made)
    yield table(sheet, "Goodput and useful GPUs by size", notes=tuple(map(printable, notes)))
    for more, title in scale_report.tables(made):
        yield table(more, title.rstrip(":"))
