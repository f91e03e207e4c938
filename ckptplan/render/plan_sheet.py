"""The goodput table: one row per record of a plan. One list of columns serves table, CSV, JSON and Markdown."""

from __future__ import annotations

from ckptplan.plan.record import Plan, Record
from ckptplan.plan.status import OK
from ckptplan.render.numbers import hundredths, seconds, whole
from ckptplan.render.sheet import Column, Sheet, plain
from ckptplan.units import format_time

_COLUMNS = (
    Column("spec", show=None),
    Column("strategy", "strategy", right=False),
    Column("method", "method", right=False),
    Column("given", show=None),
    Column("asked_interval_s", show=None),
    Column("gpus", "GPUs", whole),
    Column("mtbf_s", "MTBF", format_time),
    Column("restart_total_s", show=None),
    Column("stall_s", "stall", seconds),
    Column("flush_s", "flush", seconds),
    Column("effective_stall_s", "effective", seconds),
    Column("interval_floor_s", show=None),
    Column("interval_s", "interval", seconds),
    Column("interval_steps", "steps", whole),
    Column("save_fraction", "save %", hundredths),
    Column("rework_fraction", "rework %", hundredths),
    Column("restart_fraction", "restart %", hundredths),
    Column("slow_fraction", "slow %", hundredths),
    Column("waiting_fraction", "waiting %", hundredths),
    Column("overhead", show=None),
    Column("goodput", "goodput %", hundredths),
    Column("goodput_exact", "exact %", hundredths),
    Column("goodput_steps", show=None),
    Column("lost_goodput", "lost %", hundredths),
    Column("lost_gpu_hours", show=None),
    Column("lost_money", show=None),
    Column("status", show=None),
)


def plan_sheet(plan: Plan) -> Sheet:
    """Every record of a plan under the machine names."""
    rows = tuple(tuple(_raw(plan, record, column.key) for column in _COLUMNS) for record in plan.records)
    return Sheet(_COLUMNS, rows)


def _raw(plan: Plan, record: Record, key: str) -> object:
    return plan.name if key == "spec" else getattr(record, key)


def reading_sheet(plan: Plan) -> tuple[Sheet, tuple[str, ...]]:
    """The sheet as people read it, and its footnotes: columns that say nothing here are left out."""
    notes = tuple(dict.fromkeys(r.status for r in plan.records if r.status != OK))
    hidden = _idle_columns(plan)
    columns = [c._replace(show=None) if c.key in hidden else c for c in _COLUMNS]
    at = {column.key: number for number, column in enumerate(columns)}
    columns[at["status"]] = Column("status", "note", plain, right=False)
    rows = []
    for record in plan.records:
        row = [_raw(plan, record, column.key) for column in columns]
        row[at["method"]] = f"{record.method}, given" if record.given else record.method
        row[at["status"]] = f"[{notes.index(record.status) + 1}]" if record.status in notes else ""
        rows.append(tuple(row))
    if not notes:
        columns[at["status"]] = columns[at["status"]]._replace(show=None)
    best = frozenset(i for i, record in enumerate(plan.records) if plan.is_best(record))
    return Sheet(tuple(columns), tuple(rows), best), notes


def _idle_columns(plan: Plan) -> set[str]:
    records = plan.records
    idle = set()
    if len(plan.scales) == 1:
        idle |= {"gpus", "mtbf_s"}
    if all(record.effective_stall_s == record.stall_s for record in records):
        idle |= {"flush_s", "effective_stall_s"}  # a flush that slows nothing stands under "What binds"
    for share in ("slow_fraction", "waiting_fraction"):
        if all(getattr(record, share) == 0.0 for record in records):
            idle |= {share}
    if plan.step_time_s is None:
        idle |= {"interval_steps"}
    if all(record.goodput is not None and abs(record.goodput - record.goodput_exact) < 1e-9 for record in records):
        idle |= {"goodput_exact"}
    if not any(record.given for record in records):
        idle |= {"lost_goodput"}
    return idle
