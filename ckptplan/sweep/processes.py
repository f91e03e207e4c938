"""Processes of this machine as an engine: each one a pool of its own, so that a lost one takes no other with it."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

from ckptplan.errors import InputError
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.runner import Evaluate, Lost, Runner

_FILES_EACH = 8  # that this process holds open for one worker: queues, wake-up, sentinel
_FILES_OTHER = 128
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "ARROW_NUM_THREADS")

_UNSAID = "ignore:resource_tracker:UserWarning"  # how what it says begins


class Processes(Runner):
    """So many worker processes, each started when there is work for it."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._workers: list[_Worker] = []
        self._of: dict[Future[Columns], _Worker] = {}
        self._leash: tuple[Connection, Connection] | None = None  # what workers watch, and what this process closes

    @property
    def ahead(self) -> int:
        """One chunk to work on and one to go on with, for each."""
        return 2 * self._jobs

    def start(self, evaluate: Evaluate) -> None:
        """Make ready what each worker is sent when it starts."""
        allow_files(_FILES_EACH * self._jobs + _FILES_OTHER)
        self._payload = pickle.dumps(evaluate, pickle.HIGHEST_PROTOCOL)
        _track()  # before the first queue, whose locks would start it
        self._leash = get_context("spawn").Pipe(duplex=False)
        self._workers = [self._worker() for _ in range(self._jobs)]

    def submit(self, chunk: Any) -> Future[Columns]:
        """Give a chunk to the worker with the least to do; one that is lost is replaced by another first."""
        slot = min(range(self._jobs), key=lambda number: self._workers[number].load)
        for _ in range(2):
            worker = self._workers[slot]
            if not worker.is_lost:
                try:
                    future = worker.submit(chunk)
                except BrokenExecutor:  # lost while it had nothing to do
                    pass
                else:
                    self._of[future] = worker
                    return future
            worker.end()
            self._workers[slot] = self._worker()
        raise InputError("worker processes end as soon as they are started", hint="--executor serial needs none")

    def result(self, future: Future[Columns]) -> Columns:
        """The columns of a future that is done."""
        worker = self._of.pop(future)
        try:
            return future.result()
        except BrokenExecutor:
            raise Lost("a worker process ended abruptly", blamed=worker.was_busy_with(future)) from None

    def stop(self) -> None:
        """End the workers at once, whatever they are doing."""
        if self._leash is not None:
            self._leash[1].close()
        for worker in self._workers:
            worker.end()
        if self._leash is not None:
            self._leash[0].close()
        self._leash, self._workers = None, []
        self._of.clear()

    def _worker(self) -> _Worker:
        if self._leash is None:
            raise RuntimeError("the runner is not started")
        return _Worker(self._payload, self._leash[0])


class _Worker:
    """A pool of one process, and what was given to it, in order."""

    def __init__(self, payload: bytes, leash: Connection) -> None:
        # A fresh interpreter: forking a process that has threads can deadlock.
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), _begin, (payload, leash))
        self._given: list[Future[Columns]] = []
        self._started = False

    @property
    def load(self) -> tuple[int, bool]:
        """What is unfinished, and among equals those first that need no start."""
        return sum(not future.done() for future in self._given), not self._started

    @property
    def is_lost(self) -> bool:
        """Whether a chunk did not come back."""
        return any(_is_lost(future) for future in self._given)

    def was_busy_with(self, future: Future[Columns]) -> bool:
        """Whether a lost chunk is the first one that was lost here: the others were still waiting."""
        return next((one for one in self._given if _is_lost(one)), None) is future

    def submit(self, chunk: Any) -> Future[Columns]:
        """Give it a chunk; the process starts with the first one."""
        self._given = [future for future in self._given if not future.done()]
        try:
            with sheltered():
                future = self._pool.submit(_evaluate, chunk)
        except (OSError, RuntimeError) as error:
            if isinstance(error, BrokenExecutor):
                raise
            raise InputError(f"a worker process cannot be started: {error}", hint="give fewer --jobs") from error
        self._started = True
        self._given.append(future)
        return future

    def end(self) -> None:
        """Let go of the process."""
        self._pool.shutdown(cancel_futures=True)


def _is_lost(future: Future[Columns]) -> bool:
    return future.done() and not future.cancelled() and isinstance(future.exception(), BrokenExecutor)


@contextmanager
def sheltered() -> Iterator[None]:
    """Processes and threads started meanwhile never see Ctrl-C; for this one it waits until the end of the block.

    A blocked signal is inherited, but does not keep this process from an interruption: any other thread may take it.
    """
    _track()  # it leaves Ctrl-C unblocked when it starts
    with _deferred():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _track() -> None:
    """Start the process that removes semaphores which this one leaves when it is killed: that is no news to anybody."""
    sys.warnoptions.append(_UNSAID)  # handed on to that process
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_UNSAID)


@contextmanager
def _deferred() -> Iterator[None]:
    """Handle signals that interrupt at the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    handled = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    handled = {number: handler for number, handler in handled.items() if callable(handler)}
    try:
        for number in handled:
            signal.signal(number, lambda number, _: arrived.append(number))
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])


def allow_files(count: int) -> None:
    """Raise the limit of open files, as far as the system allows, to what so many workers need."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        raise InputError(f"{count:,} open files are needed and {hard:,} allowed", hint="give fewer --jobs")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


class _Held:
    """What a worker process was sent at its start."""

    payload = b""
    evaluate: Evaluate | None = None


def _begin(payload: bytes, leash: Connection) -> None:
    """A worker's first steps; nothing here may fail, as a pool would try again and again."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for name in _ONE_THREAD:  # numpy reads them when it is loaded, with the first chunk
        os.environ[name] = "1"
    threading.Thread(target=_end_with, args=(leash,), daemon=True).start()
    _Held.payload = payload


def _evaluate(chunk: Any) -> Columns:
    if _Held.evaluate is None:
        _Held.evaluate = pickle.loads(_Held.payload)  # noqa: S301 - from the process that started this one
    return _Held.evaluate(chunk)


def _end_with(leash: Connection) -> None:
    """End this process when the one that started it lets go of the leash, or is killed."""
    try:
        leash.recv_bytes()
    finally:
        os._exit(1)
