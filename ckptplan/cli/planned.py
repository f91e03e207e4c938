"""What a node writes in a save of a spec, or what options say instead."""

from __future__ import annotations

import math
from typing import NamedTuple

from ckptplan.cli.choices import quantity
from ckptplan.cost.saving import SaveCost, save_cost
from ckptplan.cost.scenario import Mode, Save, Scenario
from ckptplan.cost.size import sizes
from ckptplan.errors import InputError, Problem, UsageError

_DEFAULT_BYTES = float(1 << 30)
_DEFAULT_WRITERS = 8
_LARGEST_BYTES = 1e15
_PAGE, _LARGEST_BLOCK = 4096, 1 << 30


class Planned(NamedTuple):
    """Writers of one node, bytes of each as planned and at most, and what the spec says of such a save."""

    writers: int
    size_bytes: float
    most_bytes: float = math.inf
    is_whole: bool = False  # the job has one node
    cost: SaveCost | None = None
    notes: tuple[str | Problem, ...] = ()

    def says(self, size_bytes: float) -> dict[str, float | None]:
        """Stall, flush and speed of the spec, its times scaled to the bytes that were measured."""
        if self.cost is None:
            return {}
        scale = size_bytes / self.size_bytes
        return {
            "stall": self.cost.stall_s * scale,
            "flush": self.cost.flush_s * scale,
            "training_speed_while_flushing": self.cost.training_speed_while_flushing,
        }


def planned(spec: str | None, sets: list[str] | None, size: str | None, writers: int | None) -> Planned:
    """What to write.

    Raises
    ------
    UsageError
        For a size that is none, or --set without --spec.
    InputError
        With every fault of the spec.
    """
    given = None if size is None else _size(size)
    if spec is None:
        if sets:
            raise UsageError("--set needs --spec", hint="name the spec whose keys it sets")
        return Planned(writers or _DEFAULT_WRITERS, given or _DEFAULT_BYTES)
    from ckptplan.load import load

    loaded = load(spec, sets=sets or [])
    found = of_scenario(loaded.scenario)
    return found._replace(
        writers=writers or found.writers, most_bytes=given or math.inf, notes=(*loaded.warnings, *found.notes)
    )


def of_scenario(scenario: Scenario) -> Planned:
    """The busiest rank and node of a scenario, by the first of its strategies that is asynchronous, else sharded."""
    save = min(scenario.saves, key=lambda one: _ORDER[one.mode], default=None)
    size = sizes(scenario.model, scenario.cluster, spread_replicas=save is None or save.spread_replicas)
    gathered = save is not None and save.mode is Mode.GATHERED
    per_node = min(scenario.cluster.gpus_per_node, scenario.cluster.gpus)
    return Planned(
        writers=1 if gathered else per_node,
        size_bytes=size.total_bytes if gathered else size.written_per_rank_bytes,
        is_whole=size.nodes == 1 or gathered,
        cost=_cost(save, scenario),
    )


_ORDER = {Mode.ASYNCHRONOUS: 0, Mode.SHARDED: 1, Mode.GATHERED: 2}


def _cost(save: Save | None, scenario: Scenario) -> SaveCost | None:
    """What the plan says of an asynchronous save; None where it cannot say it yet."""
    if save is None or save.mode is not Mode.ASYNCHRONOUS:
        return None
    try:
        return save_cost(save, scenario)
    except InputError:
        return None  # no bandwidth is known, which is why it is measured


def _size(text: str) -> float:
    value = quantity(text, "size", "--size")
    if not 1.0 <= value <= _LARGEST_BYTES:
        raise UsageError(f"--size {text}: not between one byte and 1 PB", hint="write for example 8GiB")
    return value


def block_bytes(text: str) -> int:
    """The bytes of one call.

    Raises
    ------
    UsageError
        If it is no size, or not a multiple of 4 KiB up to 1 GiB.
    """
    value = quantity(text, "size", "--block")
    if not _PAGE <= value <= _LARGEST_BLOCK or value % _PAGE:
        raise UsageError(f"--block {text}: not a multiple of 4 KiB up to 1 GiB", hint="write for example 16MiB")
    return int(value)
