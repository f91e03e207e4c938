"""Sweeps that lose workers, are interrupted, killed, and go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from ckptplan.errors import InputError
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.executors import executor_for
from ckptplan.sweep.identity import Identity
from ckptplan.sweep.journal import Journal
from ckptplan.sweep.packing import packed
from ckptplan.sweep.runner import MOST_LOSSES, Evaluate, Runner
from ckptplan.sweep.running import run
from tests.cli.harness import environment
from tests.sweep import sweeper
from tests.sweep.evaluations import deadly, draw, refused, whole

COUNT = 12
IDENTITY = Identity("1" * 64, COUNT, {"ckptplan": "1"})
ROOT = Path(__file__).parents[2]


class Ordered(Runner):
    """An engine that finishes chunks in whatever order it is told, one each time that it is asked for its room."""

    def __init__(self, ahead: int, rng: np.random.Generator) -> None:
        self._ahead, self._rng, self.stopped = ahead, rng, 0
        self.waiting: list[tuple[Future[Columns], Any]] = []
        self.most = 0

    @property
    def ahead(self) -> int:
        """The size of the window."""
        return self._ahead

    def start(self, evaluate: Evaluate) -> None:
        """Nothing to send."""
        self._evaluate = evaluate

    def submit(self, chunk: Any) -> Future[Columns]:
        """Wait until the window is full."""
        future: Future[Columns] = Future()
        self.waiting.append((future, chunk))
        self.most = max(self.most, len(self.waiting))
        if len(self.waiting) == self._ahead or chunk == COUNT - 1:
            self._finish()
        return future

    def result(self, future: Future[Columns]) -> Columns:
        """Another one is finished for each that is fetched."""
        if self.waiting and all(not one.done() for one, _ in self.waiting):
            self._finish()
        return future.result()

    def _finish(self) -> None:
        future, chunk = self.waiting.pop(int(self._rng.integers(len(self.waiting))))
        future.set_result(self._evaluate(chunk))

    def stop(self) -> None:
        """Count."""
        self.stopped += 1


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ahead", [1, 3, 20])
def test_order_and_window(seed: int, ahead: int) -> None:
    """Whatever chunk is finished first, columns come in order, and no more are away than the window holds."""
    runner = Ordered(ahead, np.random.default_rng(seed))
    seen: list[int] = []
    parts = run(partial(draw, 3), range(COUNT), runner, on_progress=lambda chunk, _: seen.append(chunk))
    assert [packed(part) for part in parts] == whole(3, COUNT)
    assert sorted(seen) == list(range(COUNT))
    assert runner.most <= ahead
    assert runner.stopped == 1


def test_no_more_is_evaluated_than_asked_for() -> None:
    """One who stops after the second of many chunks has not had the rest evaluated."""
    evaluated: list[int] = []

    def evaluate(index: int) -> Columns:
        evaluated.append(index)
        return draw(0, index)

    with executor_for("serial", 1) as runner, closing(run(evaluate, range(10_000), runner)) as parts:
        next(parts)
        next(parts)
    assert evaluated == [0, 1]


@pytest.mark.parametrize("executor", ["serial", "threads", "processes"])
def test_an_error_ends_all(executor: str, tmp_path: Path) -> None:
    """A chunk without an answer ends the sweep with its own error; what was finished before is in the journal."""
    with Journal(tmp_path / "j", IDENTITY) as journal, executor_for(executor, 2) as runner:
        with pytest.raises(InputError, match="no answer for 4") as caught:
            list(run(partial(refused, 4), range(COUNT), runner, journal=journal))
        assert caught.value.problems[0].hint == "none"
        assert 0 in journal.finished  # 4 was sent when that was back
        assert 4 not in journal.finished


@pytest.mark.parametrize("executor", ["processes", "dask"])
def test_a_lost_worker_costs_nothing_but_time(executor: str, tmp_path: Path) -> None:
    """The chunk that killed its process is run again, each other one once, and the result is whole."""
    with executor_for(executor, 2) as runner:
        parts = list(run(partial(deadly, str(tmp_path), 5, 1), range(COUNT), runner))
    assert [packed(part) for part in parts] == whole(0, COUNT)
    assert len(list(tmp_path.glob("5-*"))) == 2


def test_two_losses_of_every_chunk() -> None:
    """Losses are counted chunk by chunk: a sweep survives more of them in all than one chunk may cost."""
    with executor_for("processes", 2) as runner:
        parts = list(run(_dying_twice, range(2), runner))
    assert [packed(part) for part in parts] == whole(0, 2)


_TRIES = "CKPTPLAN_TEST_TRIES"


def _dying_twice(index: int) -> Columns:
    """Two workers die of each chunk."""
    return deadly(os.environ[_TRIES], index, MOST_LOSSES - 1, index)


@pytest.fixture(autouse=True)
def _tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_TRIES, str(tmp_path))


@pytest.mark.parametrize(
    ("executor", "said"), [("processes", r"part 6 of 12 .* 3 times"), ("dask", r"part 6 of 12 .* again and again")]
)
def test_a_chunk_that_kills_again_and_again(executor: str, said: str, tmp_path: Path) -> None:
    """After three losses it is named; the chunks beside and behind it are not blamed."""
    with executor_for(executor, 1) as runner, pytest.raises(InputError, match=said) as caught:
        list(run(partial(deadly, str(tmp_path), 5, 99), range(COUNT), runner))
    assert "--jobs" in str(caught.value.problems[0].hint)
    assert len(list(tmp_path.glob("5-*"))) == MOST_LOSSES


def test_resumed_chunks_are_not_evaluated(tmp_path: Path) -> None:
    """What the journal holds is reported first and as such, is not run again, and comes in its place."""
    with Journal(tmp_path / "j", IDENTITY) as journal:
        for index in (7, 0, 3):
            journal.append(index, draw(0, index))
    told: list[tuple[int, bool]] = []
    with Journal(tmp_path / "j", IDENTITY) as journal, executor_for("serial", 1) as runner:
        evaluate = partial(deadly, str(tmp_path), -1, 0)
        parts = run(evaluate, range(COUNT), runner, journal=journal, on_progress=lambda *what: told.append(what))
        assert [packed(part) for part in parts] == whole(0, COUNT)
        assert journal.finished == frozenset(range(COUNT))
    assert told[:3] == [(0, True), (3, True), (7, True)]
    assert sorted(chunk for chunk, resumed in told if not resumed) == sorted(set(range(COUNT)) - {0, 3, 7})
    assert not [mark for index in (0, 3, 7) for mark in tmp_path.glob(f"{index}-*")]


def test_a_whole_journal_needs_no_engine(tmp_path: Path) -> None:
    """Where nothing is left to do, no scheduler is looked for."""
    with Journal(tmp_path / "j", IDENTITY) as journal, executor_for("serial", 1) as runner:
        list(run(partial(draw, 0), range(COUNT), runner, journal=journal))
    with Journal(tmp_path / "j", IDENTITY) as journal, executor_for("dask://127.0.0.1:1", 1) as runner:
        assert [packed(part) for part in run(partial(draw, 0), range(COUNT), runner, journal=journal)] == whole(
            0, COUNT
        )


def begun(executor: str, delay_s: float, folder: Path) -> subprocess.Popen[bytes]:
    """A sweep in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.sweep.sweeper", executor, str(delay_s), str(folder / "j"), str(folder / "out")],
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
        start_new_session=True,
    )


def is_empty(group: int) -> bool:
    """Whether no process of a group is left, after a while at most; those that only wait to be fetched have ended."""
    for _ in range(400):
        if not any(_is_of(group, one) for one in psutil.process_iter()):
            return True
        time.sleep(0.02)
    return False


def _is_of(group: int, process: psutil.Process) -> bool:
    try:
        return os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


def held(folder: Path) -> int:
    """Chunks in the journal of the sweeper."""
    with Journal(folder / "j", sweeper.IDENTITY) as journal:
        return len(journal.finished)


@pytest.mark.parametrize("executor", ["serial", "threads", "processes", "dask"])
def test_ctrl_c(executor: str, tmp_path: Path) -> None:
    """On Ctrl-C, which a terminal sends to all processes, they end without a word, and what is finished is kept."""
    process = begun(executor, 0.1, tmp_path)
    while not (tmp_path / "j").exists() or (tmp_path / "j").stat().st_size < 6_000:
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert (process.returncode, said.decode()) == (130, "")
    assert is_empty(process.pid)
    assert 2 <= held(tmp_path) < sweeper.CHUNKS
    finish(begun("serial", 0.0, tmp_path), tmp_path)


@pytest.mark.parametrize(("executor", "kills"), [("serial", 10), ("processes", 3)])
def test_killed_again_and_again(executor: str, kills: int, tmp_path: Path) -> None:
    """Killed at random moments and resumed each time, a sweep gives what it gives undisturbed; no worker stays."""
    rng = np.random.default_rng(20261130)
    start_s = time_to_first(executor, tmp_path)
    while kills:
        process = begun(executor, 0.05, tmp_path)
        try:
            process.wait(start_s * rng.uniform(0.1, 2.5))
        except subprocess.TimeoutExpired:
            process.kill()
            kills -= 1
            process.communicate()
            assert is_empty(process.pid)
        else:
            finish(process, tmp_path)
    finish(begun(executor, 0.0, tmp_path), tmp_path)


def time_to_first(executor: str, folder: Path) -> float:
    """Time from the start of the sweeper until something is finished; it is killed then. [s]."""
    begin_s = time.monotonic()
    process = begun(executor, 0.05, folder)
    while not (folder / "j").exists() or (folder / "j").stat().st_size < 1_000:
        assert process.poll() is None
        time.sleep(0.005)
    passed_s = time.monotonic() - begin_s
    process.kill()
    process.communicate()
    assert is_empty(process.pid)
    return passed_s


def finish(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Let a sweep end, compare what it wrote, and make room for another."""
    assert process.communicate()[1] == b""
    assert process.returncode == 0
    assert (folder / "out").read_bytes() == b"".join(whole(sweeper.SEED, sweeper.CHUNKS))
    (folder / "out").unlink()
    (folder / "j").unlink()
