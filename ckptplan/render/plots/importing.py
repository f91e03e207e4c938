"""Matplotlib as it comes: imported without anything that the user or the folder sets for it.

A notebook exports ``MPLBACKEND``, a folder may hold a ``matplotlibrc`` that cannot be read, a home may be read-only:
matplotlib fails at its import by the first two, and talks on standard error by the third.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from ckptplan.errors import InputError

_SETTINGS = ("MPLBACKEND", "MATPLOTLIBRC", "MPLCONFIGDIR")


@cache
def import_matplotlib() -> None:
    """Import matplotlib with its own settings; afterwards the environment and the folder are as they were.

    Raises
    ------
    ImportError
        If it is not installed.
    InputError
        If there is no folder at all to which it could write what it knows of fonts.
    """
    quiet = logging.getLogger("matplotlib")
    if not quiet.handlers:
        quiet.addHandler(logging.NullHandler())  # else warnings go to standard error
    if "matplotlib.font_manager" in sys.modules:
        return
    with _untouched():
        try:
            import matplotlib.figure
            import matplotlib.font_manager  # noqa: F401 - reads and writes its cache once
        except (OSError, RuntimeError) as error:
            raise InputError(
                f"matplotlib finds no folder that it can write to: {error}", hint="set TMPDIR or MPLCONFIGDIR to one"
            ) from error


@contextmanager
def _untouched() -> Iterator[None]:
    """No settings in the environment, and a current folder without a file of settings: that comes before all others."""
    kept = {name: os.environ.pop(name) for name in _SETTINGS if name in os.environ}
    os.environ["MATPLOTLIBRC"] = os.devnull  # an empty file of settings, in place of that of the home
    if "MPLCONFIGDIR" in kept:
        os.environ["MPLCONFIGDIR"] = str(Path(kept["MPLCONFIGDIR"]).absolute())
    here = None
    with suppress(OSError):
        here = os.open(os.curdir, getattr(os, "O_PATH", os.O_RDONLY))
        os.chdir(Path(os.__file__).parent)
    try:
        yield
    finally:
        if here is not None:
            with suppress(OSError):
                os.fchdir(here)
            os.close(here)
        for name in _SETTINGS:
            os.environ.pop(name, None)
        os.environ.update(kept)
