"""Numbers that print alike: a whole number for each, equal where the printed digits certainly are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_EDGE = 1e-6  # this near the edge between two printed numbers, neither is taken for certain
_EXPONENTS = 700  # of ten, in all doubles

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]


class Printed(NamedTuple):
    """Codes from 0 to ``size - 1``: equal ones print alike where they are certain."""

    codes: Codes
    certain: Bools
    size: int


def where(condition: Bools, printed: Printed) -> Printed:
    """The same where a number is printed at all; elsewhere one code of its own stands for all."""
    codes = np.where(condition, printed.codes + 1, 0)
    return Printed(codes, printed.certain | ~condition, printed.size + 1)


def decimals(numbers: npt.NDArray[np.float64], digits: int, most: float) -> Printed:
    """Numbers from 0 to ``most`` with some digits behind the point."""
    with np.errstate(invalid="ignore"):
        scaled = np.clip(numbers, 0.0, most) * 10.0**digits
        nearest = np.rint(scaled)
        certain = (np.abs(np.abs(scaled - nearest) - 0.5) > _EDGE) & (numbers <= most)
    return Printed(_whole(nearest), certain, int(most * 10.0**digits) + 2)


def significant(numbers: npt.NDArray[np.float64], digits: int) -> Printed:
    """Positive numbers with some significant digits."""
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log10(numbers))
        mantissa = numbers / 10.0 ** (exponent - (digits - 1))
        nearest = np.rint(mantissa)
        inside = (mantissa > 10.0 ** (digits - 1) + _EDGE) & (mantissa < 10.0**digits - _EDGE)
        certain = inside & (np.abs(np.abs(mantissa - nearest) - 0.5) > _EDGE)
    span = 10**digits + 1
    codes = _whole(np.where(certain, nearest + span * (exponent + _EXPONENTS // 2), 0.0))
    return Printed(codes, certain, span * _EXPONENTS)


def combined(parts: Iterable[Printed], shape: tuple[int, ...]) -> Codes:
    """A number for each point, in order: equal ones have all parts alike; what is not certain has one of its own."""
    total, size, certain = np.zeros(shape, dtype=np.int64), 1, np.ones(shape, dtype=bool)
    for part in parts:
        if size * part.size >= 2**62:
            names, numbered = np.unique(total, return_inverse=True)
            total, size = numbered.reshape(shape), len(names)
        total, size = total * part.size + part.codes, size * part.size
        certain &= part.certain
    flat = total.reshape(-1)
    return np.where(certain.reshape(-1), flat, -1 - np.arange(flat.size))


def _whole(numbers: npt.NDArray[np.float64]) -> Codes:
    return np.nan_to_num(numbers).astype(np.int64)
