"""Rows of Slurm accounting as numbers, whether they came from a table or from JSON."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ckptplan.fit.record import Codes
from ckptplan.readers.records.slurm.nodes import count_nodes, gpus_of_gres, gpus_of_tres, nodes_of_tres
from ckptplan.readers.records.slurm.options import SlurmOptions
from ckptplan.readers.records.stamps import Flags, Floats, Stamps, parse_stamps

# Roles, and the columns of sacct that fill them, the best first.
ROLES: Mapping[str, tuple[str, ...]] = {
    "job": ("jobid", "jobidraw"), "state": ("state",), "start": ("start",), "end": ("end",),
    "elapsed": ("elapsedraw", "elapsed"), "exit": ("exitcode",), "nodes": ("nnodes", "allocnodes"),
    "tres": ("alloctres",), "gres": ("allocgres",), "list": ("nodelist",), "restarts": ("restarts",),
    "name": ("jobname",), "user": ("user",), "account": ("account",), "partition": ("partition",),
    "system": ("systemcomment",), "admin": ("admincomment",),
}  # fmt: skip
MAINTENANCE = ("maintenance", "maint", "firmware", "upgrade", "planned", "scheduled", "reboot asap")
IS_MAINTENANCE = re.compile(r"\b(?:" + "|".join(MAINTENANCE) + r")\b", re.IGNORECASE)
_ELAPSED = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,3}):([0-9]{1,2})(?:\.[0-9]*)?")
_LONGEST_S = 1e10  # 317 years
_ABSENT = (b"", b"None", b"Unknown", b"NONE", b"N/A", b"0")
_FILTERS = ("job_name", "user", "account", "partition")
FILTERED = (
    "",
    "of another job name",
    "of another user",
    "of another account",
    "of another partition",
    "of another job",
)
_MOST_OTHERS = 10_000  # names of a block that are told apart


class Jobs(NamedTuple):
    """Allocations, one row each, as they were listed. Not known is nan."""

    job: Any  # pyarrow binary array of ids
    state: Any  # pyarrow dictionary array of binary
    exit: Any  # the same
    start: Stamps
    end: Stamps
    never: Flags  # no start was written
    elapsed_s: Floats
    nodes: Floats
    gpus: Floats
    restarts: Floats
    filtered: Codes  # of FILTERED
    maintenance: Flags
    others: Mapping[int, Mapping[bytes, int]] = {}  # rows of each name that is filtered out, by reason


def jobs_of(columns: Mapping[str, Any], options: SlurmOptions) -> Jobs:
    """Columns of text by role, as pyarrow binary arrays of one length, as numbers."""
    import pyarrow as pa
    from pyarrow import compute

    job = columns["job"]
    count = len(job)
    blank = pa.array(np.zeros(0), pa.float64())  # placeholder of a column that is absent
    empty = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), pa.array([b""], pa.binary()))
    start = columns.get("start", blank)
    filtered, others = _filtered(columns, options, count)
    read = {role: parse_stamps(columns[role]) if role in columns else _no_stamps(count) for role in ("start", "end")}
    absent = np.asarray(compute.is_in(start, pa.array(_ABSENT))) if "start" in columns else np.zeros(count, bool)
    return Jobs(
        job,
        columns["state"].dictionary_encode(),
        columns["exit"].dictionary_encode() if "exit" in columns else empty,
        read["start"],
        read["end"],
        absent & np.isnan(read["start"].seconds),
        _elapsed(columns.get("elapsed"), count),
        _nodes(columns, count),
        _gpus(columns, count),
        numbers(columns.get("restarts"), _whole, count),
        filtered,
        _maintenance(columns, count),
        others,
    )


def _no_stamps(count: int) -> Stamps:
    return Stamps(np.full(count, np.nan), np.zeros(count, bool))


def numbers(column: Any, meaning: Callable[[str], float], count: int) -> Floats:
    """What each text means, found once for every different one; nan without the column."""
    if column is None:
        return np.full(count, np.nan)
    coded = column.dictionary_encode()
    values = np.array([meaning(text.decode(errors="replace")) for text in coded.dictionary.to_pylist()], float)
    return np.asarray(values[np.asarray(coded.indices)], float)


def _elapsed(column: Any, count: int) -> Floats:
    """Elapsed seconds; a column of nothing but plain numbers, which differ from row to row, is read at once."""
    import pyarrow as pa
    from pyarrow import compute

    if column is not None and not compute.any(compute.match_substring_regex(column, "[^0-9]")).as_py():
        try:
            seconds = np.asarray(column.cast(pa.string()).cast(pa.int64()), float)
        except pa.ArrowInvalid:  # an empty cell, or more digits than a number can have
            return numbers(column, elapsed_s, count)
        return np.where(seconds < _LONGEST_S, seconds, np.nan)
    return numbers(column, elapsed_s, count)


def elapsed_s(text: str) -> float:
    """Seconds in ``87356``, ``1-00:15:56`` or ``15:56``; nan for anything else."""
    if text.isascii() and text.isdigit() and len(text) < 12:
        seconds = float(text)
    else:
        found = _ELAPSED.fullmatch(text)
        if found is None:
            return math.nan
        days, hours, minutes, rest = (float(part or 0) for part in found.groups())
        seconds = days * 86400 + hours * 3600 + minutes * 60 + rest
    return seconds if seconds < _LONGEST_S else math.nan


def _whole(text: str) -> float:
    """Counts, with the K that sacct writes for thousands."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]+)?)([KM]?)", text)
    return float(found[1]) * {"": 1.0, "K": 1e3, "M": 1e6}[found[2]] if found else math.nan


def _nodes(columns: Mapping[str, Any], count: int) -> Floats:
    """Nodes by their own column, or as AllocTRES says, or by counting the names of the list."""
    found = numbers(columns.get("nodes"), _whole, count)
    for role, meaning in (("tres", nodes_of_tres), ("list", count_nodes)):
        if role in columns and np.isnan(found).any():
            found = np.where(np.isnan(found), numbers(columns[role], meaning, count), found)
    return np.where(found > 0, found, np.nan)


def _gpus(columns: Mapping[str, Any], count: int) -> Floats:
    if "tres" in columns:
        return numbers(columns["tres"], gpus_of_tres, count)
    return numbers(columns.get("gres"), gpus_of_gres, count) * _nodes(columns, count)


def _filtered(
    columns: Mapping[str, Any], options: SlurmOptions, count: int
) -> tuple[Codes, dict[int, dict[bytes, int]]]:
    """Why a row is not one of those asked for, by the first reason, and what those are called."""
    codes, others = np.zeros(count, np.int32), dict[int, dict[bytes, int]]()
    roles = ("name", "user", "account", "partition")
    for number, (wish, role) in enumerate(zip(_FILTERS, roles, strict=True), start=1):
        pattern = getattr(options, wish)
        if pattern is not None:
            fits = numbers(columns[role], _like(pattern), count)
            gone = (codes == 0) & (fits == 0.0)
            codes[gone] = number
            others[number] = _counts(columns[role], gone)
    if options.jobs:
        wanted = frozenset(options.jobs)
        fits = numbers(columns["job"], lambda job: float(job in wanted or re.split("[_+]", job)[0] in wanted), count)
        codes[(codes == 0) & (fits == 0.0)] = len(_FILTERS) + 1
    return codes, others


def _counts(column: Any, rows: Flags) -> dict[bytes, int]:
    """How many of the rows hold each text."""
    coded = column.dictionary_encode()
    found = np.bincount(np.asarray(coded.indices)[rows], minlength=len(coded.dictionary))
    most = np.argsort(-found, kind="stable")[:_MOST_OTHERS]
    return {coded.dictionary[int(at)].as_py(): int(found[at]) for at in most if found[at]}


def _like(pattern: str) -> Callable[[str], float]:
    return lambda text: float(fnmatch.fnmatchcase(text, pattern))


def _maintenance(columns: Mapping[str, Any], count: int) -> Flags:
    """Whether an operator's or a program's comment speaks of maintenance."""
    found = np.zeros(count, bool)
    for role in ("system", "admin"):
        if role in columns:
            found |= numbers(columns[role], lambda text: float(IS_MAINTENANCE.search(text) is not None), count) > 0
    return found


def together(parts: list[Jobs]) -> Jobs:
    """Jobs of several blocks as those of one."""
    import pyarrow as pa

    def stamps(which: list[Stamps]) -> Stamps:
        return Stamps(np.concatenate([s.seconds for s in which]), np.concatenate([s.zoned for s in which]))

    def coded(arrays: list[Any]) -> Any:
        whole = pa.chunked_array(arrays).unify_dictionaries().combine_chunks()
        return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole

    others: dict[int, dict[bytes, int]] = {}
    for part in parts:
        for number, counts in part.others.items():
            whole = others.setdefault(number, {})
            for name, rows in counts.items():
                whole[name] = whole.get(name, 0) + rows

    return Jobs(
        pa.chunked_array([part.job for part in parts]),
        coded([part.state for part in parts]),
        coded([part.exit for part in parts]),
        stamps([part.start for part in parts]),
        stamps([part.end for part in parts]),
        np.concatenate([part.never for part in parts]),
        np.concatenate([part.elapsed_s for part in parts]),
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.gpus for part in parts]),
        np.concatenate([part.restarts for part in parts]),
        np.concatenate([part.filtered for part in parts]),
        np.concatenate([part.maintenance for part in parts]),
        others,
    )
