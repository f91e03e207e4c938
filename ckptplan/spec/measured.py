"""A measurement of storage that the spec names, as values of the storage group that the spec does not give itself."""

from __future__ import annotations

from ckptplan.cost.spread import Spread
from ckptplan.spec.fields import Given
from ckptplan.spec.named_files import StorageRates, read_named
from ckptplan.spec.record import Record

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
    taken = [key for key in found.rates if not fields.has(f"storage.{key}")]
    for key in taken:
        fields.given[f"storage.{key}"] = Given(found.rates[key], named.node, _spread(found, key))
    if not taken:
        record.warn(_PATH, "every rate in it is also given by the spec, which wins", "delete those, or measured")


def _spread(found: StorageRates, key: str) -> Spread | None:
    cv = found.cvs.get(key)
    return None if cv is None else Spread(found.rates[key], cv)
