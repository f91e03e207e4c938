"""Prices: of a GPU-hour, and what a useful one is worth; one option each, and one refusal, for every command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from ckptplan.errors import UsageError
from ckptplan.units import no_price

_VARIABLE = "CKPTPLAN_GPU_HOUR_PRICE"


def _checked(context: typer.Context, option: typer.CallbackParam, value: float | None) -> float | None:
    """The price, if it can be one; else the refusal names where it came from."""
    why = None if value is None else no_price(value)
    if why is None:
        return value
    from ckptplan.cli.choices import from_environment

    is_variable = from_environment(context, str(option.name))
    given = f"{_VARIABLE}={value:g}" if is_variable else f"{option.opts[0]} {value:g}"
    raise UsageError(f"{given}: {why}", hint="write the price of one GPU for one hour, for example 2.5")


def unanswered(price: float | None, work_s: float | None, side: str = "") -> Iterator[str]:
    """A price that nothing has, because the work of the run is not known; ``side`` names one of several specs."""
    if price is not None and work_s is None:
        yield f"{f'{side}: ' if side else ''}no training.duration is given, so GPU-hours have no number and no price"


PriceOption = Annotated[
    float | None,
    typer.Option(
        "--gpu-hour-price",
        metavar="PRICE",
        min=0.0,
        envvar=_VARIABLE,
        callback=_checked,
        help="Price of one GPU for one hour: turns GPU-hours into money.",
    ),
]
WorthOption = Annotated[
    float | None,
    typer.Option(
        "--useful-hour-worth",
        metavar="WORTH",
        min=0.0,
        callback=_checked,
        help="Worth of a useful GPU-hour: at what size does adding stop paying?",
    ),
]
