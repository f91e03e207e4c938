"""Parts of scenarios side by side: one part whose numbers are arrays, instead of many parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ckptplan.sweep.grid import Block

Bools = npt.NDArray[np.bool_]


class Mixed(Exception):  # noqa: N818 - no error: such parts do not stand side by side
    """Parts that differ in more than their numbers."""


def stacked(parts: Sequence[Any], places: Sequence[tuple[Any, ...]], shape: tuple[int, ...]) -> Any:
    """One part for many.

    Parameters
    ----------
    parts : sequence
        Parts of one kind: numbers, None, texts, or what holds such; numbers may be arrays already.
    places : sequence of tuples
        Index of each in the arrays to be made.
    shape : tuple of int
        Of these arrays. What no part fills has the numbers of the first one.

    Returns
    -------
    Any
        A part of that kind. Numbers that differ are arrays, whatever is the same in all stays as it is.

    Raises
    ------
    Mixed
        If they differ in more than their numbers.
    """
    first = parts[0]
    if is_dataclass(first):
        names = [field.name for field in fields(first)]
    elif isinstance(first, tuple):
        names = list(getattr(first, "_fields", map(str, range(len(first)))))
        if any(type(part) is not type(first) or len(part) != len(first) for part in parts):
            raise Mixed
    elif isinstance(first, np.ndarray) or _is_number(first):
        return _numbers(parts, places, shape)
    elif all(type(part) is type(first) and part == first for part in parts):
        return first
    else:
        raise Mixed
    if any(type(part) is not type(first) for part in parts):
        raise Mixed
    taken = _attribute if is_dataclass(first) else _item
    found = [stacked([taken(part, name, at) for part in parts], places, shape) for at, name in enumerate(names)]
    return _made(first, names, found)


def _attribute(part: Any, name: str, _: int) -> Any:
    return getattr(part, name)


def _item(part: Any, _: str, at: int) -> Any:
    return part[at]


def _made(like: Any, names: Sequence[Any], values: Sequence[Any]) -> Any:
    """Another one of a kind, with other values."""
    if is_dataclass(like):
        return replace(like, **dict(zip(names, values, strict=True)))  # type: ignore[type-var]
    return type(like)(*values) if hasattr(like, "_fields") else tuple(values)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numbers(parts: Sequence[Any], places: Sequence[tuple[Any, ...]], shape: tuple[int, ...]) -> Any:
    first = parts[0]
    if _is_number(first) and all(_is_number(part) and part == first for part in parts):
        return first
    if not all(isinstance(part, np.ndarray) or _is_number(part) for part in parts):
        raise Mixed
    if len(parts) == 1 and isinstance(first, np.ndarray):
        return first  # as long as the axes that it varies along, and no longer
    found = np.empty(shape, dtype=np.float64)
    found[...] = first
    for part, place in zip(parts, places, strict=True):
        found[place] = part
    return found


def within(whole: Any, block: Block) -> Any:
    """The same for a block of a grid; an array with one element along an axis keeps it."""
    return _each_array(whole, lambda array: _cut(array, block))


def spread_out(part: Any, dimensions: int) -> Any:
    """The same with every number an array of so many dimensions."""
    return _each_array(part, lambda array: array.reshape((1,) * dimensions) if array.ndim == 0 else array)


def _cut(array: npt.NDArray[Any], block: Block) -> npt.NDArray[Any]:
    if array.ndim != len(block):
        return array
    return array[
        tuple(
            slice(None) if length == 1 else slice(values.start, values.stop)
            for length, values in zip(array.shape, block, strict=True)
        )
    ]


def _each_array(value: Any, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        return change(value)
    if is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        changed = {name: _each_array(one, change) for name, one in found.items()}
        return replace(value, **{name: one for name, one in changed.items() if one is not found[name]})  # type: ignore[type-var]
    if isinstance(value, tuple):
        made = [_each_array(one, change) for one in value]
        return value if all(a is b for a, b in zip(made, value, strict=True)) else _made(value, (), made)
    if isinstance(value, dict):
        return {key: _each_array(one, change) for key, one in value.items()}
    return value
