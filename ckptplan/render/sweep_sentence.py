"""The sentence above a sweep: where goodput is best, and how it moves along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ckptplan.errors import printable
from ckptplan.plan.progress import makes_progress
from ckptplan.render.numbers import percent, seconds
from ckptplan.render.sweep_columns import GOODPUT, SPEC, Shown
from ckptplan.sweep import columns as parts
from ckptplan.sweep.columns import Columns, Labels
from ckptplan.sweep.study import INTERVAL, Study

_SHOWN = 4  # decimals of a share: two of percent

Numbers: TypeAlias = np.ndarray[Any, Any]


class Swept(NamedTuple):
    """A finished sweep of moderate size: the study, all its columns, and those that are shown."""

    study: Study
    columns: Columns
    shown: tuple[Shown, ...]


def sentence(swept: Swept) -> str:
    """Where goodput is best; along one axis also how it moves, of the best strategy where there is a row of each."""
    goodput = np.asarray(swept.columns[GOODPUT])
    planned = np.flatnonzero(np.isfinite(goodput))
    if planned.size == 0:
        return "No point could be planned."
    best = int(planned[np.argmax(goodput[planned])])
    points = f"{swept.study.points:,} point{'' if swept.study.points == 1 else 's'}"
    every = "".join(f" by every {name}" if number == 0 else f" and {name}" for number, name in enumerate(_apart(swept)))
    if not makes_progress(float(goodput[best])):
        most = f"{percent(float(goodput[best]))} goodput at {_at(swept, best)}"
        return f"No progress is possible at any of {points}: at most {most}; raise the MTBF, or shorten the restart."
    found = f"Best of {points}{every}: {_at(swept, best)}, with {percent(float(goodput[best]))} goodput"
    found += _how(swept, best)
    one_axis = len(swept.study.axes) == 1 and len(swept.study.members) == 1
    if not one_axis or np.unique(np.asarray(swept.columns[swept.study.axes[0].key])[planned]).size < 2:
        return f"{found}."
    return _movement(swept, goodput, planned, found)


def _movement(swept: Swept, goodput: Numbers, planned: Numbers, best: str) -> str:
    """How goodput moves from the first value of one axis to the last, as far as two digits show it."""
    values = np.asarray(swept.columns[swept.study.axes[0].key])
    along = [_best_at(goodput, values == value) for value in dict.fromkeys(values[planned].tolist())]
    shown = np.round(goodput[along], _SHOWN)
    start, end = (f"{_percent(goodput[row])} at {_at(swept, row)}" for row in (along[0], along[-1]))
    subject = _subject(swept, along)
    if shown.min() == shown.max():
        where = f"from {_at(swept, along[0])} to {_at(swept, along[-1])}"
        return f"{subject} does not change: {_percent(goodput[along[0]])} {where}."
    extremes = _extremes(swept, goodput, along, shown, best)
    if shown[0] == shown[-1]:
        ends = f"{_at(swept, along[0])} and {_at(swept, along[-1])}"
        return f"{subject} is {_percent(goodput[along[0]])} at both ends, {ends}. {extremes}"
    if extremes:
        return f"{subject} goes from {start} to {end}. {extremes}"
    verb, steps = ("rises", np.diff(shown)) if shown[-1] > shown[0] else ("falls", -np.diff(shown))
    return f"{subject} {verb} from {start} to {end}{', not at every step' if (steps < 0).any() else ''}."


def _apart(swept: Swept) -> tuple[str, ...]:
    """What tells the rows of one point apart: strategies, methods, or both."""
    if parts.length(swept.columns) <= swept.study.points:
        return ()
    return tuple(name for name in ("strategy", "method") if len(set(texts_of(swept.columns.get(name))) - {"-"}) > 1)


def _subject(swept: Swept, rows: Sequence[int]) -> str:
    """``Goodput``, or whose it is where points have several rows, of which these are the best."""
    apart = _apart(swept)
    if not apart:
        return "Goodput"
    names = {_label(swept.columns["strategy"], row) for row in rows} if "strategy" in apart else set()
    named = f" ({names.pop()})" if len(names) == 1 else ""
    return f"Goodput of the best {' and '.join(apart)}".replace("strategy", f"strategy{named}", 1)


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
    how += f" by {_label(swept.columns['method'], row)}" if "method" in _apart(swept) else ""
    if "interval_s" in swept.columns and all(axis.key != INTERVAL for axis in swept.study.axes):
        interval = float(np.asarray(swept.columns["interval_s"])[row])
        how += f", saving every {seconds(interval)}" if np.isfinite(interval) else ""
    return how


def texts_of(column: parts.Column | None) -> list[str]:
    """Names as they can be shown."""
    return [printable(text or "-") for text in column.texts()] if isinstance(column, Labels) else []
