"""How many saves to keep as sheets and as JSON: classes, rules, tiers."""

from __future__ import annotations

import math
from typing import Any

from ckptplan import __version__
from ckptplan.errors import printable
from ckptplan.plan.retention.retaining import RetentionPlan
from ckptplan.plan.retention.rules import Rule, certainty
from ckptplan.render.numbers import points, whole
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size, format_time


def _time_if_any(time_s: float) -> str:
    return format_time(time_s) if time_s else "-"


_CLASSES = (
    Column("name", "class", printable, right=False),
    Column("kind", show=None),
    Column("every_s", "every", format_time),
    Column("law", "delay", str, right=False),
    Column("delay_s", "found after", _time_if_any),
    Column("back_s", "goes back by", _time_if_any),
    Column("tier", "to a save of", printable, right=False),
    Column("needed", "saves needed", whole),
    Column("missing", "clean", certainty),
    Column("binds", show=None),
)
_RULES = (
    Column("rule", "rule", right=False),
    Column("keep", show=None),
    Column("archive_every", show=None),
    Column("saves", "saves at most", whole),
    Column("mean_saves", show=None),
    Column("room_bytes", "bytes at most", format_size),
    Column("fits", "fits", lambda value: "-" if value is None else "yes" if value else "no"),
    Column("is_enough", "enough", lambda value: "yes" if value else "no"),
    Column("probability", show=None),
    Column("missing", "clean", certainty),
    Column("least_sure", show=None),
    Column("only_in_archive", show=None),
    Column("none_left_every_s", "none left every", lambda value: format_time(value) if value < math.inf else "never"),
    Column("extra_rework_s", "extra rework", format_time),
    Column("lost_goodput", "costs", points),
)
_TIERS = (
    Column("name", "tier", printable, right=False),
    Column("kind", show=None),
    Column("period_s", "save every", format_time),
    Column("saves", "saves", whole),
    Column("under_way", "under way", whole),
    Column("room_bytes", "bytes at most", format_size),
    Column("fits", "room for", whole),
    Column("written_bytes_per_day", "written a day", format_size),
    Column("worn_out_days", "worn out after", lambda value: "-" if value is None else format_time(86_400.0 * value)),
    Column("archive_bytes_per_year", "archive a year", format_size),
)


def class_sheet(plan: RetentionPlan) -> Sheet | None:
    """One row per class that goes back past several saves; None if there is none."""
    if not plan.classes:
        return None
    idle = {key for key in ("delay_s", "back_s") if all(getattr(one, key) == 0.0 for one in plan.classes)}
    binding = frozenset(index for index, one in enumerate(plan.classes) if one.binds)
    return Sheet(_without(_CLASSES, idle), tuple(tuple(one) for one in plan.classes), binding)


def rule_sheet(plan: RetentionPlan) -> Sheet:
    """One row per rule, that of the spec first."""
    rules = _rules(plan)
    idle = {key for key in ("fits",) if all(getattr(rule, key) is None for rule in rules)}
    if not any(rule.least_sure for rule in rules):
        idle |= {"missing", "none_left_every_s"}
    if not any(rule.extra_rework_s for rule in rules):
        idle |= {"extra_rework_s", "lost_goodput"}
    columns = (Column("spec", show=None), *_without(_RULES, idle))
    rows = tuple((plan.name, *(getattr(rule, column.key) for column in _RULES)) for rule in rules)
    return Sheet(columns, rows, frozenset({0}))


def tier_sheet(plan: RetentionPlan) -> Sheet:
    """One row per tier that is saved to, the cheapest first."""
    optional = ("fits", "worn_out_days", "archive_bytes_per_year")
    idle = {key for key in optional if all(getattr(tier, key) is None for tier in plan.tiers)}
    return Sheet(_without(_TIERS, idle), tuple(tuple(tier) for tier in plan.tiers))


def _without(columns: tuple[Column, ...], idle: set[str]) -> tuple[Column, ...]:
    return tuple(column._replace(show=None) if column.key in idle else column for column in columns)


def _rules(plan: RetentionPlan) -> tuple[Rule, ...]:
    return plan.rules if plan.given is None else (plan.given, *plan.rules)


def retention_document(plan: RetentionPlan, spec: dict[str, Any]) -> dict[str, Any]:
    """The JSON document ``ckptplan.retention/1``."""
    saving, history, classes = plan.saving, plan.history, class_sheet(plan)
    return {
        "schema": "ckptplan.retention/1",
        "ckptplan": __version__,
        "spec": spec,
        "name": plan.name,
        "gpus": plan.gpus,
        "probability": plan.probability,
        "saving": {
            "strategy": saving.strategy,
            "asked_interval_s": saving.asked_interval_s,
            "interval_s": saving.interval_s,
            "interval_steps": saving.interval_steps,
            "goodput": saving.goodput,
        },
        "history": {
            "tier": history.name,
            "work_s": history.work_s,
            "period_s": history.period_s,
            "save_bytes": history.bytes_per_save,
        },
        "classes": [] if classes is None else classes.records(),
        "given": None if plan.given is None else _rule_document(plan.given),
        "remedy": list(plan.remedy),
        "rules": [_rule_document(rule) for rule in plan.rules],
        "tiers": tier_sheet(plan).records(),
        "archive_every": plan.archive_every,
        "archive_full_s": plan.archive_full_s,
        "assumptions": list(plan.assumptions),
    }


def _rule_document(rule: Rule) -> dict[str, Any]:
    return {**rule._asdict(), "stages": [stage._asdict() for stage in rule.stages]}
