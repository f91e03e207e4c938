"""What the points of a block cost, worked out one by one where it changes, and side by side as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.failures import mtbf_of_job
from ckptplan.cost.restart import bytes_to_load, restart_cost
from ckptplan.cost.saving import SaveCost, save_cost
from ckptplan.cost.scenario import Cluster, Model, Restart, Save, Scenario, Storage, Training
from ckptplan.cost.size import Sizes, sizes
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.plan.closed import ClosedCases
from ckptplan.sweep.built import Objects, Parts, each, numbers
from ckptplan.sweep.dependence import takes_step_time

Floats = npt.NDArray[np.float64]


class BlockCosts(NamedTuple):
    """What the points of a block cost; arrays that broadcast against each other, one dimension for each axis."""

    cases: tuple[ClosedCases, ...]  # one for each strategy
    strategies: tuple[str, ...]
    gpus: Floats
    restart_total_s: Floats
    size_bytes: Floats
    work_s: Floats
    notes: Objects  # of the scale; empty where there is none


def block_costs(scenario: Scenario, parts: Parts) -> BlockCosts:
    """What the points of a block cost; nan wherever a scenario cannot be built or its cost is not known."""
    model, training, failures = parts.of("model"), parts.of("training"), parts.of("failures")
    clusters, notes = parts.clusters()
    storage = parts.of("storage")
    sized = each(_Sized, model, clusters)
    restarts = _restarts(scenario, parts, storage, sized)
    gpus = numbers(lambda cluster: cluster.gpus, clusters)
    mtbf_s = mtbf_of_job(numbers(lambda found: found.mtbf_per_gpu_s, failures), gpus)
    step_time_s = numbers(lambda found: found.step_time_s, training)
    # A fault of a key that no cost depends on is a fault nevertheless, and leaves no number either.
    known = parts.known()
    cases = [
        ClosedCases(
            mtbf_s=mtbf_s + known,
            downtime_s=numbers(lambda found: found.downtime_s, restarts),
            restart_s=numbers(lambda found: found.restart_s, restarts),
            step_time_s=step_time_s,
            strike=scenario.failures_strike,
            **_of_saves(saves),
        )
        for saves in _saves(scenario, parts, storage, sized, training)
    ]
    return BlockCosts(
        cases=tuple(cases),
        strategies=tuple(save.name for save in scenario.saves),
        gpus=gpus,
        restart_total_s=numbers(lambda found: found.total_s, restarts),
        size_bytes=numbers(lambda found: found.spread.total_bytes, sized),
        work_s=numbers(lambda found: found.work_s, training),
        notes=notes,
    )


class _Sized:
    """A model on a cluster, whose sizes are worked out once, when they are asked for."""

    def __init__(self, model: Model, cluster: Cluster) -> None:
        self.model, self.cluster = model, cluster
        self._sizes: dict[bool, Sizes] = {}
        self._to_load: float | None = None

    @property
    def spread(self) -> Sizes:
        """With replicas that split the bytes."""
        return self.sizes(spread_replicas=True)

    def sizes(self, *, spread_replicas: bool) -> Sizes:
        """Sizes of a save."""
        if spread_replicas not in self._sizes:
            self._sizes[spread_replicas] = sizes(self.model, self.cluster, spread_replicas=spread_replicas)
        return self._sizes[spread_replicas]

    @property
    def to_load_bytes(self) -> float:
        """What all ranks read in a restart. [bytes]."""
        if self._to_load is None:
            self._to_load = bytes_to_load(self.model, self.cluster)
        return self._to_load


def _restarts(scenario: Scenario, parts: Parts, storage: Objects, sized: Objects) -> Objects:
    """Costs of a restart; those whose load follows from sizes and storage depend on these as well."""
    restarts = parts.of("restart")
    if any(one is not None and one.total_s is None and one.load_s is None for one in restarts.flat):

        def computed(restart: Restart, storage: Storage, size: _Sized) -> object:
            found = replace(scenario, model=size.model, cluster=size.cluster, restart=restart, storage=storage)
            return restart_cost(found, size.to_load_bytes)

        return each(computed, restarts, storage, sized)
    return each(lambda restart: restart_cost(replace(scenario, restart=restart)), restarts)


def _saves(scenario: Scenario, parts: Parts, storage: Objects, sized: Objects, training: Objects) -> Iterator[Objects]:
    """Costs of a save by each strategy."""

    def costs(saves: Sequence[Save], storage: Storage, size: _Sized, training: Training) -> tuple[SaveCost, ...]:
        found = replace(scenario, model=size.model, cluster=size.cluster, storage=storage, training=training)
        return tuple(save_cost(one, found, size.sizes(spread_replicas=one.spread_replicas)) for one in saves)

    if not takes_step_time(scenario):
        training = np.full((1,) * training.ndim, scenario.training, dtype=object)
    made = each(costs, parts.of("saves"), storage, sized, training)
    for number in range(len(scenario.saves)):
        yield each(lambda found, number=number: found[number], made)


def _of_saves(saves: Objects) -> dict[str, Floats]:
    """Numbers of the costs of a save, as of `Case`."""
    stall_s = numbers(lambda save: save.stall_s, saves)
    flush_s = numbers(lambda save: save.flush_s, saves)
    speed = numbers(lambda save: save.training_speed_while_flushing, saves)
    in_flight = numbers(lambda save: save.in_flight, saves)
    effective_stall_s = effective_stall(stall_s, flush_s, speed)
    floor_s = interval_floor(flush_s, speed, in_flight=in_flight, stall=stall_s)
    shared_s = numbers(lambda save: save.transfer_s, saves) - effective_stall_s
    return {
        "stall_s": stall_s,
        "flush_s": flush_s,
        "speed": speed,
        "in_flight": in_flight,
        "effective_stall_s": effective_stall_s,
        "floor_s": np.where(in_flight > 1, np.maximum(floor_s, shared_s), floor_s),
    }
