"""What stands around the rows in ``ckptplan.sweep/1``: the study, its axes and its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckptplan import __version__
from ckptplan.errors import Problem
from ckptplan.render.sweep_columns import Shown, header_of
from ckptplan.sweep.study import Study

SCHEMA = "ckptplan.sweep/1"


def head(study: Study, columns: Sequence[Shown]) -> dict[str, Any]:
    """All before the rows."""
    return {
        "schema": SCHEMA,
        "ckptplan": __version__,
        "specs": [{"name": member.name, "spec": dict(member.si)} for member in study.members],
        "axes": [
            {
                "key": axis.key,
                "column": header_of(axis),
                "unit": axis.unit,
                "values": list(axis.values),
                "texts": list(axis.texts),
            }
            for axis in study.axes
        ],
        "each": str(study.each),
        "runs": study.runs,
        "seed": study.seed,
        "points": study.points,
        "columns": [{"name": c.header, "unit": c.unit, "about": c.about} for c in columns],
    }


def tail_of(warnings: Sequence[str | Problem]) -> dict[str, Any]:
    """All behind the rows; the number of rows without numbers is known in the end."""
    texts = [warning.render() if isinstance(warning, Problem) else warning for warning in warnings]
    return {"unplanned": 0, "warnings": texts}
