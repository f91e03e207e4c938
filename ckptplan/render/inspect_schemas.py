"""The JSON Schema of what ``ckptplan inspect`` prints."""

from __future__ import annotations

from typing import Any

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format
from ckptplan.render.schema_parts import TEXT, TEXTS, TIME, object_of, or_null

BYTES = {"type": "integer", "minimum": 0}
_PLACE = {"type": ["integer", "null"], "description": "a place in the file [bytes]; null: known once the item is read"}
_INTS = {"type": "array", "items": {"type": "integer"}}
_TABLE = {"type": "array", "items": _INTS}
_FLAG = {"type": "boolean"}
_KIND = {"enum": [str(kind) for kind in StateKind]}
_RANK = {"type": ["integer", "null"], "minimum": 0, "description": "the rank whose own it is"}

FAULT = object_of(
    {
        "flaw": {"enum": [str(flaw) for flaw in Flaw]},
        "message": TEXT,
        "file": or_null(TEXT),
        "key": or_null(TEXT),
        "hint": or_null(TEXT),
    }
)
_TOTAL = {
    "kind": _KIND,
    "tensors": BYTES,
    "objects": BYTES,
    "logical_bytes": {**BYTES, "description": "of the tensors, each counted once [bytes]"},
    "bytes_per_parameter": or_null(TIME),
    "stored_bytes": {**BYTES, "description": "what its items take in the files, shared ones once [bytes]"},
    "dtypes": TEXTS,
}
_TENSOR = {
    "key": TEXT,
    "kind": _KIND,
    "dtype": TEXT,
    "shape": _INTS,
    "shards": BYTES,
    "logical_bytes": BYTES,
    "stored_bytes": BYTES,
    "parameter": {**or_null(TEXT), "description": "key of the parameter that this state belongs to"},
    "rank": _RANK,
}
_OBJECT = {
    "key": TEXT,
    "kind": _KIND,
    "type": or_null(TEXT),
    "file": or_null(TEXT),
    "item_offset": {"type": "integer", "description": "-1: no item of its own [bytes]"},
    "item_bytes": BYTES,
    "rank": _RANK,
}
_SHARDS = {
    "key": TEXT,
    "flat": {**_FLAG, "description": "boxes are ranges of elements in row-major order"},
    "offsets": {**_TABLE, "description": "first element of each box along each axis"},
    "sizes": _TABLE,
    "files": {**_INTS, "description": "indices of files; -1: stored nowhere"},
    "item_offsets": _INTS,
    "item_bytes": _INTS,
    "data_offsets": {"type": "array", "items": _PLACE},
}
_FILE = {"name": TEXT, "size_bytes": BYTES, "rank": _RANK, "referenced": _FLAG, "holds": TEXT}


def _listed(items: dict[str, Any], option: str) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": items, "description": f"null without {option}"}


def manifest() -> dict[str, Any]:
    """The body of ``ckptplan.manifest/1``."""
    return object_of(
        {
            "schema": {"const": "ckptplan.manifest/1"},
            "ckptplan": TEXT,
            "path": TEXT,
            "format": {"enum": [str(name) for name in Format]},
            "producer": or_null(TEXT),
            "committed": _FLAG,
            "step": {"type": ["integer", "null"]},
            "world_size": {"type": ["integer", "null"], "minimum": 1},
            "mesh": {"anyOf": [object_of({"shape": _INTS, "names": TEXTS}), {"type": "null"}]},
            "writer_ranks": _INTS,
            "parameters": BYTES,
            "logical_bytes": BYTES,
            "shared_tensors": {**BYTES, "description": "tensors that lie where another lies: tied, stored once"},
            "shared_bytes": {**BYTES, "description": "of logical_bytes, what such tensors take again [bytes]"},
            "file_bytes": BYTES,
            "kinds": {"type": "array", "items": object_of(_TOTAL)},
            "elsewhere": {"type": "array", "items": object_of({"kind": _KIND, "where": TEXT})},
            "cuttings": {
                "type": "array",
                "items": object_of({"axes": _INTS, "pieces": _INTS, "flat": _FLAG, "tensors": BYTES}),
            },
            "tensors": _listed(object_of(_TENSOR), "--tensors"),
            "objects": _listed(object_of(_OBJECT), "--tensors"),
            "shards": _listed(object_of(_SHARDS), "--shards"),
            "files": _listed(object_of(_FILE), "--files or --shards"),
            "faults": {"type": "array", "items": FAULT},
            "remarks": TEXTS,
        }
    )
