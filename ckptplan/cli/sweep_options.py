"""Options of ``ckptplan sweep``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ckptplan.cli.options import file_named, format_option


class SweepFormat(StrEnum):
    """How a sweep is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


class EachRow(StrEnum):
    """What one row is about."""

    POINT = "point"
    STRATEGY = "strategy"
    METHOD = "method"


def _listed(show: str | None) -> str | None:
    """``--show list`` prints the columns, and ends there."""
    from ckptplan.sweep.titles import LISTED

    if show != LISTED:
        return show
    from ckptplan.cli.output import emit, screen_for
    from ckptplan.render.sweep_names import columns_listed

    emit(columns_listed(screen_for(None)), None)
    raise typer.Exit


SweepSpecsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SPEC...", help="Specs, or files with only a sweep: group, or - for standard input."),
]
OverOption = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="KEY=VALUES",
        help="An axis: a list 10 GB/s,2 TB/s or a range 1024..131072:log:8 or 10..60 s:6 of any numeric key, or of "
        "interval. Repeatable.",
    ),
]
ShowOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        callback=_listed,
        is_eager=True,
        help="Columns, by commas: names, titles of tables, or the groups shares, run, simulated. --show list prints "
        "them all.",
    ),
]
EachOption = Annotated[
    EachRow | None,
    typer.Option("--each", help="A row for each point (its best strategy), strategy, or method.", show_default=False),
]
SimulatedRunsOption = Annotated[
    int | None, typer.Option("--runs", metavar="N", min=1, max=1_000_000, help="Simulate N whole runs at each point.")
]
SweepSeedOption = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", min=0, max=2**63 - 1, help="Seed of all random numbers.  [default: 0]"),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        min=1,
        max=1024,
        help="Workers; the result is the same for any number.  [default: one per processor]",
    ),
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Where simulated and other slow points run: processes, dask (a local cluster), dask://host:port, threads "
        "or serial. Closed forms stay in this process.",
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        parser=file_named("--resume", "kept.journal"),
        help="Keep finished parts in FILE, and go on from those it holds already.",
    ),
]
SweepPlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        parser=file_named("--plot", "study.svg"),
        help="Also draw it, to FILE.svg or FILE.png: goodput, or the first column of numbers in --show, over at most "
        "two axes of several values, for up to 40,000 points and 8 lines or 6 maps of specs and strategies.",
    ),
]
SweepFormatOption = Annotated[SweepFormat, format_option(SweepFormat)]
