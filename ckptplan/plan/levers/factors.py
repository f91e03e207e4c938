"""A scenario with one of its inputs larger or smaller by a factor, in every place where the input stands."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ckptplan.cost.restart import restart_cost
from ckptplan.cost.scenario import Scenario

if TYPE_CHECKING:
    from ckptplan.cost.classes import FailureClass
    from ckptplan.cost.tiers import Tier, TierCost

PHASES = ("detect", "replace", "initialise", "load", "warm_up")
WRITE_LIMITS = (
    "write_bandwidth_bytes_per_s",
    "write_bandwidth_per_node_bytes_per_s",
    "write_bandwidth_per_writer_bytes_per_s",
    "peak_write_bandwidth_bytes_per_s",
)
TIER_WRITES = ("bandwidth_bytes_per_s", "bandwidth_per_node_bytes_per_s", "bandwidth_per_gpu_bytes_per_s")
TIER_READS = ("read_bandwidth_bytes_per_s", "read_bandwidth_per_node_bytes_per_s")


def with_mtbf(scenario: Scenario, factor: float) -> Scenario:
    """All failures rarer by a factor, whatever gives their rate; loss spikes and planned work too."""
    failures = scenario.failures
    classes = tuple(
        one._replace(every_s=_times(one.every_s, factor), mtbf_per_gpu_s=_times(one.mtbf_per_gpu_s, factor))
        for one in failures.classes
    )
    return replace(
        scenario, failures=replace(failures, mtbf_per_gpu_s=failures.mtbf_per_gpu_s * factor, classes=classes)
    )


def with_write_bandwidth(scenario: Scenario, factor: float) -> Scenario:
    """Every limit of a write, of the storage and of its tiers."""
    storage = scenario.storage
    limits: dict[str, Any] = {name: _times(getattr(storage, name), factor) for name in WRITE_LIMITS}
    return replace(scenario, storage=replace(storage, tiers=_tiers_with(storage.tiers, TIER_WRITES, factor), **limits))


def with_read_bandwidth(scenario: Scenario, factor: float) -> Scenario:
    """Every limit of a read, of the storage and of its tiers."""
    storage = scenario.storage
    read = _times(storage.read_bandwidth_bytes_per_s, factor)
    tiers = _tiers_with(storage.tiers, TIER_READS, factor)
    return replace(scenario, storage=replace(storage, read_bandwidth_bytes_per_s=read, tiers=tiers))


def with_stalls(scenario: Scenario, stalls_s: Sequence[float], tier_stalls_s: Sequence[float]) -> Scenario:
    """The stalls of the saves and of the tiers, given from now on; a tier that has none keeps none."""
    saves = tuple(replace(save, stall_s=stall_s) for save, stall_s in zip(scenario.saves, stalls_s, strict=True))
    changed = replace(scenario, saves=saves)
    if not scenario.storage.tiers:
        return changed
    pairs = zip(scenario.storage.tiers, tier_stalls_s, strict=True)
    tiers = tuple(tier._replace(stall_s=stall_s) if stall_s else tier for tier, stall_s in pairs)
    return replace(changed, storage=replace(scenario.storage, tiers=tiers))


def with_restart(scenario: Scenario, factor: float) -> Scenario:
    """The whole recovery: the total or every phase, those of classes, and the loads of tiers."""
    return _with_phases(scenario, PHASES, factor)


def with_phase(scenario: Scenario, phase: str, factor: float) -> Scenario:
    """One phase of the recovery, of the spec and of its classes; the load is given from now on."""
    return _with_phases(scenario, (phase,), factor)


def _with_phases(scenario: Scenario, phases: tuple[str, ...], factor: float) -> Scenario:
    if "load" in phases:
        scenario = _with_loads(scenario, factor)
    restart, is_all = scenario.restart, phases == PHASES
    changes = {}
    if restart.total_s is None:
        now = restart_cost(scenario).phases_s
        changes = {f"{phase}_s": now[phase] * factor for phase in phases}
    elif is_all:
        changes = {"total_s": restart.total_s * factor}
    changed = replace(scenario, restart=replace(restart, **changes))
    failures = scenario.failures
    if not failures.classes:
        return changed
    classes = tuple(_class_with(one, phases, factor, of_total=is_all) for one in failures.classes)
    return replace(changed, failures=replace(failures, classes=classes))


def _with_loads(scenario: Scenario, factor: float) -> Scenario:
    if not scenario.storage.tiers:
        return scenario
    loads = [_times(cost.load_s, factor) for cost in tier_costs_of(scenario)]
    tiers = tuple(tier._replace(load_s=load_s) for tier, load_s in zip(scenario.storage.tiers, loads, strict=True))
    return replace(scenario, storage=replace(scenario.storage, tiers=tiers))


def _class_with(one: "FailureClass", phases: tuple[str, ...], factor: float, *, of_total: bool) -> "FailureClass":
    own = {name: value * factor if name in phases else value for name, value in one.phases_s.items()}
    return one._replace(phases_s=own, total_s=_times(one.total_s, factor) if of_total else one.total_s)


def tier_costs_of(scenario: Scenario) -> "tuple[TierCost, ...]":
    """What a save to each tier costs, under the classes of the scenario."""
    from ckptplan.cost.classes import class_costs, unnamed
    from ckptplan.cost.tiers import tier_costs

    restart = restart_cost(scenario)
    return tier_costs(scenario, class_costs(scenario, restart) or (unnamed(1.0, restart),))


def _tiers_with(tiers: "tuple[Tier, ...]", names: tuple[str, ...], factor: float) -> "tuple[Tier, ...]":
    return tuple(_tier_with(tier, names, factor) for tier in tiers)


def _tier_with(tier: "Tier", names: tuple[str, ...], factor: float) -> "Tier":
    limits: dict[str, Any] = {name: _times(getattr(tier, name), factor) for name in names}
    return tier._replace(**limits)


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
