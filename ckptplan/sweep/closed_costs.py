"""What the points of a grid cost: the numbers that it follows from, as arrays, and for a block the costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.failures import mtbf_of_job
from ckptplan.cost.restart import bytes_to_load, load_time, restart_times
from ckptplan.cost.save_times import SaveTimes, Written, save_times
from ckptplan.cost.scenario import Cluster, Failures, Model, Restart, Save, Scenario, Storage, Strike, Training
from ckptplan.cost.size import Sizes, sizes
from ckptplan.errors import InputError
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.plan.closed import ClosedCases
from ckptplan.sweep.built import Codes, Objects, Parts, each, numbers
from ckptplan.sweep.columns import Labels

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Inputs(NamedTuple):
    """What the costs of points follow from: parts whose numbers are arrays, one dimension for each axis. [s, bytes]."""

    failures: Failures
    storage: Storage
    restart: Restart
    training: Training
    saves: tuple[Save, ...]
    gpus: Floats
    planned_gpus: Floats  # of the spec
    working_gpus: Floats  # those of gpus that the layout fills
    planned_working_gpus: Floats
    size_bytes: Floats
    written: dict[bool, Written]  # by whether replicas of a shard split its bytes
    to_load_bytes: Floats
    known: Floats  # zero, nan where no scenario could be built
    notes: Labels  # of the scale; empty where there is none
    asked_s: Floats | None  # a given interval
    refused: tuple[Codes, ...]  # as of `Parts.refusals`, with the texts
    reasons: tuple[str, ...]
    strike: Strike


class BlockCosts(NamedTuple):
    """What the points of a block cost; arrays that broadcast against each other, one dimension for each axis."""

    cases: tuple[ClosedCases, ...]  # one for each strategy
    strategies: tuple[str, ...]
    is_short: tuple[Bools, ...]  # of each strategy: whether a given time is shorter than the bandwidths allow
    gpus: Floats
    working_gpus: Floats
    speed_gpus: Floats
    restart_total_s: Floats
    size_bytes: Floats
    work_s: Floats
    notes: Labels


def inputs_of(scenario: Scenario, parts: Parts, asked_s: Floats | None) -> Inputs:
    """What the costs of points follow from; ``asked_s`` is a given interval."""
    restart: Restart = parts.of("restart")
    saves: tuple[Save, ...] = parts.of("saves")
    clusters, notes = parts.clusters()
    planned = parts.objects("cluster")
    sized = each(_Sized, parts.objects("model"), clusters)
    computed_load = restart.total_s is None and restart.load_s is None
    storage, training, failures = parts.of("storage"), parts.of("training"), parts.of("failures")
    refused, reasons = parts.refusals()
    return Inputs(
        failures=failures,
        storage=storage,
        restart=restart,
        training=training,
        saves=saves,
        gpus=numbers(lambda cluster: cluster.gpus, clusters),
        planned_gpus=numbers(lambda cluster: cluster.gpus, planned),
        working_gpus=numbers(lambda cluster: cluster.layout.gpus, clusters),
        planned_working_gpus=numbers(lambda cluster: cluster.layout.gpus, planned),
        size_bytes=numbers(lambda found: found.sizes(True).total_bytes, sized),
        written={spread: _written(sized, spread) for spread in {save.spread_replicas for save in saves}},
        to_load_bytes=numbers(lambda found: found.to_load_bytes if computed_load else 0.0, sized),
        known=parts.known(),
        notes=_labels(notes),
        asked_s=asked_s,
        refused=refused,
        reasons=reasons,
        strike=scenario.failures_strike,
    )


class _Sized:
    """A model on a cluster, whose sizes are worked out once, when they are asked for."""

    def __init__(self, model: Model, cluster: Cluster) -> None:
        self.model, self.cluster = model, cluster
        self._sizes: dict[bool, Sizes] = {}

    def sizes(self, spread: bool) -> Sizes:
        """Sizes of a save, by whether replicas split the bytes."""
        if spread not in self._sizes:
            self._sizes[spread] = sizes(self.model, self.cluster, spread_replicas=spread)
        return self._sizes[spread]

    @property
    def to_load_bytes(self) -> float:
        """What all ranks read in a restart. [bytes]."""
        return bytes_to_load(self.model, self.cluster)


def _written(sized: Objects, spread: bool) -> Written:
    return Written(
        numbers(lambda found: found.sizes(spread).total_bytes, sized),
        numbers(lambda found: found.sizes(spread).written_per_node_bytes, sized),
        numbers(lambda found: found.sizes(spread).written_per_rank_bytes, sized),
    )


def _labels(texts: Objects) -> Labels:
    places: dict[str, int] = {"": 0}
    codes = [places.setdefault(text or "", len(places)) for text in texts.flat]
    return Labels(np.array(codes, dtype=np.int32).reshape(texts.shape), tuple(places))


def block_costs(inputs: Inputs) -> BlockCosts:
    """What points cost; nan wherever a scenario cannot be built or its cost is not known."""
    dimensions = inputs.gpus.ndim

    def spread_out(value: npt.ArrayLike | None) -> Floats:
        """As an array with all dimensions."""
        found = np.asarray(np.nan if value is None else value, dtype=np.float64)
        return found if found.ndim else found.reshape((1,) * dimensions)

    load_s = inputs.restart.load_s
    total_s, downtime_s, restart_s = restart_times(inputs.restart, _load(inputs) if load_s is None else load_s)
    # A fault of a key that no cost depends on is a fault nevertheless, and leaves no number either.
    mtbf_s = spread_out(mtbf_of_job(inputs.failures.mtbf_per_gpu_s, inputs.gpus))
    if np.isnan(inputs.known).any():
        mtbf_s = mtbf_s + inputs.known
    times = [_times(save, inputs) for save in inputs.saves]
    cases = [
        ClosedCases(
            mtbf_s=mtbf_s,
            downtime_s=spread_out(downtime_s),
            restart_s=spread_out(restart_s),
            step_time_s=spread_out(inputs.training.step_time_s),
            strike=inputs.strike,
            **{name: spread_out(value) for name, value in _of_save(save, of_save).items()},
        )
        for save, of_save in zip(inputs.saves, times, strict=True)
    ]
    ratio = inputs.working_gpus / inputs.planned_working_gpus  # as `plan.scale`, whose efficiency is 1 here
    return BlockCosts(
        cases=tuple(cases),
        strategies=tuple(save.name for save in inputs.saves),
        is_short=tuple(of_save.is_short.reshape(of_save.is_short.shape or (1,) * dimensions) for of_save in times),
        gpus=inputs.gpus,
        working_gpus=inputs.working_gpus,
        speed_gpus=inputs.planned_gpus * ratio,
        restart_total_s=spread_out(total_s),
        size_bytes=inputs.size_bytes,
        work_s=spread_out(inputs.training.work_s) / ratio,  # the same work
        notes=inputs.notes,
    )


def _load(inputs: Inputs) -> Floats:
    """Time of a load that follows from sizes and storage; nan where no bandwidth gives it."""
    bandwidth, latency_s = inputs.storage.read_bandwidth_bytes_per_s, inputs.storage.latency_s
    return load_time(inputs.to_load_bytes, np.nan if bandwidth is None else bandwidth, latency_s)


def _of_save(save: Save, times: SaveTimes) -> dict[str, Floats]:
    """Numbers of the costs of a save, as of `Case`."""
    in_flight = np.asarray(save.in_flight, dtype=np.float64)
    effective_stall_s = effective_stall(times.stall_s, times.flush_s, times.speed)
    floor_s = interval_floor(times.flush_s, times.speed, in_flight=in_flight, stall=times.stall_s)
    if (in_flight > 1.0).any():
        shared_s = times.transfer_s - effective_stall_s
        floor_s = np.where(in_flight > 1.0, np.maximum(floor_s, shared_s), floor_s)
    return {
        "stall_s": times.stall_s,
        "flush_s": times.flush_s,
        "speed": times.speed,
        "in_flight": in_flight,
        "effective_stall_s": effective_stall_s,
        "floor_s": floor_s,
    }


def _times(save: Save, inputs: Inputs) -> SaveTimes:
    """Times of a save; nan where they are neither given nor computable."""
    try:
        return save_times(save, inputs.written[save.spread_replicas], inputs.storage, inputs.training)
    except InputError:
        unknown = SaveTimes(*(np.full((), np.nan),) * len(SaveTimes._fields))
        return unknown._replace(is_short=np.zeros((), dtype=np.bool_))
