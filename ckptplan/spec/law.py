"""The law of the failures: its name, its shape, or the file of gaps that records it."""

from __future__ import annotations

from ckptplan.cost.scenario import EXPONENTIAL, PLANNED_SHAPES, Law, LawName
from ckptplan.spec.named_files import read_named
from ckptplan.spec.record import Record

_GROUP = "failures.law"
_NEEDS = {
    LawName.WEIBULL: "shape",
    LawName.GAMMA: "shape",
    LawName.LOGNORMAL: "sigma",
    LawName.RECORDED: "file",
}
_EXAMPLES = {"shape": "shape: 0.7", "sigma": "sigma: 1.5", "file": "file: gaps.csv"}


def build_law(record: Record) -> Law | None:
    """The law, exponential if none is given; None if a fault was noted."""
    fields = record.fields
    if not fields.sound(_GROUP, f"{_GROUP}.name"):
        return None
    if _GROUP not in fields.groups:
        return EXPONENTIAL
    name = LawName(record.take(f"{_GROUP}.name", str(LawName.EXPONENTIAL)))
    of_nodes = record.take(f"{_GROUP}.of", "job") == "node"
    needed = _NEEDS.get(name)
    _refuse_foreign_keys(record, name, needed)
    if needed is None:
        return Law(name, of_nodes=of_nodes)
    if not fields.has(f"{_GROUP}.{needed}"):
        fields.fault(_GROUP, f"{name} needs {needed}", f"write {_EXAMPLES[needed]}")
        return None
    value = record.take(f"{_GROUP}.{needed}")
    if name is LawName.RECORDED:
        return _recorded(record, value, of_nodes)
    return _with_shape(record, name, value, of_nodes) if fields.sound(f"{_GROUP}.{needed}") else None


def _refuse_foreign_keys(record: Record, name: LawName, needed: str | None) -> None:
    for key in ("shape", "sigma", "file"):
        if key != needed and record.fields.has(f"{_GROUP}.{key}"):
            owners = [str(law) for law, word in _NEEDS.items() if word == key]
            message = f"belongs to {' and '.join(owners)}; the law here is {name}"
            record.fields.fault(f"{_GROUP}.{key}", message, f"write name: {owners[0]}, or delete this key")


def _with_shape(record: Record, name: LawName, value: float, of_nodes: bool) -> Law | None:
    key = _NEEDS[name]
    least, most = PLANNED_SHAPES[name]
    if not least <= value <= most:
        message = f"{value:g} is outside {least:g} to {most:g}"
        record.fields.fault(f"{_GROUP}.{key}", message, f"write for example {_EXAMPLES[key]}")
        return None
    return Law(name, value, of_nodes=of_nodes)


def _recorded(record: Record, name: str, of_nodes: bool) -> Law | None:
    fields, path = record.fields, f"{_GROUP}.file"
    if not fields.sound(path):
        return None
    if of_nodes:
        fields.fault(f"{_GROUP}.of", "recorded gaps are those of the job", "write of: job")
        return None
    gaps_s = read_named(fields, path, record.files, lambda files: files.gaps(name))
    return None if gaps_s is None else Law(LawName.RECORDED, gaps_s=gaps_s)
