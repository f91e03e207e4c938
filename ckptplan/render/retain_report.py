"""How many saves to keep: the verdict and the answer first, then classes, rules, tiers, and what is assumed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ckptplan.errors import printable
from ckptplan.plan.retention.retaining import VERIFIED, RetentionPlan
from ckptplan.plan.retention.rules import Rule, certainty
from ckptplan.plan.retention.thin import ordinal
from ckptplan.render.marking import bullets, heading, sentences
from ckptplan.render.numbers import percent, points, seconds, whole
from ckptplan.render.retain_sheet import class_sheet, rule_sheet, tier_sheet
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.units import format_size, format_time

_NOTHING = 5e-5  # of a share, that is not worth a word


def report(plan: RetentionPlan, screen: Screen) -> str:
    """The whole report for people."""
    parts = [
        screen.paragraph(_heading(plan)) + "\n",
        screen.lines(answers(plan)),
        screen.lines(ways(plan)),
    ]
    for title, sheet in _sheets(plan):
        parts += [screen.paragraph(title) + "\n", screen.table(sheet)]
    parts.append(screen.bullets("What is assumed", map(printable, plan.assumptions)))
    return "\n".join(part for part in parts if part)


def markdown(plan: RetentionPlan) -> str:
    """The same as Markdown."""
    parts = [heading(_heading(plan)), bullets([*answers(plan), *ways(plan)])]
    for title, sheet in _sheets(plan):
        parts += [*sentences([title]), to_markdown(sheet)]
    parts.append(f"What is assumed:\n\n{bullets(plan.assumptions)}")
    return "\n".join(parts)


def _heading(plan: RetentionPlan) -> str:
    return f"{printable(plan.name)} ({whole(plan.gpus)} GPU{'' if plan.gpus == 1 else 's'})"


def _sheets(plan: RetentionPlan) -> Iterator[tuple[str, Sheet]]:
    classes = class_sheet(plan)
    if classes is not None:
        yield "What goes back past the newest save (every: of running time, of new work for a loss spike):", classes
    if plan.given is not None or _is_late(plan):
        archive = "" if plan.archive_every is None else "; the archive is not counted"
        yield (
            f"Rules for {printable(plan.history.name)} (none left: errors without a clean save; extra rework: per "
            f"error, against keeping all saves; costs: of goodput{archive}):",
            rule_sheet(plan),
        )
    yield "What each tier holds (bytes with the save under way; written while nothing fails):", tier_sheet(plan)


def answers(plan: RetentionPlan) -> list[str]:
    """The verdict on the rule of the spec, if it has one; how many to keep; thinner rules."""
    found = [] if plan.given is None else [verdict(plan, plan.given)]
    found.append(_least(plan))
    if _is_late(plan):
        found += [f"or keep {_in_words(rule)}: {_price(rule)}" for rule in plan.rules[1:]]
    elif not plan.classes:
        found.append(
            "keep more for what the spec does not speak of: corruption that is found late, a save that cannot be read, "
            "evaluation; a class of kind silent corruption under failures.classes says how many"
        )
    return found


def verdict(plan: RetentionPlan, rule: Rule) -> str:
    """Whether the rule of the spec is enough, and what would be."""
    head = f"retention of the spec ({rule.keep}) is {'enough' if rule.is_enough else 'not enough'}"
    if rule.least_sure is None:
        return f"{head}: 1 save would be"
    sure = f"a clean save is {_left(rule)}"
    wanted = _wanted(plan)
    if rule.only_in_archive >= _NOTHING:
        sure += f", in {percent(rule.only_in_archive)} only in the archive"
    if rule.lost_goodput >= _NOTHING:
        sure += f"; {_rework(rule)}"
    if rule.is_enough:
        return f"{head}: {sure} ({wanted})"
    remedy = f"; write {', or '.join(plan.remedy)}" if plan.remedy else ""
    return f"{head}: {sure} ({wanted}), and none once in {format_time(rule.none_left_every_s)}{remedy}"


def _least(plan: RetentionPlan) -> str:
    """How many newest saves are needed, and by which class."""
    rule, place = plan.rules[0], printable(plan.history.name)
    if not _is_late(plan):
        return f"1 save in {place} is enough, 2 with the one under way: {_restarts(plan)}"
    needs = [f"{printable(one.name)} needs {whole(one.needed)}" for one in plan.classes]
    several = f"; {', '.join(needs)}" if len(needs) > 1 else ""
    back = format_time(rule.saves * plan.history.period_s)
    newest = "save" if rule.saves == 1 else _saves(rule.saves)
    return (
        f"keep the newest {newest} in {place}, all of the last {back}: a clean one is {_left(rule)} ({_wanted(plan)})"
        f"{several}"
    )


def _left(rule: Rule) -> str:
    if rule.missing == 0.0 or rule.least_sure is None:
        return "always left"
    return f"left for {certainty(rule.missing)} of {printable(rule.least_sure)}"


def _wanted(plan: RetentionPlan) -> str:
    return f"{100.0 * plan.probability:.14g} % wanted"


def _restarts(plan: RetentionPlan) -> str:
    """Why one save is enough."""
    checked = [printable(one.name) for one in plan.classes if one.law == VERIFIED]
    if checked:
        return f"the check finds {' and '.join(checked)} before a save is made, so that the newest one is clean"
    return "restarts go back to the newest one, and no class of the spec goes back further"


def _in_words(rule: Rule) -> str:
    """A thinner rule as one would say it, and type it where the spec has keys for it."""
    if not rule.keep.startswith("keep_all"):
        return rule.keep
    all_s, then = rule.stages[0].until_s, rule.stages[1]
    return (
        f"all for {format_time(all_s)}, then one of every {whole(then.every)} up to {format_time(then.until_s)} "
        f"(retention: {{{rule.keep}}})"
    )


def _price(rule: Rule) -> str:
    text = f"{_saves(rule.saves)} at most, {format_size(rule.room_bytes)}"
    fits = "" if rule.fits is not False else ", which do not fit"
    return f"{text}{fits}; {_rework(rule)}"


def _rework(rule: Rule) -> str:
    return f"{format_time(rule.extra_rework_s)} more rework per error, {points(rule.lost_goodput)} of goodput"


def ways(plan: RetentionPlan) -> list[str]:
    """The way of saving, as ``optimize`` recommends it or as it was asked for, and how far apart the saves are."""
    saving, history = plan.saving, plan.history
    first, *rest = saving.places
    steps = (
        "" if saving.interval_steps is None else f" = {whole(saving.interval_steps)} step{_s(saving.interval_steps)}"
    )
    text = f"{printable(saving.strategy)}: save every {seconds(saving.interval_s)}{steps}"
    if rest or first.name not in saving.strategy:
        text += f" to {printable(first.name)}"
    for below, place in pairwise(saving.places):
        ratio = place.every // below.every
        text += f", {'each' if ratio == 1 else f'every {ordinal(ratio)}'} of those to {printable(place.name)}"
    stalls_s = history.period_s - history.work_s
    found = [
        f"{text}; goodput {percent(saving.goodput)}",
        f"from save to save in {printable(history.name)}: {format_time(history.work_s)} of work and "
        f"{format_time(stalls_s)} of stalls; one save is {format_size(history.bytes_per_save)}",
    ]
    return found + ([] if plan.archive_every is None else [_archive(plan, plan.archive_every)])


def _archive(plan: RetentionPlan, every: int) -> str:
    """What the archive grows by."""
    grows = next((tier.archive_bytes_per_year for tier in plan.tiers if tier.archive_bytes_per_year is not None), None)
    full = "" if plan.archive_full_s is None else f", which fills the room after {format_time(plan.archive_full_s)}"
    one = "every save" if every == 1 else f"one of every {every:,} saves"
    return f"archive: {one} for ever, {format_size(grows)} a year{full}"


def raised(plan: RetentionPlan) -> list[str]:
    """What was asked for and cannot be."""
    asked_s, interval_s = plan.saving.asked_interval_s, plan.saving.interval_s
    if asked_s is None or interval_s <= asked_s:
        return []
    return [f"the interval is raised from {seconds(asked_s)} to {seconds(interval_s)}: a save must have ended first"]


def _is_late(plan: RetentionPlan) -> bool:
    return any(one.law != VERIFIED for one in plan.classes)


def _saves(count: int) -> str:
    return f"{whole(count)} save{_s(count)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
