"""Recoveries of one pattern by class: from which tier each is, and what follows where a stop strikes it."""

from __future__ import annotations

import numpy as np

from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.spectrum import Behaviour
from ckptplan.interval.spectrum import Causes as ClassCauses
from ckptplan.interval.tier_recovery import Causes, tier_recovery
from ckptplan.plan.tiers.job import Floats, Pattern, TierJob, restarts_s


def from_tiers(job: TierJob, made: Pattern) -> tuple[Floats, Floats]:
    """Probability that each kept tier survives each class, and the restart of the class from it. [1, s]."""
    survival = np.array([job.costs[k].survival for k in made.kept]).T
    return survival, restarts_s(job.spectrum, job.costs)[:, made.kept]


def mean_restart_s(survival: Floats, restart_s: Floats) -> Floats:
    """Mean restart of each class from the lowest tier that survives it. [s]."""
    return np.asarray((_lowest(survival) * restart_s).sum(axis=1))


def restart_after_strikes(job: TierJob, made: Pattern, stops: Causes, classes: ClassCauses, exposed: Floats) -> Floats:
    """Time in recoveries after a stop that strikes a recovery not begun by one, by cause, over the MTBF.

    Levels only rise: a strike on a recovery from the last tier is recovered from there, though a lower tier survives
    the striker. The mean is over the strikes on all recoveries of errors, spikes, slow nodes and announced ends.
    """
    survival = from_tiers(job, made)[0]
    others = np.array([kind is not Behaviour.STOP for kind in classes.behaviours])
    total = np.asarray(stops.rate).sum()
    struck = recovery_parts(classes.downtime, classes.restart, job.case.strike).struck
    hit = np.where(others, np.asarray(classes.rate) * -np.expm1(-total * struck), 0.0)
    by_level = (hit[:, None] * _lowest(survival)).sum(axis=0)
    weights = by_level / by_level.sum() if by_level.sum() > 0.0 else np.eye(len(by_level))[0]
    after = np.zeros(np.shape(stops.rate))
    for place, weight in enumerate(weights):
        raised = stops._replace(level=np.maximum(stops.level, place + 1))
        found = tier_recovery(raised, exposed)
        after += weight * found.restart / (1.0 + found.rerun.sum())
    return after


def _lowest(survival: Floats) -> Floats:
    """Probability of each tier to be the lowest one that survives a class. [1]."""
    return np.diff(survival, axis=1, prepend=0.0)
