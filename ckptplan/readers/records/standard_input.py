"""Standard input as a file for as long as it is read: readers go through a file more than once."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ckptplan.readers.files import refused

NAME = "standard input"
MOST_BYTES = 4_000_000_000
_PIECE = 1 << 20


@contextmanager
def spooled() -> Iterator[str]:
    """The path of a temporary file with everything that standard input gives; it is removed afterwards.

    Raises
    ------
    InputError
        Where a person sits at it, for more bytes than are taken, and where the disk is full.
    """
    source = sys.stdin.buffer if sys.stdin is not None else None
    if source is None or source.closed or source.isatty():
        raise refused(NAME, "nothing is piped into it", "for example: sacct -P -o ... | ckptplan fit -")
    with tempfile.TemporaryDirectory(prefix="ckptplan-") as folder:
        path = Path(folder) / "record"
        size = 0
        try:
            with path.open("wb") as kept:
                while piece := source.read(_PIECE):
                    size += len(piece)
                    if size > MOST_BYTES:
                        break
                    kept.write(piece)
        except OSError as error:
            hint = "write it into a file, and name that; TMPDIR names another place"
            raise refused(NAME, f"cannot be kept in {folder}: {error.strerror}", hint) from None
        if size > MOST_BYTES:
            raise refused(NAME, f"more than {MOST_BYTES:,} bytes", "write it into a file, and name that")
        yield str(path)
