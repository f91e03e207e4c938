"""A case with its classes, or a plan over several tiers, as the simulator of the fault spectrum plays it."""

from __future__ import annotations

import numpy as np

from ckptplan.cost.classes import ClassCost
from ckptplan.cost.protection import Retention
from ckptplan.errors import InputError
from ckptplan.interval.spectrum import Behaviour
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import behaviours, spectrum_in, verification
from ckptplan.plan.tiers.tiering import Tiering
from ckptplan.simulate.spectrum.causes import Cause, FailStop, Noticed, Silent, Slow, Spike
from ckptplan.simulate.spectrum.process import SpectrumProcess

_HISTORY = 1_000_000  # saves of the last tier: ckptplan retain says how many are needed


def process_of_case(case: Case, interval_s: float) -> SpectrumProcess:
    """One tier of saves.

    Raises
    ------
    InputError
        The case has several saves in flight, which is not played with classes.
    """
    spectrum, save = spectrum_in(case), case.save
    if save.in_flight > 1:
        raise InputError(
            f"{save.name}: several saves in flight are not simulated together with failure classes",
            hint="write in_flight: 1",
        )
    verify_s, checks = verification(case, spectrum)
    verified = spectrum.verification is not None
    kinds = behaviours(case, spectrum)
    return SpectrumProcess(
        interval_s=interval_s,
        slot_stall_s=(save.stall_s,),
        restart_s=(case.restart.restart_s,),
        causes=tuple(
            _cause(case, one, kind, levels=(1.0,), restart_s=one.restart_s, last_save_s=save.stall_s + save.flush_s)
            for one, kind in zip(spectrum.classes, kinds, strict=True)
        ),
        flush_s=(save.flush_s,),
        speed=(case.speed,),
        strike=case.strike,
        verifications=checks if verified else 0,
        verify_s=verify_s if verified else 0.0,
    )


def process_of_tiers(case: Case, tiering: Tiering, interval_s: float) -> SpectrumProcess:
    """Saves to several tiers, a check standing before each save to the last one, which alone keeps a history.

    A restart takes as long as its class and the tier that it loads from say.
    """
    spectrum = spectrum_in(case)
    kinds = behaviours(case, spectrum)
    # The slow-down beside a drain, which the plan counts as a stall, is played as such.
    slowed_s = np.cumsum([tier.slowed_s for tier in tiering.costs])
    *below, last = (float(v) for v in np.asarray(tiering.slot_stall_s) - slowed_s)
    last_save_s = last + sum(tier.flush_s for tier in tiering.costs)
    check_s = 0.0 if spectrum.verification is None else spectrum.verification.time_s
    return SpectrumProcess(
        interval_s=interval_s,
        slot_stall_s=(*below, last - check_s),
        restart_s=(case.restart.restart_s,) * len(tiering.every),  # every class has its own
        causes=tuple(
            _cause(case, one, kind, levels=_levels(tiering, k), restart_s=_by_tier(tiering, k), last_save_s=last_save_s)
            for k, (one, kind) in enumerate(zip(spectrum.classes, kinds, strict=True))
        ),
        every=tiering.every,
        flush_s=tuple(tier.flush_s for tier in tiering.costs),
        speed=tuple(tier.speed for tier in tiering.costs),
        strike=case.strike,
        verifications=int(spectrum.verification is not None),
        verify_s=check_s,
        verify_level=len(tiering.every) if spectrum.verification is not None else 1,
        keep=(*(1 for _ in below), _HISTORY),
    )


def kept_by(retention: Retention | None, process: SpectrumProcess, period_s: float) -> SpectrumProcess:
    """The process with the saves that a retention keeps on its last level, and an archive beside them.

    ``period_s`` is the running time from one save on that level to the next. Saves that are kept sparser than all of
    them are left out.
    """
    if retention is None:
        return process
    archive = 0 if retention.archive_every_s is None else max(1, int(retention.archive_every_s / period_s))
    keep = retention.keep
    if keep is None and retention.keep_all_s is not None:
        keep = max(1, int(retention.keep_all_s / period_s))
    below = (1,) * (process.levels - 1)
    return process._replace(keep=(*below, _HISTORY if keep is None else keep), archive_every=archive)


def _levels(tiering: Tiering, index: int) -> tuple[float, ...]:
    """Probability of each kept tier to be the lowest one that survives a class."""
    return tuple(float(v) for v in np.diff(tiering.survival[index], prepend=0.0))


def _by_tier(tiering: Tiering, index: int) -> tuple[float, ...]:
    """Restart of a class from each kept tier. [s]."""
    return tuple(float(v) for v in tiering.restart_s[index])


def _cause(
    case: Case,
    one: ClassCost,
    kind: Behaviour,
    *,
    levels: tuple[float, ...],
    restart_s: float | tuple[float, ...],
    last_save_s: float,
) -> Cause:
    """One class as a cause."""
    rate = one.rate_per_s(case.mtbf_s)
    mtbf_s = 1.0 / rate if rate > 0.0 else float("inf")
    lowest = 1 + max(place for place, chance in enumerate(levels) if chance > 0.0)  # that surely survives it
    match kind:
        case Behaviour.SPIKE:
            # Spikes come at steps: on average half a step nearer to the last save than a point in time is.
            back_s = max(one.back_s - 0.5 * (case.step_time_s or 0.0), 0.0)
            return Spike(one.name, mtbf_s, back_s, one.lag_s, one.downtime_s, restart_s, lowest)
        case Behaviour.SLOW:
            late = (one.slowdown, one.delay_s, one.delay_is_fixed)
            return Slow(one.name, mtbf_s, *late, last_save_s, levels, one.downtime_s, restart_s)
        case Behaviour.NOTICED:
            notice_s = float("inf")  # long enough, or it would be a stop
            return Noticed(one.name, mtbf_s, notice_s, last_save_s, levels, one.downtime_s, restart_s)
        case Behaviour.VERIFIED:
            return Silent(one.name, mtbf_s, downtime_s=one.downtime_s, restart_s=restart_s, level=lowest)
        case Behaviour.LATE:
            return Silent(one.name, mtbf_s, one.delay_s, one.delay_is_fixed, True, one.downtime_s, restart_s, lowest)
        case Behaviour.STOP:
            return FailStop(one.name, mtbf_s, levels, one.downtime_s, restart_s)
