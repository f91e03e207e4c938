"""JSON files of others, read with bounds: a small file must not become gigabytes of objects or a deep recursion."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.errors import InputError

MOST_BYTES = 64_000_000
MOST_CONTAINERS = 500_000
MOST_VALUES = 2_000_000
DEEPEST = 64

# The closing quote is optional, and nothing is given back: one pass over any text, whole or not.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


def read_json(folder: CheckpointFolder, name: str) -> Any:
    """The value of a JSON file."""
    if folder.size(name) > MOST_BYTES:
        message = f"{folder.size(name):,} bytes of JSON"
        raise folder.refused(name, message, f"at most {MOST_BYTES:,} bytes are read")
    return parse_json(folder, name, folder.read(name, 0, folder.size(name)))


def parse_json(folder: CheckpointFolder, name: str, text: bytes) -> Any:
    """The value of a JSON text that stands in a file of this name."""
    wrong = _too_much(text)
    if wrong:
        raise folder.refused(name, wrong, "no checkpoint holds such metadata")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _unreadable(folder, name) from None


def _too_much(text: bytes) -> str | None:
    outside = _STRING.sub(b"", text)
    brackets = np.frombuffer(outside.translate(None, _NOT_BRACKETS), np.uint8)
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    if int(opening.sum()) > MOST_CONTAINERS:
        return f"JSON with more than {MOST_CONTAINERS:,} lists and objects"
    if outside.count(b",") > MOST_VALUES:
        return f"JSON with more than {MOST_VALUES:,} values"
    depth = np.cumsum(np.where(opening, 1, -1)).max(initial=0)
    return f"JSON nested {int(depth):,} deep" if depth > DEEPEST else None


def _unreadable(folder: CheckpointFolder, name: str) -> InputError:
    return folder.refused(name, "not valid JSON", "is the copy complete?")


def counts(value: Any, most: int = 2**62) -> tuple[int, ...] | None:
    """A list of whole numbers from 0 on as a tuple; None for anything else."""
    if not isinstance(value, list) or len(value) > 64:
        return None
    good = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= most for one in value)
    return tuple(value) if good else None
