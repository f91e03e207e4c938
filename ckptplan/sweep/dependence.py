"""Which groups of a spec each part of a scenario is built from: what need not be built again at every point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ckptplan.cost.scenario import LawName, Scenario
from ckptplan.sweep.study import GPUS, INTERVAL, Axis

RECORD = "failures.record"  # a record of failures gives the rate and may give the restart

# The second group of a part is there where a fault needs both: more stages than layers of the model, a step that a
# flush makes shorter. What is built without an axis of its groups is what it would be with it.
PARTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "model": ("model",),
        "cluster": ("cluster", "model"),
        "failures": ("failures", RECORD, "cluster"),
        "saves": ("save",),
        "storage": ("storage",),
        "restart": ("restart", RECORD),
        "training": ("training",),
        "retention": ("retention",),
    }
)
_SLOWED_SAVES = ("save", "training")  # of saves whose step time while flushing is held against that of training
# Keys that turn closed forms into sums or simulations, or that only plans of other points answer to.
_OPENS = ("failures.host_copy_survives", "failures.law.", "failures.classes[", "failures.watchdog.")
_GUARDS = ("training.step_noise",)
# With other numbers of GPUs these change the time of a step.
_SPEEDS = frozenset({"training.scaling_exponent", "training.global_batch", "training.micro_batch"})


# Of these, numbers alone follow from values: many can be built at once. A record of failures is counted for each.
_NUMBERS = frozenset({"failures", "save", "storage", "restart", "training"})


def takes_arrays(key: str) -> bool:
    """Whether a scenario may be built for many values of a key at once."""
    return group_of(key) in _NUMBERS


def group_of(key: str) -> str:
    """The group of a key: ``save`` of ``save[0].stall``."""
    if key.startswith(f"{RECORD}."):
        return RECORD
    return key.partition(".")[0].partition("[")[0]


def axes_of(part: str, axes: Sequence[Axis], scenario: Scenario) -> tuple[int, ...]:
    """Numbers of the axes that a part of a scenario depends on."""
    groups = _SLOWED_SAVES if part == "saves" and takes_step_time(scenario) else PARTS[part]
    return tuple(number for number, axis in enumerate(axes) if axis.key != GPUS and group_of(axis.key) in groups)


def takes_step_time(scenario: Scenario) -> bool:
    """Whether the cost of a save depends on the time of a step."""
    return any(save.overlapped_copy or save.step_time_while_flushing_s is not None for save in scenario.saves)


def is_closed(scenario: Scenario) -> bool:
    """Whether closed forms say everything of a scenario, and nothing but its saves is planned."""
    failures, guards = scenario.failures, scenario.prediction is not None or scenario.training.step_noise > 0.0
    exponential = failures.law.name is LawName.EXPONENTIAL and failures.host_copy_survives == 0.0
    return exponential and not scenario.has_spectrum and failures.watchdog is None and not guards


def keeps_closed(axis: Axis) -> bool:
    """Whether a closed scenario stays so along an axis."""
    if axis.key in (GPUS, INTERVAL):
        return True
    known = {group for groups in PARTS.values() for group in groups}
    return group_of(axis.key) in known and not axis.key.startswith(_OPENS) and axis.key not in _GUARDS


def keeps_speed(axes: Sequence[Axis], scenario: Scenario) -> bool:
    """Whether each working GPU does as much at every number of GPUs of the axes: else steps get longer or shorter."""
    if all(axis.key != GPUS for axis in axes):
        return True
    training = scenario.training
    evenly = training.scaling_exponent == 1.0 and training.global_batch is None
    return evenly and all(axis.key not in _SPEEDS for axis in axes)
