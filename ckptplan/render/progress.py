"""A bar for long work, on a terminal only."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TextIO


class Bar(AbstractContextManager[Callable[[int, int], object]]):
    """Entered, it gives a function to call with what is done and what there is to do; left, it clears itself."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._progress = Progress(console=Console(file=stream), transient=True)
        self._task = self._progress.add_task("simulated runs", total=None)

    def __enter__(self) -> Callable[[int, int], object]:
        """Show the bar."""
        self._progress.start()
        return self._update

    def __exit__(self, *exception: object) -> None:
        """Clear the bar."""
        self._progress.stop()

    def _update(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)
