"""``--plot FILE``: the picture beside the result, refused before the work where it could not be drawn or written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ckptplan.cli.options import file_named
from ckptplan.cli.places import refuse_place
from ckptplan.errors import InputError, UsageError, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ckptplan.render.plots.style import Theme


class ThemeName(StrEnum):
    """Colours of a picture."""

    LIGHT = "light"
    DARK = "dark"


picture_file = file_named("--plot", "plan.svg")
PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", parser=picture_file, help="Also draw it, to FILE.svg or FILE.png."),
]
ThemeOption = Annotated[ThemeName, typer.Option("--theme", help="Colours of --plot.")]

_ENDINGS = (".svg", ".png")


class Plot(NamedTuple):
    """Where a picture goes, and in which colours."""

    file: Path
    theme: ThemeName


def plot_to(context: typer.Context, file: Path | None, *, output: Path | None, inputs: Iterable[str]) -> Plot | None:
    """What ``--plot`` and ``--theme`` ask for; None without ``--plot``.

    Raises
    ------
    UsageError
        If the file has another ending, is an input or the file of ``-o``, or cannot be written; without matplotlib.
    """
    from ckptplan.cli.choices import typed

    if file is None:
        if typed(context, "theme"):
            raise UsageError("--theme does nothing without --plot", hint="add --plot FILE.svg")
        return None
    _refuse_ending(file)
    refuse_input(file, inputs)
    if output is not None and output.absolute() == file.absolute():
        raise UsageError(f"--plot {_shown(file)} and -o name one file", hint="give another file with -o")
    _refuse_what_is_no_file(file)
    refuse_place(file, "--plot")
    _refuse_without_matplotlib()
    return Plot(file, ThemeName(context.params["theme"]))


def refuse_input(file: Path, inputs: Iterable[str]) -> None:
    """A picture must not replace what it is drawn from."""
    from ckptplan.cli.output import refuse_overwriting

    refuse_overwriting(file, inputs, option="--plot")


def draw(plot: Plot | None, figure_in: Callable[[Theme], Figure], inputs: Iterable[str] = ()) -> None:
    """Draw and write the picture, if one is asked for; ``inputs`` are files that only reading the spec has told.

    Raises
    ------
    InputError
        If there is nothing to draw, or the file cannot be written.
    """
    if plot is None:
        return
    from ckptplan.cli.output import replace, warn
    from ckptplan.render.plots.lettering import lost_letters, noting_lost_letters
    from ckptplan.render.plots.saving import png_bytes, svg_bytes
    from ckptplan.render.plots.style import THEMES

    refuse_input(plot.file, inputs)
    with noting_lost_letters() as lost:
        figure = figure_in(THEMES[plot.theme.value])
    data = (svg_bytes if plot.file.suffix.lower() == ".svg" else png_bytes)(figure)
    try:
        replace(plot.file, data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write {_shown(plot.file)}: {reason}", hint="give another file with --plot") from error
    warn(lost_letters(lost, _shown(plot.file)))


def _shown(file: Path) -> str:
    return printable(str(file))


def _refuse_ending(file: Path) -> None:
    if file.suffix.lower() not in _ENDINGS:
        stem = "" if file.stem.startswith(".") else printable(file.stem)
        found = f"ends in {printable(file.suffix)}" if file.suffix else "has no ending"
        raise UsageError(
            f"--plot {_shown(file)}: the file {found}, and only .svg and .png can be drawn",
            hint=f"write for example --plot {stem or 'plan'}.svg",
        )


def _refuse_what_is_no_file(file: Path) -> None:
    with suppress(OSError, RuntimeError, ValueError):  # what cannot even be looked at is said with its place
        if file.exists() and not file.is_file():
            raise UsageError(f"--plot {_shown(file)}: it is not a regular file", hint="give another file with --plot")


def _refuse_without_matplotlib() -> None:
    from ckptplan.render.plots.importing import import_matplotlib

    try:
        import_matplotlib()  # refused here, before any work
    except ImportError:
        raise UsageError(
            "--plot draws with matplotlib, which is not installed", hint="pip install '.[plot]' from the source tree"
        ) from None
