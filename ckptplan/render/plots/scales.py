"""Axes of times, shares and counts: ticks at round values, each with its unit, as many as fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ckptplan.render.plots.lettering import width
from ckptplan.render.plots.style import BODY, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNITS = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0))
_ROUND = {"s": (1, 2, 5, 10, 20, 30), "min": (1, 2, 5, 10, 20, 30), "h": (1, 2, 4, 8, 12), "d": (1, 2, 5)}
_SPARSER = {"s": (1, 3, 10, 30), "min": (1, 3, 10, 30), "h": (1, 4, 12), "d": (1, 3)}
_SPARSE = {"s": (1, 10), "min": (1, 10), "h": (1,), "d": (1,)}
_TABLES = ((_ROUND, (1, 2, 5)), (_SPARSER, (1, 3)), (_SPARSE, (1,)))
_GAP = 0.12  # between the labels of ticks [inch]
_MOST_PLAIN = 1e4  # up to which labels of a linear axis may have digits after the point
_MOST_DIGITS = 4  # after the point, on an axis
_PAD = 7.0  # from the axis to its labels: below half of that of the lowest tick of the vertical axis [pt]


def clock(seconds: float) -> str:
    """``30 s``, ``10 min``, ``5.5 h``: a time in its natural unit, with three digits."""
    for name, size in reversed(_UNITS):
        if seconds >= size * (1.0 - 1e-9):
            return f"{_digits(seconds / size)} {name}"
    for name, size in (("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{_digits(seconds / size)} {name}"
    return f"{seconds:.3g} s"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def log_time(axis_of: Axes, low_s: float, high_s: float, inches: float) -> None:
    """A logarithmic horizontal axis of times. [s, inch]."""
    choices = [_times(table, steps, low_s, high_s) for table, steps in _TABLES]
    _log(axis_of, low_s, high_s, inches, choices=choices, text=clock)


def _times(table: dict[str, tuple[int, ...]], steps: tuple[int, ...], low_s: float, high_s: float) -> list[float]:
    found = {size * n for name, size in _UNITS for n in table[name]}
    found |= {10.0**k * n for k in range(-12, 0) for n in steps}
    found |= {86_400.0 * 10.0**k * n for k in range(1, 10) for n in steps}
    return sorted(t for t in found if low_s <= t <= high_s)


def log_count(axis_of: Axes, low: float, high: float, inches: float) -> None:
    """A logarithmic horizontal axis of counts. [inch]."""
    choices = [_counts(low, high, steps) for steps in ((1, 2, 5), (1, 3), (1,))]
    _log(axis_of, low, high, inches, choices=choices, text=count)


def _counts(low: float, high: float, steps: Sequence[int]) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [n * 10.0**k for k in decades for n in steps if low <= n * 10.0**k <= high]


_RAISED = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")


def scientific(value: float, digits: int = 3) -> str:
    """``10\u2079``, ``2.5\u00b710\u2079``: numbers of which no one could count the digits."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = f"10{str(int(exponent)).translate(_RAISED)}"
    factor = float(mantissa)
    return f"{'-' if factor < 0.0 else ''}{power}" if abs(factor) == 1.0 else f"{factor:g}\u00b7{power}"


def count(value: float) -> str:
    """``16,384``; powers of ten only where no one could count the digits."""
    if value >= 1e9 or (value and value < 1e-3):
        return scientific(value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def beyond_counts(low: float, high: float, inches: float) -> float:
    """How far a label of a logarithmic axis of counts may reach over its right end. [inch]."""
    ticks = _counts(low, high, (1, 2, 5))
    return max((0.5 * width(count(t)) - math.log(high / t) / math.log(high / low) * inches for t in ticks), default=0.0)


def beyond_number(high: float) -> float:
    """How far a label at the right end of a linear axis may reach over it. [inch]."""
    return 0.5 * width(f"{high:,.5g}" if abs(high) < _MOST_PLAIN else f"{high:,.0f}")


def _log(
    axis_of: Axes,
    low: float,
    high: float,
    inches: float,
    *,
    choices: Sequence[list[float]],
    text: Callable[[float], str],
) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis_of.set_xscale("log")
    axis_of.set_xlim(low, high)

    def fit(ticks: list[float]) -> bool:
        return _fit([math.log(t / low) / math.log(high / low) * inches for t in ticks], [text(t) for t in ticks])

    ticks = next((one for one in choices if fit(one)), None)
    if ticks is None:
        ticks = _thinned(choices[-1], fit)
    axis_of.xaxis.set_major_locator(FixedLocator(ticks))
    axis_of.xaxis.set_minor_locator(NullLocator())
    axis_of.xaxis.set_major_formatter(FuncFormatter(lambda value, place: text(value)))


def _fit(at: Sequence[float], texts: Sequence[str]) -> bool:
    half = [0.5 * width(text) for text in texts]
    pairs = zip(zip(at, half, strict=True), zip(at[1:], half[1:], strict=True), strict=False)
    return all(right - left >= one + other + _GAP for (left, one), (right, other) in pairs)


def _thinned(ticks: list[float], fit: Callable[[list[float]], bool]) -> list[float]:
    for step in range(2, len(ticks) + 1):
        if fit(ticks[::step]):
            return ticks[::step]
    return ticks[:1]


def linear(
    axis_of: Axes,
    low: float,
    high: float,
    text: Callable[[float, float], str],
    *,
    vertical: bool,
    most: int = 6,
    last: float = math.inf,
    counts: bool = False,
) -> None:
    """A linear axis with at most so many round ticks up to ``last``; ``text`` gets a tick and the distance of two.

    An axis of counts has whole numbers alone.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

    (axis_of.set_ylim if vertical else axis_of.set_xlim)(low, high)
    found = MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10], integer=counts).tick_values(low, high)
    ticks = [float(t) for t in found if low - 1e-12 <= t <= min(high, last) + 1e-12]
    apart = ticks[1] - ticks[0] if len(ticks) > 1 else abs(high - low)
    axis = axis_of.yaxis if vertical else axis_of.xaxis
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, place: text(value, apart)))


def in_percent(value: float, apart: float) -> str:
    """A share as percent, with the digits that tell two ticks apart; the smallest as 2e-17, which is narrower."""
    shown, digits = 100.0 * value, _decimals(100.0 * apart)
    return f"{shown:.4g} %" if digits > _MOST_DIGITS else f"{_number(shown, 100.0 * apart)} %"


def plain(value: float, apart: float) -> str:
    """A number with the digits that tell two ticks apart."""
    return _number(value, apart)


def _number(value: float, apart: float) -> str:
    digits = _decimals(apart)
    if value and (abs(value) >= 1e9 or digits > _MOST_DIGITS):
        return scientific(value, 4)
    return f"{value + 0.0:,.{min(digits, _MOST_DIGITS)}f}" if value else "0"


def _decimals(apart: float) -> int:
    """Digits after the point that a distance of ticks needs: 2 for 0.25."""
    return next((n for n in range(12) if math.isclose(round(apart, n), apart, rel_tol=1e-6)), 12)


def grid(axis_of: Axes, theme: Theme, *, x: bool = True, y: bool = True) -> None:
    """Thin lines at the ticks, and ticks without length."""
    if x:
        axis_of.grid(visible=True, axis="x", color=theme.grid)
    if y:
        axis_of.grid(visible=True, axis="y", color=theme.grid)
    axis_of.tick_params(length=0, labelsize=BODY)
    axis_of.tick_params(axis="x", pad=_PAD)
