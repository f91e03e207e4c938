"""Reading and fitting a large Slurm record, as a ratio to merely parsing it: ``python benchmarks/records.py``.

A synthetic dump of ``sacct -D --parsable2``: 2,000,000 rows of 20 columns, job steps among them, names that hold the
delimiter, torn lines, requeued jobs. In turn, each in a process of its own: the CSV readers of pyarrow and, where it is
installed, of polars parse the whole file (torn lines skipped), and the Slurm reader with the fit reads it. Exits with 1
if that takes more than 4 times the fastest of the plain parses, or 2 GB of memory, or if rows are neither used nor left
out by a reason.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckptplan.fit.record import FailureRecord

ROWS = 2_000_000
REPEATS = 5
LIMIT = 4.0  # times the fastest plain parse
MOST_MEMORY = 2e9  # bytes
HEADER = (
    "JobID|JobIDRaw|JobName|Partition|User|Account|State|ExitCode|DerivedExitCode|Submit|Eligible|Start|End|Elapsed|"
    "ElapsedRaw|Timelimit|NNodes|AllocTRES|NodeList|Reason"
)
STATES = (
    ("COMPLETED", "0:0", 60), ("FAILED", "1:0", 15), ("CANCELLED by 1001", "0:0", 10), ("TIMEOUT", "0:0", 8),
    ("NODE_FAIL", "0:0", 3), ("PREEMPTED", "0:0", 2), ("OUT_OF_MEMORY", "0:125", 2),
)  # fmt: skip
NAMED, TORN = 500, 2_000  # one row in as many has the delimiter in its name; is cut off
FIRST = 1_700_000_000


def stamp(at: int) -> str:
    """As sacct prints it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def write(path: Path) -> None:
    """The synthetic dump."""
    rng = random.Random(1)  # noqa: S311
    weights = [weight for _, _, weight in STATES]
    rows, job, at = 0, 100_000, FIRST
    with path.open("w") as out:
        out.write(HEADER + "\n")
        while rows < ROWS:
            job += 1
            at += rng.randrange(40)
            state, code, _ = rng.choices(STATES, weights)[0]
            for text in lines_of(rng, job, at, state, code):
                if rows == ROWS:
                    break
                rows += 1
                out.write((text[: len(text) // 2] if rng.randrange(TORN) == 0 else text) + "\n")


def lines_of(rng: random.Random, job: int, at: int, state: str, code: str) -> list[str]:
    """An allocation with two or three steps; after a node failure or a preemption once more."""
    nodes, run = 1 << rng.randrange(8), rng.randrange(10, 200_000)
    name = "eval|run" if rng.randrange(NAMED) == 0 else f"train-{job % 977}"
    first = 1 + job % 900
    where = f"gpu[{first:04d}-{first + nodes - 1:04d}]" if nodes > 1 else f"gpu{first:04d}"
    elapsed = f"{run // 86400}-{run // 3600 % 24:02d}:{run // 60 % 60:02d}:{run % 60:02d}"
    start, end = stamp(at + 60), stamp(at + 60 + run)
    tres = f"billing={nodes * 96},cpu={nodes * 96},gres/gpu={nodes * 8},mem={nodes}T,node={nodes}"
    times = f"{stamp(at)}|{stamp(at)}|{start}|{end}|{elapsed}|{run}"
    user = f"user{job % 61}|acct{job % 7}"
    found = [f"{job}|{job}|{name}|train|{user}|{state}|{code}|0:0|{times}|7-00:00:00|{nodes}|{tres}|{where}|None"]
    for step in ("batch", "extern", "0")[: 2 + job % 2]:
        found.append(f"{job}.{step}|{job}.{step}|{step}|||acct|CANCELLED|0:15||{times}||{nodes}|{tres}|{where}|")
    if state in ("NODE_FAIL", "PREEMPTED"):
        found += lines_of(rng, job, at + 60 + run + 130, "COMPLETED", "0:0")
    return found


def pyarrow_parse(path: str) -> dict[str, float]:
    """Everything, as pyarrow does it by default, rows with another number of fields skipped."""
    from pyarrow import csv

    options = csv.ParseOptions(delimiter="|", quote_char=False, invalid_row_handler=lambda row: "skip")
    return {"rows": csv.read_csv(path, parse_options=options).num_rows}


def polars_parse(path: str) -> dict[str, float]:
    """Everything, as polars does it by default."""
    import polars

    table = polars.read_csv(path, separator="|", quote_char=None, truncate_ragged_lines=True, ignore_errors=True)
    return {"rows": len(table)}


def reader(path: str) -> dict[str, float]:
    """The reader and the fit."""
    from ckptplan.readers.records.slurm.sacct import read

    start = time.perf_counter()
    record = read(path)
    spent = time.perf_counter() - start
    fit(record)
    left = sum(each.rows for each in record.left_out)
    used = len(record.content.start_s)
    return {"rows": record.rows, "used": used, "left": left, "read_s": spent}


def fit(record: FailureRecord) -> None:
    """The fit of the record that was read, as ``ckptplan fit`` makes it."""
    from ckptplan.fit.combining import combined
    from ckptplan.fit.counting import Counting
    from ckptplan.fit.fitting import fit_record

    fit_record(combined([record]), Counting())


WAYS = {"pyarrow": pyarrow_parse, "polars": polars_parse, "ckptplan": reader}


def alone(way: str, path: str) -> None:
    """One way in this process: time without the imports, and the peak of memory."""
    if way == "polars":
        import polars  # noqa: F401
    else:
        from pyarrow import compute, csv  # noqa: F401
    if way == "ckptplan":
        import ckptplan.readers.records.slurm.sacct  # noqa: F401
    start = time.perf_counter()
    found = WAYS[way](path)
    found["s"] = time.perf_counter() - start
    found["bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(found))


def measured(way: str, path: Path) -> dict[str, float] | None:
    """One way in a process of its own; None where it is not installed."""
    command = [sys.executable, __file__, way, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "ModuleNotFoundError: No module named 'polars'" in done.stderr:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def main() -> int:
    """Print all times; 1 if a limit is missed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sacct.txt"
        write(path)
        print(f"{ROWS:,} rows, {path.stat().st_size / 1e6:.0f} MB")
        found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        for _ in range(REPEATS):
            for way, runs in found.items():
                run = measured(way, path)
                if run is not None:
                    runs.append(run)
    best = {way: min(run["s"] for run in runs) for way, runs in found.items() if runs}
    memory = {way: max(run["bytes"] for run in runs) for way, runs in found.items() if runs}
    for way, seconds in best.items():
        print(f"{way:8}: {seconds:.2f} s, {memory[way] / 1e9:.2f} GB at most, {found[way][0]['rows']:,.0f} rows")
    own = found["ckptplan"][0]
    ratio = best["ckptplan"] / min(seconds for way, seconds in best.items() if way != "ckptplan")
    whole = own["rows"] == ROWS == own["used"] + own["left"]
    read_s = min(run["read_s"] for run in found["ckptplan"])
    print(f"of ckptplan {read_s:.2f} s are reading, the rest fitting")
    print(f"{ratio:.2f} times the fastest plain parse (at most {LIMIT:.0f}); {own['used']:,.0f} rows used")
    return int(ratio > LIMIT or memory["ckptplan"] > MOST_MEMORY or not whole)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        alone(*sys.argv[1:])
    else:
        sys.exit(main())
