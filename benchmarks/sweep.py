"""A sweep of a million points as ratios in one run: ``python benchmarks/sweep.py``.

The whole command, ``python -m ckptplan sweep llama3-405b`` over a hundred values each of the MTBF, the restart and the
number of GPUs, to CSV. Against it start-up (the same command for one point) and twice the time in which the fastest CSV
writer at hand writes the same numbers: pyarrow, and polars where it is installed. Each is the best of several runs,
which take turns; the same of CPU time, which says more on a machine with other load. Then points per second of that
command, start-up taken off, against a loop that calls the plan once per point. Exits with 1 if the command takes longer
than twice the writer plus start-up.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ckptplan.load import load
from ckptplan.plan import plan

REPEATS = 7
LIMIT = 2.0
POINTS = 1_000_000
SPEC = "llama3-405b"
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE" and not k.startswith("CKPTPLAN_")}
GRID = ("failures.mtbf=1..100 h:log:100", "restart.total=1..60 min:100", "cluster.gpus=1024..13696:100")
ONE = ("failures.mtbf=3 h", "restart.total=10 min", "cluster.gpus=1024")
COLUMNS = (
    "strategy,mtbf_s,effective_stall_s,interval_s,interval_steps,save_fraction,rework_fraction,restart_fraction,"
    "goodput,goodput_exact,goodput_typed,status"
)
LOOPED = 300


def command(axes: tuple[str, ...], output: Path) -> list[str]:
    """The sweep over these axes."""
    over = [word for axis in axes for word in ("--over", axis)]
    start = [sys.executable, "-m", "ckptplan", "sweep", SPEC, *over]
    return [*start, "--show", COLUMNS, "--format", "csv", "-o", str(output)]


class Taken(NamedTuple):
    """Wall time and CPU time. [s]."""

    wall_s: float
    cpu_s: float


def swept(axes: tuple[str, ...], output: Path) -> Taken:
    """What the whole command takes."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command(axes, output), check=True, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def least(times: Sequence[Taken]) -> Taken:
    """The best of each."""
    return Taken(*(min(values) for values in zip(*times, strict=True)))


def writers(table: Any, output: Path) -> dict[str, Callable[[], object]]:
    """Every CSV writer at hand, ready to write the same numbers and texts."""
    import pyarrow.csv as pa_csv

    found: dict[str, Callable[[], object]] = {"pyarrow": lambda: pa_csv.write_csv(table, output)}
    if find_spec("polars") is not None:
        import polars

        frame: Any = polars.from_arrow(table)
        found["polars"] = lambda: frame.write_csv(output)
    return found


def timed(call: Callable[[], object]) -> Taken:
    """What a call takes."""
    start, before = time.perf_counter(), time.process_time()
    call()
    return Taken(time.perf_counter() - start, time.process_time() - before)


def points_looped() -> float:
    """Points per second of a loop that plans one scenario after another."""
    spec = load(SPEC, sets=[f"{ONE[0]}", f"{ONE[1]}"])
    start = time.perf_counter()
    for number in range(LOOPED):
        scenario = spec.with_values({"failures.mtbf": 3600.0 * (1 + number % 100)})
        plan(scenario, methods=("exact",), whole_run=False)
    return LOOPED / (time.perf_counter() - start)


def main() -> int:
    """Measure all of it, taking turns, and compare."""
    import pyarrow.csv as pa_csv

    with tempfile.TemporaryDirectory() as folder:
        mine, other = Path(folder, "mine.csv"), Path(folder, "other.csv")
        swept(GRID, mine)
        table = pa_csv.read_csv(mine)
        assert table.num_rows == POINTS
        at_hand = writers(table, other)
        whole, start_up = [], []
        written: dict[str, list[Taken]] = {name: [] for name in at_hand}
        for _ in range(REPEATS):
            whole.append(swept(GRID, mine))
            start_up.append(swept(ONE, other))
            for name, write in at_hand.items():
                written[name].append(timed(write))
    writer = {name: least(times) for name, times in written.items()}
    fastest = min(writer, key=lambda name: writer[name].wall_s)
    sweep, start = least(whole), least(start_up)
    sweep_s, start_s, writer_s = sweep.wall_s, start.wall_s, writer[fastest].wall_s
    allowed = LIMIT * writer_s + start_s
    for name, taken in writer.items():
        ratio, of_cpu = ((mine - begun) / its for mine, begun, its in zip(sweep, start, taken, strict=True))
        print(
            f"{name} writes the same table in {taken.wall_s:.2f} s: the sweep takes {ratio:.2f} times that "
            f"({of_cpu:.2f} times its {taken.cpu_s:.2f} s of CPU time)"
        )
    verdict = "ok" if sweep_s <= allowed else "TOO SLOW"
    print(
        f"sweep of {POINTS:,} points {sweep_s:.2f} s; start-up {start_s:.2f} s; {fastest} {writer_s:.2f} s: "
        f"{(sweep_s - start_s) / writer_s:.2f} times the writer (at most {LIMIT:g}) {verdict}"
    )
    looped = points_looped()
    rate = POINTS / (sweep_s - start_s)
    print(f"{rate:,.0f} points/s, written as CSV, against {looped:,.0f} of a loop of plans: {rate / looped:,.0f} times")
    return int(sweep_s > allowed)


if __name__ == "__main__":
    sys.exit(main())
