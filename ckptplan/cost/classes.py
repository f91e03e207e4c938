"""Classes of failures: what each one loses, how it is noticed, and what its recovery takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ckptplan.cost.protection import Watchdog
    from ckptplan.cost.restart import RestartCost
    from ckptplan.cost.scenario import Scenario

OTHER = "other"
FALSE_ALARM = "false alarm"  # of the watchdog
WATCHDOG_TIMEOUT_S = 600.0


class FailureKind(StrEnum):
    """What happens, which decides how it is noticed and what is lost."""

    CRASH = "crash"
    HANG = "hang"
    SLOW = "slow node"
    SILENT = "silent corruption"
    SPIKE = "loss spike"
    PREEMPTION = "preemption"
    MAINTENANCE = "maintenance"


class Loss(StrEnum):
    """What memory and disks a failure takes away."""

    PROCESS = "process"  # host memory and disks of the node are still there
    MEMORY = "memory"  # the node starts again: its memory is gone, its disks are still there
    NODE = "node"  # one node with its memory and disks
    NODES = "nodes"  # several nodes at once, which may hold each other's copies


class BuiltIn(NamedTuple):
    """Defaults of a kind, and where they come from."""

    about: str
    loses: Loss
    source: str
    detect_s: float | None = None  # None: restart.detect of the spec
    notice_s: float | None = None
    back_steps: int = 0
    lag_steps: int = 0
    skipped_batches: int = 0


BUILT_IN: Mapping[FailureKind, BuiltIn] = MappingProxyType(
    {
        FailureKind.CRASH: BuiltIn(
            "a clear signal: the job ends, and restarts by itself",
            Loss.NODE,
            "Llama team, The Llama 3 Herd of Models (2024), table 5: most of 419 interruptions",
        ),
        FailureKind.HANG: BuiltIn(
            "a collective that never returns; found only by the timeout of the watchdog",
            Loss.PROCESS,
            "timeout of 10 min: default of the NCCL backend of torch.distributed since release 2.2 (before: 30 min)",
            detect_s=WATCHDOG_TIMEOUT_S,
        ),
        FailureKind.SLOW: BuiltIn(
            "no error: every step waits for the slowest rank until the node is found and evicted",
            Loss.NODE,
            "BigScience chronicles (2022): steps of 111 s instead of 105 s with a slow node; found after 1 h: assumed",
            detect_s=3600.0,
        ),
        FailureKind.SILENT: BuiltIn(
            "wrong numbers without an error; found late, and saved faithfully until then",
            Loss.PROCESS,
            "found after 8 h by hand: ByteRobust (2025), arXiv 2509.16293; 6 of 419 interruptions of Llama 3 (2024)",
            detect_s=8 * 3600.0,
        ),
        FailureKind.SPIKE: BuiltIn(
            "no hardware fault: the loss jumps, and training goes back past several saves and skips batches",
            Loss.PROCESS,
            "Chowdhery et al., PaLM (2022), section 5.1: back some 100 steps, 200 to 500 batches skipped; a lag of 10 "
            "steps is assumed",
            back_steps=100,
            lag_steps=10,
            skipped_batches=350,
        ),
        FailureKind.PREEMPTION: BuiltIn(
            "the nodes are taken away with a notice; if it is long enough a save comes first",
            Loss.NODES,
            "notice of 2 min: Amazon EC2 spot instances (Google and Azure give 30 s)",
            detect_s=0.0,
            notice_s=120.0,
        ),
        FailureKind.MAINTENANCE: BuiltIn(
            "planned work: announced so early that a save always comes first",
            Loss.NODES,
            "Llama team (2024), section 3.3.4: 47 planned of 466 interruptions",
            detect_s=0.0,
            notice_s=float("inf"),
        ),
    }
)

_WITH_NOTICE = {FailureKind.PREEMPTION, FailureKind.MAINTENANCE}
_IN_TRAINING = {FailureKind.SLOW, FailureKind.SILENT, FailureKind.SPIKE}  # training goes on until they are found


class FailureClass(NamedTuple):
    """One class as given. Exactly one of ``share``, ``every_s`` and ``mtbf_per_gpu_s`` is set. [1, s]."""

    name: str
    kind: FailureKind
    share: float | None = None  # of the interruptions that the source counts
    every_s: float | None = None  # of the whole job, whatever its size; loss spikes: of new work
    mtbf_per_gpu_s: float | None = None
    detect_s: float | None = None
    phases_s: Mapping[str, float] = MappingProxyType({})  # of the recovery, where they differ from restart
    total_s: float | None = None  # of the recovery, all of it
    loses: Loss = Loss.NODE
    notice_s: float = 0.0
    slowdown: float = 0.0  # a step takes 1 + slowdown times as long while the node is slow
    detect_is_fixed: bool = False  # the delay is always the same, and not exponential
    back_steps: int = 0
    lag_steps: int = 0
    skipped_batches: float = 0.0


class ClassCost(NamedTuple):
    """One class at one scale: how often it comes, and what it takes. [1/s, s, 1]."""

    name: str
    kind: FailureKind
    share: float  # of the interruptions that the source counts, 0 if it has its own rate
    own_rate_per_s: float  # beside the source
    downtime_s: float  # detection (unless training goes on meanwhile) and replacement
    restart_s: float
    delay_s: float = 0.0  # mean time until it is found while training goes on
    delay_is_fixed: bool = False
    notice_s: float = 0.0
    slowdown: float = 0.0
    loses: Loss = Loss.NODE
    back_s: float = 0.0
    lag_s: float = 0.0
    skipped_batches: float = 0.0
    load_s: float | None = None  # part of ``restart_s`` that reads the checkpoint; None: not known by itself

    def rate_per_s(self, mtbf_s: float) -> float:
        """How often it comes, if the interruptions of the source come every ``mtbf_s``. [1/s]."""
        return self.share / mtbf_s + self.own_rate_per_s

    @property
    def recovery_s(self) -> float:
        """Time that training stands still for it. [s]."""
        return self.downtime_s + self.restart_s

    def loading_for(self, load_s: float) -> ClassCost:
        """The same with another time to load the checkpoint, if that is a known part of its restart. [s]."""
        if self.load_s is None:
            return self
        return self._replace(restart_s=self.restart_s - self.load_s + load_s, load_s=load_s)


def class_costs(scenario: Scenario, restart: RestartCost) -> tuple[ClassCost, ...]:
    """Every class of a scenario at its scale; what no class claims of the interruptions is a crash named ``other``.

    A class that never comes, such as one of which none was counted, is left out.
    """
    found = [_cost(one, scenario, restart) for one in scenario.failures.classes if one.share != 0.0]
    rest = 1.0 - sum(one.share for one in found)
    found += _false_alarms(scenario, found)
    if found and rest > 1e-9:
        found.append(unnamed(rest, restart))
    return tuple(found)


def _false_alarms(scenario: Scenario, found: Sequence[ClassCost]) -> list[ClassCost]:
    """Healthy pauses that the watchdog kills: one more class of stops, rarer the longer its timeout is.

    Each costs the timeout, until the pause is taken for a hang, and the recovery from one.
    """
    dog, hang = scenario.failures.watchdog, next((one for one in found if one.kind is FailureKind.HANG), None)
    if dog is None or hang is None or not dog.false_alarms_per_s or any(one.name == FALSE_ALARM for one in found):
        return []
    rate = dog.false_alarms_at(timeout_s(dog, hang), scenario.training.step_time_s)
    return [hang._replace(name=FALSE_ALARM, kind=FailureKind.CRASH, share=0.0, own_rate_per_s=rate)]


def timeout_s(dog: Watchdog, hang: ClassCost) -> float:
    """The timeout in force: that of the watchdog, else the detection of the hangs. [s]."""
    return hang.downtime_s if dog.timeout_s is None else dog.timeout_s


def unnamed(share: float, restart: RestartCost) -> ClassCost:
    """Failures that belong to no class: crashes with the recovery of the spec."""
    load_s = restart.phases_s.get("load")
    return ClassCost(OTHER, FailureKind.CRASH, share, 0.0, restart.downtime_s, restart.restart_s, load_s=load_s)


def _cost(one: FailureClass, scenario: Scenario, restart: RestartCost) -> ClassCost:
    own = 0.0 if one.every_s is None else 1.0 / one.every_s
    if one.mtbf_per_gpu_s is not None:
        own = scenario.cluster.gpus / one.mtbf_per_gpu_s
    downtime_s, restart_s, delay_s = _recovery(one, restart)
    step_s = scenario.training.step_time_s or 0.0
    return ClassCost(
        name=one.name,
        kind=one.kind,
        share=one.share or 0.0,
        own_rate_per_s=own,
        downtime_s=downtime_s,
        restart_s=restart_s,
        delay_s=delay_s,
        delay_is_fixed=one.detect_is_fixed,
        notice_s=one.notice_s,
        slowdown=one.slowdown,
        loses=one.loses,
        back_s=one.back_steps * step_s,
        lag_s=one.lag_steps * step_s,
        skipped_batches=one.skipped_batches,
        load_s=_load_s(one, restart),
    )


def _load_s(one: FailureClass, restart: RestartCost) -> float | None:
    """Time to read the checkpoint, where phases tell it. [s]."""
    phases = {**restart.phases_s, **one.phases_s}
    return phases.get("load") if phases and one.total_s is None else None


def _recovery(one: FailureClass, restart: RestartCost) -> tuple[float, float, float]:
    """Downtime, restart and the delay during which training goes on. [s]."""
    goes_on = one.kind in _IN_TRAINING
    detect_s = BUILT_IN[one.kind].detect_s if one.detect_s is None else one.detect_s
    waits_s = 0.0 if goes_on else detect_s
    delay_s = (detect_s or 0.0) if goes_on and one.kind is not FailureKind.SPIKE else 0.0
    if one.total_s is not None:
        return restart.phases_s.get("detect", 0.0) if waits_s is None else waits_s, one.total_s, delay_s
    phases = dict(restart.phases_s)
    if not phases and not one.phases_s:  # a total of the spec: it holds the detection of a crash
        return waits_s or 0.0, restart.restart_s, delay_s
    if waits_s is not None:
        phases["detect"] = waits_s
    phases.update(one.phases_s)
    downtime_s = phases.get("detect", 0.0) + phases.get("replace", 0.0)
    rest_s = sum(phases.get(phase, 0.0) for phase in ("initialise", "load", "warm_up"))
    return downtime_s, rest_s, delay_s


def is_noticed(one: ClassCost, save_s: float) -> bool:
    """Whether its notice leaves the time for a save that is durable when it ends."""
    return one.kind in _WITH_NOTICE and one.notice_s >= save_s
