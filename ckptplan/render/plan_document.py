"""The JSON document ``ckptplan.plan/1`` and the list of several of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ckptplan import __version__
from ckptplan.plan.record import Plan
from ckptplan.render.plan_sheet import plan_sheet

SCHEMA = "ckptplan.plan/1"
LIST_SCHEMA = "ckptplan.plans/1"
_PLAIN_GUARDS = ("evictions", "skipped_share", "slowest_rank")


def plan_document(plan: Plan, spec: Mapping[str, Any], warnings: Sequence[str] = ()) -> dict[str, Any]:
    """One plan as a JSON-ready mapping; ``spec`` is what was in force, in SI units."""
    return {
        "schema": SCHEMA,
        "ckptplan": __version__,
        "spec": dict(spec),
        "checkpoint": plan.checkpoint._asdict(),
        "failures": plan.failures._asdict(),
        "restart": {
            "total_s": plan.restart.total_s,
            "downtime_s": plan.restart.downtime_s,
            "restart_s": plan.restart.restart_s,
            "phases_s": dict(plan.restart.phases_s),
        },
        "best": _best(plan),
        "plans": plan_sheet(plan).records(),
        "advice": list(plan.advice),
        "run": _optional(plan.run),
        "evidence": _optional(plan.evidence),
        "spread": _spread(plan),
        "schedule": _optional(plan.schedule),
        "early": _optional(plan.early),
        "verification": _optional(plan.verification),
        "classes": [one._asdict() for one in plan.classes],
        "guards": _guards(plan),
        "tiers": _tiers(plan),
        "flat": _optional(plan.flat),
        "lever": None if plan.lever is None else {**plan.lever._asdict(), "notes": list(plan.lever.notes)},
        "binds": list(plan.binds),
        "assumptions": list(plan.assumptions),
        "warnings": [*warnings, *plan.warnings],
    }


def _optional(facts: Any) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if facts is None else facts._asdict()
    return found


def _best(plan: Plan) -> dict[str, Any] | None:
    """The recommendation: the best strategy of one tier, or the plan over all of them; null where none gets on."""
    if not plan.makes_progress:
        return None
    best = plan.best_record
    return {
        "strategy": best.strategy,
        "method": best.method,
        "interval_s": best.interval_s,
        "interval_steps": best.interval_steps,
        "goodput": best.goodput_typed,
    }


def _guards(plan: Plan) -> dict[str, Any] | None:
    found = plan.guards
    if found is None:
        return None
    parts = {name: _optional(part) for name, part in found._asdict().items() if name not in _PLAIN_GUARDS}
    plain = {"skipped_share": found.skipped_share, "slowest_rank": found.slowest_rank}
    return {**parts, "evictions": [e._asdict() for e in found.evictions], **plain}


def _tiers(plan: Plan) -> dict[str, Any] | None:
    made = plan.tiers
    return None if made is None else {**made._asdict(), "tiers": [tier._asdict() for tier in made.tiers]}


def _spread(plan: Plan) -> dict[str, Any] | None:
    found = _optional(plan.spread)
    return found if plan.spread is None else {**(found or {}), "causes": [c._asdict() for c in plan.spread.causes]}


def plans_document(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One document for one spec; a list of them, under its own schema name, for several."""
    if len(documents) == 1:
        return dict(documents[0])
    return {"schema": LIST_SCHEMA, "ckptplan": __version__, "documents": list(documents)}
