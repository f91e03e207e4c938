"""Options of ``ckptplan levers``."""

from __future__ import annotations

from typing import Annotated

import typer

ChangeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME:] KEY=VALUE[; ...]",
        help="A change of your own, e.g. 'restart.total=5 min'; ; stands between several keys of one. Repeatable.",
    ),
]
