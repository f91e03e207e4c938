"""A measurement of storage that the spec names, as values of the storage group that the spec does not give itself."""

from __future__ import annotations

from dataclasses import replace

from ckptplan.cost.spread import Spread
from ckptplan.spec.fields import Given
from ckptplan.spec.named_files import StorageRates, read_named
from ckptplan.spec.record import Record
from ckptplan.spec.tree import Source

_PATH = "storage.measured"


def take_measured(record: Record) -> None:
    """Read the measurement, if one is named; what the spec says beside it wins."""
    fields = record.fields
    named = fields.given.get(_PATH)
    if named is None:
        return
    name = str(record.take(_PATH))
    found = read_named(fields, _PATH, record.files, lambda files: files.storage(name))
    if found is None:
        return
    for warning in found.warnings:
        record.warn(_PATH, warning, "ckptplan measure import shows all that the file says")
    # spec show names the file as the origin, not only the line that names the file.
    node = replace(named.node, source=Source(f"{name} ({named.node.origin})"))
    taken = [key for key in found.rates if not fields.has(f"storage.{key}")]
    for key in taken:
        fields.given[f"storage.{key}"] = Given(found.rates[key], node, _spread(found, key))
    if not taken:
        record.warn(_PATH, "every rate in it is also given by the spec, which wins", "delete those, or measured")


def _spread(found: StorageRates, key: str) -> Spread | None:
    cv = found.cvs.get(key)
    return None if cv is None else Spread(found.rates[key], cv)
