"""The values of an axis as people read them, in one unit: made when they are read, for there may be a million."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, overload

from ckptplan.units import Dimension, UnitError, format_count, parse_quantity

_DIMENSIONS: Mapping[str, Dimension] = {
    "time": "time",
    "time or auto": "time",
    "size": "size",
    "bytes": "size",
    "rate": "rate",
    "power": "power",
}
_SI = {"time": "s", "size": "B", "rate": "B/s", "power": "W"}
_TYPED_DIGITS = 12  # of what was typed: more than anybody types
_FEWEST, _MOST = 3, 17  # digits of a value between two that were typed
_FAR = 1e6  # in one unit no one reads larger numbers
_LONG, _OF_COUNTS = 1e7, 4  # a count from here on has an exponent, and so many digits, if that says enough


class Unit(NamedTuple):
    """A unit as it was typed, and its size in SI."""

    name: str
    factor: float


class AxisTexts(Sequence[str]):
    """As a tuple of texts, with as many digits as tell the values apart.

    ``written`` holds each value, with its unit if it was typed itself; ``units`` are all that were typed.
    """

    def __init__(self, written: Mapping[float | int, str | None], units: Sequence[str], form: str) -> None:
        self._written, self._units, self._form = written, tuple(dict.fromkeys(units)), form
        self._made: tuple[str, ...] | None = None

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...

    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        """One text, or some of them."""
        return self._all()[at]

    def __len__(self) -> int:
        """How many there are, for which none is made."""
        return len(self._written)

    def __iter__(self) -> Iterator[str]:
        """One after another."""
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        """Whether the texts are the same."""
        return isinstance(other, AxisTexts | tuple) and self._all() == tuple(other)

    def __hash__(self) -> int:
        """That of the tuple."""
        return hash(self._all())

    def __repr__(self) -> str:
        """As a tuple."""
        return repr(self._all())

    def __reduce__(self) -> tuple[type[tuple[str, ...]], tuple[tuple[str, ...]]]:
        """As a tuple."""
        return tuple, (self._all(),)

    def _all(self) -> tuple[str, ...]:
        if self._made is None:
            self._made = _texts(self._written, self._units, self._form)
        return self._made


def _texts(written: Mapping[float | int, str | None], units: Sequence[str], form: str) -> tuple[str, ...]:
    unit = _unit_of(list(written), units, form)
    several = form in _DIMENSIONS and len(units) > 1 and all(written.values())
    if several and max(written, default=0.0) >= _FAR * unit.factor:
        return tuple(_as_typed(value, str(name), form) for value, name in written.items())
    typed = {name for name in units if _sized(name, form) == unit.factor}
    amounts = [value / unit.factor if unit.factor != 1.0 else value for value in written]
    exact = [name in typed for name in written.values()]
    for digits in range(_digits_apart(amounts), _MOST + 1):
        of_each = (_TYPED_DIGITS if is_typed else digits for is_typed in exact)
        found = [_number(amount, of, form) for amount, of in zip(amounts, of_each, strict=True)]
        if len(set(found)) == len(found):
            break
    else:
        found = [f"{amount:,.17g}" for amount in amounts]
    return tuple(f"{text} {unit.name}" for text in found) if unit.name else tuple(found)


def _as_typed(value: float | int, name: str, form: str) -> str:
    """A value in the unit that was typed with it."""
    return f"{_number(value / (_sized(name, form) or 1.0), _TYPED_DIGITS, form)} {name}"


def _unit_of(values: Sequence[float | int], units: Sequence[str], form: str) -> Unit:
    """The unit that was typed; of several, the largest in which the smallest value is no fraction."""
    found: dict[float, str] = {}
    for name in units:
        factor = _sized(name, form)
        if factor is not None:
            found[factor] = min(found.get(factor, name), name, key=lambda one: (len(one), one))
    if not found:
        return Unit(_SI.get(_DIMENSIONS.get(form, ""), ""), 1.0)
    if form == "plain":  # no share: whatever was typed, a bare number
        return Unit("", 1.0)
    if form == "fraction" and len(found) > 1:
        return Unit("%", 0.01)
    least = min((value for value in values if value > 0), default=0.0)
    factor = max((one for one in found if one <= least * (1.0 + 1e-12)), default=min(found))
    return Unit({"": _SI.get(_DIMENSIONS.get(form, ""), ""), "percent": "%"}.get(found[factor], found[factor]), factor)


def _sized(name: str, form: str) -> float | None:
    """A unit in SI; None if it is none of this form."""
    if form == "fraction":
        return 0.01 if name in {"%", "percent"} else 1.0
    if form not in _DIMENSIONS or not name:
        return 1.0
    try:
        return parse_quantity(f"1 {name}", _DIMENSIONS[form])
    except UnitError:
        return None


def _digits_apart(amounts: Sequence[float | int]) -> int:
    """So many digits that the last one is no larger than the difference between any two."""
    digits = _FEWEST
    for low, high in pairwise(sorted(amounts)):
        if low < high < low + high * 10.0 ** (1 - digits):
            digits = max(digits, math.floor(math.log10(high)) + 1 + math.ceil(-math.log10(high - low)))
    return min(digits, _MOST)


def _number(value: float | int, digits: int, form: str) -> str:
    """Significant digits, all of the whole part with separators, and no zeros behind."""
    if value == 0:
        return "0"
    if form not in _DIMENSIONS and abs(value) >= _LONG:
        short = format_count(value)
        if digits <= _OF_COUNTS or float(short) == value:
            return short
    if abs(value) >= 1e15 or abs(value) < 1e-4:
        return f"{value:.{digits}g}"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    text = f"{value:,.{max(0, digits - 1 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
