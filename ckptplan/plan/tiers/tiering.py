"""Several tiers: how often to save to each, and what all of them yield together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Scenario
from ckptplan.cost.tiers import TierCost
from ckptplan.interval.elementary import ceil_to_whole
from ckptplan.interval.spectrum import Base, Behaviour, Causes, compose
from ckptplan.interval.tier_chain import tier_shares
from ckptplan.interval.tier_recovery import Causes as TierCauses
from ckptplan.interval.tiers import tiers_first_order
from ckptplan.plan.case import Case
from ckptplan.plan.spectrum.shares import CaseShares, best_interval, causes_of, with_waiting
from ckptplan.plan.tiers.facts import TierFacts, facts_of
from ckptplan.plan.tiers.job import Floats, Pattern, TierJob, floor_s, job_of, only, pattern_of
from ckptplan.plan.tiers.recoveries import from_tiers, mean_restart_s, restart_after_strikes

_ROUNDING = 1e-9  # of goodput


class TierPlan(NamedTuple):
    """The best pattern over all tiers, and what it yields."""

    tiers: tuple[TierFacts, ...]
    interval_s: float  # work between two slots, of any tier
    interval_steps: int | None
    goodput: float
    save_fraction: float
    rework_fraction: float
    restart_fraction: float
    slow_fraction: float
    waiting_fraction: float
    single: str | None  # the best tier alone
    single_goodput: float | None
    first_order_goodput: float  # of the failures alone, by the sum over the tiers
    exact_goodput: float  # of the same, by the Markov chain

    def beats(self, goodput: float) -> bool:
        """Whether saves to several tiers yield more than a single save: one tier by itself is a single save."""
        return sum(tier.kept for tier in self.tiers) > 1 and self.goodput > goodput * (1.0 + _ROUNDING)


class Tiering(NamedTuple):
    """A tier plan with the arrays that it was made of, for whoever goes on with it."""

    plan: TierPlan
    shares: CaseShares
    costs: tuple[TierCost, ...]  # the kept ones
    every: tuple[int, ...]  # of the kept ones, in slots
    slot_stall_s: tuple[float, ...]
    restart_s: Floats  # (classes, kept tiers)
    survival: Floats  # (classes, kept tiers)
    downtime_s: Floats  # by class

    @property
    def recovery_s(self) -> list[float]:
        """Mean recovery of each class, from the lowest tier that survives it. [s]."""
        return [float(v) for v in self.downtime_s + mean_restart_s(self.survival, self.restart_s)]


def tiering_of(
    scenario: Scenario, case: Case, single: tuple[str, float] | None = None, *, interval_s: float | None = None
) -> Tiering | None:
    """The best pattern of the tiers of a scenario; None if it has none, or none gets on.

    Parameters
    ----------
    scenario : Scenario
        With tiers.
    case : Case
        Any of its cases: failures, recovery and scale are read from it.
    single : tuple, optional
        Name and goodput of the best tier alone.
    interval_s : float, optional
        Work between two slots, raised to the floor that the drains set; by default the best. [s]

    Raises
    ------
    InputError
        If no save fits into the last tier.
    """
    if case.spectrum is None or not scenario.storage.tiers:
        return None
    job = job_of(scenario, case)
    made = _at_the_best_interval(job, pattern_of(job), interval_s)
    if not np.isfinite(made.best.interval_s):
        return None  # failures come faster than any save: no interval has a goodput
    shares = pattern_shares(job, made, made.best.interval_s)
    survival, restart_s = from_tiers(job, made)
    return Tiering(
        plan=_plan(job, made, shares, single),
        shares=shares,
        costs=tuple(job.costs[k] for k in made.kept),
        every=made.every,
        slot_stall_s=made.slot_stall_s,
        restart_s=restart_s,
        survival=survival,
        downtime_s=np.array([one.downtime_s for one in job.spectrum.classes]),
    )


def _at_the_best_interval(job: TierJob, made: Pattern, given_s: float | None) -> Pattern:
    """The pattern at the interval that is best with all that the chain does not know of; whole steps if known."""

    def goodput(interval_s: Floats) -> Floats:
        return pattern_shares(job, made, interval_s).useful

    if given_s is not None:
        at_s = max(given_s, floor_s(job, made))
        steps = job.case.steps_if_whole(at_s)
        best = made.best._replace(interval_s=np.asarray(at_s), steps=np.asarray(np.nan if steps is None else steps))
        return made._replace(best=best)
    best_s, step_s = max(best_interval(goodput, float(made.best.interval_s)), floor_s(job, made)), job.case.step_time_s
    if step_s is None or not np.isfinite(best_s):
        return made._replace(best=made.best._replace(interval_s=np.asarray(best_s)))
    steps = steps_of(job, made, best_s, step_s)
    return made._replace(best=made.best._replace(interval_s=np.asarray(steps * step_s), steps=np.asarray(steps)))


def steps_of(job: TierJob, made: Pattern, interval_s: float, step_s: float) -> int:
    """The better of the whole steps on both sides of an interval, none below the floor."""
    least = max(int(ceil_to_whole(np.asarray(floor_s(job, made) / step_s))), 1)
    counts = np.maximum(np.array([np.floor(interval_s / step_s), np.ceil(interval_s / step_s)]), least)
    return int(counts[np.argmax(pattern_shares(job, made, counts * step_s).useful)])


def pattern_shares(job: TierJob, made: Pattern, interval_s: npt.ArrayLike) -> CaseShares:
    """Shares of wall time of a pattern: the Markov chain under the stops, then what is found late or announced."""
    W = np.asarray(interval_s, dtype=np.float64)
    causes = causes_of(job.case, job.spectrum)._replace(restart=mean_restart_s(*from_tiers(job, made)))
    base = _base(job, made, causes, W)
    if Behaviour.VERIFIED in causes.behaviours:
        causes = _found_at_the_save(causes, W * made.every[-1])
    step_s = job.case.step_time_s or 0.0
    return with_waiting(compose(base, causes, strike=job.case.strike, step_time=step_s), job.spectrum, job.case)


def _base(job: TierJob, made: Pattern, causes: Causes, W: Floats) -> Base:
    """The chain, reckoned per useful second and by class."""
    saves = only(job.saves, np.isin(np.arange(len(job.costs)), made.kept))
    rate, level, recovery = saves.causes
    stops = np.array([causes.behaviours[k] is Behaviour.STOP for k in job.of_class])
    under = TierCauses(np.where(stops, rate, 0.0), level, recovery)
    exposed = np.cumsum(np.asarray(saves.exposed))  # a drain begins when that of the tier below has ended
    found = tier_shares(W, made.every, made.slot_stall_s, under, exposed=exposed)
    running = 1.0 - found.restart.sum(axis=-1)
    back_to = [_lowest(job, made, index) for index in range(len(causes.behaviours))]
    with np.errstate(all="ignore"):
        recovering = _by_class(job, found.restart / running[..., None])
        return Base(
            period=1.0 + found.save / found.useful,
            running=running / found.useful,
            rework=_by_class(job, found.rework / found.useful[..., None]),
            recovery=recovering,
            recovery_of_stops=_by_class(job, restart_after_strikes(job, made, under, causes, exposed)),
            granularity=W[..., None] * np.array([made.every[place] for place in back_to]),
            stall=np.array([made.slot_stall_s[place] for place in back_to]),
            # Training stands still meanwhile: its slow-down, which the stall has, is a part of the drains.
            last_save=np.array([made.slot_stall_s[place] + exposed[place] for place in back_to]),
        )


def _by_class(job: TierJob, by_cause: Floats) -> Floats:
    """Sums over the causes of each class, along the last axis."""
    belongs = np.array(job.of_class)[:, None] == np.arange(len(job.spectrum.classes))
    return np.asarray(by_cause @ belongs.astype(np.float64))


def _lowest(job: TierJob, made: Pattern, index: int) -> int:
    """Place among the kept tiers of the lowest one that surely survives a class."""
    return next(place for place, k in enumerate(made.kept) if job.costs[k].survival[index] >= 1.0)


def _found_at_the_save(causes: Causes, interval_s: Floats) -> Causes:
    """Errors that the check before a save to the last tier finds: half an interval later than a stop, on average."""
    verified = [kind is Behaviour.VERIFIED for kind in causes.behaviours]
    kinds = tuple(Behaviour.LATE if late else kind for late, kind in zip(verified, causes.behaviours, strict=True))
    return causes._replace(
        behaviours=kinds, delay=np.where(verified, 0.5 * interval_s[..., None], np.asarray(causes.delay))
    )


def _plan(job: TierJob, made: Pattern, shares: CaseShares, single: tuple[str, float] | None) -> TierPlan:
    steps = made.best.steps
    return TierPlan(
        tiers=facts_of(job, made),
        interval_s=float(made.best.interval_s),
        interval_steps=None if np.isnan(steps) else round(float(steps)),
        goodput=float(shares.useful),
        save_fraction=float(shares.save),
        rework_fraction=float(shares.rework),
        restart_fraction=float(shares.restart),
        slow_fraction=float(shares.slow),
        waiting_fraction=float(shares.waiting),
        single=None if single is None else single[0],
        single_goodput=None if single is None else single[1],
        first_order_goodput=_first_order(job),
        exact_goodput=float(made.best.goodput),
    )


def _first_order(job: TierJob) -> float:
    """Goodput to first order of the best subset, by dynamic programming."""
    rate, level, recovery = job.saves.causes
    levels = np.asarray(job.saves.stall).shape[-1]
    by_level = np.bincount(np.asarray(level) - 1, np.asarray(rate), minlength=levels)
    lasts = np.array([sum(part[c, level[c] - 1] for part in recovery) for c in range(len(level))])
    weighted = np.bincount(np.asarray(level) - 1, np.asarray(rate) * lasts, minlength=levels)
    with np.errstate(invalid="ignore"):
        restart = np.where(by_level > 0.0, weighted / by_level, recovery[0].mean(axis=0) + recovery[1].mean(axis=0))
    found = tiers_first_order(
        job.saves.stall, by_level, restart + np.asarray(job.saves.exposed), alone_stall=job.saves.alone_stall
    )
    return float(1.0 / (1.0 + found.overhead))
