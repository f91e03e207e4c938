"""The rule of the spec: its times in whole saves, and times as a spec takes them."""

from __future__ import annotations

import math

import numpy as np

from ckptplan.cost.protection import Retention
from ckptplan.errors import InputError
from ckptplan.interval.elementary import floor_to_whole
from ckptplan.interval.thinning import Thinning, thinning
from ckptplan.units import format_time

_UNITS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}


def of_the_spec(given: Retention, place: str, period_s: float) -> tuple[str, Thinning] | None:
    """The rule of the spec, its spacings in whole saves, each a multiple of the one before; None if it gives none.

    Raises
    ------
    InputError
        It would keep no save for part of the time.
    """
    if given.keep is None and given.keep_all_s is None:
        return None
    all_s = given.keep * period_s if given.keep is not None else given.keep_all_s or 0.0
    if all_s < period_s * (1.0 - 1e-9):
        raise InputError(
            f"retention.keep_all: {format_time(all_s)} is shorter than the {format_time(period_s)} from one save to "
            f"{place} to the next, so that for part of the time no save would be kept",
            hint=f"write keep_all: {typed_time(period_s)[1]} or more, or keep: 2",
        )
    every = _spacings(given, period_s)
    rule = thinning(
        period_s,
        keep_all=max(all_s, period_s),
        then_every=every[0] * period_s if every[0] else math.inf,
        then_for=given.then_for_s or 0.0,
        archive_every=every[1],
    )
    return _keys(given), rule


def archive_of(given: Retention | None, period_s: float) -> int | None:
    """Saves from one that is archived to the next; None without an archive. [1]."""
    return None if given is None else _spacings(given, period_s)[1] or None


def typed_time(time_s: float, *, up: bool = True) -> tuple[float, str]:
    """A time rounded to three digits, up or down, in a unit that a spec takes, and its text."""
    unit, size = _unit(time_s)
    digits = 10.0 ** (2 - math.floor(math.log10(time_s / size)))
    value = round(time_s / size * digits, 6)
    rounded = (math.ceil(value) if up else math.floor(value)) / digits
    return rounded * size, f"{rounded:.10g} {unit}"


def _spacings(given: Retention, period_s: float) -> tuple[int, int]:
    """Saves between two that are kept later, and between two of the archive; the greater is a multiple of the less."""
    then, archive = (
        0 if time_s is None else max(1, int(floor_to_whole(np.asarray(time_s / period_s))))
        for time_s in (given.then_every_s, given.archive_every_s)
    )
    if then and archive:
        least = min(then, archive)
        then, archive = then - then % least, archive - archive % least
    return then, archive


def _keys(given: Retention) -> str:
    names = ("keep", "keep_all_s", "then_every_s", "then_for_s", "archive_every_s")
    values = {name.removesuffix("_s"): getattr(given, name) for name in names}
    return ", ".join(
        f"{name}: {value if name == 'keep' else _as_typed(value)}"
        for name, value in values.items()
        if value is not None
    )


def _as_typed(time_s: float) -> str:
    """A time of the spec, as the spec takes it."""
    unit, size = _unit(time_s)
    return f"{time_s / size:.6g} {unit}"


def _unit(time_s: float) -> tuple[str, float]:
    return next((unit, size) for unit, size in _UNITS.items() if time_s >= 2.0 * size or size == 1.0)
