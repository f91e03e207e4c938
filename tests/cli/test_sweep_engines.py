"""``ckptplan sweep`` on its engines: the same bytes on each, killed and resumed, interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ckptplan.spec.starter import STARTER
from tests.cli.harness import ckptplan, environment

FORMATS = ("csv", "json", "markdown", "parquet", "table")
# Points of another law are planned one by one, and simulated: on an engine.
SLOW = (
    "sweep", "run.yaml", "--set", "failures.law={name: weibull, shape: 0.7}", "--over", "cluster.gpus=64..512:log:4",
    "--over", "restart.total=1..10 min:5", "--runs", "2", "--seed", "5",
)  # fmt: skip
QUICK = ("sweep", "run.yaml", "--over", "failures.mtbf=1..100 h:log:300", "--over", "restart.total=1..10 min:400")


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    (tmp_path / "run.yaml").write_text(STARTER.replace("duration: 30 d", "duration: 2 d"))
    return tmp_path


def _bytes(place: Path, arguments: tuple[str, ...], format_: str, *more: str) -> bytes:
    output = place / f"out.{format_}"
    ran = ckptplan(*arguments, "--format", format_, "-o", output.name, *more, cwd=place)
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in place.iterdir()) == sorted({"run.yaml", output.name})
    data = output.read_bytes()
    output.unlink()
    return data


@pytest.mark.parametrize("format_", FORMATS)
def test_every_engine_writes_the_same_file(place, format_):
    """One process, several, and a cluster of dask on this machine, in each format."""
    alone = _bytes(place, SLOW, format_, "--jobs", "1")
    assert _bytes(place, SLOW, format_, "--jobs", "3") == alone
    assert _bytes(place, SLOW, format_, "--executor", "dask", "--jobs", "2") == alone


def test_closed_forms_are_the_same_with_any_number_of_threads(place):
    """120,000 points in several parts."""
    alone = _bytes(place, QUICK, "csv", "--jobs", "1")
    assert alone.count(b"\n") == 120_001
    assert _bytes(place, QUICK, "csv", "--jobs", "4") == alone


def _begun(place: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ckptplan", *SLOW, "--jobs", "2", "--format", "csv", *more]
    return subprocess.Popen(
        command, cwd=place, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def _wait_for(journal: Path, more_than: int, process: subprocess.Popen[bytes]) -> None:
    """Until the journal has grown beyond its first line."""
    end = time.monotonic() + 120.0
    while process.poll() is None and time.monotonic() < end:
        if journal.exists() and journal.stat().st_size > more_than:
            return
        time.sleep(0.01)


def test_a_killed_sweep_goes_on(place):
    """SIGKILL at several moments, then --resume: the file of an uninterrupted run, and no journal is left."""
    wanted = _bytes(place, SLOW, "csv", "--jobs", "1")
    journal = place / "kept"
    for size in (0, 1500, 4000):
        process = _begun(place, "-o", "out.csv", "--resume", "kept")
        _wait_for(journal, size, process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert not (place / "out.csv").exists() or process.returncode == 0
    (place / ".out.csv.aaaaaaaa.part").write_text("begun")  # what a killed program could not remove; the next one does
    assert _bytes(place, SLOW, "csv", "--resume", "kept") == wanted


def test_a_sweep_says_from_what_it_goes_on(place):
    """The same command again: how much is there, and what is torn or damaged and so evaluated again."""
    wanted = _bytes(place, SLOW, "csv", "--jobs", "1")
    process = _begun(place, "-o", "out.csv", "--resume", "kept")
    _wait_for(place / "kept", 4000, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    held = bytearray((place / "kept").read_bytes())
    held[-1] ^= 1
    (place / "kept").write_bytes(held)
    ran = ckptplan(*SLOW, "--format", "csv", "-o", "out.csv", "--resume", "kept", cwd=place)
    assert "bytes of kept are torn or damaged; what stood there is evaluated again" in ran.err
    assert "goes on from kept: " in ran.err
    assert "of 20 points" in ran.err
    assert (place / "out.csv").read_bytes() == wanted


def _until_something_is_kept(place: Path) -> tuple[list[Path], subprocess.Popen[bytes]]:
    """A sweep whose journal, begun by itself, holds some of its parts; or one that has ended."""
    process = _begun(place, "-o", "out.csv")
    end = time.monotonic() + 120.0
    journals: list[Path] = []
    while process.poll() is None and time.monotonic() < end:
        journals = list(place.glob("*.sweep-part"))
        if journals and journals[0].stat().st_size > 1500:
            break
        time.sleep(0.01)
    return journals, process


def test_an_interrupted_sweep_says_how_to_go_on(place):
    """Ctrl-C: exit 130, what is kept, and the very command, which gives the file of an uninterrupted run."""
    wanted = _bytes(place, SLOW, "csv", "--jobs", "1")
    for _ in range(5):  # on a busy machine a sweep may be over before anybody looks: then another one is begun
        journals, process = _until_something_is_kept(place)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate()
        if process.returncode != 0:
            break
        (place / "out.csv").unlink()
    said = err.decode()
    assert process.returncode == 130, said
    assert out == b""
    assert "of 20 points are kept in" in said
    assert sorted(path.name for path in place.iterdir()) == sorted(["run.yaml", journals[0].name])
    (command,) = [line.strip() for line in said.splitlines() if line.strip().startswith("ckptplan sweep")]
    assert f"--resume {journals[0].name}" in command
    shell = command.replace("ckptplan", f"{sys.executable} -m ckptplan", 1)
    done = subprocess.run(shell, shell=True, cwd=place, env=environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert (place / "out.csv").read_bytes() == wanted
    assert sorted(path.name for path in place.iterdir()) == ["out.csv", "run.yaml"]


def test_a_journal_of_another_sweep_is_left_as_it_is(place):
    """One clear error, and the file keeps its bytes."""
    process = _begun(place, "-o", "out.csv", "--resume", "kept")
    _wait_for(place / "kept", 1500, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = (place / "kept").read_bytes()
    ran = ckptplan(*SLOW, "--seed", "6", "--format", "csv", "--resume", "kept", cwd=place)
    assert ran.code == 1
    assert "hint: " in ran.err
    assert (place / "kept").read_bytes() == before


def test_a_file_that_is_no_journal_is_left_as_it_is(place):
    """Also a folder, a device, a link to nowhere, and a NUL in the name."""
    (place / "folder").mkdir()
    (place / "text").write_text("mine")
    os.mkfifo(place / "pipe")
    for name in ("folder", "text", "pipe", "/dev/null", "/nowhere/kept", "run.yaml"):
        ran = ckptplan(*QUICK, "--format", "csv", "--resume", name, cwd=place)
        assert ran.code in {1, 2}, (name, ran.err)
        assert ran.out == ""
        assert "Traceback" not in ran.err
    assert (place / "text").read_text() == "mine"


def test_a_scheduler_that_does_not_answer_is_an_error(place):
    """Not a hang: one message with its address."""
    ran = ckptplan(*SLOW, "--executor", "dask://127.0.0.1:9", "--format", "csv", cwd=place)
    assert ran.code == 1
    assert "127.0.0.1:9" in ran.err
    assert "Traceback" not in ran.err


def test_a_closed_form_sweep_loads_no_scipy_and_no_rich(place):
    """Nor pydantic and matplotlib: a sweep of closed forms starts as fast as a plan."""
    probe = (
        "import sys\nfrom ckptplan.cli.edge import run\n"
        f"code = run([*{QUICK[:4]!r}, '--format', 'csv', '-o', 'out.csv'])\n"
        "print(code, *(m for m in ('scipy', 'rich', 'pydantic', 'matplotlib', 'distributed') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=place, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


def test_a_million_points_stay_below_a_gigabyte(place):
    """Closed forms in parts, written as they come: every point has its line."""
    axes = ("failures.mtbf=1..100 h:log:100", "restart.total=1..60 min:100", "storage.latency=0..10 s:100")
    over = tuple(word for axis in axes for word in ("--over", axis))
    ran = ckptplan("sweep", "run.yaml", *over, "--format", "csv", "-o", "out.csv", cwd=place)
    assert ran.code == 0, ran.err
    with (place / "out.csv").open("rb") as lines:
        assert sum(1 for _ in lines) == 1_000_001
    assert ran.peak_bytes < 1_000_000_000


def test_a_reader_that_has_gone_is_no_error(place):
    """As behind ``| head``: exit 0 and no complaint."""
    line = " ".join(f"'{word}'" for word in QUICK)
    shell = f"({sys.executable} -m ckptplan {line} --format csv; echo code $? >&2) | head -1"
    done = subprocess.run(shell, shell=True, cwd=place, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == "code 0\n"


@pytest.mark.parametrize("format_", ["table", "csv"])
def test_a_reader_that_has_gone_leaves_the_journal(place, format_):
    """Behind ``| head -1`` nothing is lost: exit 0, what is kept, and the command that prints it all after all."""
    line = f"{sys.executable} -m ckptplan sweep run.yaml --over restart.total=60..600s:8 --format {format_} --resume k"
    shell = f"({line}; echo code $? >&2) | head -1"
    done = subprocess.run(shell, shell=True, cwd=place, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    said = done.stderr.splitlines()
    assert said[0] == "8 of 8 points are kept in k; to go on:"
    assert said[-1] == "code 0"
    again = subprocess.run(line, shell=True, cwd=place, env=environment(), capture_output=True, text=True, check=True)
    assert "goes on from k: 8 of 8 points" in again.stderr
    assert again.stdout.startswith(done.stdout)
    assert [path.name for path in place.iterdir()] == ["run.yaml"]


def test_a_pipe_that_is_closed_leaves_the_journal(place):
    """More than a pipe takes, and its end is closed: what is finished is kept, and that is no error."""
    line = ("sweep", "run.yaml", "--over", "restart.total=60..600s:20000", "--format", "csv", "--resume", "k")
    command = [sys.executable, "-m", "ckptplan", *line]
    process = subprocess.Popen(
        command, cwd=place, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )
    assert process.stdout is not None
    assert process.stdout.read(100).startswith(b"restart.total_s,")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate()
    assert process.returncode == 0
    assert "20,000 of 20,000 points are kept in k; to go on:" in err.decode()
    assert (place / "k").exists()


@pytest.mark.parametrize("steering", [{"NO_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "dumb"}])
def test_a_terminal_that_wants_no_escape_codes_gets_none(place, steering):
    """Progress is shown on it nevertheless, in a line that is written over itself."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "ckptplan", *SLOW, "--jobs", "2", "--format", "csv", "-o", "out.csv"]
    process = subprocess.Popen(command, cwd=place, env=environment(steering), stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    with suppress(OSError):  # EIO: the other end is closed
        while piece := os.read(ours, 4096):
            said += piece
    os.close(ours)
    assert process.wait() == 0
    assert b" of 20 points" in said
    assert b"\x1b" not in said


def test_a_sweep_that_alone_is_killed_says_nothing(place):
    """SIGKILL of the program, not of its workers: they end with it, and what is cleaned up after it is no news."""
    for _ in range(5):  # on a busy machine a sweep may be over before anybody looks: then another one is begun
        process = _begun(place, "-o", "out.csv", "--resume", "kept")
        _wait_for(place / "kept", 1500, process)
        process.kill()
        out, err = process.communicate()  # until the last process that holds them has ended
        (place / "kept").unlink(missing_ok=True)
        if process.returncode != 0:
            break
    assert (process.returncode, out, err.decode()) == (-signal.SIGKILL, b"", "")
