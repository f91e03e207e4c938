"""A measurement of storage that the spec names, as values of the storage group that the spec does not give itself."""

from __future__ import annotations

from dataclasses import replace

from ckptplan.cost.spread import Spread
from ckptplan.spec.fields import Given
from ckptplan.spec.named_files import StorageRates, read_named
from ckptplan.spec.presets import is_from_preset
from ckptplan.spec.record import Record
from ckptplan.spec.tree import Node, Source

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
    kept = []
    for key, rate in found.rates.items():
        path = f"storage.{key}"
        written = fields.given.get(path)
        if path in fields.faulty or (written is not None and _strength(written.node) >= _strength(named.node)):
            kept.append(key)
        else:
            fields.given[path] = Given(rate, node, _spread(found, key))
    if kept:
        names = " and ".join(kept)
        record.warn(_PATH, f"{names} in it is not used: the spec says it itself", "delete one of the two")


def _strength(node: Node) -> int:
    """Flag over environment over file over preset."""
    if is_from_preset(node):
        return 0
    if node.source.lines is not None:
        return 1
    return 3 if node.source.name.startswith("--set") else 2


def _spread(found: StorageRates, key: str) -> Spread | None:
    cv = found.cvs.get(key)
    return None if cv is None else Spread(found.rates[key], cv)
