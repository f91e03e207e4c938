"""The result of planning: frozen, in SI units, one flat record per strategy x method x scale."""

from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.restart import RestartCost
from ckptplan.cost.saving import SaveCost
from ckptplan.plan.progress import makes_progress

if TYPE_CHECKING:
    from ckptplan.plan.curve import Flat
    from ckptplan.plan.evidence import EvidenceFacts
    from ckptplan.plan.levers.lever import Lever
    from ckptplan.plan.memory import EarlyFacts, ScheduleFacts
    from ckptplan.plan.propagation import SpreadFacts
    from ckptplan.plan.run import RunFacts
    from ckptplan.plan.simulation import Prediction
    from ckptplan.plan.spectrum.by_class import ClassFacts
    from ckptplan.plan.spectrum.guards import GuardFacts
    from ckptplan.plan.tiers.tiering import TierPlan


TIERS = "tiers"  # names the plan over all tiers, as a strategy


class Record(NamedTuple):
    """One strategy, accounted by one method, at one number of GPUs and one interval.

    ``method`` is a name of the registry: it gives the interval (unless ``given``) and the accounting of the shares.
    ``goodput`` is by that accounting, ``goodput_exact`` is what using the interval really yields, by the law of the
    failures. ``None`` stands for "not known" or "not valid here"; ``status`` then says why. Times in seconds, shares
    of wall time.
    """

    strategy: str
    method: str
    given: bool
    asked_interval_s: float | None  # as the user wrote it; ``interval_s`` is longer where the flush demands it
    gpus: int
    mtbf_s: float
    restart_total_s: float  # downtime and restart
    stall_s: float
    flush_s: float
    effective_stall_s: float
    interval_floor_s: float
    interval_s: float
    interval_steps: int | None
    save_fraction: float
    rework_fraction: float
    restart_fraction: float
    slow_fraction: float  # to slow nodes
    waiting_fraction: float  # for nodes, or with replicas missing
    overhead: float
    goodput: float | None
    goodput_exact: float
    goodput_steps: float | None  # exact goodput of the whole number of steps
    lost_goodput: float | None  # of a given interval, against the best number to type at the same strategy and scale
    lost_gpu_hours: float | None
    lost_money: float | None
    status: str

    @property
    def goodput_typed(self) -> float:
        """What typing the recommended number into a trainer yields: whole steps where the step time is known."""
        return self.goodput_exact if self.goodput_steps is None else self.goodput_steps

    def typed_interval_s(self, step_time_s: float | None) -> float:
        """The interval of the number to type. [s]."""
        if self.interval_steps is None or step_time_s is None:
            return self.interval_s
        return self.interval_steps * step_time_s


class CheckpointFacts(NamedTuple):
    """Size of the checkpoint at the planned scale, in bytes."""

    size_bytes: float
    size_per_gpu_bytes: float
    size_per_node_bytes: float
    bytes_per_parameter: float
    ledger: str


class FailureFacts(NamedTuple):
    """Mean time between failures at the planned scale, in seconds."""

    mtbf_s: float
    mtbf_per_gpu_s: float
    mtbf_per_node_s: float
    source: str
    failures_counted: float | None  # if the source is a count


class Plan(NamedTuple):
    """Everything that ``ckptplan optimize`` prints."""

    name: str
    gpus: int
    step_time_s: float | None
    duration_s: float | None
    checkpoint: CheckpointFacts
    failures: FailureFacts
    restart: RestartCost
    saves: tuple[SaveCost, ...]
    records: tuple[Record, ...]
    best: Record  # the optimum with the highest exact goodput at the planned scale
    binds: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    scales: tuple[int, ...] = ()
    advice: tuple[str, ...] = ()
    run: "RunFacts | None" = None
    evidence: "EvidenceFacts | None" = None
    spread: "SpreadFacts | None" = None
    schedule: "ScheduleFacts | None" = None
    early: "EarlyFacts | None" = None
    verification: "Prediction | None" = None  # a simulation of the best record, if one was asked for
    classes: "tuple[ClassFacts, ...]" = ()
    guards: "GuardFacts | None" = None
    tiers: "TierPlan | None" = None
    flat: "Flat | None" = None  # intervals that lose next to nothing against the recommended one
    lever: "Lever | None" = None  # the one thing to do first
    step_times_s: tuple[float | None, ...] = ()  # at each of the scales

    def step_time_at(self, gpus: int) -> float | None:
        """Time of a step at a scale: with a global batch, or other noise, it is another one. [s]."""
        known = dict(zip(self.scales, self.step_times_s, strict=False))
        return known.get(gpus, self.step_time_s)

    @property
    def tiers_are_best(self) -> bool:
        """Whether saves to several tiers yield more than the best strategy of one."""
        return self.tiers is not None and self.tiers.beats(self.best.goodput_typed)

    @property
    def best_record(self) -> Record:
        """The record that is recommended: that of several tiers where these are best."""
        of_tiers = (record for record in self.records if record.strategy == TIERS and not record.given)
        return next(of_tiers) if self.tiers_are_best else self.best

    @property
    def best_goodput(self) -> float:
        """What the recommendation yields, typed as it is printed."""
        return self.tiers.goodput if self.tiers is not None and self.tiers_are_best else self.best.goodput_typed

    @property
    def makes_progress(self) -> bool:
        """Whether the recommendation gets anywhere; if not, `advice` says so, and nothing is best."""
        return makes_progress(self.best_goodput)

    def is_best(self, record: Record) -> bool:
        """Whether a record is the one that is recommended; where none gets anywhere, none is."""
        return self.makes_progress and record is self.best_record

    def optima(self, gpus: int | None = None) -> tuple[Record, ...]:
        """The recommended record of each strategy of one tier at one scale: the exact one if that was asked for."""
        wanted = self.gpus if gpus is None else gpus
        here = [r for r in self.records if not r.given and r.gpus == wanted and r.strategy != TIERS]
        strategies = dict.fromkeys(record.strategy for record in here)
        return tuple(max((r for r in here if r.strategy == name), key=recommended) for name in strategies)

    def given(self) -> tuple[Record, ...]:
        """Records of intervals that the user gave, at the planned scale."""
        return tuple(r for r in self.records if r.given and r.gpus == self.gpus)


PREFERENCE = {"renewal": 2, "exact": 1}


def recommended(record: Record) -> tuple[int, float]:
    """Order of preference: the method that knows most of the failures first, then what the interval really yields."""
    return PREFERENCE.get(record.method, 0), record.goodput_typed
