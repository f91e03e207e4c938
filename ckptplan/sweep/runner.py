"""Where the parts of a sweep are worked out: what every engine gives, and this process, alone or with threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from ckptplan.sweep.columns import Columns

Evaluate: TypeAlias = Callable[[Any], Columns]

MOST_LOSSES = 3  # workers that one chunk may cost


class Lost(Exception):  # noqa: N818 - the chunk is run again
    """A chunk has no result because a worker was lost.

    ``blamed`` says that the worker was busy with this very chunk; ``final`` that the engine has run it again itself,
    and given up.
    """

    def __init__(self, message: str, *, blamed: bool = True, final: bool = False) -> None:
        super().__init__(message)
        self.blamed, self.final = blamed, final


class Runner(AbstractContextManager["Runner"], ABC):
    """An engine. `start` sends it what it evaluates, once; then it takes chunks; left, it has ended its workers."""

    @property
    @abstractmethod
    def ahead(self) -> int:
        """Chunks that may be submitted and not yet handed on: enough that no worker waits, few enough for memory."""

    @abstractmethod
    def start(self, evaluate: Evaluate) -> None:
        """Take what gives the columns of a chunk; unless all stays in this process, it pickles."""

    @abstractmethod
    def submit(self, chunk: Any) -> Future[Columns]:
        """Have a chunk evaluated."""

    def result(self, future: Future[Columns]) -> Columns:
        """The columns of a future that is done; raises `Lost`, or what went wrong in the chunk."""
        return future.result()

    @abstractmethod
    def stop(self) -> None:
        """Cancel what is not finished, and end the workers; `start` may follow."""

    def __exit__(self, *exception: object) -> None:
        """End the workers."""
        self.stop()


class _Here(Executor):
    """The thread that submits: what is submitted is done at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # an interruption goes straight through
            future.set_exception(error)
        return future


class InProcess(Runner):
    """No other process: one chunk after another, or threads, which suffice where numpy lets go of the interpreter."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._executor: Executor | None = None

    @property
    def ahead(self) -> int:
        """One chunk for this thread, two for each of several."""
        return 1 if self._threads == 1 else 2 * self._threads

    def start(self, evaluate: Evaluate) -> None:
        """Make ready; nothing is sent anywhere."""
        self._evaluate = evaluate
        self._executor = _Here() if self._threads == 1 else ThreadPoolExecutor(self._threads)

    def submit(self, chunk: Any) -> Future[Columns]:
        """Have a chunk evaluated."""
        if self._executor is None:
            raise RuntimeError("the runner is not started")
        return self._executor.submit(self._evaluate, chunk)

    def stop(self) -> None:
        """Wait for the chunks that threads are busy with; begin no other."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None
