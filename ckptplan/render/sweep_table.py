"""A sweep for people: first the sentence that answers, then a table; for two axes a pivot of each measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ckptplan.cost.layout import STAY_IDLE
from ckptplan.errors import printable
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet
from ckptplan.render.sweep_columns import GOODPUT, SPEC, STATUS, Shown, cells, shown_columns
from ckptplan.render.sweep_sentence import Swept, sentence, texts_of
from ckptplan.sweep import columns as parts
from ckptplan.sweep.columns import Labels
from ckptplan.sweep.study import Axis

__all__ = ["MOST_ROWS", "Swept", "report", "sentence"]

MOST_ROWS = 2000

_MOST_NOTES = 10  # below a table
_NAMING = frozenset({SPEC, "strategy", "method"})  # of what a pivot is made one by one
_OK = "ok"


def report(swept: Swept, screen: Screen) -> str:
    """The whole text."""
    axes = swept.study.axes
    pivots = list(_pivots(swept, screen)) if len(axes) == 2 else []
    fitting = [pivot for pivot in pivots if screen.width is None or _width(pivot) <= screen.width]
    answer = screen.paragraph(sentence(swept), indent="  ", first="")
    body = "\n".join(pivots) if pivots and len(fitting) == len(pivots) else screen.table(_sheet(swept))
    return f"{answer}\n\n{body}{''.join(_notes(swept, screen))}"


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
    for text in _on_idle_gpus(reasons):
        yield screen.paragraph(text, indent="", first="") + "\n"


def _on_idle_gpus(reasons: Sequence[str]) -> Iterator[str]:
    """What becomes of GPUs that a size leaves over, and why a spec may not have any."""
    if any(STAY_IDLE in text for text in reasons):
        yield (
            "Idle GPUs are paid and do no work. A sweep asks what a size would do; a spec states a cluster that its "
            "layout fills, so that --set cluster.gpus refuses such a size."
        )


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
    keys = list(zip(*(texts_of(swept.columns[name]) for name in names), strict=True))
    for key in dict.fromkeys(keys):
        yield ", ".join(key), [row for row, own in enumerate(keys) if own == key]


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
