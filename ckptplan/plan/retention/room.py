"""What each tier holds, has room for and wears out by; and the refusal where the history does not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError, Problem, printable
from ckptplan.interval.retention import DelayLaw, fits, wear
from ckptplan.plan.retention.rules import Late, Rule, certainty
from ckptplan.plan.retention.saving import Place
from ckptplan.units import format_size, format_time

_YEAR_S = 365 * 86_400.0
_UNDER_WAY = 1  # saves, beside the complete ones
_HALVINGS = 60


class Room(NamedTuple):
    """Saves that the history has room for, and the key that says so. [1]."""

    fits: int
    key: str


class Demand(NamedTuple):
    """What the history must hold, and why: the rule in force, thinner ones that would do, what goes back to it."""

    place: Place
    rule: Rule
    thinner: tuple[Rule, ...]
    lates: tuple[Late, ...]
    room: Room | None  # None: not known


class Holds(NamedTuple):
    """One tier: what it holds at most, and what is written to it while nothing fails. [s, 1, bytes]."""

    name: str
    kind: str
    period_s: float  # running time from one save there to the next
    saves: int  # complete ones
    under_way: int  # beside them; 0 in memory that has room for one, which is overwritten
    room_bytes: float  # of both
    fits: int | None
    written_bytes_per_day: float
    worn_out_days: float | None  # None: its endurance is not known
    archive_bytes_per_year: float | None  # None: it holds no archive


def room_of(scenario: Scenario, history: Place) -> Room | None:
    """Room for the history: the lesser of what its tier and the retention allow; None where neither is known."""
    found = []
    if history.fits is not None:
        found.append(Room(history.fits, "storage.tiers"))
    given = scenario.retention
    if given is not None and given.capacity_bytes is not None:
        found.append(Room(int(fits(given.capacity_bytes, history.bytes_per_save)), "retention.capacity"))
    return min(found, key=lambda room: room.fits, default=None)


def holds_of(place: Place, saves: int, *, fits: int | None, archive_every: int | None) -> Holds:
    """What a tier holds with so many complete saves; an archive takes one of so many saves."""
    written = wear(
        place.bytes_per_save,
        place.period_s,
        endurance_bytes=math.inf if place.endurance_bytes is None else place.endurance_bytes,
    )
    under_way = 0 if place.is_memory and fits == 1 else _UNDER_WAY
    archive = None
    if archive_every is not None:
        archive = place.bytes_per_save * _YEAR_S / (archive_every * place.period_s)
    return Holds(
        name=place.name,
        kind=place.kind,
        period_s=place.period_s,
        saves=saves,
        under_way=under_way,
        room_bytes=(saves + under_way) * place.bytes_per_save,
        fits=fits,
        written_bytes_per_day=float(written.bytes_per_day),
        worn_out_days=None if place.endurance_bytes is None else float(written.days),
        archive_bytes_per_year=archive,
    )


def refuse_what_does_not_fit(demand: Demand, others: Sequence[tuple[Place, int]]) -> None:
    """Refuse saves for which there is no room.

    Parameters
    ----------
    demand : Demand
        Of the history.
    others : sequence of tuple
        The other places, each with the complete saves that it must hold.

    Raises
    ------
    InputError
        With the number that is needed, the number that fits, and what that number is worth.
    """
    found = [
        Problem(
            f"{printable(place.name)} holds {_count(count, place.bytes_per_save)}, and has room for "
            f"{_saves(place.fits, place.bytes_per_save)}",
            key="storage.tiers",
            hint="raise its capacity, or delete the tier",
        )
        for place, count in others
        if not place.is_memory and place.fits is not None and count + _UNDER_WAY > place.fits
    ]
    if demand.rule.fits is False and demand.room is not None:
        found.append(_history(demand, demand.room))
    if found:
        raise InputError(found)


def _history(demand: Demand, room: Room) -> Problem:
    place, rule, thinner, lates, _ = demand
    left = max(0, room.fits - _UNDER_WAY)
    what = f"the rule of the spec ({rule.keep})" if rule.rule == "spec" else f"what is needed ({rule.keep})"
    message = (
        f"{what} holds {_count(rule.saves, place.bytes_per_save)}, and {printable(place.name)} has room for "
        f"{_saves(room.fits, place.bytes_per_save)}; {_worth(left, lates)}"
    )
    hints = [f"thin out: {{{other.keep}}} holds {other.saves:,} at most" for other in thinner if other.fits][:1]
    hints += [f"raise the capacity to {format_size(rule.room_bytes)}"]
    hints += list(_sooner(left, lates, place.period_s))
    return Problem(message, key=room.key, hint=", or ".join(hints))


def _count(saves: int, size_bytes: float) -> str:
    total = saves + _UNDER_WAY
    return f"{total:,} saves, the one under way included ({format_size(total * size_bytes)})"


def _saves(count: int, size_bytes: float) -> str:
    return f"{count:,} ({format_size(count * size_bytes)})" if count else "none"


def _worth(left: int, lates: Sequence[Late]) -> str:
    """What the number that fits yields."""
    if left == 0:
        return "none fits beside the one under way"
    if not lates:
        return f"{left:,} fit beside the one under way"
    worst = max(lates, key=lambda late: late.missing_of_newest(left))
    return (
        f"the number that fits is {left:,} beside the one under way, which leaves a clean save for "
        f"{certainty(worst.missing_of_newest(left))} of {printable(worst.name)}"
    )


def _sooner(left: int, lates: Sequence[Late], period_s: float) -> Iterator[str]:
    """How soon errors would have to be found for the number that fits."""
    for late in lates:
        if late.is_way_back or left < 1 or late.needed <= left:
            continue  # the way back from a loss spike is what it is
        low, high = 0.0, late.periods
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if late._replace(periods=middle).needed <= left else (low, middle)
        if low > 0.0:
            mean = "on average" if late.law is DelayLaw.EXPONENTIAL else "always"
            yield f"find {printable(late.name)} within {format_time(low * period_s)} {mean}"
    if any(not late.is_way_back for late in lates):
        yield "verify saves (verification), so that the newest one is clean"
