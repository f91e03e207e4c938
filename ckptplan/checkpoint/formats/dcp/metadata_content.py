"""The fields of a Metadata object, checked one by one and freed of their classes."""

from __future__ import annotations

from typing import Any, NamedTuple

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.formats.dcp.metadata_names import BYTES, METADATA, PROPERTIES, TENSOR
from ckptplan.checkpoint.formats.dcp.metadata_tables import (
    ChunkRows,
    Chunks,
    Numbering,
    Storage,
    StorageRows,
    Unreadable,
    described,
    lengths,
    state_of,
)
from ckptplan.checkpoint.formats.dcp.metadata_types import Path
from ckptplan.checkpoint.formats.dcp.records_columns import Columns
from ckptplan.checkpoint.formats.dcp.records_machine import Run
from ckptplan.checkpoint.pickles.values import Built, Global


class Header(NamedTuple):
    """One tensor without its chunks; those are rows ``first`` to ``last`` of the table of its number of axes."""

    key: str
    dtype: str
    shape: tuple[int, ...]
    first: int
    last: int


class Content(NamedTuple):
    """A Metadata object in parts."""

    tensors: list[Header]
    objects: list[str]
    chunks: dict[int, Chunks]  # by number of axes
    storage: dict[int, Storage]  # by number of axes of the offset
    names: Numbering  # of tensors and objects, those that are listed first
    listed: int  # so many
    files: tuple[str, ...]
    packings: tuple[str, ...]
    paths: dict[str, Path] | None
    version: str | None
    has_local_plans: bool


def content_of(value: Any, columns: Columns | None = None) -> Content:
    """The parts of what a metadata file holds; ``columns`` has those of runs, where there may be some."""
    state = state_of(value, (METADATA,), "the file")
    entries = _mapping(state, "state_dict_metadata")
    names = Numbering()
    tensors, objects, rows = [], [], ChunkRows()
    for key, entry in entries.items():
        if type(key) is not str:
            raise Unreadable(f"a key of state_dict_metadata is {described(key)}, no text")
        names(key)
        if isinstance(entry, Built) and entry.call == BYTES:
            objects.append(key)
        else:
            tensors.append(_header(key, entry, rows, columns))
    listed = len(entries)
    files, packings = Numbering(), Numbering(("",))
    stored = StorageRows(names, files, packings)
    _add_entries(_mapping(state, "storage_data"), stored, columns)
    return Content(
        tensors, objects, rows.tables(), stored.tables(), names, listed, files.texts(), packings.texts(),
        _paths(state.get("planner_data")), _version(state.get("version")), "all_local_plans" in state,
    )  # fmt: skip


def _add_entries(entries: dict[Any, Any], stored: StorageRows, columns: Columns | None) -> None:
    runs = []
    for index, info in entries.items():
        if columns is not None and isinstance(index, Run):
            runs.append(index)
        else:
            stored.add(index, info)
    if columns is not None:
        stored.add_pieces(columns.storage(runs, *stored.numberings))


def _mapping(state: dict[str, Any], field: str) -> dict[Any, Any]:
    found = state.get(field)
    if not isinstance(found, dict):
        raise Unreadable(f"{field} is {described(found)}, no dict")
    return found


def _header(key: str, entry: Any, rows: ChunkRows, columns: Columns | None) -> Header:
    what = f"the entry of {key!r}"
    state = state_of(entry, (TENSOR,), what)
    shape = lengths(state.get("size"), f"the shape of {key!r}")
    if min(shape, default=0) < 0:
        raise Unreadable(f"the shape of {key!r} is {shape}")
    chunks = state.get("chunks")
    if not isinstance(chunks, list):
        raise Unreadable(f"chunks of {key!r} are {described(chunks)}, no list")
    first = rows.number(len(shape))
    for chunk in chunks:
        if columns is not None and isinstance(chunk, Run):
            rows.add_piece(columns.chunks(chunk, len(shape)), len(shape))
        else:
            rows.add(chunk, len(shape), key)
    return Header(key, _dtype(key, state.get("properties")), shape, first, rows.number(len(shape)))


def _dtype(key: str, properties: Any) -> str:
    """The type of a tensor's elements, the first of its properties."""
    state = properties.state if isinstance(properties, Built) and properties.call in PROPERTIES else None
    found = state[0] if isinstance(state, tuple) and state else state.get("dtype") if isinstance(state, dict) else None
    if not isinstance(found, Global) or found.module != "torch" or found.name not in BITS:
        shown = found if isinstance(found, Global) else described(found)
        raise Unreadable(f"the type of elements of {key!r} is {shown}, which is none that is known")
    return found.name


def _paths(planner_data: Any) -> dict[str, Path] | None:
    """Paths of flattened keys; None where a planner of another kind left something else."""
    if not isinstance(planner_data, dict) or not all(type(key) is str for key in planner_data):
        return None
    plain = all(type(p) is tuple and all(type(e) in (str, int) for e in p) for p in planner_data.values())
    return planner_data if plain else None


def _version(found: Any) -> str | None:
    return found if type(found) is str else None
