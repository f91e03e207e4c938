"""What a strict plan refuses instead of correcting it."""

from __future__ import annotations

from collections.abc import Sequence

from ckptplan.errors import InputError, Problem
from ckptplan.plan.case import Case
from ckptplan.units import format_size, format_time


def refuse(cases: Sequence[Case], given_s: Sequence[float]) -> None:
    """Refuse given intervals below the flush and buffers that do not fit, all of them at once.

    Raises
    ------
    InputError
        With one problem for each.
    """
    problems = [_too_short(case, asked_s) for case in cases for asked_s in given_s if asked_s < case.floor_s]
    problems += [_too_large(case) for case in cases if not case.save.fits]
    if problems:
        raise InputError(list(dict.fromkeys(problems)))


def _too_short(case: Case, asked_s: float) -> Problem:
    least_s = case.raised(asked_s)
    return Problem(
        f"{case.save.name}: an interval of {format_time(asked_s)} is shorter than the flush allows "
        f"({format_time(case.floor_s)}): the next save would start before the last one is durable",
        hint=f"give {format_time(least_s)} or more, or leave --strict out to have it raised",
    )


def _too_large(case: Case) -> Problem:
    need = format_size(case.save.host_memory_per_node_bytes)
    return Problem(
        f"{case.save.name}: its buffers of {need} do not fit into the memory of a node",
        hint="lower save[].in_flight, spread the save over more nodes, or leave --strict out to be warned only",
    )
