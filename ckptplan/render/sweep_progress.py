"""A bar for a sweep, with points done, points per second and the time that is left, on a terminal only."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TextIO

_REFRESH_S = 0.2  # of a plain line


class _Counted(AbstractContextManager[Callable[[int, bool], object]], ABC):
    """Entered, it gives a function to call with points that are finished and whether they were so beforehand.

    Left, it clears itself. Points of a journal count as done, but not in the rate.
    """

    def __init__(self, points: int, clock: Callable[[], float]) -> None:
        self._points, self._clock, self._resumed, self._done = points, clock, 0, 0
        self._began_s = 0.0

    def __enter__(self) -> Callable[[int, bool], object]:
        """Begin; the rate is that from here on."""
        self._began_s = self._clock()
        return self._update

    def _update(self, points: int, resumed: bool) -> None:
        if resumed:
            self._resumed += points
        else:
            self._done += points
        done = self._resumed + self._done
        self._show(done, self._text(done))

    @abstractmethod
    def _show(self, done: int, text: str) -> None:
        """Show how far it is."""

    def _text(self, done: int) -> str:
        counted = f"{done:,} of {self._points:,} points"
        passed_s = self._clock() - self._began_s
        if not self._done or passed_s <= 0.0:
            return counted
        rate = self._done / passed_s
        shown = f"{rate:,.0f}" if rate >= 9.95 else f"{rate:.1f}"
        return f"{counted}, {shown}/s, {_clock_text((self._points - done) / rate)} left"


class PlainLine(_Counted):
    """One line that is written over itself, without any escape code: for NO_COLOR and simple terminals."""

    def __init__(self, stream: TextIO, points: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(points, clock)
        self._stream, self._shown_s, self._width = stream, -_REFRESH_S, 0

    def __exit__(self, *exception: object) -> None:
        """Blank the line."""
        self._write("")
        self._stream.write("\r")
        self._stream.flush()

    def _show(self, done: int, text: str) -> None:
        if self._clock() >= self._shown_s + _REFRESH_S:
            self._shown_s = self._clock()
            self._write(text)

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text.ljust(self._width)}")
        self._stream.flush()
        self._width = len(text)


class SweepBar(_Counted):
    """A bar, for a terminal that takes escape codes."""

    def __init__(self, stream: TextIO, points: int, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        super().__init__(points, clock)
        self._progress = Progress(
            BarColumn(bar_width=None),
            TextColumn("{task.description}", markup=False),
            console=Console(file=stream),
            transient=True,
            expand=True,
        )
        self._task = self._progress.add_task("preparing", total=points)

    def __enter__(self) -> Callable[[int, bool], object]:
        """Show the bar; the rate is that from here on."""
        self._progress.start()
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        """Clear the bar."""
        self._progress.stop()

    def _show(self, done: int, text: str) -> None:
        self._progress.update(self._task, completed=done, description=text)


def _clock_text(seconds: float) -> str:
    """Hours, minutes and seconds, rounded to the second."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
