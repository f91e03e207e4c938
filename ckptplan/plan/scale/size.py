"""A run at another number of GPUs: the same work, by the layout that fills them, as fast as they get on together."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from ckptplan.cost.batches import uneven_split
from ckptplan.cost.layout import at_scale
from ckptplan.cost.scenario import Layout, Save, Scenario, Training
from ckptplan.cost.stragglers import Noise, slowdown_from_cv


class Size(NamedTuple):
    """The run at one number of GPUs.

    ``speed_gpus`` is its throughput without saves and failures, in GPUs of the planned size: one of those does its
    share of a step of the planned run. [1]
    """

    scenario: Scenario
    gpus: int
    idle_gpus: int
    replicas: int
    speed_gpus: float
    note: str | None


def size_at(scenario: Scenario, gpus: int, *, split: bool = True) -> Size:
    """The run at one size; without ``split`` as if its global batch came in equal parts for any replicas."""
    planned = scenario.cluster
    cluster, note = at_scale(planned, gpus)
    layout = cluster.layout
    efficiency = _efficiency(scenario.training, planned.layout, layout, split=split)
    ratio = layout.gpus / planned.layout.gpus
    made = replace(scenario, cluster=cluster)
    if gpus != planned.gpus or efficiency != 1.0:
        made = _at_speed(made, ratio, efficiency)
    return Size(made, gpus, gpus - layout.gpus, replicas_of(layout), planned.gpus * ratio * efficiency, note)


def batch_efficiency(training: Training, replicas: int) -> float:
    """Share of the time that replicas do not wait for the one with the most micro-batches. [1]."""
    if training.global_batch is None:
        return 1.0
    micro = training.micro_batch or 1
    whole = -(-training.global_batch // micro) * micro  # the last micro-batch may be a smaller one
    found = uneven_split(whole, replicas, micro)
    return 1.0 if found is None else found.efficiency


def _efficiency(training: Training, planned: Layout, layout: Layout, *, split: bool) -> float:
    """Throughput of a GPU without saves and failures, over that of one of the planned size. [1]."""
    then = batch_efficiency(training, replicas_of(planned))
    if layout.gpus == planned.gpus:
        return 1.0 if split else 1.0 / then
    found = math.pow(layout.gpus / planned.gpus, training.scaling_exponent - 1.0)
    if training.step_noise > 0.0:
        noise = Noise.EXPONENTIAL if training.noise_is_exponential else Noise.NORMAL
        slow, slower = (float(slowdown_from_cv(training.step_noise, n, noise)) for n in (planned.gpus, layout.gpus))
        found *= slow / slower
    # An even split gains what the planned size loses by an uneven one.
    now = batch_efficiency(training, replicas_of(layout)) if split else 1.0
    return found * now / then


def replicas_of(layout: Layout) -> int:
    """Replicas of the model that read different data. [1]."""
    return layout.data * layout.replicas


def _at_speed(scenario: Scenario, ratio: float, efficiency: float) -> Scenario:
    """The same work by ``ratio`` times the GPUs, each ``efficiency`` times as fast as one of the planned size. [1].

    A global batch that is given is kept, so that steps get shorter; else each GPU keeps its part of it.
    """
    training, work_s = scenario.training, scenario.training.work_s
    longer = 1.0 / efficiency if training.global_batch is None else 1.0 / (ratio * efficiency)  # of a step
    scaled = replace(
        training,
        step_time_s=None if training.step_time_s is None else training.step_time_s * longer,
        forward_backward_s=None if training.forward_backward_s is None else training.forward_backward_s * longer,
        duration_s=None if work_s is None else work_s / (ratio * efficiency),
        steps=None,
    )
    saves = tuple(measured_against(save, training.step_time_s) for save in scenario.saves)
    return replace(scenario, training=scaled, saves=saves)


def measured_against(save: Save, step_time_s: float | None) -> Save:
    """A slow-down that was measured against the step of the spec stays a slow-down by that factor."""
    if save.step_time_while_flushing_s is None or save.step_time_outside_s is not None:
        return save
    return replace(save, step_time_outside_s=step_time_s)
