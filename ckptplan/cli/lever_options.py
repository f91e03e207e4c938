"""Options of ``ckptplan levers``."""

from __future__ import annotations

from typing import Annotated

import typer

from ckptplan.errors import UsageError

_DEAREST = 1e9  # in any currency: beyond it sums over a run are no numbers that anybody reads
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


def refuse_no_price(price: float | None) -> None:
    """A price that is no number, or that no GPU-hour ever had."""
    from ckptplan.cli.choices import finite

    finite(price, "--gpu-hour-price")
    if price is not None and price > _DEAREST:
        message = f"--gpu-hour-price {price:g}: more than a billion for one GPU-hour"
        raise UsageError(message, hint="write the price of one GPU for one hour, for example 2.5")
