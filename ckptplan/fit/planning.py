"""What a fitted record gives a plan: the count and its exposure, the law where it holds, and other classes of ends."""

from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import EXPONENTIAL, PLANNED_SHAPES, Law, LawName
from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.ends import Recovery
from ckptplan.fit.findings import date_text, findings, names_of
from ckptplan.fit.fitting import Fitted, Rate
from ckptplan.fit.record import Allocations, Counts, Outages, Outcome

_SAME_SIZE = 0.01
_FEWEST_FOR_A_PLAN = 20  # failures: below, the interval of a shape spans a factor of two
_KINDS = {Outcome.PREEMPTED: "preemption", Outcome.MAINTENANCE: "maintenance"}


class OtherClass(NamedTuple):
    """Ends of a kind that is not counted among the failures, of one job of the recorded size. [s]."""

    kind: str
    ends: int
    mtbf_s: float


class RecordedFailures(NamedTuple):
    """A record, ready to plan with.

    ``over_s`` is the time of one job of ``gpus`` GPUs in which the failures came; ``gpus`` None where the record does
    not know how many: it is then that of a job of the planned size. [s]
    """

    failures: int
    until_failure: bool
    over_s: float
    gpus: float | None
    law: Law
    law_reason: str  # why it is, or is not, the exponential one
    others: tuple[OtherClass, ...]
    recovery: Recovery | None
    warnings: tuple[str, ...]
    text: str  # the record in one line


def recorded_failures(fitted: Fitted, counting: Counting) -> RecordedFailures:
    """A fitted record as a source of failures.

    Parameters
    ----------
    fitted : Fitted
    counting : Counting
        ``recent`` takes the rate of the latest part without a trend.

    Returns
    -------
    RecordedFailures

    Notes
    -----
    Times of one unit become times of one job by the mean size of the jobs: rates of independent parts add.
    """
    rate = fitted.rate
    if counting.recent and fitted.recent_rate is not None:
        rate = fitted.recent_rate
    units = _units_of_a_job(fitted)
    law, reason = _law(fitted, counting)
    return RecordedFailures(
        failures=rate.failures,
        until_failure=rate.until_failure,
        over_s=rate.exposure_s / units,
        gpus=fitted.exposure.gpus,
        law=law,
        law_reason=reason,
        others=_others(fitted, units),
        recovery=fitted.recovery,
        warnings=(*findings(fitted), *_idle_recent(fitted, counting)),
        text=_text(fitted, rate, counting),
    )


def _idle_recent(fitted: Fitted, counting: Counting) -> tuple[str, ...]:
    if not counting.recent or fitted.recent_rate is not None:
        return ()
    return ("no part of the record is steadier than the whole: --recent counts all of it",)


def same_size(recorded_gpus: float | None, gpus: int) -> bool:
    """Whether the record is of a job as large as the planned one; a law does not scale as its mean does."""
    return recorded_gpus is None or abs(recorded_gpus - gpus) <= _SAME_SIZE * gpus


def _units_of_a_job(fitted: Fitted) -> float:
    found = fitted.exposure
    if found.per is Per.JOB:
        return 1.0
    size = found.nodes if found.per is Per.NODE else found.gpus
    return 1.0 if size is None else size


def _law(fitted: Fitted, counting: Counting) -> tuple[Law, str]:
    """The law of the job's own gaps, if the record shows clearly that they are not exponential."""
    laws = fitted.laws
    if laws is None:
        return EXPONENTIAL, "too few times to tell a law"
    best = laws.choice.best
    if best.name is LawName.EXPONENTIAL:
        return EXPONENTIAL, "an exponential law does as well as any other"
    found = f"{best.name} with shape {best.shape:.3g} fits the recorded times best"
    least, most = PLANNED_SHAPES[best.name]
    if fitted.rate.failures < _FEWEST_FOR_A_PLAN or not least <= best.shape <= most:
        return EXPONENTIAL, f"{found}; but {fitted.rate.failures} failures are too few to plan with a shape"
    if fitted.exposure.per is not Per.JOB:
        return EXPONENTIAL, f"{found}; of many nodes together failures tend to be exponential"
    if fitted.trend is not None and fitted.trend.changes:
        return EXPONENTIAL, f"{found}; but the rate changes, which makes gaps look like that"
    return Law(best.name, best.shape), found


def _others(fitted: Fitted, units: float) -> tuple[OtherClass, ...]:
    """Preemption and maintenance, where they are not counted already."""
    content, found = fitted.record.content, fitted.exposure
    if not isinstance(content, Allocations | Outages | Counts):
        return ()
    weights = content.failures if isinstance(content, Counts) else np.ones(content.outcome.size)
    others = []
    for outcome, kind in _KINDS.items():
        ends = int(weights[content.outcome == outcome].sum())
        if ends and outcome not in found.outcomes:
            others.append(OtherClass(kind, ends, found.exposure_s / units / ends))
    return tuple(others)


def _text(fitted: Fitted, rate: Rate, counting: Counting) -> str:
    found, content = fitted.exposure, fitted.record.content
    rows = f"{fitted.record.rows:,} row{'' if fitted.record.rows == 1 else 's'}"
    text = f"{names_of(found.outcomes, rate.failures)} in {rows} ({fitted.record.format})"
    if counting.recent and fitted.recent_rate is not None and fitted.trend is not None:
        since = fitted.trend.recent_from_s
        text += (
            f", since {date_text(since)}" if fitted.record.on_calendar and since is not None else ", the latest part"
        )
    elif isinstance(content, Allocations) and fitted.record.on_calendar and content.start_s.size:
        text += f", {date_text(content.start_s.min())} to {date_text(content.end_s.max())}"
    return text
