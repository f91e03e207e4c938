"""A fitted record as sheets and as JSON: the rate, ends by cause, laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckptplan import __version__
from ckptplan.errors import printable
from ckptplan.fit.ends import CauseRow, Recovery
from ckptplan.fit.fitting import Fitted, Rate, Trend, per_gpu
from ckptplan.fit.record import Outcome
from ckptplan.fit.survival import Survival
from ckptplan.render.numbers import percent, whole
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_time

if TYPE_CHECKING:
    from ckptplan.fit.planning import RecordedFailures

_OUTCOMES = {
    Outcome.FAILURE: "failure",
    Outcome.PREEMPTED: "preemption",
    Outcome.MAINTENANCE: "maintenance",
    Outcome.CENSORED: "other end",
}


def _digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


_ENDS = (
    Column("outcome", "end", right=False),
    Column("cause", "cause", printable, right=False),
    Column("ends", "number", whole),
    Column("share", "share", percent),
    Column("recovery_mean_s", "again after, mean", format_time),
    Column("recovery_median_s", "median", format_time),
)
_LAWS = (
    Column("law", "law", right=False),
    Column("shape", "shape", _digits),
    Column("scale_s", "scale", format_time),
    Column("mean_s", "mean", format_time),
    Column("log_likelihood", "log-likelihood", lambda v: "-" if v is None else f"{v:,.2f}"),
    Column("aic", "AIC", lambda v: "-" if v is None else f"{v:,.2f}"),
    Column("choice", "", right=False),
    Column("note", show=None),
)
_SUMMARY = (
    Column("file"),
    Column("format"),
    Column("per"),
    Column("part"),
    Column("failures"),
    Column("exposure_s"),
    Column("mtbf_s"),
    Column("mtbf_low_s"),
    Column("mtbf_high_s"),
    Column("level"),
    Column("mtbf_per_gpu_s"),
)


def ends_sheet(fitted: Fitted, most: int | None = None) -> Sheet | None:
    """One row per kind of end and cause, what is counted first; None if the record has no kinds.

    Of more causes than ``most`` of one kind the rest is one row, without its times.
    """
    if not fitted.causes:
        return None
    causes = fitted.causes if most is None else _frequent(fitted.causes, most)
    rows = tuple((_OUTCOMES[row.outcome], *row[1:]) for row in causes)
    times = ("recovery_mean_s", "recovery_median_s")
    hidden = set(times) if all(row.recovery_mean_s is None for row in causes) else set()
    counted = frozenset(number for number, row in enumerate(causes) if row.share is not None)
    return Sheet(tuple(c._replace(show=None) if c.key in hidden else c for c in _ENDS), rows, counted)


def _frequent(causes: tuple[CauseRow, ...], most: int) -> tuple[CauseRow, ...]:
    kept: list[CauseRow] = []
    for outcome in dict.fromkeys(row.outcome for row in causes):
        of_kind = [row for row in causes if row.outcome is outcome]
        kept += of_kind[: most if len(of_kind) > most + 1 else None]
        rest = of_kind[most:] if len(of_kind) > most + 1 else []
        if rest:
            share = None if rest[0].share is None else sum(row.share or 0.0 for row in rest)
            kept.append(
                CauseRow(outcome, f"{len(rest):,} more causes", sum(row.ends for row in rest), share, None, None)
            )
    return tuple(kept)


def law_sheet(fitted: Fitted) -> Sheet | None:
    """One row per law, the likeliest first; None where the times are too few."""
    if fitted.laws is None:
        return None
    choice = fitted.laws.choice
    tied = {one.name for one in choice.tied}
    ordered = sorted(fitted.laws.fits, key=lambda one: (not one.converged, one.aic))
    rows = []
    for one in ordered:
        word = "chosen" if one.name is choice.best.name else "tied" if one.name in tied else ""
        if one.name is choice.best.name and len(tied) > 1:
            word = "chosen: simplest of the tied"
        rows.append((str(one.name), one.shape, one.scale, one.mean, one.log_likelihood, one.aic, word, one.note))
    best = next(number for number, one in enumerate(ordered) if one.name is choice.best.name)
    return Sheet(_LAWS, tuple(rows), frozenset({best}))


def summary_sheet(fitted: Fitted) -> Sheet:
    """The rate, and that of the latest part where there is one: for CSV."""
    parts = [("all", fitted.rate)] + ([] if fitted.recent_rate is None else [("recent", fitted.recent_rate)])
    rows = tuple(
        (
            fitted.record.file,
            fitted.record.format,
            str(fitted.exposure.per),
            part,
            rate.failures,
            rate.exposure_s,
            rate.mtbf_s,
            rate.low_s,
            rate.high_s,
            rate.level,
            per_gpu(rate.mtbf_s, fitted.exposure),
        )
        for part, rate in parts
    )
    return Sheet(_SUMMARY, rows)


def fit_document(fitted: Fitted, found: RecordedFailures, planned_gpus: int | None, block: str) -> dict[str, Any]:
    """The JSON document ``ckptplan.fit/1``."""
    exposure, record = fitted.exposure, fitted.record
    ends, laws = ends_sheet(fitted), law_sheet(fitted)
    agrees = None if fitted.laws is None else fitted.laws.goodness._asdict()
    return {
        "schema": "ckptplan.fit/1",
        "ckptplan": __version__,
        "file": record.file,
        "format": record.format,
        "zone": record.zone,
        "rows": record.rows,
        "left_out": [one._asdict() for one in record.left_out],
        "per": str(exposure.per),
        "counted": [_OUTCOMES[one] for one in sorted(exposure.outcomes)],
        "events": exposure.events,
        "merged": exposure.merged,
        "nodes": exposure.nodes,
        "gpus": exposure.gpus,
        "rate": _rate(fitted.rate, fitted, planned_gpus),
        "recent": None if fitted.recent_rate is None else _rate(fitted.recent_rate, fitted, planned_gpus),
        "ends": [] if ends is None else ends.records(),
        "laws": [] if laws is None else laws.records(),
        "shape_of": None if fitted.laws is None else str(fitted.laws.shaped.name),
        "shape_interval": None if fitted.laws is None else [fitted.laws.shape_low, fitted.laws.shape_high],
        "goodness": agrees,
        "survival": None if fitted.laws is None else _survival(fitted.laws.survival),
        "trend": None if fitted.trend is None else _trend(fitted.trend),
        "dispersion": None if fitted.dispersion is None else fitted.dispersion._asdict(),
        "recovery": None if fitted.recovery is None else _recovery(fitted.recovery),
        "block": block,
        "facts": list(fitted.facts),
        "warnings": list(found.warnings),
    }


def _survival(curve: Survival) -> list[dict[str, float]]:
    """The Kaplan-Meier estimate, step by step."""
    return [
        {"time_s": time_s, "survival": survival, "low": low, "high": high, "at_risk": at_risk}
        for time_s, survival, low, high, at_risk in zip(*(column.tolist() for column in curve), strict=True)
    ]


def _rate(rate: Rate, fitted: Fitted, planned_gpus: int | None) -> dict[str, Any]:
    by_gpu = per_gpu(1.0, fitted.exposure)
    scale = None if by_gpu is None or planned_gpus is None else by_gpu / planned_gpus
    planned = [None if scale is None else value * scale for value in (rate.mtbf_s, rate.low_s, rate.high_s)]
    return {
        **rate._asdict(),
        "mtbf_per_gpu_s": per_gpu(rate.mtbf_s, fitted.exposure),
        "planned_gpus": planned_gpus,
        "planned_mtbf_s": planned[0],
        "planned_low_s": planned[1],
        "planned_high_s": planned[2],
    }


def _trend(trend: Trend) -> dict[str, Any]:
    return {
        "changes": trend.changes,
        "p_value": trend.p_value,
        "laplace": trend.laplace._asdict(),
        "power_law": {**trend.power_law._asdict(), "growth": trend.power_law.growth},
        "recent_from_s": trend.recent_from_s,
    }


def _recovery(recovery: Recovery) -> dict[str, Any]:
    return recovery._asdict()
