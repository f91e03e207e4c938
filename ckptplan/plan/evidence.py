"""How well the MTBF is known from a count of failures, and what that means for interval and goodput."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import EXPONENTIAL, Evidence
from ckptplan.plan.case import Case
from ckptplan.units import HOUR_S

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
_NODES = 32  # of the posterior, each of equal weight


class EvidenceFacts(NamedTuple):
    """What a count of failures says about the job; ranges of one strategy, in seconds and shares of wall time.

    ``None`` stands for no bound: without a failure the MTBF may be any time above the lower bound.
    """

    strategy: str
    failures: float
    exposure_s: float  # of the job at its number of GPUs
    exposure_gpu_hours: float
    level: float
    mtbf_low_s: float
    mtbf_high_s: float | None
    interval_low_s: float
    interval_high_s: float | None
    goodput_low: float
    goodput_high: float | None
    prior_shape: float
    prior_exposure_s: float
    posterior_mtbf_s: float
    posterior_interval_s: float
    posterior_interval_steps: int | None
    law_differs: bool  # the failures are not exponential, which the ranges of the MTBF and the loss take for granted
    expected_loss: float  # of goodput, for typing the posterior interval instead of knowing the MTBF


def evidence_facts(case: Case, evidence: Evidence) -> EvidenceFacts:
    """What the count says about one strategy at one scale, by the exact method."""
    from ckptplan.fit.rate import mtbf_confidence, posterior_mtbf

    law_differs = not case.is_exponential
    if case.law.gaps_s:
        case = case._replace(law=EXPONENTIAL)  # the best interval of a record jumps with its mean: nothing follows
    exposure_s, prior_s = evidence.exposure_gpu_s / case.gpus, evidence.prior_gpu_s / case.gpus
    known = mtbf_confidence(exposure_s, evidence.failures, LEVEL, until_failure=evidence.until_failure)
    low_s, high_s = float(known.low), float(known.high)
    believed_s = posterior_mtbf(exposure_s, evidence.failures, evidence.prior_shape, prior_s)
    belief = case._replace(mtbf_s=float(believed_s))
    chosen_s = belief.optimum(case.method)
    steps = belief.steps(chosen_s)
    bounded = np.isfinite(high_s)
    worst, best = case._replace(mtbf_s=low_s), case._replace(mtbf_s=high_s if bounded else low_s)
    return EvidenceFacts(
        strategy=case.save.name,
        failures=evidence.failures,
        exposure_s=exposure_s,
        exposure_gpu_hours=evidence.exposure_gpu_s / HOUR_S,
        level=LEVEL,
        mtbf_low_s=low_s,
        mtbf_high_s=high_s if bounded else None,
        interval_low_s=worst.optimum(case.method),
        interval_high_s=best.optimum(case.method) if bounded else None,
        goodput_low=worst.goodput(worst.optimum(case.method)),
        goodput_high=best.goodput(best.optimum(case.method)) if bounded else None,
        prior_shape=evidence.prior_shape,
        prior_exposure_s=prior_s,
        posterior_mtbf_s=belief.mtbf_s,
        posterior_interval_s=chosen_s,
        posterior_interval_steps=steps,
        law_differs=law_differs,
        expected_loss=_expected_loss(case, evidence, exposure_s + prior_s, chosen_s),
    )


def _expected_loss(case: Case, evidence: Evidence, exposure_s: float, chosen_s: float) -> float:
    """Mean over the posterior of what the chosen interval yields less than the best one for the true rate."""
    from ckptplan.fit.incomplete_gamma import inverse_regularized_gamma

    # The tails make the error of equal weights fall as 1/n: twice the fine mean less the coarse one is within 0.3 %.
    fine, coarse = ((np.arange(n) + 0.5) / n for n in (_NODES, _NODES // 2))
    rates = inverse_regularized_gamma(evidence.failures + evidence.prior_shape, np.concatenate([fine, coarse]))
    loss = _losses(case, exposure_s / rates, chosen_s)
    return max(float(2.0 * np.mean(loss[:_NODES]) - np.mean(loss[_NODES:])), 0.0)


def _losses(case: Case, mtbfs: Floats, chosen_s: float) -> Floats:
    """Goodput lost by the chosen interval for each true MTBF."""
    if not case.is_closed:
        truths = [case._replace(mtbf_s=float(mtbf)) for mtbf in mtbfs]
        return np.array([truth.goodput(truth.optimum(case.method)) - truth.goodput(chosen_s) for truth in truths])
    from ckptplan.interval.breakdown import exact_goodput
    from ckptplan.interval.exact import exact_interval

    best = np.maximum(exact_interval(case.effective_stall_s, mtbfs), case.floor_s)
    intervals = np.stack([best, np.full_like(mtbfs, chosen_s)])
    goodput = exact_goodput(intervals, case.save.stall_s, mtbfs, **case.process)
    return np.asarray(goodput[0] - goodput[1])
