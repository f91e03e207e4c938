"""IOR: its table or the summary under it, its JSON (``-O summaryFormat=JSON``) and its CSV."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from ckptplan.measure.phases import MEBIBYTE, READ, WRITE, Phase
from ckptplan.readers.storage.documents import MOST_LINES, count, listing, mapping, number, positive

TOOL = "IOR"
_LONGEST = 4_000  # characters of a line that is looked at
_SIZES = {"bytes": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "PiB": 2.0**50}
_OPTION = re.compile(r"^\s*([A-Za-z][A-Za-z ]{0,40}?)\s*:\s*(\S[^\n]{0,2000})$")
_FLUSHES = re.compile(r"\s-[a-zA-Z]*[eY](?![\w.])|\s--?(?:fsync|fsyncPerWrite)(?:=1)?(?:\s|$)|fsync(?:PerWrite)?=1")
_DIRECT = re.compile(r"\s-[a-zA-Z]*B(?![\w.])|--posix\.odirect|useO_DIRECT=1")
_MAX = re.compile(r"^Max (Write|Read):\s+([0-9.]+) MiB/sec", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*access[ ,]+bw\(MiB/s\)", re.MULTILINE)
_SUMMARY = re.compile(r"^[ \t]*Operation +Max\(MiB\) +Min\(MiB\) +Mean\(MiB\) +StdDev", re.MULTILINE)
_SUMMARY_KEYS = {
    "Operation": "operation",
    "Mean(MiB)": "bwMeanMIB",
    "StdDev": "bwStdMIB",
    "Mean(s)": "MeanTime",
    "#Tasks": "numTasks",
    "tPN": "tasksPerNode",
    "reps": "repetitions",
    "API": "API",
}


class _Row(NamedTuple):
    access: str
    mib_per_s: float
    seconds: float | None


def is_ior(text: str) -> bool:
    """Whether a text is what IOR prints."""
    return (
        _TABLE.search(text) is not None
        or _SUMMARY.search(text) is not None
        or (text.lstrip().startswith("IOR-") and _MAX.search(text) is not None)
    )


def is_ior_json(document: dict[str, Any]) -> bool:
    """Whether a JSON document is the result of IOR."""
    tests = listing(document.get("tests"))
    if any(isinstance(test, dict) and ("Results" in test or "Options" in test) for test in tests):
        return True
    summary = listing(document.get("summary"))
    return any(isinstance(row, dict) and "operation" in row and "bwMeanMIB" in row for row in summary)


def ior_phases(text: str) -> Iterator[Phase]:
    """The phases of a printed table or of CSV; each test has options of its own."""
    command = ""
    options: dict[str, str] = {}
    rows: list[_Row] = []
    columns: list[str] = []
    has_rows = False
    for line in map(str.strip, text.splitlines()[:MOST_LINES]):
        if line.startswith(("IOR-", "TestID")) and rows:
            yield from _tests(rows, options, command)
            options, rows = {}, []
        if line.startswith("Command line"):
            command = line[:_LONGEST]
        if line.startswith("access") and "bw(MiB/s)" in line:
            columns = _cells(line)
        elif columns and line.startswith((WRITE, READ)):
            row = _row(columns, _cells(line), options)
            if row is not None and row.seconds != 0.0:
                rows.append(row)
                has_rows = True
        elif line.startswith("Summary"):
            columns = []  # its rows repeat those above
        elif (found := _OPTION.match(line)) is not None:
            options[found[1]] = found[2].strip()
    yield from _tests(rows, options, command)
    if not has_rows:
        summed = list(_printed_summary(text, command))
        yield from summed or _best_only(text, options, command)


def ior_json_phases(document: dict[str, Any]) -> Iterator[Phase]:
    """The phases of a JSON summary."""
    command = " " + str(document.get("Command line", ""))[:_LONGEST]
    if not listing(document.get("tests")):
        yield from _summaries(map(mapping, listing(document.get("summary"))[:1000]), command)
    for test in listing(document.get("tests"))[:1000]:
        given = {**mapping(mapping(test).get("Parameters")), **mapping(mapping(test).get("Options"))}
        rows = [row for entry in _flat(mapping(test).get("Results")) if (row := _json_row(entry)) is not None]
        options = {key: str(value)[:200] for key, value in given.items() if isinstance(value, str | int | float)}
        yield from _tests(rows, options, command)


def _printed_summary(text: str, command: str) -> Iterator[Phase]:
    """The table under "Summary of all tests", where nothing else was kept."""
    found = _SUMMARY.search(text)
    if found is None:
        return
    header, *rows = (line[:_LONGEST].split() for line in text[found.start() :].splitlines()[:1000])
    # Names come twice: the first StdDev is that of MiB/s.
    keys = [_SUMMARY_KEYS.get(name, "") if header.index(name) == at else "" for at, name in enumerate(header)]
    named = (dict(zip(keys, row, strict=False)) for row in takewhile(bool, rows))
    yield from _summaries(named, command)


def _summaries(rows: Iterable[dict[str, Any]], command: str) -> Iterator[Phase]:
    """What is left where only the summary was kept: means of all repetitions, and their scatter."""
    for row in rows:
        access, mean = row.get("operation"), positive(row.get("bwMeanMIB"))
        if mean is not None and access in (WRITE, READ):
            options = {"tasks": str(row.get("numTasks")), "clients per node": str(row.get("tasksPerNode"))}
            options["api"] = str(row.get("API", "IOR"))
            rates, seconds = (mean * MEBIBYTE,), positive(row.get("MeanTime"))
            deviation, repeats = positive(row.get("bwStdMIB")), count(row.get("repetitions"))
            phase = _phase(str(access), rates, seconds, options, command)
            cv = None if deviation is None else _of_sample(deviation, repeats) / mean
            yield phase._replace(cv=cv, repeats=repeats)


def _of_sample(deviation: float, repeats: int | None) -> float:
    """The standard deviation of a sample: IOR divides by the repetitions, and not by one less."""
    return deviation * math.sqrt(repeats / (repeats - 1)) if repeats is not None and repeats > 1 else deviation


def _cells(line: str) -> list[str]:
    if "," in line:
        return [cell.strip() for cell in next(csv.reader([line[:_LONGEST]], strict=False), [])]
    return line[:_LONGEST].split()


def _row(columns: list[str], cells: list[str], options: dict[str, str]) -> _Row | None:
    values = dict(zip(columns, cells, strict=False))
    rate = positive(values.get("bw(MiB/s)"))
    tasks = count(values.get("numTasks"))
    if tasks is not None:
        options.setdefault("tasks", str(tasks))
    return (
        None if rate is None or cells[0] not in (WRITE, READ) else _Row(cells[0], rate, number(values.get("total(s)")))
    )


def _flat(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The objects of arrays in arrays."""
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list) and depth < 4:
        for entry in value[:MOST_LINES]:
            yield from _flat(entry, depth + 1)


def _json_row(entry: dict[str, Any]) -> _Row | None:
    access, rate = entry.get("access"), positive(entry.get("bwMiB"))
    if rate is None or access not in (WRITE, READ):
        return None
    return _Row(str(access), rate, number(entry.get("totalTime")))


def _tests(rows: list[_Row], options: dict[str, str], command: str) -> Iterator[Phase]:
    """One phase per direction; its rows are the repetitions."""
    for access in (WRITE, READ):
        same = [row for row in rows if row.access == access]
        if same:
            times = [row.seconds for row in same if row.seconds]
            seconds = sum(times) / len(times) if times else None
            yield _phase(access, tuple(row.mib_per_s * MEBIBYTE for row in same), seconds, options, command)


def _best_only(text: str, options: dict[str, str], command: str) -> Iterator[Phase]:
    for access, rate in _MAX.findall(text)[:10]:
        found = positive(rate)
        if found is not None:
            phase = _phase(access.lower(), (found * MEBIBYTE,), None, options, command)
            yield phase._replace(notes=(*phase.notes, "the best of the repetitions, not their mean"))


def _phase(
    access: str, rates: tuple[float, ...], seconds: float | None, options: dict[str, str], command: str
) -> Phase:
    written = _size(options.get("aggregate filesize"))
    if written is None and seconds is not None:
        written = seconds * sum(rates) / len(rates)
    nodes, tasks = count(options.get("nodes")), count(options.get("tasks"))
    per_node = count(options.get("clients per node")) or count(options.get("tasksPerNode"))
    if tasks is None and nodes is not None and per_node is not None:
        tasks = nodes * per_node
    notes = ["one file shared by all writers (no -F)"] if options.get("access") == "single-shared-file" else []
    if options.get("ordering in a file") == "random":
        notes.append("random offsets: a save writes in sequence")
    return Phase(
        TOOL,
        options.get("api", "IOR")[:40],
        access,
        rates,
        bytes_=written,
        seconds=seconds,
        writers=tasks,
        nodes=nodes or (-(-tasks // per_node) if tasks and per_node else None),
        synced=_said(options, command, ("fsync", "fsyncperwrite"), _FLUSHES) if access == WRITE else None,
        dropped=access == READ and _from_other_nodes(options, nodes),
        direct=_said(options, command, ("useO_DIRECT",), _DIRECT),
        faults=("a dry run: nothing was written",) if count(options.get("dryRun")) else (),
        notes=tuple(notes),
    )


def _from_other_nodes(options: dict[str, str], nodes: int | None) -> bool:
    """Whether every task reads what a task of another node wrote (-C), which its own memory does not hold."""
    return (nodes or 1) > 1 and options.get("ordering inter file") == "constant task offset"


def _said(options: dict[str, str], command: str, keys: tuple[str, ...], pattern: re.Pattern[str]) -> bool | None:
    """What parameters say; else the command line; None if neither is there."""
    given = [number(options[key]) for key in keys if key in options]
    if any(given) or pattern.search(command):
        return True
    return False if given or command.strip() else None


def _size(text: str | None) -> float | None:
    """``16 GiB`` as IOR writes it."""
    value, _, unit = (text or "").partition(" ")
    found, size = positive(value), _SIZES.get(unit.strip())
    return found * size if found is not None and size is not None else None
