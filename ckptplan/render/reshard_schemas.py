"""JSON Schemas of what ``ckptplan reshard`` prints."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import COUNT, FLAG, MAYBE, TEXT, TEXTS, TIME, WHOLE, object_of, or_null

_MAYBE_WHOLE = {"type": ["integer", "null"], "minimum": 0}
_NUMBERS = {"type": "array", "items": WHOLE}
_BOXES = {"type": "array", "items": _NUMBERS}
_ENDS = {**FLAG, "description": "a load that asks for this ends here; one that leaves it out does not"}
_WAYS = {"enum": ["wanted bytes", "whole items"]}
_WAY: dict[str, Any] = {
    "way": _WAYS,
    "total_bytes": WHOLE,
    "busiest_node_bytes": WHOLE,
    "busiest_rank_bytes": WHOLE,
    "busiest_node": WHOLE,
    "busiest_rank": WHOLE,
    "requests": {**WHOLE, "description": "runs of bytes, or stored items, of all ranks"},
    "time_s": {**MAYBE, "description": "null: no bandwidth is known [s]"},
    "binds": or_null(TEXT),
}
_BATCH = {
    "sequences": COUNT,
    "source": TEXT,
    "micro_batch": {**_MAYBE_WHOLE, "description": "of the run that saved"},
    "samples_read": {**_MAYBE_WHOLE, "description": "up to this checkpoint"},
    "replicas": {**COUNT, "description": "data-parallel ranks of the new layout"},
    "splits": {"type": "array", "items": object_of({"micro_batch": COUNT, "micro_batches": COUNT})},
    "nearest_below": _MAYBE_WHOLE,
    "nearest_above": _MAYBE_WHOLE,
}
_PATTERNS = {
    "type": "array",
    "description": "of each read [at, bytes, every, times]: `times` runs of `bytes` bytes, the first at byte `at` of "
    "the file, each next one `every` bytes further; null: the whole item is read",
    "items": {"type": ["array", "null"], "items": {"type": "array", "items": WHOLE, "minItems": 4, "maxItems": 4}},
}
_ORDER = {
    "anyOf": [{"type": "array", "items": {"anyOf": [_NUMBERS, {"type": "null"}]}}, {"type": "null"}],
    "description": "of each read, in which order its runs (or the unpacked item, where runs is null) give the elements "
    "of the box; null, of a read or of all: row by row, the last axis fastest; else the axes of the box from the "
    "slowest to the fastest: shape the elements as the lengths of these axes and transpose. Axes that are not listed "
    "have one element, or the same elements all along",
}
_COLUMNS = {
    "file": {**_NUMBERS, "description": "index in `files`"},
    "item_offset": {"type": "array", "items": _MAYBE_WHOLE},
    "item_bytes": _NUMBERS,
    "shard": {**_NUMBERS, "description": "number of the stored shard of the tensor, as inspect --shards lists them"},
    "src": {
        **_BOXES,
        "description": "where in the stored shard the box begins; one number: in a flat range of elements",
    },
    "dst": {**_BOXES, "description": "where it goes in the tensor that the rank holds"},
    "length": {**_BOXES, "description": "size of the box, in elements"},
    "bytes": _NUMBERS,
    "runs": _PATTERNS,
    "order": _ORDER,
}
_OF_RANK = object_of(
    {
        "rank": WHOLE,
        "assumed": {**or_null(TEXT), "description": "why places in files are not known, or are taken for granted"},
        "files": TEXTS,
        "keys": {**TEXTS, "description": "tensors of which the rank holds a part, or an empty one"},
        "dtypes": {**TEXTS, "description": "of each of `keys`"},
        "shapes": {**_BOXES, "description": "of each of `keys`: what the rank holds"},
        "reads": object_of({"key": {**_NUMBERS, "description": "index in `keys`"}, **_COLUMNS}),
    }
)
_TENSOR = {
    "key": TEXT,
    "dtype": TEXT,
    "shape": _NUMBERS,
    "placements": TEXTS,
    "ranks": {**_NUMBERS, "description": "that hold a part"},
    "classes": {**_NUMBERS, "description": "of these ranks; those of one class read the same"},
    "shapes": {**_BOXES, "description": "of each class: what a rank of it holds"},
    "reads": object_of({"class": _NUMBERS, **_COLUMNS}),
}
_OF_ALL = object_of(
    {"files": TEXTS, "tensors": {"type": "array", "items": object_of(_TENSOR)}, "assumed": or_null(TEXT)}
)


def reshard() -> dict[str, Any]:
    """The body of ``ckptplan.reshard/1``."""
    ranks = ("wanted_bytes", "whole_item_bytes", "items", "runs", "files")
    return object_of(
        {
            "schema": {"const": "ckptplan.reshard/1"},
            "ckptplan": TEXT,
            "path": TEXT,
            "format": {**or_null(TEXT), "description": "null: planned from a model, nothing was read"},
            "saved_by": {**or_null(TEXT), "description": "the layout that would save; null: a checkpoint on disk"},
            "step": _MAYBE_WHOLE,
            "world_size": {**_MAYBE_WHOLE, "description": "ranks that saved"},
            "layout": object_of({"text": TEXT, "shape": _NUMBERS, "names": TEXTS, "ranks": COUNT}),
            "loads": {**FLAG, "description": "false: the framework would refuse it, see not_carried; exit code 3"},
            "loads_as_saved": {
                **FLAG,
                "description": "false: a load of everything as it was saved ends, see `ends` in not_carried, or the "
                "framework would refuse it; exit code 3",
            },
            "without": {**TEXTS, "description": "kinds of state that are left out of the load"},
            "ways": {"type": "array", "items": object_of(_WAY)},
            "usual_way": {**_WAYS, "description": "of the usual loader of the format"},
            "requests_exact": {**FLAG, "description": "false: shards are taken to be stored row by row"},
            "gpus_per_node": COUNT,
            "restart_line": {**or_null(TEXT), "description": "to paste into a spec"},
            "files_opened": {**WHOLE, "description": "sum over ranks"},
            "distinct_files": WHOLE,
            "ranks": object_of({name: {**_NUMBERS, "description": "one number for each new rank"} for name in ranks}),
            "not_carried": {
                "type": "array",
                "items": object_of({"state": TEXT, "message": TEXT, "remedy": TEXT, "refuses": FLAG, "ends": _ENDS}),
            },
            "batch": {"anyOf": [object_of(_BATCH), {"type": "null"}]},
            "left_out": object_of({"tensors": WHOLE, "first": TEXTS}),
            "remarks": TEXTS,
            "reads": {
                "anyOf": [_OF_RANK, _OF_ALL, {"type": "null"}],
                "description": "of one rank with --rank, of all with --reads, else null",
            },
        }
    )


def extraction() -> dict[str, Any]:
    """The body of ``ckptplan.extraction/1``."""
    tensor = {"key": TEXT, "kind": TEXT, "dtype": TEXT, "shape": _NUMBERS, "size_bytes": WHOLE}
    pair = {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}
    return object_of(
        {
            "schema": {"const": "ckptplan.extraction/1"},
            "ckptplan": TEXT,
            "path": TEXT,
            "format": TEXT,
            "step": _MAYBE_WHOLE,
            "output": TEXT,
            "size_bytes": {**TIME, "description": "of the elements [bytes]"},
            "tensors": {"type": "array", "items": object_of(tensor)},
            "checksums": object_of(
                {
                    "files_compared": {**WHOLE, "description": "whose records are what their CRC-32 says"},
                    "files_without": {**TEXTS, "description": "endings of the names of files that have no checksums"},
                }
            ),
            "shared": {"type": "array", "items": pair, "description": "tied tensors: both are written"},
        }
    )
