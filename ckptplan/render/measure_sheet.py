"""Measurements as sheets and as JSON: of storage, of a save, and of the results of benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ckptplan import __version__
from ckptplan.errors import printable
from ckptplan.measure.figures import StorageFigures
from ckptplan.measure.phases import Phase, flags
from ckptplan.measure.repeats import Repeats
from ckptplan.measure.saving import SavingMeasured
from ckptplan.measure.storage import StorageMeasured
from ckptplan.render.measure_block import Block, imported_block
from ckptplan.render.numbers import hundredths, whole
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_rate, format_size, format_time


def _yes_or_no(value: bool | None) -> str:
    return "-" if value is None else "yes" if value else "no"


def _spread_columns(unit: str, show: Callable[[Any], str]) -> tuple[Column, ...]:
    return (
        Column(f"mean_{unit}", "mean", show),
        Column(f"sd_{unit}", "sd", show),
        Column(f"min_{unit}", "least", show),
        Column(f"max_{unit}", "most", show),
        Column("cv", "cv %", hundredths),
        Column("count", "values", whole),
    )


_STORAGE = (
    Column("figure", "figure", right=False),
    Column("of", "whose", right=False),
    *_spread_columns("bytes_per_s", format_rate),
)
_SAVING = (
    Column("figure", "figure", right=False),
    Column("unit", show=None),
    Column("mean", "measured"),
    Column("sd", "sd"),
    Column("min", "least"),
    Column("max", "most"),
    Column("forecast", "forecast"),
    Column("difference", "difference %"),
    Column("spec", "the spec says"),
)
_PHASES = (
    Column("file", "file", printable, right=False),
    Column("tool", "by", printable, right=False),
    Column("name", "job", printable, right=False),
    Column("access", "access", right=False),
    Column("writers", "writers", whole),
    Column("nodes", "nodes", whole),
    Column("size_bytes", "bytes", format_size),
    Column("seconds", "time", format_time),
    Column("rate_bytes_per_s", "rate", format_rate),
    Column("cv", "cv %", hundredths),
    Column("synced", "flushed", _yes_or_no),
    Column("direct", "direct", _yes_or_no),
    Column("stands", "stands", _yes_or_no),
)


def storage_sheet(found: StorageMeasured) -> Sheet:
    """One row per figure: sustained, burst and read, of the node and of one writer, which is the node over all."""
    count = found.setting.writers
    rows = []
    for name, repeats in (("sustained write", found.sustained), ("burst write", found.burst), ("read", found.read)):
        if repeats is not None:
            rows.append((name, "node", *_spread(repeats)))
            rows.append((name, "writer", *_spread(Repeats(tuple(value / count for value in repeats.values)))))
    return Sheet(_STORAGE, tuple(rows))


def _spread(repeats: Repeats) -> tuple[float | int | None, ...]:
    return (repeats.mean, repeats.sd, repeats.least, repeats.most, repeats.cv, len(repeats.values))


def storage_document(found: StorageMeasured, block: Block) -> dict[str, Any]:
    """``ckptplan.storage/1``."""
    return {
        "schema": "ckptplan.storage/1",
        "ckptplan": __version__,
        "folder": printable(found.folder),
        "by": found.by,
        "file_system": {**found.file_system._asdict(), "is_memory": found.file_system.is_memory},
        "memory": found.memory._asdict(),
        "setting": _setting(found),
        "seconds": list(found.seconds.values),
        "figures": storage_sheet(found).records(),
        "page_cache": None if found.past is None else found.past.name.lower(),
        "storage": _keys(block),
        "block": block.text,
        "notes": list(found.notes),
    }


def _setting(found: StorageMeasured | SavingMeasured) -> dict[str, Any]:
    setting = found.setting
    return {
        "writers": setting.writers,
        "size_bytes": setting.size_bytes,
        "block_bytes": setting.block_bytes,
        "repeats": setting.repeats,
        "direct": setting.direct,
    }


def _keys(block: Block) -> dict[str, Any]:
    return {key: {"bytes_per_s": one.bytes_per_s, "cv": one.cv} for key, one in block.keys.items()}


def saving_rows(found: SavingMeasured, spec: dict[str, float | None]) -> list[dict[str, Any]]:
    """Stall, flush and speed: measured, by the formulas of a plan, and what a spec says."""
    cases: tuple[tuple[str, str, Repeats | None, float | None], ...] = (
        ("stall", "s", found.stall, found.forecast.stall_s),
        ("flush", "s", found.flush, found.forecast.flush_s),
        ("training_speed_while_flushing", "1", found.speed, None),
        ("copy_bandwidth", "bytes/s", found.copy, None),
        ("write_bandwidth_per_node", "bytes/s", found.write, None),
        ("step_outside", "s", found.step_outside, None),
        ("step_while_flushing", "s", found.step_beside if found.step_beside.values else None, None),
    )
    return [
        {
            "figure": figure,
            "unit": unit,
            "mean": None if repeats is None else repeats.mean,
            "sd": None if repeats is None else repeats.sd,
            "min": None if repeats is None else repeats.least,
            "max": None if repeats is None else repeats.most,
            "forecast": forecast,
            "difference": None if repeats is None or not forecast else repeats.mean / forecast - 1.0,
            "spec": spec.get(figure),
        }
        for figure, unit, repeats, forecast in cases
    ]


def saving_sheet(found: SavingMeasured, spec: dict[str, float | None]) -> Sheet:
    """The same as a sheet, the numbers as people read them where they are shown."""
    rows = saving_rows(found, spec)
    columns = tuple(c if c.show is None else c._replace(show=str) for c in _SAVING)
    return Sheet(columns, tuple(tuple(row[c.key] for c in _SAVING) for row in rows))


def shown_saving_sheet(found: SavingMeasured, spec: dict[str, float | None]) -> Sheet:
    """The same for people: every number in its unit."""
    shows = {"s": format_time, "bytes/s": format_rate, "1": lambda value: "-" if value is None else f"{value:.4g}"}
    rows = []
    for row in saving_rows(found, spec):
        if row["mean"] is None and row["spec"] is None:
            continue  # of what is not known there is nothing to show; a note says why
        show: Callable[[Any], str] = shows[row["unit"]]
        cells = {key: show(row[key]) for key in ("mean", "sd", "min", "max", "forecast", "spec")}
        difference = "-" if row["difference"] is None else f"{100 * row['difference']:+.1f}"
        name = row["figure"].replace("_", " ")
        rows.append(tuple({**row, **cells, "figure": name, "difference": difference}[c.key] for c in _SAVING))
    return Sheet(_SAVING, tuple(rows))


def saving_document(found: SavingMeasured, spec: dict[str, float | None], block: str, planned: float) -> dict[str, Any]:
    """``ckptplan.saving/1``."""
    return {
        "schema": "ckptplan.saving/1",
        "ckptplan": __version__,
        "folder": printable(found.folder),
        "device": printable(found.device),
        "is_gpu": found.is_gpu,
        "file_system": {**found.file_system._asdict(), "is_memory": found.file_system.is_memory},
        "memory": found.memory._asdict(),
        "setting": _setting(found),
        "planned_size_bytes": planned,
        "figures": saving_rows(found, spec),
        "block": block,
        "notes": list(found.notes),
    }


def phase_sheet(found: StorageFigures) -> Sheet:
    """One row per phase of every file."""
    rows = [_phase(one.file, phase) for one in found.files for phase in one.phases]
    return Sheet(_PHASES, tuple(tuple(row[c.key] for c in _PHASES) for row in rows))


def _phase(file: str, phase: Phase) -> dict[str, Any]:
    return {
        "file": printable(file),
        "tool": phase.tool,
        "name": phase.name,
        "access": phase.access,
        "writers": phase.writers,
        "nodes": phase.nodes,
        "size_bytes": phase.bytes_,
        "seconds": phase.seconds,
        "rate_bytes_per_s": phase.rate_bytes_per_s if phase.rates_bytes_per_s else None,
        "cv": phase.spread_cv,
        "synced": phase.synced,
        "direct": phase.direct,
        "stands": phase.is_sure,
    }


def benchmark_document(found: StorageFigures) -> dict[str, Any]:
    """``ckptplan.benchmarks/1``."""
    block = imported_block(found)
    return {
        "schema": "ckptplan.benchmarks/1",
        "ckptplan": __version__,
        "phases": [
            {**_phase(one.file, phase), "flags": list(flags(phase))} for one in found.files for phase in one.phases
        ],
        "storage": _keys(block),
        "block": block.text,
        "warnings": list(found.warnings),
    }
