"""Threads that begin together and end together."""

from __future__ import annotations

import itertools
import threading

import pytest

from ckptplan.errors import InputError
from ckptplan.measure.crew import Crew, Member
from tests.measure.clocks import ticking


def test_all_begin_at_one_time() -> None:
    """Every member gets the same start, once all have come."""
    starts: list[float] = []
    crew = Crew(4, 0, ticking())
    crew.run(lambda member: starts.append(member.start()))
    assert len(set(starts)) == 1
    assert len(starts) == 4


def test_bytes_are_reported_in_sum() -> None:
    """The last report has the bytes of all."""
    reports: list[tuple[int, int]] = []
    crew = Crew(3, 30, ticking(), lambda done, total: reports.append((done, total)))
    crew.run(lambda member: member.moved(10))
    assert reports[-1] == (30, 30)


def test_the_first_error_ends_all() -> None:
    """One that fails before the start frees those that wait for it, and its error is the one that is raised."""

    def work(member: Member) -> None:
        if member.number == 1:
            raise OSError(28, "full")
        member.start()
        raise AssertionError("nobody starts without the others")

    with pytest.raises(OSError, match="full"):
        Crew(3, 0, ticking()).run(work)


def test_an_error_stops_those_that_are_at_work() -> None:
    """A member that moves bytes for ever is stopped by the failure of another one."""

    def work(member: Member) -> None:
        member.start()
        if member.number == 0:
            raise OSError(5, "broken")
        while True:
            member.moved(1)

    with pytest.raises(OSError, match="broken"):
        Crew(2, 0, ticking()).run(work)


def test_an_interruption_of_the_waiting_thread_stops_all() -> None:
    """Ctrl-C reaches the thread that waits; the others have ended when it goes on."""

    def work(member: Member) -> None:
        member.start()
        while True:
            member.moved(1)

    def interrupted() -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        Crew(2, 0, ticking()).run(work, interrupted)
    assert threading.active_count() == before


def test_threads_that_cannot_be_started_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of threads ends in one sentence, and those that run already end."""
    real, count = threading.Thread.start, itertools.count()

    def limited(thread: threading.Thread) -> None:
        if next(count) == 2:
            raise RuntimeError("can't start new thread")
        real(thread)

    before = threading.active_count()
    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(InputError, match="3 threads cannot be started"):
        Crew(3, 0, ticking()).run(lambda member: member.start())
    assert threading.active_count() == before
