"""Where wall time goes when failures are of several classes: what stops the run, what is found late, what slows it.

Three clocks: *wall* time; *running* time, which is wall time without recoveries; and *useful* time, the work that
counts. Everything is reckoned per useful second. A run whose failures are all alike is the case of one cause.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.breakdown import exact_shares
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.verified import verified_shares


class Behaviour(StrEnum):
    """What a cause does to the run."""

    STOP = "stop"  # back to the newest save
    LATE = "late"  # an error that is found after a delay: back to the newest save that is older than the error
    VERIFIED = "verified"  # an error that the next verification finds: back to the newest save
    SPIKE = "spike"  # new work is thrown away, some way back from the place where it came
    SLOW = "slow"  # training goes on slowly, until a node is evicted after a save
    NOTICED = "noticed"  # a save comes first


class Causes(NamedTuple):
    """Causes along the last axis; what does not belong to a behaviour is 0 there.

    rate [1/s]: per second of running time; of a spike, per second of new work; of a verified error, per second of work,
    repeated work included. downtime, restart [s]. delay [s]: mean running time until an error or a slow node is found.
    back [s]: work from the newest step back to the latest state that a spike leaves usable. slowdown [1]: a step takes
    ``1 + slowdown`` times as long.
    """

    behaviours: tuple[Behaviour, ...]
    rate: npt.ArrayLike
    downtime: npt.ArrayLike
    restart: npt.ArrayLike
    delay: npt.ArrayLike = 0.0
    back: npt.ArrayLike = 0.0
    slowdown: npt.ArrayLike = 0.0


class SpectrumShares(NamedTuple):
    """Shares of wall time [1]: useful, save, rework, restart and slow sum to one.

    ``save`` counts verifications, the saves that were kept, and those before an eviction or an announced end. The last
    three have the causes along their last axis, and sum to ``rework``, ``restart`` and ``slow``.
    """

    useful: Floats
    save: Floats
    rework: Floats
    restart: Floats
    slow: Floats
    rework_by_cause: Floats
    restart_by_cause: Floats
    slow_by_cause: Floats

    @property
    def overhead(self) -> Floats:
        """Wall time over useful work, minus one; infinite where nothing useful is left."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray((1.0 - self.useful) / self.useful)

    @property
    def goodput(self) -> Floats:
        """Useful work over wall time."""
        return self.useful


class Base(NamedTuple):
    """Saves under the causes that stop the run, per useful second, before anything is found late.

    ``period``: running time without a failure. ``running``: with failures. ``rework``: their difference, by cause.
    ``recovery``: time in recoveries per running second, by cause; ``recovery_of_stops``: of that, begun by stops.
    ``granularity``: work between two saves that a spike or an error goes back to, by cause, and ``stall`` of these
    saves. ``last_save``: running time of a save made on purpose before an end, by cause. [s, 1]
    """

    period: Floats
    running: Floats
    rework: Floats
    recovery: Floats
    recovery_of_stops: Floats
    granularity: Floats
    stall: Floats
    last_save: Floats


class _Saves(NamedTuple):
    """One tier of saves. [s, 1]."""

    interval: Floats
    stall: Floats
    flush: Floats
    speed: Floats
    in_flight: Floats
    verify: Floats
    verifications: Floats


def spectrum_shares(
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    causes: Causes,
    *,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1,
    strike: Strike = Strike.DR,
    step_time: npt.ArrayLike = 0.0,
    verify: npt.ArrayLike = 0.0,
    verifications: npt.ArrayLike = 1,
) -> SpectrumShares:
    """Shares of wall time with one tier of saves and several classes of failures.

    Parameters
    ----------
    interval, stall : array_like
        Work between two saves W and stall d. [s]
    causes : Causes
        K of them along the last axis; the other arguments broadcast with what is before it. Each comes as a Poisson
        process.
    flush, speed, in_flight, strike
        As for `exact_shares`. [s, 1]
    step_time : array_like
        Time of one step t: a spike goes back by whole steps; 0 for work that is continuous. [s]
    verify, verifications : array_like
        Time V of one verification, and how many there are per save; 0 for none. [s, 1]

    Returns
    -------
    SpectrumShares
        Exact for stops, and for verified errors with blocking saves. nan outside the domain, and no
        useful work where more is thrown back than done.

    Notes
    -----
    Stops alone are `exact_shares` with the mean over their recoveries in A (`recovery_by_cause`); with verified errors
    they are `verified_shares`. Let y be the running time per useful second without a failure, r0 with stops, and
    k = y/r0 the part of running time that is kept. Then ``k r (1 - Z) - r L = y + X``:

    * X, thrown away by spikes per useful second: ``nu [B + lag + (W - t)/2 + d (B + lag)/W]`` (Chowdhery et al., PaLM,
      2022);
    * L, by errors that are found late. An error in work that a stop throws back is undone, and one that comes before an
      earlier one is found is thrown back with it, so ``rho = lam k/(1 + lam k delay)`` are found per running second,
      for any law of the delay. Each takes the delay and the work before it, ``L = rho (k delay + P/2 - d)``, as an
      error during a save is not in it (to first order ``lam (delay + W/2)``, Benoit et al. 2016);
    * Z, of all running time: d for each announced end (d + F for a background save: what is done beside its flush is
      not in it), and ``delay s/(1 + s) + d`` for each slow node, one at a time: ``mu/(1 + mu delay)`` of them.

    First order in what concerns several of these at once.
    """
    arrays = (interval, stall, flush, speed, in_flight, verify, verifications)
    saves = _Saves(*np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in arrays)))
    with np.errstate(all="ignore"):
        base = (_verified if Behaviour.VERIFIED in causes.behaviours else _single)(causes, strike, saves)
    return compose(base, causes, strike=strike, step_time=step_time)


def compose(base: Base, causes: Causes, *, strike: Strike, step_time: npt.ArrayLike) -> SpectrumShares:
    """The shares from the saves under stops, with what is found late, thrown away, slowed or announced.

    Parameters
    ----------
    base : Base
        Saves under the stops, to one tier or to several.
    causes : Causes
        All of them.
    strike, step_time
        As for `spectrum_shares`. [s]

    Returns
    -------
    SpectrumShares
    """
    rate, back, delay, slowdown = (_along(causes, v) for v in (causes.rate, causes.back, causes.delay, causes.slowdown))
    is_late, is_spike, is_slow, is_noticed = (
        _mask(causes, kind) for kind in (Behaviour.LATE, Behaviour.SPIKE, Behaviour.SLOW, Behaviour.NOTICED)
    )
    t, period = (np.asarray(v, dtype=np.float64)[..., None] for v in (step_time, base.period))
    with np.errstate(all="ignore"):
        k = period / base.running[..., None]
        phase = np.maximum(base.granularity - t, 0.0) / 2.0
        thrown = np.where(is_spike, rate * (back + phase + (period - 1.0) * back), 0.0)  # per useful second
        dirty = np.where(is_late, rate * k, 0.0)  # from here on per running second
        found = _one_at_a_time(dirty, delay)
        late = found * (k * delay + base.granularity * period / 2.0 - base.stall)
        planned = np.where(is_noticed, rate, 0.0) + _one_at_a_time(np.where(is_slow, rate, 0.0), delay)
        slow = np.where(is_slow, planned * k * delay * slowdown / (1.0 + slowdown), 0.0)
        saved = planned * k * base.last_save
        kept = k[..., 0] - (late + slow + saved).sum(axis=-1)
        running = (base.period + thrown.sum(axis=-1)) / np.where(kept > 0.0, kept, np.nan)
        r = running[..., None]
        own, struck = _recoveries(causes, planned + found, base, strike)
        of_spikes, struck_spikes = _recoveries(causes, np.where(is_spike, rate, 0.0), base, strike)
        restart = (base.recovery + own + struck) * r + of_spikes + struck_spikes
        rework = base.rework / base.running[..., None] * r + late * r + thrown
        save = base.period - 1.0 + saved.sum(axis=-1) * running
        return _over_wall(running + restart.sum(axis=-1), save, (rework, restart, slow * r), ~np.isnan(kept))


def _one_at_a_time(rate: Floats, delay: Floats) -> Floats:
    """Rate of those that begin while none is under way, of causes that each last a time. [1/s]."""
    return np.asarray(rate / (1.0 + (rate * delay).sum(axis=-1, keepdims=True)))


def _over_wall(
    wall: Floats, save: Floats, by_cause: tuple[Floats, Floats, Floats], is_valid: npt.NDArray[np.bool_]
) -> SpectrumShares:
    """Times per useful second as shares; all of it is rework where nothing is kept."""
    none = is_valid & ~np.isfinite(wall)
    useful = np.where(none, 0.0, 1.0 / wall)
    rework, restart, slow = (np.where(none[..., None], 0.0, part * useful[..., None]) for part in by_cause)
    lost = np.where(none, 1.0, rework.sum(axis=-1))
    kept_saves = np.where(none, 0.0, save * useful)
    return SpectrumShares(useful, kept_saves, lost, restart.sum(axis=-1), slow.sum(axis=-1), rework, restart, slow)


def recovery_by_cause(rate: npt.ArrayLike, downtime: npt.ArrayLike, restart: npt.ArrayLike, strike: Strike) -> Floats:
    """Time in recoveries per second of running time, for causes whose recoveries differ.

    Parameters
    ----------
    rate : array_like
        Rate of each cause, along the last axis. [1/s]
    downtime, restart : array_like
        D and R of each. [s]
    strike : Strike
        Which part of a recovery a further failure may strike; it then begins anew as that of the striker.

    Returns
    -------
    ndarray
        By cause; the sum is ``A - 1``. nan outside the domain. [1]

    Notes
    -----
    With the rate L of all and the mean phi of ``exp(-L B_c)`` over the failures, B_c being the part that is struck, a
    failure starts ``1/phi`` recoveries, those of cause c lasting ``U_c + (1 - exp(-L B_c))/L``. For equal causes the
    sum is that of `recovery_factor`.
    """
    lam = np.asarray(rate, dtype=np.float64)
    unstruck, struck = recovery_parts(downtime, restart, strike)
    with np.errstate(all="ignore"):
        total = lam.sum(axis=-1, keepdims=True)
        phi = (lam * np.exp(-total * struck)).sum(axis=-1, keepdims=True) / total
        each = unstruck - np.expm1(-total * struck) / total
        valid = (lam >= 0.0) & (unstruck >= 0.0) & (struck >= 0.0)
        return np.where(valid, np.where(lam == 0.0, 0.0, lam * each / phi), np.nan)


def _single(causes: Causes, strike: Strike, v: _Saves) -> Base:
    """The saves under stops; a verification that finds nothing is a part of the stall."""
    rate, downtime, restart = _of(causes, Behaviour.STOP)
    recovery = recovery_by_cause(rate, downtime, restart, strike)
    stall = v.stall + v.verifications * v.verify
    M = 1.0 / rate.sum(axis=-1)
    s = exact_shares(v.interval, stall, M, flush=v.flush, speed=v.speed, in_flight=v.in_flight)
    return Base(
        period=(v.interval + effective_stall(stall, v.flush, v.speed)) / v.interval,
        running=1.0 / s.useful,
        rework=(s.rework / s.useful)[..., None] * _shared(rate),
        recovery=recovery,
        recovery_of_stops=recovery,
        granularity=v.interval[..., None],
        stall=effective_stall(v.stall, v.flush, v.speed)[..., None],
        last_save=(v.stall + v.flush)[..., None],
    )


def _verified(causes: Causes, strike: Strike, v: _Saves) -> Base:
    """The saves under stops and errors that verifications find; a flush counts as an extra recovery of the stops."""
    rate, downtime, restart = _of(causes, Behaviour.STOP)
    silent = _of(causes, Behaviour.VERIFIED)[0]
    failstop, errors = rate.sum(axis=-1), silent.sum(axis=-1)
    stall = effective_stall(v.stall, v.flush, v.speed)
    chunks = (v.interval, v.verify, stall, failstop, errors)
    alone = verified_shares(*chunks, verifications=v.verifications, strike=Strike.SAFE)
    exposed = np.exp(interval_floor(v.flush, v.speed) * failstop)
    running = exposed / alone.useful
    by_stops = alone.rework_failstop / alone.useful + (exposed - 1.0) / alone.useful
    found = (_errors_found(chunks, v.verifications) / exposed)[..., None] * _shared(silent)  # per running second
    of_stops = recovery_by_cause(rate, downtime, restart, strike)
    own, hit = _recovery(causes, failstop[..., None], strike)
    strikes = np.where(failstop > 0.0, (found * hit).sum(axis=-1) / failstop, 0.0)[..., None]
    return Base(
        period=(v.interval + stall + v.verifications * v.verify) / v.interval,
        running=running,
        rework=by_stops[..., None] * _shared(rate) + (alone.rework_silent / alone.useful)[..., None] * _shared(silent),
        recovery=of_stops * (1.0 + strikes) + found * own,
        recovery_of_stops=of_stops,
        granularity=v.interval[..., None],
        stall=effective_stall(v.stall, v.flush, v.speed)[..., None],
        last_save=(v.stall + v.flush)[..., None],
    )


def _errors_found(chunks: tuple[Floats, ...], verifications: Floats) -> Floats:
    """Errors found per second of running time, from what a recovery of a known length after each would take. [1/s]."""
    failstop, errors = chunks[3:]
    probe = 1.0 / (failstop + errors)  # of the order of the time between them, so that nothing cancels
    share = verified_shares(*chunks, verifications=verifications, restart=probe, strike=Strike.SAFE).restart
    return np.asarray(share / (1.0 - share) / probe - failstop)


def _recoveries(causes: Causes, events: Floats, base: Base, strike: Strike) -> tuple[Floats, Floats]:
    """Time in recoveries that are begun for another reason than a stop, and in those from stops that strike them."""
    total = _of(causes, Behaviour.STOP)[0].sum(axis=-1, keepdims=True)
    own, hit = _recovery(causes, total, strike)
    per_stop = np.where(total > 0.0, base.recovery_of_stops / total, 0.0)
    return np.asarray(events * own), np.asarray((events * hit).sum(axis=-1, keepdims=True) * per_stop)


def _recovery(causes: Causes, total: Floats, strike: Strike) -> tuple[Floats, Floats]:
    """Time of one recovery by cause, until it ends or a stop strikes it, and the probability that one does."""
    downtime, restart = (_along(causes, v) for v in (causes.downtime, causes.restart))
    unstruck, struck = recovery_parts(downtime, restart, strike)
    hit = -np.expm1(-total * struck)
    return np.asarray(unstruck + np.where(total > 0.0, hit / total, struck)), np.asarray(hit)


def _mask(causes: Causes, kind: Behaviour) -> npt.NDArray[np.bool_]:
    return np.array([behaviour is kind for behaviour in causes.behaviours])


def _along(causes: Causes, values: npt.ArrayLike) -> Floats:
    """The values with the causes along the last axis."""
    array = np.asarray(values, dtype=np.float64)
    return np.broadcast_to(array, (*array.shape[:-1], len(causes.behaviours)))


def _of(causes: Causes, kind: Behaviour) -> tuple[Floats, Floats, Floats]:
    """Rate, downtime and restart of the causes of one behaviour, 0 for all others."""
    keep = _mask(causes, kind)
    rate, downtime, restart = (
        np.where(keep, _along(causes, v), 0.0) for v in (causes.rate, causes.downtime, causes.restart)
    )
    return rate, downtime, restart


def _shared(rate: Floats) -> Floats:
    """Parts of the whole, 0 where there is none."""
    total = rate.sum(axis=-1, keepdims=True)
    return np.where(total > 0.0, rate / total, 0.0)
