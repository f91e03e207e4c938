"""Keys of dicts and elements of sets: only what is hashed in short time, whatever the file holds."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.pickles.values import Built, Global

# Python hashes an integer to its remainder by this number: larger ones can be made to collide at will.
_MODULUS = (1 << 61) - 1
_MOST_IN_TUPLE = 1 << 32
_SAFE = (str, bool, bytes, type(None), Global, Built)  # texts are hashed by a secret of the process


def can_be_key(value: Any, parts: int) -> bool:
    """Whether a value can be a key: text, bytes, a number, None, a stand-in, or a short tuple of such."""
    kind = type(value)
    if kind is str:
        return True
    if kind is int:
        return bool(-_MODULUS < value < _MODULUS)
    if kind is tuple:
        return len(value) <= parts and all(_can_be_part(each) for each in value)
    return kind in _SAFE or kind is float


def _can_be_part(value: Any) -> bool:
    kind = type(value)
    return kind in _SAFE or (kind is int and -_MOST_IN_TUPLE < value < _MOST_IN_TUPLE)
