"""FP8 state: scales and histories of absolute maxima, by the leaf of a name or by what an object holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ckptplan.checkpoint.naming.vocabulary import EXTRA_STATES, FP8_LEAVES, FP8_WORDS

MOST_VALUES = 10_000


def named_fp8(leaf: str) -> bool:
    """Whether the last part of a tensor's name is one that FP8 libraries give to scales and histories."""
    words = frozenset(leaf.split("_"))
    return leaf in FP8_LEAVES or all(words & some for some in FP8_WORDS)


def worth_a_look(parts: tuple[str, ...]) -> bool:
    """Whether an object of this name can hold FP8 state: only the extra state of a module does."""
    return parts[-1] in EXTRA_STATES


def holds_fp8(value: Any) -> bool:
    """Whether an inert value holds FP8 state: a dict with keys of scales or histories, at any depth.

    Objects of this name exist in runs without FP8 too, with None or nothing inside.
    """
    return any(isinstance(key, str) and (key in FP8_LEAVES or named_fp8(key)) for key in _keys(value))


def _keys(value: Any) -> Iterator[Any]:
    """Keys of all dicts within, of at most so many values."""
    left = [value]
    for _ in range(MOST_VALUES):
        if not left:
            return
        inner = left.pop()
        if isinstance(inner, dict):
            yield from inner
            left.extend(inner.values())
        elif isinstance(inner, list | tuple):
            left.extend(inner)
