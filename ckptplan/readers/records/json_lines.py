"""Failures as JSON objects, one a line or in a list, whose keys have the names that columns of CSV may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from ckptplan.errors import printable
from ckptplan.fit.record import FailureRecord
from ckptplan.readers.files import refused
from ckptplan.readers.records.column_roles import MOST_COLUMNS, Column, has_times, roles_of, said
from ckptplan.readers.records.delimited import CHUNK_ROWS, LONGEST_CELL
from ckptplan.readers.records.event_rows import EventRows
from ckptplan.readers.records.json_values import JsonObjects, first_object
from ckptplan.readers.records.options import RecordOptions

NAME = "JSON lines"
_SEEN = 1_000  # objects whose keys decide


def looks_like(head: bytes) -> bool:
    """Whether the file begins with an object that has a key for a time."""
    first = first_object(head)
    return first is not None and len(first) <= MOST_COLUMNS and has_times(roles_of(list(_flat(first)), {}, ""))


def read(path: str, options: RecordOptions) -> FailureRecord:
    """The failures of a file of objects."""
    objects = JsonObjects(path)
    source = iter(objects)
    first = [_flat(value) for value in islice(source, _SEEN)]
    names = list(dict.fromkeys(chain.from_iterable(first)))
    if not first:
        raise refused(path, "holds no JSON object", "write one object a line")
    if len(names) > MOST_COLUMNS:
        raise refused(path, f"objects of more than {MOST_COLUMNS:,} keys", "is this the right file?")
    roles = roles_of(names, options.columns, path)
    if not has_times(roles):
        shown = ", ".join(printable(name[:40]) for name in names[:20])
        hint = "name one, for example --column time=KEY, start=KEY, end=KEY or gap=KEY"
        raise refused(path, f"no key is known to hold times; there are {shown}", hint)
    rows = EventRows(path, NAME, roles, options)
    for cells in _chunks(chain(first, map(_flat, source)), roles):
        rows.add(cells)
    return rows.record(objects.left_out(), objects.warnings(), [said(roles, options.columns)])


def _chunks(values: Iterable[Mapping[str, Any]], roles: Mapping[str, Column]) -> Iterator[dict[str, list[str]]]:
    source = iter(values)
    while part := list(islice(source, CHUNK_ROWS)):
        yield {role: [_text(value.get(column.name)) for value in part] for role, column in roles.items()}


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the object, and of objects in it as outer.inner; deeper ones do not count."""
    found: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            found.update((f"{key}.{name}", inner) for name, inner in item.items())
        else:
            found[key] = item
    return found


def _text(value: Any) -> str:
    """A value as a cell of a table."""
    if value is None or isinstance(value, dict | list):
        return ""
    return repr(value) if isinstance(value, float) else str(value)[:LONGEST_CELL]
