"""Files of ``ckptplan measure``: where a result can be written, and results of benchmarks out of files and pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ckptplan.errors import InputError, Problem

if TYPE_CHECKING:
    from ckptplan.measure.figures import Imported

_STANDARD_INPUT = "standard input"


def check_writable(output: Path | None) -> None:
    """What takes hours must not fail in the end for want of a place; nothing is made here.

    Raises
    ------
    InputError
        If the folder of the file is missing or may not be written to, or the file is a folder.
    """
    if output is None:
        return
    try:
        reason = _refusal(output)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        reason = (error.strerror if isinstance(error, OSError) else None) or "the name cannot be a file"
    if reason is not None:
        raise InputError(f"cannot write {output}: {reason}", hint="give another file with -o; nothing was measured")


def _refusal(output: Path) -> str | None:
    """Why a file cannot be written; a device or a pipe is written to, and anything else is replaced."""
    if output.is_dir():
        return "it is a directory"
    if output.exists() and not output.is_file():
        return None if os.access(output, os.W_OK) else "it may not be written"
    folder = output.resolve().parent
    if not folder.exists():
        return "its folder does not exist"
    if not folder.is_dir():
        return "its folder is a file"
    return None if os.access(folder, os.W_OK | os.X_OK) else "its folder may not be written to"


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
