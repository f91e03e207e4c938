"""The training step that a checkpoint's values tell."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.pickles.values import Built

NAMES = (
    "global_step", "global_steps", "step", "iteration", "iter", "current_step", "num_steps", "steps", "n_iter",
    "num_updates", "iterations",
)  # fmt: skip
CONTAINERS = ("train_state", "training_state", "trainer_state", "state", "progress", "train_progress", "meta", "loop")
_MOST = 2**53


def step_of(value: Any) -> int | None:
    """The step by its usual names, at the top or within the usual containers."""
    if not isinstance(value, dict):
        return None
    inner = (_attributes(value.get(name)) for name in CONTAINERS)
    for place in (value, *(found for found in inner if found)):
        for name in NAMES:
            found = place.get(name)
            if type(found) is int and 0 <= found < _MOST:
                return found
    return None


def _attributes(value: Any) -> dict[Any, Any] | None:
    state = value.state if isinstance(value, Built) else value
    return state if isinstance(state, dict) else None
