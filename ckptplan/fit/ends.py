"""How runs and outages ended: by kind and cause, with how long it took to run again."""

from typing import NamedTuple

import numpy as np

from ckptplan.fit.exposure import Exposure
from ckptplan.fit.record import Allocations, Counts, FailureRecord, Outages, Outcome, Recoveries

# Phases of a record that last until the job runs again; others are a part of the recovery.
WHOLE_RECOVERIES = ("outage", "restart")


class CauseRow(NamedTuple):
    """One kind of end and its cause; ``share`` is of the interruptions counted, None for what is not counted."""

    outcome: Outcome
    cause: str
    ends: int
    share: float | None
    recovery_mean_s: float | None
    recovery_median_s: float | None


class Recovery(NamedTuple):
    """How long it took to run again. [s]."""

    phase: str
    seen: int
    mean_s: float
    median_s: float
    quantile_90_s: float
    cv: float


def causes_of(record: FailureRecord, found: Exposure) -> tuple[CauseRow, ...]:
    """Ends by kind and cause, the most frequent first; what is counted before what is not."""
    content = record.content
    if not isinstance(content, Allocations | Outages | Counts):
        return ()
    kinds = len(content.causes)
    pairs, inverse = np.unique(content.outcome.astype(np.int64) * max(kinds, 1) + content.cause, return_inverse=True)
    counts = np.bincount(inverse, content.failures if isinstance(content, Counts) else None, minlength=pairs.size)
    counted = {int(one) for one in found.outcomes}
    total = sum(int(n) for pair, n in zip(pairs, counts, strict=True) if int(pair) // max(kinds, 1) in counted)
    recoveries = _recoveries(record)
    rows = []
    for pair, count in zip(pairs, counts, strict=True):
        outcome, cause = divmod(int(pair), max(kinds, 1))
        share = int(count) / total if outcome in counted else None
        mean_s, median_s = _mean_and_median(recoveries, cause) if outcome != Outcome.CENSORED else (None, None)
        name = content.causes[cause] if kinds else ""
        rows.append(CauseRow(Outcome(outcome), name, int(count), share, mean_s, median_s))
    order = (Outcome.FAILURE, Outcome.PREEMPTED, Outcome.MAINTENANCE, Outcome.CENSORED)
    return tuple(sorted(rows, key=lambda row: (row.share is None, order.index(row.outcome), -row.ends, row.cause)))


def _recoveries(record: FailureRecord) -> Recoveries | None:
    """As the reader found them, else from the ends of outages."""
    content = record.content
    if not isinstance(content, Outages):
        return record.recoveries
    phase = "repair" if content.units > 1 else "outage"
    if record.recoveries is not None:
        return record.recoveries._replace(
            phase=phase if record.recoveries.phase == "repair" else record.recoveries.phase
        )
    seconds = np.where(content.outcome == Outcome.CENSORED, np.nan, content.end_s - content.start_s)
    return Recoveries(phase, content.cause, seconds) if np.any(np.isfinite(seconds)) else None


def _mean_and_median(recoveries: Recoveries | None, cause: int) -> tuple[float | None, float | None]:
    if recoveries is None:
        return None, None
    seconds = recoveries.seconds[(recoveries.cause == cause) & np.isfinite(recoveries.seconds)]
    return (float(np.mean(seconds)), float(np.median(seconds))) if seconds.size else (None, None)


def recovery_of(record: FailureRecord) -> Recovery | None:
    """All of the recoveries that the record shows."""
    recoveries = _recoveries(record)
    if recoveries is None:
        return None
    seconds = recoveries.seconds[np.isfinite(recoveries.seconds)]
    if seconds.size == 0:
        return None
    mean_s = float(np.mean(seconds))
    cv = float(np.std(seconds, ddof=1)) / mean_s if seconds.size > 1 and mean_s > 0.0 else 0.0
    median_s, most_s = (float(q) for q in np.quantile(seconds, (0.5, 0.9)))
    return Recovery(recoveries.phase, int(seconds.size), mean_s, median_s, most_s, cv)
