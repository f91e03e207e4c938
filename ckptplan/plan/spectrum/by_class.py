"""Lost time by class of failures, and what would make each class cost less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ckptplan.cost.classes import ClassCost, FailureKind
from ckptplan.interval.spectrum import Behaviour
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import CaseShares, Spectrum, behaviours, causes_of


class ClassFacts(NamedTuple):
    """What one class takes, as shares of wall time; with the saves and the waiting, all classes make up the loss.

    ``every_s`` is the mean running time between two of them (work of a loss spike). ``found_s`` is the time until it
    is noticed while training goes on. [s, 1]
    """

    name: str
    kind: str
    behaviour: str
    every_s: float
    found_s: float
    recovery_s: float
    rework_fraction: float
    restart_fraction: float
    slow_fraction: float
    lost_fraction: float


def class_facts(case: Case, interval_s: float) -> tuple[ClassFacts, ...]:
    """Every class of a case at one interval; none if all failures are alike."""
    spectrum = case.spectrum
    if spectrum is None or len(spectrum.classes) < 2:
        return ()
    found = case.shares(interval_s)
    return of_shares(case, spectrum, found) if isinstance(found, CaseShares) else ()


def of_shares(
    case: Case, spectrum: Spectrum, found: CaseShares, recovery_s: Sequence[float] | None = None
) -> tuple[ClassFacts, ...]:
    """The classes, from shares that are known; ``recovery_s`` by class where it depends on the tier. [s]."""
    rest = 1.0 - float(found.waiting)
    by_cause = found.spectrum
    columns = (by_cause.rework_by_cause, by_cause.restart_by_cause, by_cause.slow_by_cause)
    parts = np.stack([np.asarray(column) * rest for column in columns])
    rates = np.asarray(causes_of(case, spectrum).rate)
    kinds = behaviours(case, spectrum)
    lasts = [one.recovery_s for one in spectrum.classes] if recovery_s is None else recovery_s
    return tuple(
        _facts(one, kinds[k], float(rates[k]), (float(parts[0, k]), float(parts[1, k]), float(parts[2, k])))._replace(
            recovery_s=lasts[k]
        )
        for k, one in enumerate(spectrum.classes)
    )


def _facts(one: ClassCost, kind: Behaviour, rate: float, parts: tuple[float, float, float]) -> ClassFacts:
    rework, restart, slow = parts
    late = one.lag_s if kind is Behaviour.SPIKE else one.delay_s
    return ClassFacts(
        name=one.name,
        kind=str(one.kind),
        behaviour=str(kind),
        every_s=1.0 / rate if rate > 0.0 else float("inf"),
        found_s=0.0 if kind in (Behaviour.VERIFIED, Behaviour.NOTICED) else late,
        recovery_s=one.recovery_s,
        rework_fraction=rework,
        restart_fraction=restart,
        slow_fraction=slow,
        lost_fraction=rework + restart + slow,
    )


def skipped_share(case: Case, spectrum: Spectrum) -> float | None:
    """Batches that loss spikes skip, over the batches that are trained on; None without spikes or a step time. [1]."""
    spikes = [one for one in spectrum.classes if one.kind is FailureKind.SPIKE]
    if not spikes or case.step_time_s is None:
        return None
    return sum(one.rate_per_s(case.mtbf_s) * one.skipped_batches * case.step_time_s for one in spikes)
