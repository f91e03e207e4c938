"""``ckptplan simulate`` and ``optimize --verify`` as their users see them."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from ckptplan.render.schemas import output_schema
from tests.cli.harness import ckptplan, environment
from tests.cli.test_broken_inputs import check_refusal

_RUN = """\
name: small
model: {parameters: 7e9}
cluster: {gpus: 64}
failures: {mtbf: 3 h}
save:
  - {name: blocking, mode: sharded, stall: 60 s}
  - {name: background, mode: asynchronous, stall: 2 s, flush: 300 s}
restart: {total: 10 min}
training: {step_time: 5 s, duration: 5 d}
"""


@pytest.fixture
def spec(tmp_path: Path) -> str:
    """A spec of a small run."""
    path = tmp_path / "run.yaml"
    path.write_text(_RUN)
    return str(path)


def test_the_answer_and_the_verdict_come_first(spec: str) -> None:
    """The first lines tell what a run takes and whether the formula holds; the table accounts for all of it."""
    ran = ckptplan("simulate", spec, "--runs", "200")
    assert ran.code == 0, ran.err
    title, _, answer, verdict, *_ = ran.out.splitlines()
    assert title == "small (64 GPUs)"
    assert answer.startswith("background, a save every 300 s = 60 steps: 5 d of work take ")
    assert "(200 runs, exponential failures, seed 0)" in answer
    assert verdict.startswith("the formula holds: the wall time was predicted as ")
    assert "standard errors apart" in verdict


def test_the_json_holds_against_its_schema(spec: str) -> None:
    """The document is of its published schema, and its shares sum to one."""
    ran = ckptplan("simulate", spec, "--runs", "50", "--format", "json")
    document = json.loads(ran.out)
    jsonschema.validate(document, output_schema("simulation"))
    shares = {row["quantity"]: row["mean"] for row in document["quantities"]}
    names = ("useful", "save", "rework", "restart")
    assert sum(shares[f"{name}_fraction"] for name in names) == pytest.approx(1.0, abs=1e-12)
    assert document["prediction"]["holds"] is True


def test_csv_and_markdown(spec: str) -> None:
    """The same rows come as CSV with full precision and as Markdown."""
    rows = list(csv.DictReader(io.StringIO(ckptplan("simulate", spec, "--runs", "50", "-f", "csv").out)))
    assert rows[0]["quantity"] == "wall_s"
    assert float(rows[0]["p5"]) < float(rows[0]["mean"]) < float(rows[0]["p95"])
    text = ckptplan("simulate", spec, "--runs", "50", "-f", "markdown").out
    assert text.startswith("## small\n")
    assert "| wall time |" in text


def test_any_number_of_jobs_gives_the_same_bytes(spec: str) -> None:
    """Two processes print what one prints, also where a precision decides on the number of runs."""
    arguments = ("simulate", spec, "--runs", "3000", "--precision", "0.2%", "--format", "json")
    one, two = (ckptplan(*arguments, "--jobs", jobs) for jobs in ("1", "2"))
    assert one.code == 0, one.err
    assert one.out == two.out


def test_the_seed_is_the_only_chance(spec: str) -> None:
    """The same seed gives the same bytes, another one others."""
    first, again, other = (ckptplan("simulate", spec, "--runs", "50", "--seed", seed).out for seed in ("7", "7", "8"))
    assert first == again != other


def test_a_precision_is_reached_or_missed_with_a_word(spec: str) -> None:
    """Runs go on until the mean is known well enough."""
    ran = ckptplan("simulate", spec, "--runs", "100", "--precision", "0.1%", "--format", "json")
    document = json.loads(ran.out)
    assert document["precision_reached"]
    assert document["precision"] <= 0.001
    assert document["runs"] > 100


def test_recorded_failures_are_replayed(spec: str, tmp_path: Path) -> None:
    """Gaps of a file replace the law: in their order they make one run, resampled they make many."""
    record = tmp_path / "failures.csv"
    record.write_text("gap_s\n5000\n20000\n9000\n12000\n")
    ran = ckptplan("simulate", spec, "--replay", str(record), "--strategy", "blocking")
    assert ran.code == 0, ran.err
    assert "(1 run, recorded gaps in their order, seed 0)" in ran.out
    assert "nothing varies between runs" in ran.out
    assert "the run outlasts the record of 4 gaps" in ran.err
    ran = ckptplan("simulate", spec, "--replay", str(record), "--resample", "--runs", "100")
    assert "(100 runs, recorded gaps, resampled, seed 0)" in ran.out


def test_documents_without_a_standard_error_are_of_their_schema(spec: str, tmp_path: Path) -> None:
    """One replayed record, and runs that no failure reaches, have null where there is nothing to compare with."""
    record = tmp_path / "failures.csv"
    record.write_text("gap_s\n5000\n20000\n9000\n12000\n")
    for arguments in (("--replay", str(record)), ("--set", "training.duration=1 s")):
        ran = ckptplan("simulate", spec, *arguments, "--format", "json")
        document = json.loads(ran.out)
        jsonschema.validate(document, output_schema("simulation"))
        assert document["prediction"]["z"] is None
        assert document["prediction"]["holds"] is True


def test_an_interval_below_the_flush_is_raised_with_a_word(spec: str) -> None:
    """The answer names both the interval that was asked for and the one that was simulated."""
    ran = ckptplan("simulate", spec, "--interval", "61s", "--strategy", "background", "--runs", "50")
    assert "a save every 300 s = 60 steps (raised from 61 s: the flush must end before the next save starts)" in ran.out


def test_time_stamps_are_replayed(spec: str, tmp_path: Path) -> None:
    """Time stamps are as good as gaps."""
    record = tmp_path / "failures.txt"
    record.write_text("2026-01-01T00:00:00Z\n2026-01-01T06:00:00Z\n2026-01-02T00:00:00Z\n")
    assert ckptplan("simulate", spec, "--replay", str(record)).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--interval", "1h", "--steps", "9"), 2, "exclude each other"),
        (("--interval", "5"), 2, "no unit"),
        (("--interval", "0s"), 2, "not between"),
        (("--resample",), 2, "does nothing without --replay"),
        (("--replay", "gaps.csv", "--runs", "9"), 2, "a record in its order, which is one run"),
        (("--replay", "gaps.csv", "--precision", "1%"), 2, "a record in its order, which is one run"),
        (("--interval", "60s", "--strict"), 1, "an interval of 60 s is shorter than the flush allows"),
        (("--precision", "0"), 2, "not between"),
        (("--precision", "nan"), 2, "not a finite number"),
        (("--precision", "200%"), 2, "200"),
        (("--strategy", "backgrund"), 2, "did you mean background"),
        (("--runs", "0"), 2, "0"),
        (("--jobs", "0"), 2, "0"),
        (("--seed", "-1"), 2, "-1"),
        (("--replay", "nowhere.csv"), 1, "nowhere.csv"),
        (("--set", "failures={mtbf: 1 s}"), 1, "does not get on"),
    ],
)
def test_what_cannot_be_simulated_is_refused(spec: str, arguments: tuple[str, ...], code: int, message: str) -> None:
    """One message with a remedy and the documented exit code for every wrong option."""
    ran = ckptplan("simulate", spec, *arguments)
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_hostile_record_is_refused(spec: str, tmp_path: Path) -> None:
    """A binary file is no record: one message that names it."""
    record = tmp_path / "failures.bin"
    record.write_bytes(bytes(range(256)))
    ran = ckptplan("simulate", spec, "--replay", str(record))
    check_refusal(ran)
    assert "failures.bin" in ran.err


def test_a_file_outside_the_folder_of_the_spec_is_not_read(tmp_path: Path) -> None:
    """A spec names files beside it or below it; a path upwards or a link out of the folder is refused."""
    (tmp_path / "secret.csv").write_text("gap_s\n1\n2\n")
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    for name in ("../secret.csv", str(tmp_path / "secret.csv"), "link.csv", "loop.csv"):
        law = f"failures: {{law: {{name: recorded, file: {name}}}}}"
        (folder / "run.yaml").write_text(_RUN.replace("failures: {mtbf: 3 h}", law))
        ran = ckptplan("optimize", str(folder / "run.yaml"))
        check_refusal(ran)
        assert "not in the folder of the spec" in ran.err


def test_a_faulty_record_is_told_with_its_own_lines(tmp_path: Path) -> None:
    """Faults of the record and of the spec come out together, each with its file and line."""
    (tmp_path / "gaps.csv").write_text("gap_s\n10\n-5\nten\n")
    law = "failures: {law: {name: recorded, file: gaps.csv}}"
    text = _RUN.replace("failures: {mtbf: 3 h}", law).replace("parameters: 7e9", "parameters: 7B")
    (tmp_path / "run.yaml").write_text(text)
    ran = ckptplan("optimize", str(tmp_path / "run.yaml"))
    check_refusal(ran)
    for part in ("run.yaml:2:", "gaps.csv:3", "gaps.csv:4"):
        assert part in ran.err


def test_verify_says_in_one_line_whether_the_formula_holds(spec: str) -> None:
    """Option --verify of optimize adds one line to the answers, and one object to the JSON."""
    ran = ckptplan("optimize", spec, "--verify")
    assert ran.code == 0, ran.err
    assert sum("the formula holds" in line for line in ran.out.splitlines()) == 1
    document = json.loads(ckptplan("optimize", spec, "--verify", "--format", "json").out)
    jsonschema.validate(document, output_schema("plan"))
    assert abs(document["verification"]["z"]) < 4


def test_strict_refuses_what_is_otherwise_raised(spec: str) -> None:
    """--strict turns a raised interval into an error that names the least one."""
    raised = ckptplan("optimize", spec, "--interval", "60s")
    assert raised.code == 0
    assert "raised" in raised.out
    ran = ckptplan("optimize", spec, "--interval", "60s", "--strict")
    check_refusal(ran)
    assert "background: an interval of 60 s is shorter than the flush allows (300 s)" in ran.err


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the process table is read from /proc")
def test_workers_end_with_the_process_that_started_them(spec: str) -> None:
    """A simulation that is killed leaves no worker behind."""
    command = [sys.executable, "-m", "ckptplan", "simulate", spec, "--runs", "10000000", "--jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    workers = _wait_for(lambda: _children(process.pid), lambda found: len(found) >= 2)
    process.kill()
    process.wait()
    left = _wait_for(lambda: [pid for pid in workers if Path(f"/proc/{pid}/cmdline").exists()], lambda found: not found)
    assert left == []


def _children(pid: int) -> list[int]:
    """Spawned workers of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdigit() else 0
            if parent == pid and b"spawn_main" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # it has just ended
    return found


def _wait_for(look: Callable[[], list[int]], is_enough: Callable[[list[int]], bool]) -> list[int]:
    """What there is once it is enough, or after half a minute."""
    end = time.monotonic() + 30
    found = look()
    while not is_enough(found) and time.monotonic() < end:
        time.sleep(0.1)
        found = look()
    return found


def test_narrow_output_keeps_the_names_of_quantiles(spec: str) -> None:
    """Where the table does not fit, every number stands behind its name."""
    ran = ckptplan("simulate", spec, "--runs", "50", env={"COLUMNS": "60"})
    assert "p5 " in ran.out
    assert max(map(len, ran.out.splitlines())) <= 60


def test_a_bar_shows_the_progress_on_a_terminal_and_nowhere_else(spec: str) -> None:
    """Standard error that is a terminal gets a bar; a pipe gets nothing, and the result is the same."""
    arguments = ("simulate", spec, "--runs", "9000")
    piped = ckptplan(*arguments)
    assert "simulated runs" not in piped.err
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "ckptplan", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment({"TERM": "xterm"})) as run:
        os.close(terminal)
        shown = _read_all(screen)
        assert run.stdout is not None
        assert run.stdout.read().decode() == piped.out
    os.close(screen)
    assert b"simulated runs" in shown


def _read_all(screen: int) -> bytes:
    """What a terminal shows until its other end is closed."""
    shown = b""
    while True:
        try:
            part = os.read(screen, 4096)
        except OSError:
            return shown
        if not part:
            return shown
        shown += part


def test_a_long_simulation_is_told_before_it_begins() -> None:
    """The failures to play, the time that they take, and what takes less; a run of ordinary length has no such line."""
    arguments = ("simulate", "llama3-405b", "--set", "failures.mtbf=200 s")
    with subprocess.Popen(
        [sys.executable, "-m", "ckptplan", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.kill()
    assert line.startswith("warning: each of 1,000 runs has about 599,574 failures, one after the other, which take ")
    assert "less work has the same goodput" in line
    assert "one after the other" not in ckptplan("simulate", "llama3-405b").err
