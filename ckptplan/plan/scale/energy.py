"""Energy of a case: the interval of least energy beside that of least time, and what choosing it saves and costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Power
from ckptplan.interval.energy import energy_optimum
from ckptplan.interval.recovery import recovery_factor
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import best_interval

Floats = npt.NDArray[np.float64]

EXACT = "exact"
FIRST_ORDER = "first order"  # in the saves that a failure aborts


class EnergyFacts(NamedTuple):
    """One case at two intervals, both as typed. Powers are means of one GPU per useful second. [W, s, 1]."""

    interval_s: float  # of least energy
    interval_steps: int | None
    goodput: float  # at it
    power_w: float  # at it
    power_time_w: float  # at the interval of least time
    accounting: str

    @property
    def saved_fraction(self) -> float:
        """Of the energy at the interval of least time, by the one of least energy."""
        return max(1.0 - self.power_w / self.power_time_w, 0.0)


def energy_facts(case: Case, power: Power, typed_s: float) -> EnergyFacts | None:
    """The energy of a case; None where it does nothing useful, and where saves and recoveries draw no power at all.

    Parameters
    ----------
    case : Case
        One strategy at one scale.
    power : Power
        Of one GPU.
    typed_s : float
        Its interval of least time, as typed. [s]

    Returns
    -------
    EnergyFacts or None
    """
    at_typed = float(useful_power(case, power, typed_s))
    if not np.isfinite(at_typed):
        return None
    best_s = max(_best_s(case, power, typed_s), case.floor_s)
    if not best_s > 0.0 and case.step_time_s is None:
        return None  # the shorter the better
    interval_s, steps = _typed(case, power, best_s)
    found = float(useful_power(case, power, interval_s))
    if not found <= at_typed:  # by rounding only: both are whole steps of the same best interval
        interval_s, steps, found = typed_s, case.steps_if_whole(typed_s), at_typed
    return EnergyFacts(
        interval_s=interval_s,
        interval_steps=steps,
        goodput=case.goodput(interval_s),
        power_w=found,
        power_time_w=at_typed,
        accounting=EXACT if case.is_closed else FIRST_ORDER,
    )


def useful_power(case: Case, power: Power, interval_s: npt.ArrayLike) -> Floats:
    """Energy of one GPU per useful second of the job, at one interval or several.

    Parameters
    ----------
    case : Case
        One strategy at one scale.
    power : Power
        In work, in a save and in a recovery, the wait for a node included. [W]
    interval_s : array_like
        Work between saves. [s]

    Returns
    -------
    ndarray
        Mean power over goodput. [W]

    Notes
    -----
    ``[pc (1 - stalls - down) + ps stalls + pr down]/useful``. A flush and a check draw the power of work, a stall that
    of a save, also where a failure aborts it or makes it useless. With exponential failures, stalls take ``exp((d_eff -
    d)/M) (exp(d/M) - 1)/(exp(P/M) - 1)`` of the running time (the gross ledger of a synchronous save; a flush puts each
    stall earlier in its period). The saves that were kept take ``exp(F/M) (d/M)/(exp(d/M) - 1)`` as much of it, at any
    interval: by that ratio their time is raised where only it is known, which is exact for failures that stop the run,
    and of first order otherwise.
    """
    W = np.asarray(interval_s, dtype=np.float64)
    shares = case.shares(W)
    useful, save, restart = (np.asarray(v, dtype=np.float64) for v in (shares.useful, shares.save, shares.restart))
    down = restart + np.asarray(getattr(shares, "waiting", 0.0))
    with np.errstate(all="ignore"):
        stalls = _stalls(case, W) if case.is_closed else _raised(case, W, useful, save, 1.0 - down - useful)
        mean = power.compute_w * (1.0 - stalls - down) + power.save_w * stalls + power.restart_w * down
        return np.where(useful > 0.0, mean / useful, np.inf)


def _stalls(case: Case, W: Floats) -> Floats:
    """Share of wall time in stalls, aborted ones included."""
    M, d, d_eff = case.mtbf_s, case.save.stall_s, case.effective_stall_s
    A = recovery_factor(M, case.restart.downtime_s, case.restart.restart_s, case.strike)
    x, a = (W + d_eff) / M, d / M
    # exp((d_eff - d)/M) expm1(d/M)/expm1(x), with nothing that overflows: d_eff <= P
    return np.asarray(np.exp(d_eff / M - x) * np.expm1(-a) / np.expm1(-x) / A)


def _raised(case: Case, W: Floats, useful: Floats, save: Floats, most: Floats) -> Floats:
    """Share of wall time in stalls, from that of the saves that were kept; the rest of ``save`` is work."""
    d, F, M = case.save.stall_s, case.save.flush_s, case.mtbf_s
    working = (1.0 - case.speed) * F
    if case.spectrum is not None:
        from ckptplan.plan.spectrum.shares import rework_mtbf_s, verification

        M = rework_mtbf_s(case, case.spectrum)
        verify_s, checks = verification(case, case.spectrum)
        working += verify_s * checks
    kept = np.maximum(save - useful * working / W, 0.0)
    a = d / M
    ratio = np.exp(F / M) * (np.expm1(a) / a if a > 0.0 else 1.0)
    return np.minimum(np.where(kept > 0.0, kept * ratio, 0.0), np.maximum(most, 0.0))


def _best_s(case: Case, power: Power, start_s: float) -> float:
    """Interval of least energy: closed for synchronous saves, else by a search. [s]."""
    if case.is_closed and case.save.flush_s == 0.0:
        found = energy_optimum(
            case.save.stall_s,
            case.mtbf_s,
            power_compute=power.compute_w,
            power_save=power.save_w,
            power_restart=power.restart_w,
            downtime=case.restart.downtime_s,
            restart=case.restart.restart_s,
            strike=case.strike,
        )
        return float(found.interval_s)
    return best_interval(lambda at: -useful_power(case, power, np.maximum(at, case.floor_s)), start_s)


def _typed(case: Case, power: Power, interval_s: float) -> tuple[float, int | None]:
    """The interval in whole steps, if their time is known."""
    if case.step_time_s is None:
        return interval_s, None
    from ckptplan.plan.account import steps_near

    least = max(case.steps(case.floor_s) or 1, 1) if case.floor_s > 0.0 else 1
    counts = steps_near(interval_s, case.step_time_s, least, wide=False)
    best = int(counts[np.argmin(useful_power(case, power, counts * case.step_time_s))])
    return best * case.step_time_s, best
