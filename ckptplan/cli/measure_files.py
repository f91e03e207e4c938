"""Files of ``ckptplan measure``: notes before a measurement, and results of benchmarks out of files and pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from ckptplan.errors import InputError, Problem

if TYPE_CHECKING:
    from ckptplan.measure.figures import Imported

_STANDARD_INPUT = "standard input"


def noting(said: list[str]) -> Callable[[str], None]:
    """Writes what is to be read before a measurement begins to standard error, and keeps it in the list."""
    from ckptplan.render.screen import Screen

    def note(text: str) -> None:
        said.append(text)
        sys.stderr.write(Screen.of(sys.stderr).paragraph(text, indent="  ", first="note: ") + "\n")
        sys.stderr.flush()

    return note


def imported(names: list[str]) -> list[Imported]:
    """The results in all files, "-" being standard input.

    Raises
    ------
    InputError
        With the faults of all that cannot be read.
    """
    from ckptplan.readers.storage.imports import import_file, import_text

    found: list[Imported] = []
    problems: list[Problem] = []
    for name in dict.fromkeys(names):
        try:
            found.append(import_text(_piped(), _STANDARD_INPUT) if name == "-" else import_file(name))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return found


def _piped() -> str:
    from ckptplan.readers.storage.documents import LARGEST_FILE, decoded

    hint = "pipe the result of a benchmark into it, or give a file"
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("standard input is closed", hint=hint)
    try:
        data = stream.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"standard input cannot be read: {error}", hint=hint) from error
    return decoded(data or b"", _STANDARD_INPUT)
