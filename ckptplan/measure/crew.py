"""Several threads that begin at one time, and of which the first error, or a signal, ends all.

Threads suffice for writers: ``write``, ``fsync`` and ``read`` let go of the interpreter while they last, and a block
takes a thousand times as long as what the interpreter does between two. File systems and devices set their limits per
mount and node, not per process; a client that limits each process by itself would show less here than eight processes
get.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple

from ckptplan.errors import InputError

Clock = Callable[[], float]
Report = Callable[[int, int], object]  # bytes done, bytes in all
_POLL_S = 0.05
_PATIENCE_S = 5.0  # for a thread that hangs in the kernel; its file is removed nevertheless


class Stopped(Exception):  # noqa: N818 - not a malfunction
    """Another one of the crew failed, or the user stopped it."""


class Member(NamedTuple):
    """What a thread knows of its crew."""

    number: int
    start: Callable[[], float]  # waits for the others; gives the common time of the start
    moved: Callable[[int], None]  # counts bytes; raises Stopped


class Crew:
    """Threads that do the same work, each for itself."""

    def __init__(self, members: int, total_bytes: int, clock: Clock, report: Report | None = None) -> None:
        self._done = [0] * members
        self._total_bytes, self._clock, self._report = total_bytes, clock, report
        self._stop = threading.Event()
        self._barrier = threading.Barrier(members, action=self._note_start)
        self._started = 0.0
        self._errors: list[BaseException] = []

    def run(self, work: Callable[[Member], object], beside: Callable[[], object] | None = None) -> None:
        """Let every member do the work; ``beside`` is called again and again in the meantime, by this thread."""
        threads = [
            threading.Thread(target=self._guarded, args=(work, number), daemon=True)
            for number in range(len(self._done))
        ]
        try:
            _start(threads)
            for thread in threads:
                while thread.is_alive():
                    if beside is None:
                        thread.join(_POLL_S)
                    else:
                        beside()
                    self._tell()
        except BaseException:
            self._give_up()
            for thread in threads:
                if thread.ident is not None:
                    thread.join(_PATIENCE_S)
            raise
        self._tell()
        if self._errors:
            raise self._errors[0]

    def _guarded(self, work: Callable[[Member], object], number: int) -> None:
        try:
            work(Member(number, self._wait, lambda count: self._moved(number, count)))
        except (Stopped, threading.BrokenBarrierError):
            self._give_up()
        except BaseException as error:  # told by the thread that waits
            self._errors.append(error)
            self._give_up()

    def _give_up(self) -> None:
        self._stop.set()
        self._barrier.abort()

    def _note_start(self) -> None:
        self._started = self._clock()

    def _wait(self) -> float:
        self._barrier.wait()
        return self._started

    def _moved(self, number: int, count: int) -> None:
        self._done[number] += count
        if self._stop.is_set():
            raise Stopped

    def _tell(self) -> None:
        if self._report is not None:
            self._report(sum(self._done), self._total_bytes)


def _start(threads: list[threading.Thread]) -> None:
    try:
        for thread in threads:
            thread.start()
    except RuntimeError as error:
        raise InputError(
            f"{len(threads):,} threads cannot be started: {error}",
            hint="give fewer --writers, or raise the limit (ulimit -u)",
        ) from error
