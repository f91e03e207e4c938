"""The values of one axis as texts: ``10 s..60 s:6``, ``1024..131072:log:8``, and lists of ranges and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ckptplan.spec.hints import nearest, shown
from ckptplan.units import UnitError

MOST_VALUES = 1_000_000  # of one axis

Read = Callable[[str], float | int]  # one value by the rules of its key; raises UnitError

_SIGN = ".."
_SCALES = ("lin", "log")
_BARE_NUMBER = re.compile(r"[+-]?[0-9][0-9_]*(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_BEHIND_NUMBER = re.compile(r"[\s+-]*[0-9_]*(\.[0-9]*)?([eE][+-]?[0-9]+)?\s*")
_TORN_THOUSANDS = re.compile(r"0[0-9]{2}(?![0-9.])")
_MEANT = "write LOW..HIGH:COUNT or LOW..HIGH:log:COUNT, for example 1024..131072:log:8"
_LONGEST = 200  # characters; a longer text is no range, and is not searched


class Written(NamedTuple):
    """Some values of an axis; the first and the last were typed in ``units``, and those between are of a range."""

    values: tuple[float | int, ...]
    units: tuple[str, str] = ("", "")

    @property
    def is_range(self) -> bool:
        """Whether it is one: then it has two values at least."""
        return len(self.values) > 1


def split_list(text: str) -> Iterator[str]:
    """The items of ``10 GB/s,100 GB/s``.

    Raises
    ------
    UnitError
        For ``1,024``, which would be the two values 1 and 24.
    """
    for number, part in enumerate(text.split(",")):
        item = part.strip()
        if number and _TORN_THOUSANDS.match(item):
            raise UnitError("a comma divides values here, and one begins with 0", "write 1024, not 1,024")
        yield item


def values_of(text: str, read: Read, *, whole: bool) -> Written:
    """The values that one item of a list stands for; those of a key that counts are rounded, ``whole``.

    Raises
    ------
    UnitError
        If it is neither a value nor a range.
    """
    if not text:
        raise UnitError("a value is missing", "write for example 1024,2048, or 1024..131072:log:8")
    if _SIGN not in text:
        return Written((read(text),), (_unit(text), _unit(text)))
    ends, logarithmic, count = _parts(text)
    low, high = map(read, ends)
    if not low < high:
        raise UnitError(f"{shown(text)}: the first value is not below the second", "write the lower one first")
    if logarithmic and low == 0:
        raise UnitError(f"{shown(text)}: a logarithmic range cannot begin at zero", "write lin, or begin above zero")
    values = _geometric(low, high, count) if logarithmic else _linear(low, high, count)
    return Written(tuple(round(value) for value in values) if whole else values, (_unit(ends[0]), _unit(ends[1])))


def _unit(text: str) -> str:
    """What stands behind a number, without blanks around its stroke."""
    return re.sub(r"\s*/\s*", "/", text[_end_of_number(text) :].strip())


def _parts(text: str) -> tuple[tuple[str, str], bool, int]:
    if len(text) > _LONGEST:
        raise UnitError(f"{shown(text)} is not a range", _MEANT)
    first, _, rest = text.partition(_SIGN)
    second, *options = (part.strip() for part in rest.split(":"))
    first = first.strip()
    if not first or not second or _SIGN in second or len(options) > 2:
        raise UnitError(f"{shown(text)} is not a range", _MEANT)
    logarithmic = len(options) == 2 and _scale(options[0]) == "log"
    count = _count(options[-1] if options else "", text)
    if _BARE_NUMBER.fullmatch(first):
        first = f"{first} {second[_end_of_number(second) :]}".strip()  # "40 .. 90 s": the unit stands behind both
    return (first, second), logarithmic, count


def _end_of_number(text: str) -> int:
    found = _BEHIND_NUMBER.match(text)
    return found.end() if found else 0


def _scale(word: str) -> str:
    if word in _SCALES:
        return word
    near = nearest(word, (*_SCALES, "linear", "logarithmic"))
    hint = f"did you mean {near[:3]}?" if near else "write lin or log"
    raise UnitError(f"{shown(word)} is not lin or log", hint)


def _count(text: str, whole: str) -> int:
    if not text or text in _SCALES:
        raise UnitError(f"{shown(whole)}: how many values is not said", _MEANT)
    digits = text.replace("_", "")
    if not digits.isascii() or not digits.isdecimal():
        raise UnitError(f"{shown(text)} is not a number of values", _MEANT)
    count = int(digits) if len(digits) <= 9 else MOST_VALUES + 1
    if not 2 <= count <= MOST_VALUES:
        raise UnitError(f"{shown(text)} values: not between 2 and {MOST_VALUES:,}", _MEANT)
    return count


def _linear(low: float, high: float, count: int) -> tuple[float, ...]:
    step = high - low
    return low, *(_short(low + step * (i / (count - 1))) for i in range(1, count - 1)), high


def _geometric(low: float, high: float, count: int) -> tuple[float, ...]:
    ratio = high / low
    return low, *(_short(low * ratio ** (i / (count - 1))) for i in range(1, count - 1)), high


def _short(value: float) -> float:
    """Without the last digit, in which 2,048 would be 2,047.9999999999998."""
    return float(f"{value:.15g}")
