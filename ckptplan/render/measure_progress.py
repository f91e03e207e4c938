"""A bar for bytes on their way, with their rate, on a terminal only."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TextIO


class RateBar(AbstractContextManager[Callable[[str, int, int], object]]):
    """Entered, it gives a function to call with what is done, bytes done, and bytes in all; left, it clears itself."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self._task = self._progress.add_task("preparing", total=None)
        self._what = ""

    def __enter__(self) -> Callable[[str, int, int], object]:
        """Show the bar."""
        self._progress.start()
        return self._update

    def __exit__(self, *exception: object) -> None:
        """Clear the bar."""
        self._progress.stop()

    def _update(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self._what = what
            self._progress.reset(self._task, description=what, total=total)
        self._progress.update(self._task, completed=done, total=total)
