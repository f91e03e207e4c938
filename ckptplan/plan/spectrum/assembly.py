"""The parts of a case with several classes of failures or several tiers, put together from a scenario."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.cost.classes import FailureKind, class_costs, unnamed
from ckptplan.cost.restart import RestartCost
from ckptplan.cost.saving import SaveCost
from ckptplan.cost.scenario import Mode, Scenario
from ckptplan.cost.tiers import TierCost, tier_costs
from ckptplan.plan.spectrum.shares import Spectrum

_RECOVERED = {FailureKind.CRASH, FailureKind.HANG, FailureKind.SILENT, FailureKind.PREEMPTION}


def spectrum_of(scenario: Scenario, restart: RestartCost) -> Spectrum:
    """The classes, all failures being one where the spec names none, and what guards against them."""
    classes = class_costs(scenario, restart)
    if not classes:
        classes = (unnamed(1.0, restart),)
    return Spectrum(classes, scenario.verification, scenario.spares)


def mean_recovery(restart: RestartCost, spectrum: Spectrum, mtbf_s: float) -> RestartCost:
    """What a failure takes on average over the classes that stop the run: the number that a plan prints."""
    stops = [one for one in spectrum.classes if one.kind in _RECOVERED]
    rates = np.array([one.rate_per_s(mtbf_s) for one in stops])
    if not rates.sum() > 0.0:
        return restart
    down_s, up_s = (
        float(np.average([getattr(one, name) for one in stops], weights=rates)) for name in ("downtime_s", "restart_s")
    )
    return restart._replace(total_s=down_s + up_s, downtime_s=down_s, restart_s=up_s)


class SingleTier(NamedTuple):
    """One tier that survives every class, as the only one: its saves, and the failures that load from it."""

    tier: TierCost
    save: SaveCost
    spectrum: Spectrum


def single_tiers(scenario: Scenario, spectrum: Spectrum) -> list[SingleTier]:
    """Each tier that survives every class, as the only one."""
    if not scenario.storage.tiers:
        return []
    tiers = tier_costs(scenario, spectrum.classes)
    taken = {save.name for save in scenario.saves}
    return [
        SingleTier(tier, _alone(tier, taken), loading_from(tier, spectrum))
        for tier in tiers
        if all(there >= 1.0 for there in tier.survival)
    ]


def loading_from(tier: TierCost, spectrum: Spectrum) -> Spectrum:
    """The same failures, each restart loading from a tier."""
    if tier.load_s is None:
        return spectrum
    classes = tuple(one.loading_for(tier.load_s) for one in spectrum.classes)
    return spectrum._replace(classes=classes, written=spectrum.classes)


def _alone(tier: TierCost, taken: set[str]) -> SaveCost:
    name = f"{tier.name} alone"
    return SaveCost(
        name=f"{tier.name} tier alone" if name in taken else name,
        mode=Mode.ASYNCHRONOUS if tier.flush_s > 0.0 else Mode.SHARDED,
        stall_s=tier.alone_stall_s,
        flush_s=tier.flush_s,
        training_speed_while_flushing=tier.speed,
        write=None,
        binds="given",
        host_memory_per_node_bytes=0.0,
        notes=tier.notes,
        write_s=tier.flush_s or tier.alone_stall_s,
    )
