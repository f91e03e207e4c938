"""Numbers as the reports print them: seconds stay seconds, shares are percent, nothing loses its magnitude."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ckptplan.units import COUNTLESS

_HALF_A_HUNDREDTH = 0.00005  # of a percent: less is rounded to 0.00


def seconds(value: float | None) -> str:
    """``1,116 s``, ``24.5 s``, ``5 s``, ``77.2 ms``: an interval is typed into a config in seconds."""
    if value is None:
        return "-"
    if 0 < abs(value) < 0.9995e-3:
        return f"{value:.3g} s" if abs(value) < 1e-6 else f"{_short(value * 1e6)} us"
    if 0 < abs(value) < 0.9995:
        return f"{_short(value * 1e3)} ms"
    return f"{_short(value)} s"


def _short(value: float) -> str:
    if abs(value) >= COUNTLESS:
        return f"{value:.3g}"
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 99.95 else f"{value:.0f}"


def duration(value: float) -> str:
    """``58.723 d``, ``37.42 h``, ``812.4 s``: a time in its natural unit, with digits enough to compare two."""
    for unit, size in (("d", 86_400.0), ("h", 3_600.0)):
        if abs(value) >= 2 * size:
            return f"{value / size:,.5g} {unit}" if abs(value) < 1e5 * size else f"{whole(value / size)} {unit}"
    return f"{_five(value)} s"


def durations(values: Sequence[float]) -> list[str]:
    """Times that are compared, all in the unit of the first: a rate and the ends of its interval."""
    unit, size = next(((u, s) for u, s in (("d", 86_400.0), ("h", 3_600.0)) if abs(values[0]) >= 2 * s), ("s", 1.0))
    return [f"{_five(value / size)} {unit}" for value in values]


def _five(value: float) -> str:
    """Five digits, with separators and without an exponent."""
    if not 1e-3 <= abs(value) < 1e15:
        return f"{value:.5g}"
    digits = max(0, 4 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float, noun: str) -> str:
    """``1 node``, ``3 nodes``, ``1,024 GPUs``, ``3.5 nodes``: a number with its noun."""
    return f"{_five(value)} {noun if value == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    return noun if noun == "maintenance" else f"{noun}s"


def hundredths(value: float | None) -> str:
    """A share in percent, without its sign: two digits after the point, also where a share is more than nothing."""
    if value is None:
        return "-"
    if 0 < abs(value) < _HALF_A_HUNDREDTH:
        return "<0.01" if value > 0 else ">-0.01"
    return _in_percent(value)


def signed(value: float | None) -> str:
    """Points with their sign: ``+4.21``, ``-0.30``, ``0.00``; ``<0.01`` and ``>-0.01`` for next to none."""
    text = hundredths(value)
    return f"+{text}" if value is not None and value > 0.0 and text[0] != "<" else text


def _in_percent(value: float) -> str:
    shown = 100 * value
    if 0 < abs(value) < _HALF_A_HUNDREDTH:
        return f"{shown:.1g}"
    if abs(shown) >= 1e3:
        return f"{shown:.3g}" if abs(shown) >= 1e7 else f"{shown:,.0f}"
    return f"{shown:.2f}"


def percent(value: float | None) -> str:
    """The same with its sign, in a sentence or alone in a row, where the smallest keep their magnitude."""
    return "-" if value is None else f"{_in_percent(value)} %"


def points(value: float | None) -> str:
    """A difference of two shares, in percentage points."""
    if value is None:
        return "-"
    return f"{hundredths(value)} points"


def whole(value: float | None) -> str:
    """A count with thousands separators."""
    if value is None:
        return "-"
    if abs(value) >= COUNTLESS:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.2g}"


def box(value: Sequence[int]) -> str:
    """``[8, 0]``: a place or a length along each axis."""
    return f"[{', '.join(str(number) for number in value)}]"


def place(value: int | None) -> str:
    """``12,359``: a byte of a file; ``-`` where it is not known."""
    return "-" if value is None or value < 0 else f"{value:,}"
