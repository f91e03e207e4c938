"""The report of ``ckptplan optimize``: the answer first, then the table that accounts for every hour, then why."""

from __future__ import annotations

from collections.abc import Sequence

from ckptplan.errors import printable
from ckptplan.plan.progress import makes_progress
from ckptplan.plan.record import Plan, Record
from ckptplan.render.bars import loss_bars
from ckptplan.render.class_report import class_sheet, class_title, guards, guards_title
from ckptplan.render.marking import bullets, escaped, heading, notes, sentences
from ckptplan.render.numbers import percent, points, seconds, whole
from ckptplan.render.plan_sheet import reading_sheet
from ckptplan.render.run_report import how_sure, to_the_end, unequal, verified
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.render.tier_report import tier_answer, tier_sheet, tier_title
from ckptplan.units import HOUR_S, format_gpus, format_share, format_size, format_time

_COARSE = 0.02  # from here on "= N steps" would be read as a wrong sum


def report(plan: Plan, screen: Screen, *, assumed: Sequence[str] = ()) -> str:
    """The whole report for people. ``assumed`` are values that the spec left to defaults."""
    sheet, notes = reading_sheet(plan)
    parts = [
        screen.paragraph(f"{printable(plan.name)} ({format_gpus(plan.gpus)})") + "\n",
        screen.lines([*no_progress(plan), *answers(plan), *tier_answer(plan), *flat(plan)]),
        screen.lines(scales(plan)),
        screen.lines(habits(plan)),
        screen.lines([*ways(plan), *verified(plan)]),
        screen.paragraph(facts(plan)) + "\n",
        screen.table(sheet),
        _footnotes(screen, notes),
        loss_bars(plan, screen),
        *_table(tier_sheet(plan), tier_title(), screen),
        *_table(class_sheet(plan), class_title(plan), screen),
        screen.bullets(guards_title(plan), guards(plan)),
        screen.bullets("To the end of the run", to_the_end(plan)),
        screen.bullets("How sure this is", how_sure(plan)),
        screen.bullets("What unequal intervals would gain", unequal(plan)),
        screen.bullets("What binds", map(printable, plan.binds)),
        screen.bullets("What is assumed", map(printable, (*plan.assumptions, *assumed))),
        screen.lines(first_lever(plan)),
    ]
    return "\n".join(part for part in parts if part)


def markdown(plan: Plan, *, assumed: Sequence[str] = ()) -> str:
    """The report as Markdown: title, answers, table, notes."""
    sheet, noted = reading_sheet(plan)
    parts = [heading(f"{plan.name} ({format_gpus(plan.gpus)})")]
    answered = [*no_progress(plan), *answers(plan), *tier_answer(plan), *flat(plan), *scales(plan), *habits(plan)]
    parts.append(bullets(answered))
    parts += [*sentences([facts(plan)]), to_markdown(sheet)]
    if noted:
        parts.append(notes(noted))
    for more, title in ((tier_sheet(plan), tier_title()), (class_sheet(plan), class_title(plan))):
        if more is not None:
            parts += [*sentences([title]), to_markdown(more)]
    titled = (
        (guards_title(plan), guards(plan)),
        ("Which way of saving", ways(plan)),
        ("By simulation", verified(plan)),
        ("To the end of the run", to_the_end(plan)),
        ("How sure this is", how_sure(plan)),
        ("What unequal intervals would gain", unequal(plan)),
        ("What binds", plan.binds),
        ("What is assumed", (*plan.assumptions, *assumed)),
    )
    for title, texts in titled:
        if texts:
            parts.append(f"{escaped(title)}:\n\n{bullets(texts)}")
    parts += sentences(first_lever(plan))
    return "\n".join(parts)


def first_lever(plan: Plan) -> list[str]:
    """The one thing to do first, which ends the report; none if it was not looked for."""
    if plan.lever is None:
        return []
    from ckptplan.plan.levers.wording import do_first

    return [printable(do_first(plan.lever))]


def _table(sheet: Sheet | None, title: str, screen: Screen) -> list[str]:
    return [] if sheet is None else [screen.paragraph(title) + "\n", screen.table(sheet)]


def no_progress(plan: Plan) -> list[str]:
    """That the run gets nowhere, and what would change that; nothing for one that gets on."""
    return [] if plan.makes_progress else [printable(text) for text in plan.advice]


def ways(plan: Plan) -> list[str]:
    """Which way of saving is better, and why, where the run gets on."""
    return [printable(text) for text in plan.advice] if plan.makes_progress else []


def answers(plan: Plan) -> list[str]:
    """One sentence per strategy, with the number to type; the best strategy is named, if any gets anywhere."""
    optima = plan.optima()
    several = len(optima) > 1 and not plan.tiers_are_best and plan.makes_progress
    return [_answer(plan, record, best=several and record is plan.best) for record in optima]


def flat(plan: Plan) -> list[str]:
    """How far from the recommended interval one may go at next to no loss."""
    if plan.flat is None:
        return []
    low, high, within = plan.flat
    return [f"anything from {seconds(low)} to {seconds(high)} is within {100.0 * within:g} point of the best"]


def _answer(plan: Plan, record: Record, *, best: bool) -> str:
    name, goodput = printable(record.strategy), percent(record.goodput_typed)
    if not makes_progress(record.goodput_typed):
        return f"{name}: no progress, goodput {goodput}"
    return f"{name}: save every {_interval(plan, record)}; goodput {goodput}" + (" (best)" if best else "")


def _interval(plan: Plan, record: Record) -> str:
    """Seconds and whole steps; what is printed as equal is equal, or the other number stands beside it."""
    step_time_s = plan.step_time_at(record.gpus)
    if record.interval_steps is None or step_time_s is None:
        return seconds(record.interval_s)
    steps, typed = _steps(record.interval_steps, step_time_s), record.interval_steps * step_time_s
    if abs(typed - record.interval_s) > _COARSE * record.interval_s:
        return f"{steps} = {seconds(typed)} (the optimum would be {seconds(record.interval_s)})"
    text = f"{seconds(record.interval_s)} = {steps}"
    return text if seconds(typed) == seconds(record.interval_s) else f"{text} (whole steps: {seconds(typed)})"


def _steps(count: int, step_time_s: float) -> str:
    return f"{whole(count)} step{'' if count == 1 else 's'} of {step_time_s:,.6g} s"


def scales(plan: Plan) -> list[str]:
    """The answers at other numbers of GPUs."""
    return [
        f"at {format_gpus(gpus)} (MTBF {format_time(record.mtbf_s)}), {_answer(plan, record, best=False)}"
        for gpus in plan.scales
        if gpus != plan.gpus
        for record in plan.optima(gpus)
    ]


def habits(plan: Plan) -> list[str]:
    """What each given interval costs against the optimum of its strategy."""
    chosen: dict[tuple[str, float | None], Record] = {}
    for record in plan.given():
        chosen[record.strategy, record.asked_interval_s] = record
    return [_habit(plan, record) for record in chosen.values()]


def _habit(plan: Plan, record: Record) -> str:
    lost = record.lost_goodput or 0.0
    text = (
        f"{printable(record.strategy)} at the given {_given(plan, record)}: goodput "
        f"{percent(record.goodput_exact)}, {points(lost)} below its optimum"
    )
    if record.lost_gpu_hours is not None and plan.duration_s is not None:
        text += f"; {format_time(plan.duration_s)} of work take {whole(record.lost_gpu_hours)} GPU-hours more"
    if record.lost_money is not None:
        text += f", worth {whole(record.lost_money)} at the given price"
    return text


def _given(plan: Plan, record: Record) -> str:
    asked = record.asked_interval_s
    if asked is None or asked >= record.interval_s:
        return _interval(plan, record)
    return f"{seconds(asked)}, raised to {_interval(plan, record)}"


def facts(plan: Plan) -> str:
    """Size, MTBF and restart, on one line; where several classes stop the run the restart is their mean."""
    size, failures, restart = plan.checkpoint, plan.failures, plan.restart
    of_mtbf = format_share(restart.total_s / failures.mtbf_s, "the MTBF", percent)
    return (
        f"Checkpoint {format_size(size.size_bytes)} ({format_size(size.size_per_gpu_bytes)} per GPU). "
        f"MTBF {_hours(failures.mtbf_s)} ({_hours(failures.mtbf_per_gpu_s)} per GPU). "
        f"Restart {format_time(restart.total_s)} ({of_mtbf}{'; mean over the classes' if _stops_differ(plan) else ''})."
    )


def _stops_differ(plan: Plan) -> bool:
    """Whether several classes of failures stop the run: those under which it goes on are not in the mean."""
    if len(plan.classes) < 2:
        return False
    from ckptplan.cost.classes import FailureKind

    goes_on = (FailureKind.SLOW, FailureKind.SPIKE, FailureKind.MAINTENANCE)
    return sum(one.kind not in goes_on for one in plan.classes) > 1


def _hours(value_s: float) -> str:
    """``3.09 h``, ``45,512 h``: an MTBF in hours, as failures are counted by them; a shorter one in its own unit."""
    hours = value_s / HOUR_S
    if hours < 1.0:
        return format_time(value_s)
    return f"{hours:,.0f} h" if hours >= 1000 else f"{hours:.3g} h"


def _footnotes(screen: Screen, notes: Sequence[str]) -> str:
    lines = [screen.paragraph(text, indent="    ", first=f"[{i}] ") for i, text in enumerate(notes, start=1)]
    return "".join(line + "\n" for line in lines)
