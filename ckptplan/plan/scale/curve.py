"""Throughput against the number of GPUs: the same run at other sizes, and what each way of saving yields there."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from ckptplan.cost.batches import uneven_split
from ckptplan.cost.layout import with_gpus
from ckptplan.cost.scenario import Cluster, LawName, Layout, Save, Scenario, Shard
from ckptplan.cost.stragglers import Noise, slowdown_from_cv
from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of

_SLOPE = 1e-3  # of the size, over which a slope is taken
_SLOPE_OF_TIERS = 2e-2  # wider: their pattern goes by whole numbers
_SLOPE_OF_RECORD = 1e-1  # the best interval for recorded gaps jumps from one accident of theirs to the next


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


class Curve:
    """A scenario at any number of GPUs. What is asked for twice is worked out once.

    ``step_gpus`` are the GPUs by which the job grows: whole replicas, in the numbers that its layout allows, and whole
    nodes if the planned size is one. [1]
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.planned = scenario.cluster.gpus
        self.step_gpus = _step_gpus(scenario.cluster)
        self._cases: dict[int, dict[str, Case]] = {}
        self._useful: dict[tuple[str, int], float] = {}
        planned = self.cases(self.planned)
        self.tiers = "tiers" if "tiers" not in planned else "several tiers"  # the strategy that saves to all of them
        self.strategies = (*planned, *((self.tiers,) if scenario.storage.tiers else ()))
        # The failures of a tier plan are those of a case: of which one matters for a short notice only.
        self._single = max(planned, key=lambda name: _goodput(planned[name])) if scenario.storage.tiers else ""

    def at(self, gpus: int, *, split: bool = True) -> Size:
        """The run at one size; without ``split`` as if its global batch came in equal parts for any replicas."""
        cluster, note = (
            (self.scenario.cluster, None) if gpus == self.planned else with_gpus(self.scenario.cluster, gpus)
        )
        layout, planned = cluster.layout, self.scenario.cluster.layout
        efficiency = self._efficiency(layout, split=split)
        ratio = layout.gpus / planned.gpus
        made = replace(self.scenario, cluster=cluster)
        if gpus != self.planned:
            made = _at_speed(made, ratio, efficiency)
        speed_gpus = self.planned * ratio * efficiency
        return Size(made, gpus, gpus - layout.gpus, replicas_of(layout), speed_gpus, note)

    def cases(self, gpus: int) -> dict[str, Case]:
        """Every way of saving to one tier, by name, as if the batch came in equal parts."""
        if gpus not in self._cases:
            self._cases[gpus] = {case.save.name: case for case in cases_of(self.at(gpus, split=False).scenario)}
        return self._cases[gpus]

    def useful(self, strategy: str, gpus: int) -> float:
        """Useful GPUs at the best interval, not rounded to steps nor by the batch; 0 where nothing is done. [1]."""
        key = (strategy, gpus)
        if key not in self._useful:
            try:
                goodput = self._goodput(strategy, gpus)
            except InputError:  # no save fits between two failures, or a tier needs more nodes than there are
                goodput = 0.0
            self._useful[key] = self.at(gpus, split=False).speed_gpus * goodput
        return self._useful[key]

    def marginal(self, strategy: str, gpus: int) -> float | None:
        """What one GPU more adds, in useful GPUs; None for less than one step of the layout. [1]."""
        steps = gpus // self.step_gpus
        if steps < 1:
            return None
        wide = _SLOPE_OF_TIERS if strategy == self.tiers else _SLOPE
        if self.scenario.failures.law.name is LawName.RECORDED:
            wide = _SLOPE_OF_RECORD
        by = max(1, round(wide * steps))
        low, high = max(steps - by, 1), steps + by
        rise = self.useful(strategy, high * self.step_gpus) - self.useful(strategy, low * self.step_gpus)
        return rise / ((high - low) * self.step_gpus)

    def batch_efficiency(self, replicas: int) -> float:
        """Share of the time that replicas do not wait for the one with the most micro-batches. [1]."""
        training = self.scenario.training
        if training.global_batch is None:
            return 1.0
        micro = training.micro_batch or 1
        whole = -(-training.global_batch // micro) * micro  # the last micro-batch may be a smaller one
        found = uneven_split(whole, replicas, micro)
        return 1.0 if found is None else found.efficiency

    def _goodput(self, strategy: str, gpus: int) -> float:
        cases = self.cases(gpus)
        if strategy != self.tiers:
            return _goodput(cases[strategy]) if strategy in cases else 0.0
        from ckptplan.plan.scale.tiers import tiers_at

        case = cases.get(self._single) or next(iter(cases.values()))
        return number(tiers_at(self.at(gpus, split=False).scenario, case, whole_steps=False).goodput)

    def _efficiency(self, layout: Layout, *, split: bool) -> float:
        """Throughput of a GPU without saves and failures, over that of one of the planned size. [1]."""
        training, planned = self.scenario.training, self.scenario.cluster.layout
        if layout.gpus == planned.gpus:
            return 1.0
        found = math.pow(layout.gpus / planned.gpus, training.scaling_exponent - 1.0)
        if training.step_noise > 0.0:
            noise = Noise.EXPONENTIAL if training.noise_is_exponential else Noise.NORMAL
            then, now = (float(slowdown_from_cv(training.step_noise, n, noise)) for n in (planned.gpus, layout.gpus))
            found *= then / now
        if split:
            found *= self.batch_efficiency(replicas_of(layout)) / self.batch_efficiency(replicas_of(planned))
        return found


def replicas_of(layout: Layout) -> int:
    """Replicas of the model that read different data. [1]."""
    return layout.data * layout.replicas


def number(goodput: float) -> float:
    """A goodput, 0 where there is none."""
    return goodput if goodput > 0.0 else 0.0  # nan too


def _step_gpus(cluster: Cluster) -> int:
    layout = cluster.layout
    step = layout.tensor * layout.pipeline * layout.context
    if layout.shard is Shard.HSDP and layout.replicas > 1:
        step *= layout.data
    else:
        step *= layout.replicas * (layout.expert // math.gcd(layout.expert, layout.context))
    return math.lcm(step, cluster.gpus_per_node) if cluster.gpus % cluster.gpus_per_node == 0 else step


def _goodput(case: Case) -> float:
    """Goodput at the best interval that is not shorter than a step."""
    return number(case.goodput(max(case.optimum(case.method), case.step_time_s or 0.0)))


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
    saves = tuple(_with_step(save, training.step_time_s) for save in scenario.saves)
    return replace(scenario, training=scaled, saves=saves)


def _with_step(save: Save, step_time_s: float | None) -> Save:
    """A slow-down that was measured against the planned step stays a slow-down by that factor."""
    if save.step_time_while_flushing_s is None or save.step_time_outside_s is not None:
        return save
    return replace(save, step_time_outside_s=step_time_s)
