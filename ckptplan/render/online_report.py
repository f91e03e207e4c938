"""What adaptive rules yield, and the lines to paste into a training loop."""

from __future__ import annotations

from typing import Any

from ckptplan import __version__
from ckptplan.errors import printable
from ckptplan.plan.adaptive import AdaptivePlan
from ckptplan.render.marking import sentences
from ckptplan.render.numbers import hundredths, seconds, whole
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Column, Sheet, to_markdown
from ckptplan.units import format_time

_COLUMNS = (
    Column("rule", "rule", right=False),
    Column("failures_seen", "failures seen", whole),
    Column("interval_s", "interval", seconds),
    Column("interval_steps", "steps", whole),
    Column("goodput", "goodput %", hundredths),
    Column("lost_goodput", "lost %", hundredths),
)


def online_sheet(plan: AdaptivePlan) -> Sheet:
    """One row per rule and number of failures seen."""
    rows = tuple(tuple(getattr(record, column.key) for column in _COLUMNS) for record in plan.records)
    return Sheet(_COLUMNS, rows, frozenset({0}))


def online_document(plan: AdaptivePlan, spec: dict[str, Any], snippet: str | None) -> dict[str, Any]:
    """The JSON document ``ckptplan.online/1``."""
    facts = {name: value for name, value in plan._asdict().items() if name not in {"records", "left_out"}}
    return {
        "schema": "ckptplan.online/1",
        "ckptplan": __version__,
        "spec": spec,
        **facts,
        "left_out": list(plan.left_out),
        "rules": online_sheet(plan).records(),
        "snippet": snippet,
    }


def _heading(plan: AdaptivePlan) -> str:
    return (
        f"{printable(plan.name)}, {printable(plan.strategy)}: MTBF {format_time(plan.mtbf_s)}; the posterior rule "
        f"begins with {format_time(plan.prior_mtbf_s)}, worth {whole(plan.prior_shape)} "
        f"failure{'' if plan.prior_shape == 1 else 's'}; failures are taken as exponential"
    )


def report(plan: AdaptivePlan, screen: Screen, snippet: str | None) -> str:
    """The table, then the lines."""
    parts = [screen.paragraph(_heading(plan)) + "\n", screen.table(online_sheet(plan))]
    if snippet is not None:
        parts.append("The training loop, for every rank:\n\n" + snippet)
    return "\n".join(parts)


def markdown(plan: AdaptivePlan, snippet: str | None) -> str:
    """The same as Markdown."""
    parts = [*sentences([_heading(plan)]), to_markdown(online_sheet(plan))]
    if snippet is not None:
        parts.append("```python\n" + snippet + "```\n")
    return "\n".join(parts)
