"""Every format of failure records that can be read, how each is recognised, and the one door to them."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ckptplan.errors import InputError, Place, printable
from ckptplan.fit.record import FailureRecord
from ckptplan.readers.files import head, refused
from ckptplan.readers.records.column_roles import MOST_COLUMNS, plain
from ckptplan.readers.records.effects import OF_SLURM, without_effect
from ckptplan.readers.records.events_csv import bare_numbers, header_of
from ckptplan.readers.records.json_values import first_object
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.separators import separator_of
from ckptplan.readers.records.slurm import other_tables
from ckptplan.readers.records.standard_input import NAME as STANDARD_INPUT
from ckptplan.readers.records.standard_input import spooled

__all__ = ["FORMATS", "Format", "RecordOptions", "read_record", "recognised"]

_SHOWN = 60  # characters of a file that are shown


class Format(NamedTuple):
    """One format: its module has ``looks_like(head)`` and ``read(path, options)``.

    ``obeys`` are the options that matter to it; None where the reader itself says which of them had no effect, or where
    the format never stands alone.
    """

    module: str
    sentence: str
    obeys: tuple[str, ...] | None = None


_WATCHED = ("watched_from", "watched_until")
_STAMPED = ("zone", *_WATCHED)
_JOBS = (*_STAMPED, *OF_SLURM)

# The order matters: a format stands before those that would take its files for theirs.
FORMATS: dict[str, Format] = {
    "sacct": Format(
        "slurm.sacct", "Jobs of Slurm: sacct with -P (--parsable2) or -p, or with another --delimiter.", _JOBS
    ),
    "sacct-json": Format("slurm.sacct_json", "Jobs of Slurm: sacct --json.", _JOBS),
    "sacctmgr-event": Format("slurm.events", "Node outages of Slurm: sacctmgr show event, with -P or -p.", _STAMPED),
    "job-output": Format("slurm.job_output", "Output of a job with Slurm's lines about its end.", _STAMPED),
    "lanl": Format("lanl", "Node outages of Los Alamos, LA-UR-05-7318, with each node's time in service.", _STAMPED),
    "restart-cycles": Format(
        "restart_cycles", "cycle_info files of NVIDIA's resiliency extension, put together.", _STAMPED
    ),
    "scr": Format("scr", "The log of the Scalable Checkpoint/Restart library, .scr/log.", _STAMPED),
    "spot": Format("spot", "Spot instances: milliseconds, add or remove, node.", ("unit", *_WATCHED)),
    "kernel": Format("kernel_log", "Xid lines of a kernel log: causes to join, no failures by themselves."),
    "nccl": Format("nccl_log", "NCCL watchdog lines and warnings: causes to join, no failures by themselves."),
    "run-log": Format("run_log", "A log book of runs: date, time of day, zone, words.", _STAMPED),
    "outages": Format("outage_list", "Outages with a start and an end each, as CSV or two columns."),
    "cause-counts": Format(
        "cause_counts", "A table of failures counted by cause, without times.", ("zone", "watched_until")
    ),
    "csv": Format(
        "events_csv", "CSV: a time for each failure, or start and end, or gaps; columns are named or guessed."
    ),
    "json": Format("json_lines", "JSON objects, one a line or in a list, with keys named as columns of CSV are."),
}


def read_record(path: str | Path, options: RecordOptions | None = None) -> FailureRecord:
    """One file of failures, in the format that it is found to have or that the user names.

    Parameters
    ----------
    path : str or Path
        The text "-" is standard input.
    options : RecordOptions, optional

    Raises
    ------
    InputError
        Where it is no file, has no known format, or holds nothing that can be used.
    """
    if path != "-":
        return _read(path, options or RecordOptions())
    with spooled() as kept:
        try:
            return _read(kept, options or RecordOptions())._replace(file=STANDARD_INPUT)
        except InputError as error:
            raise _of_standard_input(error, kept) from None


def _of_standard_input(error: InputError, kept: str) -> InputError:
    """The same faults, with the name of what was read and not of the file in which it was kept."""
    found = []
    for problem in error.problems:
        place = problem.place
        if place is not None and place.file == kept:
            place = Place(STANDARD_INPUT, place.line, place.column, place.text)
        found.append(replace(problem, message=problem.message.replace(kept, STANDARD_INPUT), place=place))
    return InputError(found)


def _read(path: str | Path, options: RecordOptions) -> FailureRecord:
    name = options.format
    if name is not None and name not in FORMATS:
        near = difflib.get_close_matches(name, FORMATS, 1)
        hint = f"did you mean {near[0]}?" if near else f"the formats are {', '.join(FORMATS)}"
        raise InputError(f"{printable(name[:_SHOWN])} is no format of failure records", hint=hint)
    start = head(path)
    if name is None:
        name = recognised(start, options)
    if name is None:
        raise _unknown(start, path)
    record = _module(name).read(str(path), options)
    assert isinstance(record, FailureRecord)  # noqa: S101 - modules are named by text
    obeys = FORMATS[name].obeys
    idle = () if obeys is None else without_effect(options, obeys, record.format)
    return record._replace(warnings=(*record.warnings, *idle))


def recognised(start: bytes, options: RecordOptions | None = None) -> str | None:
    """The format of a file by its first bytes; None for an unknown one."""
    if not start.strip():
        return None
    if _not_failures(start) is not None or other_tables.looks_like(start):
        return None
    for name in FORMATS:
        if _module(name).looks_like(start):
            return name
    return None if options is None else _by_options(start, options)


def _by_options(start: bytes, options: RecordOptions) -> str | None:
    """The format of what says too little by itself, where the user says what it means."""
    if bare_numbers(start):
        return None if options.unit is None else "csv"
    if not options.columns:
        return None
    if first_object(start) is not None:
        return "json"
    return None if start.lstrip().startswith((b"{", b"[")) else "csv"


class _Module(NamedTuple):
    looks_like: Callable[[bytes], bool]
    read: Callable[[str, RecordOptions], FailureRecord]


def _module(name: str) -> _Module:
    module = import_module(f"ckptplan.readers.records.{FORMATS[name].module}")
    return _Module(module.looks_like, module.read)


def _unknown(start: bytes, path: str | Path) -> InputError:
    if not start.strip(b"\0 \t\r\n"):
        return refused(path, "is empty" if not start else "holds nothing but blanks", "name a file of failures")
    if other_tables.looks_like(start):
        other_tables.read(path)
    what = _not_failures(start)
    if what is not None:
        return refused(path, what[0], what[1])
    line = next(line for line in start.splitlines() if line.strip())
    shown = line[:_SHOWN].decode("utf-8", "replace")
    seen = f"begins with {shown!a}{'...' if len(line) > _SHOWN else ''}"
    columns = line.count(separator_of(line[:1000].decode("utf-8", "replace")).encode()) + 1
    if columns > MOST_COLUMNS:
        seen = f"has {columns:,} columns and more" if len(line) >= len(start) else f"has {columns:,} columns"
    if bare_numbers(start):
        return refused(path, "holds numbers that name no unit", "say it, for example --unit h: gaps between failures")
    hint = (
        f"name its format with --as, one of {', '.join(FORMATS)}; or, for CSV and JSON, say what its columns are, "
        "for example --column time=NAME"
    )
    return refused(path, f"no known record of failures: it {seen}", hint)


def _not_failures(start: bytes) -> tuple[str, str] | None:
    """What a well-known file is that holds no failures, and what it is good for."""
    names = [plain(name) for name in header_of(start)]
    if "fail_rate_gpu" in names or {"complete_rate_gpu", "cancel_rate_gpu"} <= set(names):
        return (
            "holds totals of whole clusters, one row each, not failures: no times, and FAILED there counts mistakes "
            "of users too",
            "name the trace of jobs itself",
        )
    few = start[:8192]
    if b'"fio version"' in few or b"\nfio-" in few[:600] or b": (g=0): rw=" in few[:600]:
        return "is the output of fio, not a record of failures", "read it with ckptplan measure import"
    if b'"num_accelerators"' in start and b'"train_' in start:
        return (
            "is a summary of MLPerf Storage or DLIO, not a record of failures",
            "read it with ckptplan measure import",
        )
    return None
