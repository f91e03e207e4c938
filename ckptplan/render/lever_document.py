"""The JSON document ``ckptplan.levers/1``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckptplan import __version__
from ckptplan.plan.levers.record import Lever, Levers

SCHEMA = "ckptplan.levers/1"


def lever_fields(one: Lever) -> dict[str, Any]:
    """One lever as a JSON-ready mapping."""
    return {**one._asdict(), "notes": list(one.notes)}


def lever_document(made: Levers, spec: Mapping[str, Any]) -> dict[str, Any]:
    """All levers of a run; ``spec`` is what was in force, in SI units."""
    return {
        "schema": SCHEMA,
        "ckptplan": __version__,
        "spec": dict(spec),
        "name": made.name,
        "gpus": made.gpus,
        "first": made.first,
        "strategy": made.strategy,
        "interval_s": made.interval_s,
        "interval_steps": made.interval_steps,
        "goodput": made.goodput,
        "step_time_s": made.step_time_s,
        "work_s": made.work_s,
        "gpu_hour_price": made.gpu_hour_price,
        "levers": [lever_fields(one) for one in made.levers],
        "left": [one._asdict() for one in made.left],
        "overlaps": [one._asdict() for one in made.overlaps],
        "paired": made.paired,
        "apart": [one._asdict() for one in made.apart],
        "together": list(made.together),
        "all_together": made.all_together,
        "elasticities": [one._asdict() for one in made.elasticities],
        "assumptions": list(made.assumptions),
        "warnings": list(made.warnings),
    }
