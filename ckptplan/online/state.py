"""What an interval controller has counted: written into the checkpoint, checked when read back."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

from ckptplan.errors import InputError

VERSION = 1


class Counts(NamedTuple):
    """Everything that a controller learns; its settings are not part of it."""

    step: int = 0  # newest step seen
    failures: int = 0
    exposure_s: float = 0.0  # time that the failure clock ran, up to that step
    saves: int = 0
    save_s: float = 0.0  # stalls of these saves in all
    in_save: bool = False  # written into a checkpoint, whose stall is not in the counts yet

    def to_dict(self) -> dict[str, Any]:
        """A plain dictionary of numbers, for JSON or any checkpoint format."""
        return {"version": VERSION, **self._asdict()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Counts:
        """Read `to_dict` back; every fault of it is reported."""
        if not isinstance(state, Mapping):
            raise InputError(f"state of the interval controller: expected a dictionary, got {type(state).__name__}")
        if state.get("version") != VERSION:
            raise InputError(
                f"state of the interval controller: version {state.get('version')!r} is not {VERSION}",
                hint="it was written by another version of ckptplan; start a new controller at the resumed step",
            )
        keys = {"version", *cls._fields}
        for problem, names in (("missing", keys - state.keys()), ("unknown", state.keys() - keys)):
            if names:
                raise InputError(f"state of the interval controller: {problem} {', '.join(sorted(map(str, names)))}")
        if not isinstance(state["in_save"], bool):
            raise InputError(f"state: in_save: expected true or false, got {state['in_save']!r}")
        return cls(
            in_save=state["in_save"],
            step=whole("state: step", state["step"]),
            failures=whole("state: failures", state["failures"]),
            exposure_s=number("state: exposure_s", state["exposure_s"]),
            saves=whole("state: saves", state["saves"]),
            save_s=number("state: save_s", state["save_s"]),
        )


def number(name: str, value: Any, *, positive: bool = False) -> float:
    """A finite number that is not negative, or that is positive; anything else is refused by name."""
    kind = "positive" if positive else "not negative"
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise InputError(f"{name}: expected a number, got {type(value).__name__}")
    try:
        x = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: {value!r} is not one number in range") from None
    if not math.isfinite(x) or x < 0.0 or (positive and x == 0.0):
        raise InputError(f"{name}: {x:g} is not finite and {kind}")
    return x


def whole(name: str, value: Any) -> int:
    """A whole number that is not negative; a bool or a fraction is refused by name."""
    try:
        n = -1 if isinstance(value, bool) else operator.index(value)
    except (TypeError, ValueError):
        n = -1
    if n < 0:
        raise InputError(f"{name}: expected a whole number that is not negative, got {value!r}")
    return n
