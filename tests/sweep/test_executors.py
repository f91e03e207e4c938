"""Engines: the same bytes from each, and clear errors from those that cannot be used."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

from ckptplan.errors import InputError, UsageError
from ckptplan.sweep import dask_engine, dask_greeting
from ckptplan.sweep.columns import Labels
from ckptplan.sweep.executors import executor_for
from ckptplan.sweep.packing import packed
from ckptplan.sweep.running import run
from tests.cli.harness import environment
from tests.sweep.evaluations import draw, refused, settings, slow, whole

COUNT = 9
ROOT = Path(__file__).parents[2]
Start = Callable[..., tuple[str, subprocess.Popen[str]]]


@pytest.fixture
def scheduler() -> Iterator[Start]:
    """Starts schedulers; gives the address of each as the option takes it."""
    started: list[subprocess.Popen[str]] = []

    def start(workers: int = 2, program: str = "same", port: int = 0) -> tuple[str, subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.sweep.scheduler", str(workers), program, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment(),
        )
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip().replace("tcp://", "dask://"), process

    yield start
    for process in started:
        process.communicate()  # its standard input ends, and so does it


@pytest.mark.parametrize("executor", ["serial", "threads", "processes", "dask"])
def test_equal_bytes(executor: str) -> None:
    """Every engine of this machine gives the same bytes, and leaves no process behind."""
    before = set(psutil.Process().children(recursive=True))
    with executor_for(executor, 2) as runner:
        parts = list(run(partial(draw, 5), range(COUNT), runner))
    assert [packed(part) for part in parts] == whole(5, COUNT)
    left = set(psutil.Process().children(recursive=True)) - before
    assert not [one for one in left if "resource_tracker" not in " ".join(one.cmdline())]


def test_a_running_scheduler(scheduler: Start) -> None:
    """A scheduler on the loopback does the same, also a second time, and goes on running."""
    address, process = scheduler()
    for _ in range(2):
        with executor_for(address, 1) as runner:
            assert [packed(part) for part in run(partial(draw, 5), range(COUNT), runner)] == whole(5, COUNT)
    assert process.poll() is None


def test_an_error_on_a_running_scheduler(scheduler: Start) -> None:
    """What a chunk is refused for comes back as it is, and with it the hint."""
    with executor_for(scheduler()[0], 1) as runner, pytest.raises(InputError, match="no answer for 4") as caught:
        list(run(partial(refused, 4), range(COUNT), runner))
    assert caught.value.problems[0].hint == "none"


@pytest.mark.parametrize(
    ("program", "said"), [("none", "No module named 'ckptplan"), ("other", r"ckptplan 0\.0\.1, numpy .*; this is")]
)
def test_workers_with_another_program(scheduler: Start, program: str, said: str) -> None:
    """Workers without ckptplan, or with another version, are one error that says what to install there."""
    with executor_for(scheduler(1, program)[0], 1) as runner, pytest.raises(InputError, match=said) as caught:
        list(run(partial(draw, 5), range(COUNT), runner))
    assert "install" in str(caught.value.problems[0].hint)


def test_a_scheduler_without_workers(scheduler: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not waited for without end."""
    monkeypatch.setattr(dask_engine, "WORKERS_S", 0.5)
    with executor_for(scheduler(0)[0], 1) as runner, pytest.raises(InputError, match="has no workers"):
        list(run(partial(draw, 5), range(COUNT), runner))


def test_a_scheduler_that_goes(
    scheduler: Start, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that is killed meanwhile ends the sweep with one error, after what was there before."""
    address, process = scheduler()
    with executor_for(address, 1) as runner, closing(run(partial(slow, 0.05, 5), range(200), runner)) as parts:
        assert packed(next(parts)) == whole(5, 1)[0]
        monkeypatch.setattr(dask_greeting, "CONNECT_S", 0.5)
        process.kill()
        with pytest.raises(InputError, match="cannot be used: Connection refused"):
            list(parts)
    assert capfd.readouterr() == ("", "")


def test_a_scheduler_that_comes_back(scheduler: Start) -> None:
    """Started again at its address, it is sent once more what it had not finished."""
    address, process = scheduler()
    with executor_for(address, 2) as runner, closing(run(partial(slow, 0.05, 5), range(30), runner)) as parts:
        first = packed(next(parts))
        process.kill()
        process.wait()
        assert scheduler(port=int(address.rpartition(":")[2]))[0] == address
        assert [first, *(packed(part) for part in parts)] == whole(5, 30)


def test_nobody_there() -> None:
    """An address where nobody listens is refused at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with executor_for(f"dask://127.0.0.1:{port}", 1) as runner, pytest.raises(InputError, match="Connection refused"):
        next(run(partial(draw, 5), range(COUNT), runner))


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 900])
def test_somebody_else_there(greeting: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that says nothing, or something else than a scheduler would, is refused in bounded time."""
    monkeypatch.setattr(dask_greeting, "CONNECT_S", 0.5)
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                line.sendall(greeting)
                done.wait()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with (
                executor_for(f"dask://127.0.0.1:{server.getsockname()[1]}", 1) as runner,
                pytest.raises(InputError, match=r"timed out|no scheduler of dask"),
            ):
                next(run(partial(draw, 5), range(COUNT), runner))
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize(
    "name",
    [
        *("", "Serial", "dusk", "process", "dask:/127.0.0.1:8786", "tcp://127.0.0.1:8786", "\x1b[31mred"),
        *("dask://", "dask://host", "dask://:8786", "dask://host:port", "dask://host:99999", "dask://host:0"),
        *("dask://a@host:1", "dask://host:1/path", "dask://host:1?x", "dask://[::1:8786", "dask://ho\nst:1"),
    ],
)
def test_names_that_are_refused(name: str) -> None:
    """The error shows the name, without what would steer a terminal, and what is accepted."""
    with pytest.raises(UsageError) as caught:
        executor_for(name, 1)
    said = caught.value.render()
    assert "dask://" in said
    assert said.replace("\n", "").isprintable()


@pytest.mark.parametrize("jobs", [0, -1])
def test_jobs_that_are_refused(jobs: int) -> None:
    """No work is done by less than one worker."""
    with pytest.raises(UsageError, match="at least 1"):
        executor_for("processes", jobs)


@pytest.mark.parametrize("name", ["dask://[::1]:8786", "dask://[::1]:8786/"])
def test_addresses_in_brackets(name: str) -> None:
    """IPv6 addresses keep their brackets."""
    assert executor_for(name, 1)._address == "tcp://[::1]:8786"  # type: ignore[attr-defined]


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where distributed is not installed, one is told what to install."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with executor_for("dask", 1) as runner, pytest.raises(UsageError, match="needs the package distributed") as caught:
        next(run(partial(draw, 5), range(COUNT), runner))
    assert caught.value.problems[0].hint == "pip install '.[dask]' from the source tree"


def test_processes_are_deaf_and_single() -> None:
    """A worker process ignores Ctrl-C, computes with one thread, and is another one than this."""
    with executor_for("processes", 2) as runner:
        parts = list(run(partial(settings, None), range(4), runner))
    assert all(part["deaf"][0] and part["threads"][0] == 1 for part in parts if not isinstance(part["deaf"], Labels))
    assert os.getpid() not in {int(np.asarray(part["pid"])[0]) for part in parts}


def test_no_more_processes_than_chunks() -> None:
    """Two chunks start two processes, however many are allowed."""
    before = set(psutil.Process().children())
    with executor_for("processes", 50) as runner, closing(run(partial(draw, 5), range(2), runner)) as parts:
        next(parts)
        new = set(psutil.Process().children()) - before
        assert len([one for one in new if "resource_tracker" not in " ".join(one.cmdline())]) <= 2


def test_workers_end_with_their_parent() -> None:
    """When the program is killed, its worker processes end by themselves, busy or not."""
    code = (
        "from functools import partial\n"
        "from ckptplan.sweep.executors import executor_for\n"
        "from ckptplan.sweep.running import run\n"
        "from tests.sweep.evaluations import slow\n"
        "with executor_for('processes', 2) as runner:\n"
        "    for number, _ in enumerate(run(partial(slow, 0.2, 1), range(1000), runner)): print(number, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT, env=environment(), start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    workers = psutil.Process(process.pid).children()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    gone, alive = psutil.wait_procs(workers, timeout=30)
    assert len(gone) >= 2
    assert not alive


def test_start_up_is_light() -> None:
    """Importing what runs sweeps loads no engine, no terminal and no process pool."""
    code = (
        "import sys, ckptplan.sweep.executors, ckptplan.sweep.running, ckptplan.sweep.journal, ckptplan.sweep.runner\n"
        "heavy = {'distributed', 'dask', 'tornado', 'rich', 'scipy', 'multiprocessing', 'concurrent.futures.process'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment())


def test_a_dask_cluster_stays_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The local cluster listens on the loopback alone, leaves no file, and says nothing."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with executor_for("dask", 1) as runner, closing(run(partial(slow, 0.01, 5), range(50), runner)) as parts:
        next(parts)
        me = psutil.Process()
        listening = {
            line.laddr.ip
            for one in (me, *me.children(recursive=True))
            for line in one.net_connections("inet")
            if line.status == psutil.CONN_LISTEN
        }
    assert listening == {"127.0.0.1"}
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
