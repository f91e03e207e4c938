"""Changes of the user's own: how they are named, and how the scenario under several of them is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario

# The scenario under the own changes of these indices, written into the spec one after another.
Build: TypeAlias = Callable[[Sequence[int]], "Scenario"]


class Own(NamedTuple):
    """One change: ``keys`` are those of the spec that it sets, as written, ``changed`` those in force that differ."""

    key: str
    title: str
    text: str
    keys: tuple[str, ...]
    changed: tuple[str, ...] = ()


def clash(first: Own, second: Own) -> str | None:
    """Why two changes cannot be made together: what one sets, the other sets too; None if they can."""
    for key in first.keys:
        for other in second.keys:
            if holds(key, other) or holds(other, key):
                return f"both set {key if len(key) >= len(other) else other}"
    return None


def holds(key: str, other: str) -> bool:
    """Whether a key is the other one, or a group that holds it."""
    return other == key or other.startswith((f"{key}.", f"{key}["))
