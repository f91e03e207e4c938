"""Where a result goes, refused before the work if nothing can be written there."""

from __future__ import annotations

import os
from pathlib import Path

from ckptplan.errors import UsageError, printable


def refuse_place(file: Path | None, option: str) -> None:
    """A file that could not be written after the work; devices and pipes such as /dev/stdout are no mistake.

    Raises
    ------
    UsageError
        If it is a directory, or its folder is missing or cannot be written to.
    """
    _refuse(file, option, folders=False)


def refuse_name(name: Path | None, option: str) -> None:
    """The same for the name of a file or of a folder that is to be made; what is there is for its writer to judge.

    Raises
    ------
    UsageError
        If the folder that it would be in is missing or cannot be written to.
    """
    _refuse(name, option, folders=True)


def _refuse(file: Path | None, option: str, *, folders: bool) -> None:
    if file is None:
        return
    shown = f"{option} {printable(str(file))}"
    try:
        is_folder, exists, folder = file.is_dir(), file.exists(), file.resolve().parent
        has_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{shown}: {printable(reason)}", hint=f"give another file with {option}") from error
    if is_folder and folders:
        return
    if is_folder:
        raise UsageError(f"{shown}: it is a directory", hint=f"give another file with {option}")
    if exists and not file.is_file():
        if not os.access(file, os.W_OK):
            raise UsageError(f"{shown}: it cannot be written to", hint=f"give another file with {option}")
        return
    if not has_folder:
        raise UsageError(f"{shown}: there is no folder {printable(str(folder))}", hint="make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"{shown}: the folder {printable(str(folder))} cannot be written to", hint="give a file in another folder"
        )
