"""A sweep for people: first the sentence that answers, then a table; for two axes a pivot of each measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ckptplan.errors import printable
from ckptplan.render.numbers import percent, seconds
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet
from ckptplan.render.sweep_columns import GOODPUT, SPEC, STATUS, Shown, cells, shown_columns
from ckptplan.sweep import columns as parts
from ckptplan.sweep.columns import Columns, Labels
from ckptplan.sweep.study import INTERVAL, Axis, Study

MOST_ROWS = 2000

_MOST_NOTES = 10  # below a table
_NAMING = frozenset({SPEC, "strategy", "method"})  # of what a pivot is made one by one
_OK = "ok"
_SHOWN = 4  # decimals of a share: two of percent

Numbers: TypeAlias = np.ndarray[Any, Any]


class Swept(NamedTuple):
    """A finished sweep of moderate size: the study, all its columns, and those that are shown."""

    study: Study
    columns: Columns
    shown: tuple[Shown, ...]


def report(swept: Swept, screen: Screen) -> str:
    """The whole text."""
    axes = swept.study.axes
    pivots = list(_pivots(swept, screen)) if len(axes) == 2 else []
    fitting = [pivot for pivot in pivots if screen.width is None or _width(pivot) <= screen.width]
    answer = screen.paragraph(sentence(swept), indent="  ", first="")
    body = "\n".join(pivots) if pivots and len(fitting) == len(pivots) else screen.table(_sheet(swept))
    return f"{answer}\n\n{body}{''.join(_notes(swept, screen))}"


def sentence(swept: Swept) -> str:
    """Where goodput is best; along one axis also how it moves."""
    goodput = np.asarray(swept.columns[GOODPUT])
    planned = np.flatnonzero(np.isfinite(goodput))
    if planned.size == 0:
        return "No point could be planned."
    best = int(planned[np.argmax(goodput[planned])])
    points = f"{swept.study.points:,} point{'' if swept.study.points == 1 else 's'}"
    found = f"Best of {points}: {_at(swept, best)}, with {percent(float(goodput[best]))} goodput{_how(swept, best)}"
    if len(swept.study.axes) != 1 or len(swept.study.members) > 1 or planned.size < 2:
        return f"{found}."
    return _movement(swept, goodput, planned, found)


def _movement(swept: Swept, goodput: Numbers, planned: Numbers, best: str) -> str:
    """How goodput moves from the first value of one axis to the last, as far as two digits show it."""
    values = np.asarray(swept.columns[swept.study.axes[0].key])
    along = [_best_at(goodput, values == value) for value in dict.fromkeys(values[planned].tolist())]
    shown = np.round(goodput[along], _SHOWN)
    start, end = (f"{_percent(goodput[row])} at {_at(swept, row)}" for row in (along[0], along[-1]))
    if shown.min() == shown.max():
        where = f"from {_at(swept, along[0])} to {_at(swept, along[-1])}"
        return f"Goodput does not change: {_percent(goodput[along[0]])} {where}."
    extremes = _extremes(swept, goodput, along, shown, best)
    if shown[0] == shown[-1]:
        ends = f"{_at(swept, along[0])} and {_at(swept, along[-1])}"
        return f"Goodput is {_percent(goodput[along[0]])} at both ends, {ends}. {extremes}"
    if extremes:
        return f"Goodput goes from {start} to {end}. {extremes}"
    verb, steps = ("rises", np.diff(shown)) if shown[-1] > shown[0] else ("falls", -np.diff(shown))
    return f"Goodput {verb} from {start} to {end}{', not at every step' if (steps < 0).any() else ''}."


def _extremes(swept: Swept, goodput: Numbers, along: Sequence[int], shown: Numbers, best: str) -> str:
    """The best and the worst value, where they are not at the ends."""
    low = along[int(np.argmin(shown))]
    worst = f"orst: {_at(swept, low)}, with {_percent(goodput[low])}."
    valley, peak = (extreme not in (shown[0], shown[-1]) for extreme in (shown.min(), shown.max()))
    if peak:
        return f"{best}; w{worst}" if valley else f"{best}."
    return f"W{worst}" if valley else ""


def _percent(share: float) -> str:
    """In percent, to the digits by which shares are compared here."""
    return percent(round(float(share), _SHOWN))


def _best_at(goodput: Numbers, rows: np.ndarray[Any, Any]) -> int:
    """Of the rows of one value, the best one."""
    return int(np.argmax(np.where(rows & np.isfinite(goodput), goodput, -1.0)))


def _at(swept: Swept, row: int) -> str:
    """``cluster.gpus 1,024, storage.write_bandwidth 2 TB/s``."""
    found = []
    for axis in swept.study.axes:
        value = np.asarray(swept.columns[axis.key])[row].item()
        text = dict(zip(axis.values, axis.texts, strict=True))[value]
        found.append(f"{printable(axis.key)} {text}")
    if SPEC in swept.columns:
        found.insert(0, _label(swept.columns[SPEC], row))
    return ", ".join(found)


def _label(column: parts.Column, row: int) -> str:
    return printable(column.texts()[row] or "-") if isinstance(column, Labels) else "-"


def _how(swept: Swept, row: int) -> str:
    """The strategy and interval, where they were worked out."""
    how = f", {_label(swept.columns['strategy'], row)}" if "strategy" in swept.columns else ""
    if "interval_s" in swept.columns and all(axis.key != INTERVAL for axis in swept.study.axes):
        interval = float(np.asarray(swept.columns["interval_s"])[row])
        how += f", saving every {seconds(interval)}" if np.isfinite(interval) else ""
    return how


def _sheet(swept: Swept) -> Sheet:
    """All rows as people read them; the note of a row is the number of a sentence below."""
    notes = _reasons(swept)
    shown = [column for column in swept.shown if column.name != STATUS]
    columns = [Column(c.header, c.title, str, right=not c.text, named=c.text) for c in shown]
    columns += [Column(STATUS, "note", str, right=False)] if notes else []
    texts = [cells(column, swept.columns[column.name]) for column in shown]
    status = swept.columns[STATUS]
    if notes and isinstance(status, Labels):
        marks = _marks(notes)
        texts.append([marks.get(text or "", "") for text in status.texts()])
    goodput = np.asarray(swept.columns[GOODPUT])
    best = frozenset({int(np.nanargmax(goodput))}) if np.isfinite(goodput).any() else frozenset()
    return Sheet(tuple(columns), tuple(zip(*texts, strict=True)), best)


def _reasons(swept: Swept) -> tuple[str, ...]:
    status = swept.columns[STATUS]
    texts = status.texts() if isinstance(status, Labels) else []
    return tuple(dict.fromkeys(text for text in texts if text not in {None, "", _OK}))


def _notes(swept: Swept, screen: Screen) -> Iterator[str]:
    reasons = _reasons(swept)
    for number, text in enumerate(reasons[:_MOST_NOTES], start=1):
        yield screen.paragraph(f"[{number}] {printable(text)}", indent="    ", first="") + "\n"
    if len(reasons) > _MOST_NOTES:
        more = f"[+] {len(reasons) - _MOST_NOTES:,} more; --format csv has each in the column status"
        yield screen.paragraph(more, indent="    ", first="") + "\n"


def _marks(notes: Sequence[str]) -> dict[str, str]:
    """What stands in a cell for each note."""
    return {text: f"[{number}]" if number <= _MOST_NOTES else "[+]" for number, text in enumerate(notes, start=1)}


def _pivots(swept: Swept, screen: Screen) -> Iterator[str]:
    """One table for each measure, of each strategy and spec that stands in a row of its own."""
    rows, across = swept.study.axes
    titles = f"{_title(swept, rows)} (down) and {_title(swept, across)} (across)"
    unbounded = screen._replace(width=None)  # a pivot that is too wide is not stacked: the list is the better form
    measures = [c for c in swept.shown if c.axis is None and c.name not in {SPEC, STATUS}]
    for name, group in _groups(swept):
        for measure in measures:
            if measure.name in _NAMING and (name or len(set(cells(measure, swept.columns[measure.name]))) < 2):
                continue
            title = f"{measure.title}{f' of {name}' if name else ''}, by {titles}"
            drawn = unbounded.table(_pivot(swept, (rows, across), measure, group))
            yield f"{screen.paragraph(title, indent='  ', first='')}\n{drawn}"


def _title(swept: Swept, axis: Axis) -> str:
    return shown_columns(swept.study, [axis.key])[0].title


def _groups(swept: Swept) -> Iterator[tuple[str, list[int]]]:
    """The rows of each table, by what tells rows of one point apart."""
    every = parts.length(swept.columns)
    several = every > swept.study.points
    names = [name for name in (SPEC, "strategy", "method") if name in swept.columns and (name == SPEC or several)]
    if not names:
        yield "", list(range(every))
        return
    keys = list(zip(*(_texts(swept.columns[name]) for name in names), strict=True))
    for key in dict.fromkeys(keys):
        yield ", ".join(key), [row for row, own in enumerate(keys) if own == key]


def _texts(column: parts.Column) -> list[str]:
    return [printable(text or "-") for text in column.texts()] if isinstance(column, Labels) else []


def _pivot(swept: Swept, axes: tuple[Axis, Axis], measure: Shown, group: Sequence[int]) -> Sheet:
    """The values of one measure: the first axis downwards, the second across."""
    shown = shown_columns(swept.study, [axis.key for axis in axes])
    down, across = (cells(column, swept.columns[column.name]) for column in shown)
    texts = _with_notes(swept, measure)
    at = {(down[row], across[row]): texts[row] for row in group}
    columns = (
        Column("", shown[0].title, str),
        *(Column(text, text, str, right=not measure.text) for text in axes[1].texts),
    )
    rows = tuple((text, *(at.get((text, other), "") for other in axes[1].texts)) for text in axes[0].texts)
    return Sheet(columns, rows)


def _with_notes(swept: Swept, measure: Shown) -> list[str]:
    """The cells; those of goodput, and those that are not known, with the number of their note."""
    texts = cells(measure, swept.columns[measure.name])
    notes, status = _reasons(swept), swept.columns[STATUS]
    if not notes or not isinstance(status, Labels):
        return texts
    marks = _marks(notes)
    return [
        f"{text} {marks.get(said or '', '')}".strip() if text == "-" or measure.name == GOODPUT else text
        for text, said in zip(texts, status.texts(), strict=True)
    ]


def _width(text: str) -> int:
    from rich.text import Text

    return max((Text.from_ansi(line).cell_len for line in text.splitlines()), default=0)
