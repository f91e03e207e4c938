"""Faults of a record of failures and of a measurement that a spec names."""

from __future__ import annotations

from tests.spec.broken import Broken, _row

_RATE = "{mtbf_per_gpu: 50_000 h}"
_STORAGE = "storage: {write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}"


def _record(id_: str, value: str, key: str, message: str, hint: str) -> Broken:
    return _row(f"record: {id_}", _RATE, f"{{record: {value}}}", 4, f"failures.record{key}", message, hint)


BROKEN_RECORD = [
    _record("no file", "{per: node}", ".file", "missing", "file: sacct.txt"),
    _record("empty", "''", ".file", "a name belongs", "file: sacct.txt"),
    _record("an empty list", "[]", ".file", "the list is empty", "file: sacct.txt"),
    _record("a list of lists", "[[a.txt]]", ".file", "where a name belongs", "file: sacct.txt"),
    _record("unknown key", "{file: a.txt, tz: UTC}", ".tz", "unknown key", "ckptplan spec schema"),
    _record("unit of the rate", "{file: a.txt, per: rack}", ".per", "not one of job, node, gpu", "write one of"),
    _record(
        "nothing to count", "{file: a.txt, count: crashes}", ".count", "cannot be counted", "failures, preemptions"
    ),
    _record(
        "one word wrong", "{file: a.txt, count: [failure]}", ".count", "cannot be counted", "did you mean failures"
    ),
    _record("merge without unit", "{file: a.txt, merge: 60}", ".merge", "has no unit", "merge: 10 min"),
    _record("part", "{file: a.txt, part: last}", ".part", "not one of all, recent", "write one of"),
    _record("no gpus", "{file: a.txt, gpus: 0}", ".gpus", "zero makes no sense", "gpus"),
    _record("half a node", "{file: a.txt, nodes: 1.5}", ".nodes", "not a whole number", "write 1 or 2"),
    _record("order of dates", "{file: a.txt, date_order: ymd}", ".date_order", "not one of mdy, dmy", "did you mean"),
    _record(
        "column of no role", "{file: a.txt, columns: {when: x}}", ".columns.when", "unknown key", "keys here: time"
    ),
    _record("column of no name", "{file: a.txt, columns: {time: ''}}", ".columns.time", "empty", "name"),
    _record("run below zero", "{file: a.txt, minimum_run: -1 s}", ".minimum_run", "negative", "minimum_run"),
    _record("read without a folder", "a.txt", ".file", "only through ckptplan.load", "give the spec as a file"),
    _row(
        "record: beside another source",
        _RATE,
        "{record: a.txt, mtbf: 3 h}",
        4,
        "failures",
        "record and mtbf are given",
        "keep the best founded one",
    ),
    _row(
        "measured: a group",
        _STORAGE,
        "storage: {measured: {file: fio.json}}",
        5,
        "storage.measured",
        "a group of keys where a text belongs",
        "measured: fio.json",
    ),
    _row(
        "measured: read without a folder",
        _STORAGE,
        "storage: {measured: fio.json, write_bandwidth: 10 GB/s, read_bandwidth: 20 GB/s}",
        5,
        "storage.measured",
        "only through ckptplan.load",
        "give the spec as a file",
    ),
]
