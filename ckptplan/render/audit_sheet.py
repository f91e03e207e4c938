"""Sheets and documents of ``ckptplan audit``: one checkpoint, or all of a run."""

from __future__ import annotations

from typing import Any

from ckptplan import __version__
from ckptplan.checkpoint.audit.auditing import verdict
from ckptplan.checkpoint.audit.findings import Audit, Need, Standing, State
from ckptplan.checkpoint.audit.runs import RunAudit, step_of
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.render.inspect_sheet import fault_record
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size


def _size(value: int) -> str:
    return format_size(value) if value else "-"


def _needed(value: str) -> str:
    return "-" if value == Need.NONE else value


_STATES = (
    Column("path", show=None),
    Column("kind", "state", str, right=False),
    Column("standing", "is", str, right=False),
    Column("need", "needed by", _needed, right=False),
    Column("required", show=None),
    Column("allowed", show=None),
    Column("tensors", show=None),
    Column("objects", show=None),
    Column("logical_bytes", "size", _size),
    Column("stored_bytes", "stored", _size),
    Column("detail", show=None),
    Column("loss", show=None),
    Column("carried_over", show=None),
    Column("safe_to_lose_on_other_ranks", show=None),
    Column("on_other_ranks", show=None),
)
_RUN = (
    Column("path", show=None),
    Column("step", "step", lambda value: "-" if value is None else f"{value:,}"),
    Column("name", "checkpoint", str, right=False),
    Column("usable", show=None),
    Column("whole", show=None),
    Column("complete", show=None),
    Column("verdict", "", str, right=False),
)


def state_sheet(found: Audit) -> Sheet:
    """One row per kind of state; what is asked for and not all there is stressed."""
    unusual = (StateKind.EMA, StateKind.OTHER)
    shown = [s for s in found.states if s.kind not in unusual or s.standing is not Standing.ABSENT]
    rows = tuple((str(found.path), *_state(state).values()) for state in shown)
    missing = frozenset(number for number, state in enumerate(shown) if state.missing)
    return Sheet(_STATES, rows, missing)


def _state(state: State) -> dict[str, Any]:
    return {
        "kind": str(state.kind),
        "standing": str(state.standing),
        "need": str(state.need),
        "required": state.required,
        "allowed": state.allowed,
        "tensors": state.tensors,
        "objects": state.objects,
        "logical_bytes": state.logical_bytes,
        "stored_bytes": state.stored_bytes,
        "detail": state.detail,
        "loss": state.loss,
        "carried_over": state.other_ranks.carried,
        "safe_to_lose_on_other_ranks": state.other_ranks.safe_to_lose,
        "on_other_ranks": state.other_ranks.message,
    }


def run_sheet(run: RunAudit) -> Sheet:
    """One row per checkpoint, the newest first; the one to go on from is stressed."""
    rows = tuple(
        (str(one.path), step_of(one), name_of(one, run), one.usable, one.whole, one.complete, verdict(one))
        for one in run.audits
    )
    return Sheet(_RUN, rows, frozenset(number for number, one in enumerate(run.audits) if one is run.best))


def name_of(found: Audit, run: RunAudit) -> str:
    """A checkpoint by its place in the folder of the run."""
    inside = found.path != run.root and run.root in found.path.parents
    return str(found.path.relative_to(run.root)) if inside else str(found.path)


def audit_document(found: Audit) -> dict[str, Any]:
    """The JSON document ``ckptplan.audit/1``."""
    return {"schema": "ckptplan.audit/1", "ckptplan": __version__, **_audit(found)}


def _audit(found: Audit) -> dict[str, Any]:
    manifest = found.manifest
    return {
        "path": str(found.path),
        "format": None if manifest is None else str(manifest.format),
        "step": step_of(found),
        "world_size": None if manifest is None else manifest.world_size,
        "verdict": verdict(found),
        "usable": found.usable,
        "whole": found.whole,
        "complete": found.complete,
        "missing": [str(state.kind) for state in found.missing],
        "allowed": [str(state.kind) for state in found.allowed],
        "depth": str(found.depth),
        "states": [{**_state(state), "ranks": list(state.ranks), "of_ranks": state.of} for state in found.states],
        "faults": [fault_record(fault) for fault in found.faults],
        "more_faults": found.more_faults,
        "leftovers": list(found.leftovers),
        "leftover_bytes": found.leftover_bytes,
        "notes": list(found.notes),
    }


def run_document(run: RunAudit) -> dict[str, Any]:
    """The JSON document ``ckptplan.audits/1``."""
    return {
        "schema": "ckptplan.audits/1",
        "ckptplan": __version__,
        "path": str(run.root),
        "resume_from": None if run.best is None else str(run.best.path),
        "step": None if run.best is None else step_of(run.best),
        "checkpoints": [_audit(one) for one in run.audits],
        "pointers": [pointer._asdict() for pointer in run.pointers],
    }
