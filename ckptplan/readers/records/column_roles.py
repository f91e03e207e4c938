"""What the columns of a table of failures mean, by their names: the role of each, and the unit in its name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ckptplan.errors import InputError, Place, Problem, printable
from ckptplan.readers.files import refused

MOST_COLUMNS = 4096

# Of several names of one role that a table has, the first in this order counts.
_NAMES = {
    "time": (
        "failed_at failure_time fail_time time_of_failure failure_timestamp event_time event_timestamp occurred_at "
        "occurred timestamp time_stamp datetime date_time time ts at when date system_age failure_age age"
    ),
    "start": (
        "outage_start down_since down_at start_time start_timestamp start started_at started begin_time begin_at begin "
        "starttime prob_started opened_at opened from down t_start"
    ),
    "end": (
        "outage_end end_time end_timestamp end ended_at ended endtime up_since up_at up resolved_at resolved fixed_at "
        "fixed prob_fixed recovered_at recovered restored_at restored finished_at finish_time finish closed_at closed "
        "until to t_end"
    ),
    "gap": (
        "gap gaps ttf tbf time_to_failure time_between_failures interarrival inter_arrival interarrival_time lifetime "
        "lifetimes life hours minutes seconds days cycles megacycles"
    ),
    "duration": (
        "downtime down_time duration outage_duration repair_time ttr time_to_repair elapsed_time elapsed length"
    ),
    "cause": (
        "root_cause failure_cause cause reason failure_reason failure_type fault_type error_type error_code error "
        "fault component description message"
    ),
    "category": "category failure_category class failure_class kind event_type type state outcome status",
    "node": (
        "node node_name nodename node_id hostname host host_name instance instance_id machine server vm service system"
    ),
    "failed": "failed is_failure event_observed observed uncensored",
    "censored": "censored is_censored",
    "severity": "severity impact level",
}
ROLES: dict[str, tuple[str, ...]] = {role: tuple(names.split()) for role, names in _NAMES.items()}
_UNIT_NAMES = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nanoseconds"), "ns"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}


class Column(NamedTuple):
    """One column that counts."""

    at: int  # place in a row, from 0
    name: str  # as the table has it
    unit: str | None = None  # in the name


def plain(name: str) -> str:
    """A name in lower case with _ between its words: "Down Time (min)" is down_time_min."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def unit_of(name: str) -> tuple[str, str | None]:
    """The name without the unit that ends it, and the unit; a name that is a unit keeps itself."""
    base, _, last = plain(name).rpartition("_")
    if last in _UNIT_NAMES:
        return base or last, _UNIT_NAMES[last]
    return plain(name), None


def roles_of(names: Sequence[str], given: Mapping[str, str], path: str) -> dict[str, Column]:
    """Role -> column, by what the user named and for the rest by the names of the columns.

    Raises
    ------
    InputError
        Where the user named a role or a column that does not exist.
    """
    found: dict[str, Column] = {}
    by_name: dict[str, Column] = {}
    for index, name in enumerate(names):
        base, unit = unit_of(name)
        by_name.setdefault(plain(name), Column(index, name, unit))
        by_name.setdefault(base, Column(index, name, unit))
    taken = set()
    for role, name in given.items():
        column = next((Column(k, n, unit_of(n)[1]) for k, n in enumerate(names) if n.strip() == name.strip()), None)
        column = column or by_name.get(plain(name)) or by_name.get(f"column_{plain(name)}")  # of no header: its place
        if role not in ROLES or column is None:
            raise _unknown(role, name, names, path)
        found[role] = column
        taken.add(column.at)
    for role, candidates in ROLES.items():
        for candidate in candidates if role not in found else ():
            column = by_name.get(candidate)
            if column is not None and column.at not in taken:
                found[role] = column
                taken.add(column.at)
                break
    return found


def _unknown(role: str, name: str, names: Sequence[str], path: str) -> InputError:
    if role not in ROLES:
        return refused(path, f"{printable(role[:40])} is no role of a column", f"the roles are {', '.join(ROLES)}")
    near = difflib.get_close_matches(name, names[:200], 1)
    shown = ", ".join(printable(n[:40]) for n in names[:20])
    hint = f"did you mean {printable(near[0])}?" if near else f"the columns are {shown}"
    return InputError(Problem(f"no column is called {printable(name[:60])}", Place(path), hint=hint))


def said(roles: Mapping[str, Column], given: Iterable[str]) -> str:
    """Which columns were taken for what, in one sentence."""
    parts = [f"{printable(column.name[:60])} as {role}" for role, column in roles.items()]
    named = "named by the user" if set(roles) <= set(given) else "judged by their names"
    return f"Columns, {named}: {', '.join(parts)}."


def has_times(roles: Mapping[str, Column]) -> bool:
    """Whether the columns can make a record of failures."""
    return any(role in roles for role in ("time", "start", "gap"))
