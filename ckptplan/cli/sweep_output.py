"""Where the rows of a sweep go: a stream, or a file that appears whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ckptplan.cli.output import replacing
from ckptplan.errors import InputError, printable
from ckptplan.render.sweep_columns import GOODPUT, STATUS
from ckptplan.sweep.columns import Columns, Labels


class Tally:
    """Counts rows that have no numbers, as parts go by, and keeps the reason of the first."""

    def __init__(self) -> None:
        self.rows = self.unplanned = 0
        self.reason: str | None = None

    def over(self, parts: Iterable[Columns], tail: dict[str, Any]) -> Iterator[Columns]:
        """The parts, unchanged; ``tail`` is told the number when they end."""
        for part in parts:
            missing = ~np.isfinite(np.asarray(part[GOODPUT], dtype=np.float64))
            self.rows += missing.size
            self.unplanned += int(missing.sum())
            status = part[STATUS]
            if self.reason is None and missing.any() and isinstance(status, Labels):
                code = int(status.codes[np.argmax(missing)])
                self.reason = status.names[code] if code >= 0 else None
            yield part
        tail["unplanned"] = self.unplanned

    def refuse_without_rows(self) -> None:
        """Refuse a result in which nothing could be planned.

        Raises
        ------
        InputError
            With the first reason.
        """
        if self.rows and self.unplanned == self.rows:
            raise InputError(
                f"no point could be planned: {printable(self.reason or 'no reason is known')}",
                hint="ckptplan optimize SPEC --set KEY=VALUE plans one point, and says more",
            )

    def warnings(self) -> Iterator[str]:
        """How many rows have no numbers, and why the first of them."""
        if self.unplanned:
            what = "1 row has" if self.unplanned == 1 else f"{self.unplanned:,} rows have"
            yield f"{what} no numbers; the first: {printable(self.reason or 'no reason is known')}"


@contextmanager
def destination(output: Path | None) -> Iterator[BinaryIO]:
    """What to write to: standard output, or a file aside that takes its place if all goes well.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    if output is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with _replacing(output) as file:
            yield file
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot write {printable(str(output))}: {reason}", hint="give another file with -o"
        ) from error


@contextmanager
def _replacing(output: Path) -> Iterator[BinaryIO]:
    """A locked file aside; once it has taken its place, what killed runs have left of the same file goes."""
    began_s = 0.0
    with replacing(output) as file:
        with suppress(OSError):  # a file system without locks, or a device
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            began_s = os.fstat(file.fileno()).st_mtime
        yield file
    if output.is_file():
        _remove_leftovers(output.resolve(), began_s)


def _remove_leftovers(target: Path, before_s: float) -> None:
    """Remove what runs that were killed have begun for the same file; one that still runs has locked its own."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.part")
    with suppress(OSError):
        for path in [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]:
            with suppress(OSError):
                _remove_unless_locked(path, before_s)


def _remove_unless_locked(path: Path, before_s: float) -> None:
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid() and found.st_mtime < before_s:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(handle)
