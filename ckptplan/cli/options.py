"""Arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


SpecArgument = Annotated[
    str,
    typer.Argument(metavar="SPEC", help="A YAML file, the name of a shipped config, or - for standard input."),
]
SpecsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SPEC...", help="YAML files, names of shipped configs, or - for standard input."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. cluster.gpus=1024. Repeatable."),
]
FormatOption = Annotated[
    Format, typer.Option("--format", "-f", envvar="CKPTPLAN_FORMAT", help="How to print the result.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE (whole or not at all).")
]
