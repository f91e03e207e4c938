"""A mean of checkpoints for people: what was written, where the checkpoints lie to each other, what was done."""

from __future__ import annotations

from collections import Counter

from ckptplan.checkpoint.average.averaging import Averaged
from ckptplan.errors import printable
from ckptplan.render.average_sheet import checkpoint_sheet, made
from ckptplan.render.marking import bullets, heading
from ckptplan.render.numbers import quantity
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import to_markdown
from ckptplan.units import format_size


def report(done: Averaged, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.paragraph(answer(done), indent="  ", first="") + "\n", screen.table(checkpoint_sheet(done))]
    parts += [screen.bullets(title, texts) for title, texts in _sections(done)]
    return "\n".join(part for part in parts if part)


def markdown(done: Averaged) -> str:
    """The same as Markdown."""
    parts = [heading(answer(done)), to_markdown(checkpoint_sheet(done))]
    parts += [f"{heading(title, 3)}\n{bullets(texts)}" for title, texts in _sections(done) if texts]
    return "\n".join(parts)


def answer(done: Averaged) -> str:
    """What there is now, in one sentence."""
    words = {"uniform": "The mean", "given": "The weighted mean", "exponential": "The exponentially weighted mean"}
    of = f"{words[done.weighting.name]} of {quantity(len(done.labels), 'checkpoint')}"
    size = f"{quantity(len(done.ran), 'tensor')}, {format_size(done.size_bytes)}"
    if done.out is None:
        return f"{of} would hold {size}; nothing was written"
    files = "" if len(done.files) == 1 else f", in {quantity(len(done.files), 'file')}"
    return f"{of} is in {printable(str(done.out))}: {size}{files}"


def _sections(done: Averaged) -> list[tuple[str, list[str]]]:
    counts = Counter((made(one), one.matched.dtype) for one in done.ran)
    how = [f"{quantity(number, 'tensor')} of {dtype}: {word}" for (word, dtype), number in counts.items()]
    return [("What it holds", how), ("Good to know", [printable(fact) for fact in done.facts])]
