"""The tables of ``ckptplan scale``: one list of columns serves table, CSV, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ckptplan.errors import printable
from ckptplan.plan.scale.records import ScaleRecord
from ckptplan.plan.scale.refusals import Refusal
from ckptplan.plan.scale.scaling import Scaling
from ckptplan.plan.status import OK
from ckptplan.render.numbers import duration, hundredths, seconds, whole
from ckptplan.render.sheet import Column, Sheet, plain
from ckptplan.units import format_power, format_time


def adds(value: float | None) -> str:
    """What one GPU more adds."""
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"  # no -0.000


def work(value: float | None) -> str:
    """Useful GPUs, few of them with the digits after the point."""
    return "-" if value is None else whole(value) if value >= 1000 else f"{value:.3g}"


def price(value: float | None) -> str:
    """Money."""
    if value is None:
        return "-"
    return whole(value) if abs(value) >= 1000 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3g}"


def _wall(value: float | None) -> str:
    return "-" if value is None else duration(value)


def _mwh(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


_SHOWN: dict[str, tuple[str, Any]] = {
    "mtbf_s": ("MTBF", format_time),
    "interval_s": ("interval", seconds),
    "interval_steps": ("steps", whole),
    "goodput": ("goodput %", hundredths),
    "useful_gpus": ("useful GPUs", work),
    "marginal_gpus": ("one more adds", adds),
    "wall_s": ("run takes", _wall),
    "money": ("run costs", price),
    "useful_hour_price": ("useful hour", price),
    "next_hour_price": ("one more hour", price),
    "energy_interval_s": ("interval", seconds),
    "energy_interval_steps": ("steps", whole),
    "energy_lost_goodput": ("lost %", hundredths),
    "energy_saved_fraction": ("saves %", hundredths),
    "useful_gpu_power_w": ("now", format_power),
    "least_useful_gpu_power_w": ("least", format_power),
    "run_energy_mwh": ("run MWh", _mwh),
    "least_run_energy_mwh": ("least MWh", _mwh),
}
_WHO = ("strategy", "gpus")
_CURVE = ("mtbf_s", "interval_s", "interval_steps", "goodput", "useful_gpus", "marginal_gpus", "wall_s")
_MONEY = ("money", "useful_hour_price", "next_hour_price")
_ENERGY = (
    *("energy_interval_s", "energy_interval_steps", "energy_lost_goodput", "energy_saved_fraction"),
    *("useful_gpu_power_w", "least_useful_gpu_power_w", "run_energy_mwh", "least_run_energy_mwh"),
)
_BATCH = (
    Column("gpus", "GPUs", whole),
    Column("replicas", "replicas", whole),
    Column("even", show=None),
    Column("fewest", "micro-batches", whole),
    Column("with_one_more", "do one more", whole),
    Column("efficiency", "busy %", hundredths),
    Column("below_gpus", show=None),
    Column("below_replicas", "even below", whole),
    Column("above_gpus", show=None),
    Column("above_replicas", "even above", whole),
)


def scale_sheet(made: Scaling) -> Sheet:
    """Every row under the machine names."""
    columns = tuple(Column(key) for key in ("spec", *ScaleRecord._fields))
    return Sheet(columns, tuple((made.name, *values(row).values()) for row in made.rows))


def values(row: ScaleRecord | Refusal) -> dict[str, Any]:
    """A row under the machine names; without numbers where its size cannot be planned."""
    return {key: getattr(row, key, None) for key in ScaleRecord._fields}


def curve_sheet(made: Scaling) -> tuple[Sheet, tuple[str, ...]]:
    """Goodput and useful throughput against the number of GPUs, and the footnotes."""
    notes = tuple(dict.fromkeys(r.status for r in made.rows if r.status != OK))
    sheet = _part(made, made.rows, _CURVE)
    if not notes:
        return sheet, notes
    marks = [f"[{notes.index(r.status) + 1}]" if r.status in notes else "" for r in made.rows]
    rows = tuple((*row, mark) for row, mark in zip(sheet.rows, marks, strict=True))
    return Sheet((*sheet.columns, Column("status", "note", plain, right=False)), rows, sheet.emphasis), notes


def money_sheet(made: Scaling) -> Sheet | None:
    """What the run and useful hours cost at each size; None if no price is given."""
    return None if made.gpu_hour_price is None else _part(made, made.records, _MONEY)


def energy_sheet(made: Scaling) -> Sheet | None:
    """The interval of least energy at each size; None if it was not asked for."""
    asked = [record for record in made.records if record.energy_interval_s is not None]
    return _part(made, asked, _ENERGY) if asked else None


def batch_sheet(made: Scaling) -> Sheet | None:
    """The global batch at each size; None if the spec gives none."""
    if made.batch is None:
        return None
    idle = {"with_one_more"} if not any(one.with_one_more for one in made.batch.records) else set()
    columns = tuple(c._replace(show=None) if c.key in idle else c for c in _BATCH)
    planned = frozenset(i for i, one in enumerate(made.batch.records) if one.gpus == made.gpus)
    return Sheet(columns, tuple(tuple(one) for one in made.batch.records), planned)


def _part(made: Scaling, shown: Sequence[ScaleRecord | Refusal], keys: tuple[str, ...]) -> Sheet:
    """Some columns of some rows; those that are empty in every row are left out."""
    known = [values(row) for row in shown]
    kept = [key for key in keys if any(row[key] is not None for row in known)]
    columns = [Column("strategy", "strategy", printable, right=False), Column("gpus", "GPUs", whole)]
    columns += [Column(key, *_SHOWN.get(key, (key, whole))) for key in kept]
    rows = tuple(tuple(row[key] for key in (*_WHO, *kept)) for row in known)
    return Sheet(tuple(columns), rows, frozenset(i for i, row in enumerate(shown) if row.gpus == made.gpus))
