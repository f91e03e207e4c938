"""JSON Schemas of what ``ckptplan audit`` prints."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.audit.findings import Depth, Need, Standing
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format
from ckptplan.render.inspect_schemas import BYTES, FAULT
from ckptplan.render.schema_parts import TEXT, TEXTS, object_of, or_null

_FLAG = {"type": "boolean"}
_STEP = {"type": ["integer", "null"]}
_KIND = {"enum": [str(kind) for kind in StateKind]}
_STATE = {
    "kind": _KIND,
    "standing": {"enum": [str(one) for one in Standing]},
    "need": {"enum": [str(one) for one in Need], "description": "which runs need it"},
    "required": {**_FLAG, "description": "by this audit, see --require and --allow"},
    "allowed": {**_FLAG, "description": "every run needs it, it is not all there, and --allow goes on without it"},
    "tensors": BYTES,
    "objects": BYTES,
    "logical_bytes": BYTES,
    "stored_bytes": BYTES,
    "detail": {**TEXT, "description": "where it is, for which ranks or parameters, why it cannot be read"},
    "loss": {**TEXT, "description": "what going on without it costs"},
    "carried_over": {**_FLAG, "description": "what is saved can be used on another number of ranks"},
    "safe_to_lose_on_other_ranks": _FLAG,
    "on_other_ranks": TEXT,
    "ranks": {"type": "array", "items": {"type": "integer"}, "description": "that saved theirs, if each has its own"},
    "of_ranks": {"type": ["integer", "null"], "description": "that should have"},
}
_AUDIT = {
    "path": TEXT,
    "format": {"enum": [*(str(name) for name in Format), None]},
    "step": _STEP,
    "world_size": _STEP,
    "verdict": {**TEXT, "description": "one sentence for people"},
    "usable": {**_FLAG, "description": "whole and complete: the exit code is 0"},
    "whole": _FLAG,
    "complete": {**_FLAG, "description": "holds all that this audit requires"},
    "missing": {"type": "array", "items": _KIND},
    "allowed": {"type": "array", "items": _KIND, "description": "not all there, and gone on without: see --allow"},
    "depth": {"enum": [str(one) for one in Depth], "description": "how far down it was looked into"},
    "states": {"type": "array", "items": object_of(_STATE)},
    "faults": {"type": "array", "items": FAULT, "description": "the gravest first"},
    "more_faults": {**BYTES, "description": "beyond those listed"},
    "leftovers": {**TEXTS, "description": "files that nothing in the checkpoint refers to"},
    "leftover_bytes": BYTES,
    "notes": TEXTS,
}


def audit() -> dict[str, Any]:
    """The body of ``ckptplan.audit/1``."""
    return object_of({"schema": {"const": "ckptplan.audit/1"}, "ckptplan": TEXT, **_AUDIT})


def audits() -> dict[str, Any]:
    """The body of ``ckptplan.audits/1``."""
    pointer = {"file": TEXT, "target": TEXT, "message": {**TEXT, "description": "empty: it points to a usable one"}}
    return object_of(
        {
            "schema": {"const": "ckptplan.audits/1"},
            "ckptplan": TEXT,
            "path": TEXT,
            "resume_from": or_null(TEXT),
            "step": _STEP,
            "checkpoints": {"type": "array", "items": object_of(_AUDIT), "description": "the newest first"},
            "pointers": {"type": "array", "items": object_of(pointer)},
        }
    )
