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
LeverPriceOption = Annotated[
    float | None,
    typer.Option(
        "--gpu-hour-price", metavar="PRICE", min=0.0, envvar="CKPTPLAN_GPU_HOUR_PRICE", help="Prices saved GPU-hours."
    ),
]
