"""A sweep at work: chunks out to an engine, their columns back in order, whatever is lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeAlias

from ckptplan.errors import InputError
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.journal import Journal
from ckptplan.sweep.runner import MOST_LOSSES, Evaluate, Lost, Runner

OnProgress: TypeAlias = Callable[[Any, bool], object]  # a chunk that is finished, and whether it was beforehand


def run(
    evaluate: Evaluate,
    chunks: Sequence[Any],
    runner: Runner,
    *,
    journal: Journal | None = None,
    on_progress: OnProgress | None = None,
) -> Generator[Columns, None, None]:
    """Evaluate chunks on an engine and give their columns in order.

    Parameters
    ----------
    evaluate : callable
        Gives the columns of a chunk. The same chunk must give the same columns wherever it is evaluated.
    chunks : sequence
        The chunks, in order.
    runner : Runner
        The engine, from `executor_for`.
    journal : Journal, optional
        Chunks that it holds are not evaluated; each other one is added as soon as it is finished.
    on_progress : callable, optional
        Called as ``on_progress(chunk, resumed)``, first for the chunks of the journal, then as others are finished.

    Yields
    ------
    Columns
        Of each chunk, in order. No more than ``runner.ahead`` are in memory or on their way.

    Raises
    ------
    InputError
        If a chunk cannot be evaluated, or has cost `MOST_LOSSES` workers. The rest is cancelled.
    KeyboardInterrupt
        On Ctrl-C; what is finished is in the journal, and the workers have ended. Whoever goes through the columns
        closes the iterator (``contextlib.closing``), so that this holds wherever the interruption arrives.
    """
    held = frozenset(journal.finished) if journal is not None else frozenset()
    if on_progress is not None:
        for index in sorted(held):
            on_progress(chunks[index], True)
    work = _Work(chunks, held, runner, journal, on_progress)
    try:
        if len(held) < len(chunks):
            runner.start(evaluate)
        for index in range(len(chunks)):
            if journal is not None and index in held:
                yield journal.read(index)
            else:
                yield work.result_of(index)
    finally:
        try:
            work.keep()
        finally:
            runner.stop()


class _Work:
    """Chunks that are on their way, and those that are back and wait for their turn."""

    def __init__(
        self,
        chunks: Sequence[Any],
        held: frozenset[int],
        runner: Runner,
        journal: Journal | None,
        on_progress: OnProgress | None,
    ) -> None:
        self._chunks, self._runner, self._journal, self._on_progress = chunks, runner, journal, on_progress
        self._to_do = (index for index in range(len(chunks)) if index not in held)
        self._away: dict[Future[Columns], int] = {}
        self._back: dict[int, Columns] = {}
        self._losses: Counter[int] = Counter()

    def result_of(self, index: int) -> Columns:
        """The columns of the chunk whose turn it is."""
        self._send()
        while index not in self._back:
            done = wait(self._away, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=self._away.__getitem__):
                self._receive(future)
            self._send()
        return self._back.pop(index)

    def keep(self) -> None:
        """Note down what was finished and not yet looked at."""
        if self._journal is None or not self._journal.is_open:
            return
        for future, index in self._away.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                self._journal.append(index, future.result())
        self._away.clear()

    def _send(self) -> None:
        """Let chunks go until the window is full."""
        while len(self._away) + len(self._back) < self._runner.ahead:
            index = next(self._to_do, None)
            if index is None:
                return
            self._away[self._runner.submit(self._chunks[index])] = index

    def _receive(self, future: Future[Columns]) -> None:
        index = self._away.pop(future)
        try:
            columns = self._runner.result(future)
        except Lost as lost:
            self._count(index, lost)
            self._away[self._runner.submit(self._chunks[index])] = index
            return
        if self._journal is not None:
            self._journal.append(index, columns)
        self._back[index] = columns
        if self._on_progress is not None:
            self._on_progress(self._chunks[index], False)

    def _count(self, index: int, lost: Lost) -> None:
        """Count a loss, and give up where one chunk costs one worker after another."""
        self._losses[index] += lost.blamed
        if lost.final or self._losses[index] >= MOST_LOSSES:
            often = "again and again" if lost.final else f"{MOST_LOSSES} times"
            raise InputError(
                f"part {index + 1:,} of {len(self._chunks):,} lost its worker {often}, and is given up: {lost}",
                hint="most often memory runs out: give fewer --jobs. With --resume FILE the finished parts are kept",
            ) from lost
