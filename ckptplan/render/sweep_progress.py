"""A bar for a sweep, with points done, points per second and the time that is left, on a terminal only."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TextIO


class SweepBar(AbstractContextManager[Callable[[int, bool], object]]):
    """Entered, it gives a function to call with points that are finished and whether they were so beforehand.

    Left, it clears itself. Points of a journal count as done, but not in the rate.
    """

    def __init__(self, stream: TextIO, points: int, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._points, self._clock, self._resumed, self._done = points, clock, 0, 0
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
        self._began_s = self._clock()
        self._progress.start()
        return self._update

    def __exit__(self, *exception: object) -> None:
        """Clear the bar."""
        self._progress.stop()

    def _update(self, points: int, resumed: bool) -> None:
        if resumed:
            self._resumed += points
        else:
            self._done += points
        done = self._resumed + self._done
        self._progress.update(self._task, completed=done, description=self._text(done))

    def _text(self, done: int) -> str:
        counted = f"{done:,} of {self._points:,} points"
        passed_s = self._clock() - self._began_s
        if not self._done or passed_s <= 0.0:
            return counted
        rate = self._done / passed_s
        shown = f"{rate:,.0f}" if rate >= 9.95 else f"{rate:.1f}"
        return f"{counted}, {shown}/s, {_clock_text((self._points - done) / rate)} left"


def _clock_text(seconds: float) -> str:
    """Hours, minutes and seconds, rounded to the second."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"
