"""The report of ``ckptplan levers``: what to do first, then every lever, then how they go together."""

from __future__ import annotations

from collections.abc import Iterator

from ckptplan.errors import printable
from ckptplan.plan.levers.record import Levers
from ckptplan.plan.levers.wording import gain
from ckptplan.plan.record import TIERS
from ckptplan.render.lever_sheet import elasticity_sheet, has_worth, overlap_sheet, ranking_sheet, saved_alike
from ckptplan.render.marking import bullets, heading, sentences
from ckptplan.render.numbers import percent, seconds, signed, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown

_CHANGED = "What changes, and what must be true"
_LEFT = "Levers that this run does not have"
_APART = "Pairs that do not go together"
_ASSUMED = "What is assumed"


def report(made: Levers, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.paragraph(_title(made)) + "\n", screen.lines([printable(made.first), _now(made)])]
    ranking = ranking_sheet(made, screen.width)
    if ranking is not None:
        parts.append(screen.table(ranking))
        parts += [screen.lines(below)] if (below := under_the_table(made)) else []
    parts.append(screen.bullets(_CHANGED, changed(made)))
    for sheet, title in _tables(made):
        parts += [screen.paragraph(title) + "\n", screen.table(sheet)]
    for title, texts in _lists(made):
        parts.append(screen.bullets(title, texts))
    return "\n".join(part for part in parts if part)


def markdown(made: Levers) -> str:
    """The same as Markdown."""
    parts = [heading(_title(made)), bullets([made.first, _now(made)])]
    ranking = ranking_sheet(made)
    if ranking is not None:
        parts += [to_markdown(ranking), *sentences(under_the_table(made))]
        parts.append(_listed(_CHANGED, changed(made)))
    for sheet, title in _tables(made):
        parts += [*sentences([title]), to_markdown(sheet)]
    parts += [_listed(title, texts) for title, texts in _lists(made) if texts]
    return "\n".join(parts)


def _listed(title: str, texts: list[str]) -> str:
    return f"{title}:\n\n{bullets(texts)}"


def _title(made: Levers) -> str:
    return f"{printable(made.name)} ({whole(made.gpus)} GPU{'' if made.gpus == 1 else 's'})"


def _now(made: Levers) -> str:
    """What the levers are held against."""
    text = f"As it is: {'several tiers' if made.strategy == TIERS else printable(made.strategy)}, save every "
    text += seconds(made.interval_s)
    if made.interval_steps is not None:
        text += f" = {whole(made.interval_steps)} step{'' if made.interval_steps == 1 else 's'}"
    return f"{text}; goodput {percent(made.goodput)}"


def under_the_table(made: Levers) -> list[str]:
    """What the columns of the ranking leave to be said."""
    found = []
    if has_worth(made):
        found.append(
            "ranked by worth: the points that the run as it is would have to gain to take as few GPU-hours; below 0 a "
            "lever costs more than it saves"
        )
    found += [
        f"beside the table, to first order: {gain(one.beside)} by acting on warnings of failures "
        f"({printable(one.title)})"
        for one in made.levers
        if one.beside is not None
    ]
    way = saved_alike(made)
    if way is not None:
        by = "to several tiers" if way == TIERS else f"by {printable(way)}"
        found.append(f"under every lever the run saves {by}")
    return found


def changed(made: Levers) -> list[str]:
    """The numbers before and after of each lever, and its notes."""
    return [printable(f"{one.title}: {'; '.join((one.change, *one.notes))}") for one in made.levers]


def _tables(made: Levers) -> Iterator[tuple[Sheet, str]]:
    pairs = overlap_sheet(made)
    if pairs is not None:
        yield pairs, together(made)
    inputs = elasticity_sheet(made)
    if inputs is not None:
        yield inputs, "What the optimum depends on (elasticity: percent of lost time per percent of the input):"


def together(made: Levers) -> str:
    """What all of them gain, and which pairs the table has."""
    text = "Two levers together, in points (overlap: what their sum counts twice; below 0 they help each other)"
    if made.paired < len(made.levers):
        text += f", of the {made.paired} best"
    if made.all_together is None:
        return f"{text}:"
    total = sum(one.gained for one in made.levers if one.key in made.together)
    number = len(made.together)
    left = sum(max(one.gained, one.worth) > 0.0 and one.key not in made.together for one in made.levers)
    some = f"The {number} that gain points, save GPU-hours and can be combined,"
    all_of_them = some if left else f"All {number} that gain"
    return f"{all_of_them} together: {signed(made.all_together)} points, their sum {signed(total)}. {text}:"


def _lists(made: Levers) -> list[tuple[str, list[str]]]:
    return [
        (_APART, [printable(f"{one.title}: {one.why}") for one in made.apart]),
        (_LEFT, [printable(f"{one.title}: {one.why}") for one in made.left]),
        (_ASSUMED, [printable(text) for text in made.assumptions]),
    ]
