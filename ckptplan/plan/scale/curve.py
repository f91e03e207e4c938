"""Throughput against the number of GPUs: the same run at other sizes, and what each way of saving yields there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.scenario import Cluster, LawName, Scenario, Shard
from ckptplan.errors import InputError
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.chosen import saves_to_tiers
from ckptplan.plan.scale.refusals import reason
from ckptplan.plan.scale.size import Size, batch_efficiency, size_at

if TYPE_CHECKING:
    from ckptplan.plan.tiers.job import Pattern

NOT_THERE = "no such way of saving at this size: its tier does not survive every failure there"
_SPAN_OF_RECORD = 0.1  # of the size: the best interval for recorded gaps jumps from one accident of theirs to the next
_NEAR = 0.05  # of the size, over which a pattern is kept


class Marginal(NamedTuple):
    """What each GPU from one size to the next adds to the useful ones; None if that size cannot be planned. [1]."""

    to_gpus: int
    per_gpu: float | None
    refusal: str = ""


class Curve:
    """A scenario at any number of GPUs. What is asked for twice is worked out once.

    ``step_gpus`` are the GPUs by which the job grows: whole replicas, in the numbers that its layout allows, and whole
    nodes if the planned size is one. [1]
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.planned = scenario.cluster.gpus
        self.step_gpus = _step_gpus(scenario.cluster)
        self._sizes: dict[tuple[int, bool], Size] = {}
        self._cases: dict[tuple[int, bool], dict[str, Case]] = {}
        self._useful: dict[tuple[str, int, bool], float] = {}
        self._patterns: dict[tuple[int, bool, bool], Pattern] = {}
        planned = self.cases(self.planned)
        self.tiers = "tiers" if "tiers" not in planned else "several tiers"  # the strategy that saves to all of them
        self.strategies = (*planned, *((self.tiers,) if saves_to_tiers(scenario) else ()))
        # The failures of a tier plan are those of a case: of which one matters for a short notice only.
        self._single = max(planned, key=lambda name: _goodput(planned[name])) if scenario.storage.tiers else ""

    def at(self, gpus: int, *, split: bool = True) -> Size:
        """The run at one size; without ``split`` as if its global batch came in equal parts for any replicas."""
        key = (gpus, split)
        if key not in self._sizes:
            self._sizes[key] = size_at(self.scenario, gpus, split=split)
        return self._sizes[key]

    def cases(self, gpus: int, *, split: bool = True) -> dict[str, Case]:
        """Every way of saving to one tier, by name; ``split`` as in `at`."""
        key = self._key(gpus, split=split)
        if key not in self._cases:
            self._cases[key] = {case.save.name: case for case in cases_of(self.at(gpus, split=split).scenario)}
        return self._cases[key]

    def useful(self, strategy: str, gpus: int, *, split: bool = False) -> float:
        """Useful GPUs at the best interval, not rounded to steps; 0 where nothing is done. [1]."""
        key = (strategy, *self._key(gpus, split=split))
        if key not in self._useful:
            self._useful[key] = self._found(strategy, gpus, split=split)
        return self._useful[key]

    def pattern(self, gpus: int, *, split: bool = True, in_full: bool = False) -> Pattern:
        """The best pattern of saves to several tiers: with ``in_full`` that of ``optimize``, else one found fast."""
        from ckptplan.plan.scale.tiers import pattern_at

        key = (*self._key(gpus, split=split), in_full)
        if key not in self._patterns:
            case = self._best_case(*key[:2]) if in_full else self._case(*key[:2])
            self._patterns[key] = pattern_at(self.at(gpus, split=split).scenario, case, whole_steps=in_full)
        return self._patterns[key]

    def _key(self, gpus: int, *, split: bool) -> tuple[int, bool]:
        """The same for both splits where the batch makes no difference."""
        return gpus, split and self.at(gpus).speed_gpus != self.at(gpus, split=False).speed_gpus

    def marginal(self, strategy: str, gpus: int) -> Marginal:
        """What the GPUs up to the next size add, in useful GPUs per GPU, each size at its own best interval. [1]."""
        to = self.next_size(gpus)
        # The best pattern is as good as its neighbours, so that over a short way it may be kept.
        kept = gpus if strategy == self.tiers and to - gpus <= _NEAR * gpus else None
        try:
            there = self._throughput(strategy, to, split=True, kept=kept)
        except InputError as error:
            return Marginal(to, None, reason(error))
        here = self._throughput(strategy, gpus, split=True, kept=kept)
        return Marginal(to, (there - here) / (to - gpus))

    def next_size(self, gpus: int) -> int:
        """The size that a marginal throughput counts up to: the next one of the layout. [1].

        With a global batch it is the next one at which the busiest replica does fewer micro-batches, and with recorded
        gaps one a tenth larger.
        """
        steps = gpus // self.step_gpus
        if steps > 0 and self.scenario.training.global_batch is not None:
            return self._next_stair(steps) * self.step_gpus
        recorded = self.scenario.failures.law.name is LawName.RECORDED
        return (steps + (max(1, round(_SPAN_OF_RECORD * steps)) if recorded else 1)) * self.step_gpus

    def _next_stair(self, steps: int) -> int:
        """Steps at which the busiest replica does fewer micro-batches; one more where none can do fewer."""
        training, replicas = self.scenario.training, self.at(steps * self.step_gpus).replicas
        whole = -(-(training.global_batch or 1) // (training.micro_batch or 1))
        if replicas >= whole:
            return steps + 1
        busiest = max(-(-whole // replicas) - 1, 1)
        return max(-(-(-(-whole // busiest) * steps) // replicas), steps + 1)

    def batch_efficiency(self, replicas: int) -> float:
        """Share of the time that replicas do not wait for the one with the most micro-batches. [1]."""
        return batch_efficiency(self.scenario.training, replicas)

    def _found(self, strategy: str, gpus: int, *, split: bool) -> float:
        try:
            return self._throughput(strategy, gpus, split=split)
        except InputError:  # a tier needs more nodes than there are, or more room
            return 0.0

    def _throughput(self, strategy: str, gpus: int, *, split: bool, kept: int | None = None) -> float:
        """Useful GPUs; with the pattern of the size ``kept`` if that is given."""
        return self.at(gpus, split=split).speed_gpus * self._goodput(strategy, gpus, split=split, kept=kept)

    def _goodput(self, strategy: str, gpus: int, *, split: bool, kept: int | None) -> float:
        cases = self.cases(gpus, split=split)
        if strategy != self.tiers:
            if strategy not in cases:
                raise InputError(NOT_THERE)
            return _goodput(cases[strategy])
        from ckptplan.plan.scale.tiers import tiers_at

        pattern = self.pattern(gpus, split=split) if kept is None else self.pattern(kept, in_full=True)
        case = self._case(gpus, split)
        return number(tiers_at(self.at(gpus, split=split).scenario, case, pattern, whole_steps=False).goodput)

    def _case(self, gpus: int, split: bool) -> Case:
        cases = self.cases(gpus, split=split)
        return cases.get(self._single) or next(iter(cases.values()))

    def _best_case(self, gpus: int, split: bool) -> Case:
        """That of ``optimize``."""
        return max(self.cases(gpus, split=split).values(), key=_goodput)


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
    """Goodput at the best interval that is not shorter than a step; 0 if no save fits between two failures."""
    try:
        best_s = case.optimum(case.method)
    except InputError:
        return 0.0
    return number(case.goodput(max(best_s, case.step_time_s or 0.0)))
