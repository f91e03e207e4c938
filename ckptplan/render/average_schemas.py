"""The JSON Schema of what ``ckptplan average`` prints."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.average.averaging import Checksums
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format
from ckptplan.render.schema_parts import MAYBE, SHARE, TEXT, TEXTS, TIME, WHOLE, object_of, or_null

_CHECKPOINT = {
    "checkpoint": TEXT,
    "format": {"enum": [str(name) for name in Format]},
    "step": {"type": ["integer", "null"], "description": "null: not known"},
    "weight": SHARE,
    "learning_rate": {**or_null(TIME), "description": "highest of its groups of parameters; null: not known"},
    "peak_learning_rate": {**or_null(TIME), "description": "that the schedule decays from"},
    "share_of_peak": or_null(TIME),
    "relative_move": {**or_null(TIME), "description": "distance from the one before, over the norm of the first"},
    "cosine": {**MAYBE, "minimum": -1, "maximum": 1, "description": "between this move and the one before"},
    "relative_distance": {**or_null(TIME), "description": "from the first, over its norm"},
}
_TENSOR = {
    "name": TEXT,
    "kind": {"enum": [str(kind) for kind in StateKind]},
    "stored": {**TEXT, "description": "type of what was read"},
    "dtype": {**TEXT, "description": "type in the result"},
    "shape": {"type": "array", "items": WHOLE},
    "size_bytes": WHOLE,
    "made": {"enum": ["mean", "mean of masters", "from the last", "the same in all"]},
    "relative_displacement": {**or_null(TIME), "description": "from the first to the last, over the norm of the first"},
    "not_finite": {**WHOLE, "description": "numbers that are infinite or NaN, of all checkpoints"},
    "nan": {**WHOLE, "description": "NaN in the result"},
    "infinite": {**WHOLE, "description": "infinities in the result"},
}


def average() -> dict[str, Any]:
    """The body of ``ckptplan.average/1``."""
    return object_of(
        {
            "schema": {"const": "ckptplan.average/1"},
            "ckptplan": TEXT,
            "written": {**or_null(TEXT), "description": "null: --dry-run"},
            "files": TEXTS,
            "checksums": {
                "enum": [str(one) for one in Checksums],
                "description": "beside the data that was averaged; compared: all of them fit (--crc)",
            },
            "size_bytes": {**WHOLE, "description": "of the tensors of the result [bytes]"},
            "weighting": {"enum": ["uniform", "given", "exponential"]},
            "checkpoints": {"type": "array", "items": object_of(_CHECKPOINT), "minItems": 2},
            "norm": {**or_null(TIME), "description": "of what is averaged, in the first checkpoint"},
            "distances": {"type": "array", "items": {"type": "array", "items": or_null(TIME)}},
            "displacement": {**or_null(TIME), "description": "from the first to the last"},
            "relative_displacement": {**or_null(TIME), "description": "over the norm"},
            "path": {**or_null(TIME), "description": "from each to the next, summed"},
            "wandering": {**or_null(TIME), "description": "path over displacement: 1 on a straight line"},
            "spread": {**or_null(TIME), "description": "root mean square distance from the mean"},
            "lag": {**or_null(TIME), "description": "from the mean to the last"},
            "tensors": {"type": "array", "items": object_of(_TENSOR)},
            "facts": TEXTS,
            "warnings": TEXTS,
        }
    )
