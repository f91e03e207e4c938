"""JSON Schemas of what ``ckptplan measure`` prints."""

from __future__ import annotations

from typing import Any

from ckptplan.render.schema_parts import COUNT, MAYBE, NUMBER, TEXT, TEXTS, TIME, object_of, or_null

_FLAG = {"type": "boolean"}
_MAYBE_COUNT = {**COUNT, "type": ["integer", "null"]}
_FILE_SYSTEM = object_of({"kind": TEXT, "source": TEXT, "mount": TEXT, "is_memory": _FLAG})
_MEMORY = object_of(
    {
        "total_bytes": or_null(TIME),
        "available_bytes": or_null(TIME),
        "dirty_limit_bytes": {**or_null(TIME), "description": "what the page cache holds unwritten at most"},
    }
)
_SETTING = object_of(
    {
        "writers": COUNT,
        "size_bytes": {**COUNT, "description": "by each writer, as it was written"},
        "block_bytes": COUNT,
        "repeats": COUNT,
        "direct": {**_FLAG, "description": "past the page cache"},
    }
)
_KEYS = {
    "type": "object",
    "description": "keys of storage, as the block has them",
    "additionalProperties": object_of({"bytes_per_s": TIME, "cv": {**MAYBE, "description": "sd over mean"}}),
}
_BLOCK = {**TEXT, "description": "YAML to paste; empty if nothing is known"}


def storage() -> dict[str, Any]:
    """The body of ``ckptplan.storage/1``."""
    figure = {
        "figure": {"enum": ["sustained write", "burst write", "read"]},
        "of": {"enum": ["node", "writer"], "description": "writer: the rate of the node over its writers"},
        "mean_bytes_per_s": TIME,
        "sd_bytes_per_s": {**or_null(TIME), "description": "null: measured once"},
        "min_bytes_per_s": TIME,
        "max_bytes_per_s": TIME,
        "cv": or_null(TIME),
        "count": COUNT,
    }
    caches = ["dropped", "direct", "invalidated", "dropped_all", "cache", None]
    return object_of(
        {
            "schema": {"const": "ckptplan.storage/1"},
            "ckptplan": TEXT,
            "folder": TEXT,
            "by": {**TEXT, "description": "the program that wrote"},
            "file_system": _FILE_SYSTEM,
            "memory": _MEMORY,
            "setting": _SETTING,
            "seconds": {"type": "array", "items": TIME, "description": "of each repetition, its slowest writer [s]"},
            "figures": {"type": "array", "items": object_of(figure), "minItems": 2},
            "page_cache": {"enum": caches, "description": "how it was kept out of reading; null: nothing was read"},
            "storage": _KEYS,
            "block": _BLOCK,
            "notes": TEXTS,
        }
    )


def saving() -> dict[str, Any]:
    """The body of ``ckptplan.saving/1``."""
    figure = {
        "figure": TEXT,
        "unit": {"enum": ["s", "bytes/s", "1"]},
        **{name: or_null(TIME) for name in ("mean", "sd", "min", "max")},
        "forecast": {**or_null(TIME), "description": "by the formulas of a plan, from rates measured alone"},
        "difference": {**or_null(NUMBER), "description": "measured over forecast, less 1"},
        "spec": {**or_null(TIME), "description": "what the plan of --spec has; null: no spec, or not asynchronous"},
    }
    return object_of(
        {
            "schema": {"const": "ckptplan.saving/1"},
            "ckptplan": TEXT,
            "folder": TEXT,
            "device": TEXT,
            "is_gpu": _FLAG,
            "file_system": _FILE_SYSTEM,
            "memory": _MEMORY,
            "setting": _SETTING,
            "planned_size_bytes": {**TIME, "description": "by each writer; the times of the block are scaled to it"},
            "figures": {"type": "array", "items": object_of(figure)},
            "block": _BLOCK,
            "notes": TEXTS,
        }
    )


def benchmarks() -> dict[str, Any]:
    """The body of ``ckptplan.benchmarks/1``."""
    phase = {
        "file": TEXT,
        "tool": {"enum": ["fio", "IOR", "elbencho", "DLIO", "ckptplan"]},
        "name": TEXT,
        "access": {"enum": ["write", "read"]},
        "writers": _MAYBE_COUNT,
        "nodes": _MAYBE_COUNT,
        "size_bytes": or_null(TIME),
        "seconds": or_null(TIME),
        "rate_bytes_per_s": {**or_null(TIME), "description": "all bytes over the time of the slowest writer"},
        "cv": or_null(TIME),
        "synced": {"type": ["boolean", "null"], "description": "flushed within the time; null: not said"},
        "direct": {"type": ["boolean", "null"], "description": "past the page cache; null: not said"},
        "stands": {**_FLAG, "description": "it is known to be a rate of storage, not of memory"},
        "flags": TEXTS,
    }
    return object_of(
        {
            "schema": {"const": "ckptplan.benchmarks/1"},
            "ckptplan": TEXT,
            "phases": {"type": "array", "items": object_of(phase), "minItems": 1},
            "storage": _KEYS,
            "block": _BLOCK,
            "warnings": TEXTS,
        }
    )
