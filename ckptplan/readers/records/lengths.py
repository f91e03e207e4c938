"""Lengths of time as text: one number with its unit, several of them, or a clock with hours."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from ckptplan.units import UnitError, parse_quantity

_CLOCK = re.compile(r"(?:([0-9]{1,5})-)?([0-9]{1,6}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,9})?)")
_PIECE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([A-Za-z]{1,7})(?:,? |(?=[0-9])|$)")
_SEPARATED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+,[0-9]+")
_MOST_PIECES = 4
_MINUTE = "m"  # beside hours it can be nothing else


def length_s(text: str) -> float:
    """Seconds of 3.2 h, of 2 h 30 min, of 12:00:00 (hours first) or of 1-02:00:00 (days first); nan for all else."""
    try:
        return parse_quantity(text, "time")
    except UnitError:
        pass
    if found := _CLOCK.fullmatch(text):
        days, hours, minutes, seconds = int(found[1] or 0), int(found[2]), int(found[3]), float(found[4])
        fits = minutes < 60 and seconds < 60 and (found[1] is None or hours < 24)
        return days * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds if fits else np.nan
    return _of_pieces(text)


def _of_pieces(text: str) -> float:
    """The sum of several numbers, each with a smaller unit than the one before."""
    pieces, end = list[tuple[str, str]](), 0
    for piece in _PIECE.finditer(text):
        if piece.start() != end or len(pieces) == _MOST_PIECES:
            return np.nan
        pieces.append((piece[1], piece[2]))
        end = piece.end()
    if len(pieces) < 2 or end != len(text):
        return np.nan
    try:
        units = [parse_quantity(f"1 {'min' if unit == _MINUTE else unit}", "time") for _, unit in pieces]
    except UnitError:
        return np.nan
    falling = all(one > after for one, after in pairwise(units))
    return sum(float(number) * unit for (number, _), unit in zip(pieces, units, strict=True)) if falling else np.nan


def is_separated(text: str) -> bool:
    """Whether a number has a comma in it: 7,338 or 19,20."""
    return _SEPARATED.fullmatch(text) is not None
