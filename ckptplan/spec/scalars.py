"""Plain YAML scalars by the core schema of YAML 1.2: ``1e9`` is a number, ``10:30`` and ``no`` are texts."""

from __future__ import annotations

import re

from ckptplan.spec.tree import Scalar

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# The underscores are an addition to the core schema: 70_553_706_496 is easier to check than 70553706496.
_INTEGER = re.compile(r"[-+]?[0-9]+(?:_[0-9]+)*")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST_INTEGER = 30  # digits; a longer one is read as a float (int() of thousands of digits is refused or slow)
_LONGEST_NUMBER = 100


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST_NUMBER or text[0] not in "+-.0123456789":
        return text
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    if _INTEGER.fullmatch(text):
        plain = text.replace("_", "")
        return int(plain) if len(plain) <= _LONGEST_INTEGER else float(plain)
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    special = _SPECIAL.fullmatch(text)
    return None if special is None else float("nan" if special[2] is None else f"{special[1]}inf")
