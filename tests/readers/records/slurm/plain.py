"""A second, straightforward reader of sacct's tables for the tests: the csv module, one row at a time."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

DATA = Path(__file__).parents[5] / "shared" / "data" / "failures" / "slurm"


def rows_of(path, delimiter="|"):
    """Rows of a table as dictionaries; a name that holds the delimiter is put together again."""
    lines = path.read_text().splitlines()
    names = lines[0].split(delimiter)
    rows = []
    for fields in csv.reader(lines[1:], delimiter=delimiter, quoting=csv.QUOTE_NONE):
        extra = len(fields) - len(names)
        at = names.index("JobName") if "JobName" in names else 0
        joined = [*fields[:at], delimiter.join(fields[at : at + extra + 1]), *fields[at + extra + 1 :]]
        rows.append(dict(zip(names, joined, strict=True)))
    return rows


def seconds(text, zone=UTC):
    """A stamp as seconds since 1970."""
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def elapsed(text):
    """``[days-]hours:minutes:seconds`` in seconds."""
    days, _, clock = text.rpartition("-")
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part)
    return total + 86400 * int(days or 0)


def counts(path, shortest_failed=600):
    """Allocations by how they count: (censored, failures, preempted), steps, never started, of no length."""
    kinds, steps, never, zero, parts = {"censored": 0, "failure": 0, "preempted": 0}, 0, 0, 0, set()
    seen = set()
    for row in rows_of(path):
        job = row["JobID"]
        if "." in job:
            steps += 1
            continue
        if row["Start"] == "None":
            never += 1
            continue
        if (job.split("+")[0], row["Start"]) in seen:
            parts.add(job)
            continue
        seen.add((job.split("+")[0], row["Start"]))
        ran = row["End"] != "Unknown"
        run = seconds(row["End"]) - seconds(row["Start"]) if ran else elapsed(row["Elapsed"])
        state = row["State"].split()[0]
        code = row.get("ExitCode", "1:0")
        broken = state in ("NODE_FAIL", "BOOT_FAIL")
        itself = state in ("FAILED", "OUT_OF_MEMORY") and code not in ("2:0", "126:0", "127:0")
        kind = "preempted" if state == "PREEMPTED" else "censored"
        if broken or (itself and run >= shortest_failed):
            kind = "failure"
        if run == 0 and kind == "censored":
            zero += 1
        else:
            kinds[kind] += 1
    return tuple(kinds.values()), steps, never, zero, len(parts)
