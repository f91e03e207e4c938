"""A case whose failures are of several classes: its causes, its shares of wall time, its best interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.classes import ClassCost, FailureKind, is_noticed
from ckptplan.errors import InputError
from ckptplan.interval.first_order import FirstOrder
from ckptplan.interval.spectrum import Behaviour, Causes, SpectrumShares, spectrum_shares

if TYPE_CHECKING:
    from ckptplan.cost.protection import Spares, Verification
    from ckptplan.plan.case import Case

Floats = npt.NDArray[np.float64]

_SPAN, _POINTS, _ROUNDS = 50.0, 513, 3  # of the search for an interval: each round looks at a 128th of the one before
_MOST_CHECKS = 64


class Spectrum(NamedTuple):
    """What a case knows of its failures beside their mean rate."""

    classes: tuple[ClassCost, ...]
    verification: Verification | None = None
    spares: Spares | None = None
    written: tuple[ClassCost, ...] | None = None  # with the load of the spec, where ``classes`` have that of one tier

    @property
    def of_spec(self) -> Spectrum:
        """The same with the restart of the spec, whichever tier a case saves to."""
        return self if self.written is None else self._replace(classes=self.written, written=None)


class CaseShares(NamedTuple):
    """Shares of wall time of a case: they sum to one; ``spectrum`` has them by class, waiting left out."""

    useful: Floats
    save: Floats
    rework: Floats
    restart: Floats
    slow: Floats
    waiting: Floats  # for a node
    spectrum: SpectrumShares

    @property
    def overhead(self) -> Floats:
        """Wall time over useful work, minus one; infinite where nothing useful is left."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray((1.0 - self.useful) / self.useful)

    @property
    def goodput(self) -> Floats:
        """Useful work over wall time."""
        return self.useful


def behaviours(case: Case, spectrum: Spectrum) -> tuple[Behaviour, ...]:
    """What each class does to the run under this way of saving."""
    save_s = case.save.stall_s + case.save.flush_s
    return tuple(_behaviour(one, save_s, spectrum) for one in spectrum.classes)


def _behaviour(one: ClassCost, save_s: float, spectrum: Spectrum) -> Behaviour:
    if one.kind is FailureKind.SPIKE:
        return Behaviour.SPIKE
    if one.kind is FailureKind.SLOW:
        return Behaviour.SLOW
    if is_noticed(one, save_s):
        return Behaviour.NOTICED
    if one.kind is not FailureKind.SILENT:
        return Behaviour.STOP
    return Behaviour.LATE if spectrum.verification is None else Behaviour.VERIFIED


def causes_of(case: Case, spectrum: Spectrum) -> Causes:
    """The classes as causes, at the MTBF of the case."""
    kinds = behaviours(case, spectrum)
    classes = spectrum.classes
    found_late = [
        one.delay_s if kind in (Behaviour.LATE, Behaviour.SLOW) else 0.0
        for one, kind in zip(classes, kinds, strict=True)
    ]
    return Causes(
        behaviours=kinds,
        rate=[one.rate_per_s(case.mtbf_s) for one in classes],
        downtime=[one.downtime_s for one in classes],
        restart=[one.restart_s for one in classes],
        delay=found_late,
        back=[one.back_s + one.lag_s for one in classes],
        slowdown=[one.slowdown for one in classes],
    )


def spectrum_in(case: Case) -> Spectrum:
    """The spectrum of a case that has one.

    Raises
    ------
    InputError
        All failures of the case are alike.
    """
    if case.spectrum is None:
        raise InputError("all failures are alike", hint="write failures.classes, or storage.tiers")
    return case.spectrum


def shares_by_class(case: Case, spectrum: Spectrum, interval_s: npt.ArrayLike) -> CaseShares:
    """Shares of wall time at one interval or several."""
    verify_s, checks = verification(case, spectrum)
    save = case.save
    found = spectrum_shares(
        interval_s,
        save.stall_s,
        causes_of(case, spectrum),
        flush=save.flush_s,
        speed=case.speed,
        in_flight=save.in_flight,
        strike=case.strike,
        step_time=case.step_time_s or 0.0,
        verify=verify_s,
        verifications=checks,
    )
    return with_waiting(found, spectrum, case)


def with_waiting(found: SpectrumShares, spectrum: Spectrum, case: Case) -> CaseShares:
    """The shares with the time in which the job waits for a node."""
    waiting = np.zeros_like(found.useful)
    if spectrum.spares is not None:
        from ckptplan.plan.spectrum.standby import waiting_share

        waiting = waiting_share(spectrum.spares, spectrum.classes, case, found)
    rest = 1.0 - waiting
    useful, save, rework, restart, slow = (np.asarray(part * rest) for part in found[:5])
    return CaseShares(useful, save, rework, restart, slow, waiting, found)


def verification(case: Case, spectrum: Spectrum) -> tuple[float, int]:
    """Time of a check and how many there are per save: as given, or as many as are best to first order."""
    given = spectrum.verification
    if given is None:
        return 0.0, 1
    if given.per_save is not None:
        return given.time_s, given.per_save
    from ckptplan.interval.verified import verified_first_order

    rates = dict.fromkeys((Behaviour.STOP, Behaviour.VERIFIED), 0.0)
    for one, kind in zip(spectrum.classes, behaviours(case, spectrum), strict=True):
        if kind in rates:
            rates[kind] += one.rate_per_s(case.mtbf_s)
    best = verified_first_order(given.time_s, case.effective_stall_s, *rates.values()).verifications
    return given.time_s, int(np.clip(best, 1, _MOST_CHECKS))


def rework_mtbf_s(case: Case, spectrum: Spectrum) -> float:
    """Mean time between all that throws back to a save: what a first-order interval needs. [s]."""
    causes = causes_of(case, spectrum)
    weights = {
        Behaviour.STOP: 1.0,
        Behaviour.LATE: 1.0,
        Behaviour.SPIKE: 1.0,
        Behaviour.VERIFIED: 2.0,
    }  # an error costs a whole interval
    rates = np.asarray(causes.rate, dtype=np.float64)
    total = sum(weights.get(kind, 0.0) * rate for kind, rate in zip(causes.behaviours, rates, strict=True))
    return float("inf") if total == 0.0 else float(1.0 / total)


def stops_mtbf_s(case: Case, spectrum: Spectrum) -> float:
    """Mean time between all that stops the run: failures, and errors when they are found. [s]."""
    stops = (Behaviour.STOP, Behaviour.LATE, Behaviour.VERIFIED)
    kinds = behaviours(case, spectrum)
    total = sum(one.rate_per_s(case.mtbf_s) for one, kind in zip(spectrum.classes, kinds, strict=True) if kind in stops)
    return float("inf") if total == 0.0 else 1.0 / total


def first_order(case: Case, spectrum: Spectrum, interval_s: float) -> FirstOrder:
    """First-order account: what is thrown back, found late, slowed or restarted, each as a rate times a time."""
    causes = causes_of(case, spectrum)
    rate, downtime, restart, delay, back, slowdown = (np.asarray(v, dtype=np.float64) for v in causes[1:])
    of = {kind: np.array([kind is one for one in causes.behaviours]) for kind in Behaviour}
    stops, late, spikes, slow = (of[kind] for kind in (Behaviour.STOP, Behaviour.LATE, Behaviour.SPIKE, Behaviour.SLOW))
    step_s = case.step_time_s or 0.0
    rework = interval_s / (2.0 * rework_mtbf_s(case, spectrum)) + case.speed * case.save.flush_s * rate[stops].sum()
    rework += (rate * delay)[late].sum() + (rate * (back - 0.5 * step_s))[spikes].sum()
    rework += (rate * delay * slowdown / (1.0 + slowdown))[slow].sum()
    saved = slow | of[Behaviour.NOTICED]
    verify_s, checks = verification(case, spectrum)
    save = (case.effective_stall_s + checks * verify_s) / interval_s
    save += rate[saved].sum() * (case.save.stall_s + case.save.flush_s)
    return FirstOrder(np.asarray(save), np.asarray(rework), np.asarray((rate * (downtime + restart)).sum()))


def best_interval(goodput: Callable[[Floats], Floats], start_s: float) -> float:
    """Interval of the highest goodput, around a first-order one. [s].

    A grid in the logarithm, narrowed around its best point: its position is known to about 1e-6.
    """
    if not np.isfinite(start_s) or start_s <= 0.0:
        return start_s
    centre, span = np.log(start_s), np.log(_SPAN)
    for _ in range(_ROUNDS):
        grid = np.linspace(centre - span, centre + span, _POINTS)
        values = goodput(np.exp(grid))
        if np.isnan(values).all():
            return float("nan")
        centre = float(grid[np.nanargmax(values)])
        span *= 4.0 / (_POINTS - 1)
    return float(np.exp(centre))
