"""Counts and sentences of reports."""

from __future__ import annotations

from collections.abc import Iterable

from ckptplan.readers.records.slurm.options import COMMAND


def counted(number: int, noun: str = "row") -> str:
    """``1 row``, ``2 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_taken(number: int, noun: str = "row") -> list[str]:
    """That nothing decided which of two equal times of the wall clock a stamp means, if there are such."""
    if not number:
        return []
    return [f"{counted(number, noun)} in an hour that came twice when clocks were put back: the first was taken"]


def sentences(texts: Iterable[str]) -> tuple[str, ...]:
    """With a capital and a full stop, except after a question, and after a command, which people copy."""
    return tuple(text[:1].upper() + text[1:] + ("" if text.endswith((COMMAND, ".", "?")) else ".") for text in texts)
