"""What a command line or a spec asks of the readers of failure records, by the names of their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckptplan.errors import InputError, printable
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.slurm.options import SHORTEST_FAILED_S, SlurmOptions

_MOST_CODE = 255


def record_options(keys: Mapping[str, Any]) -> RecordOptions:
    """Options of all readers.

    Parameters
    ----------
    keys : mapping
        Any of format, zone, unit, date_order, since, until, nodes, columns (pairs of role and name), minimum_run [s],
        exit_codes, job_name, user, account, partition.

    Returns
    -------
    RecordOptions

    Raises
    ------
    InputError
        For an exit code that is none, and for a unit that is none, whether the record needs one or not.
    """
    why = no_unit(keys.get("unit"))
    if why is not None:
        raise InputError(f"unit {why[0]}", hint=why[1])
    return RecordOptions(
        format=keys.get("format"),
        zone=keys.get("zone"),
        columns=dict(keys.get("columns", ())),
        unit=keys.get("unit"),
        date_order=keys.get("date_order"),
        watched_from=keys.get("since"),
        watched_until=keys.get("until"),
        units=keys.get("nodes"),
        slurm=SlurmOptions(
            fail_exit_codes=_codes(keys.get("exit_codes")),
            minimum_run_s=keys.get("minimum_run", SHORTEST_FAILED_S),
            job_name=keys.get("job_name"),
            user=keys.get("user"),
            account=keys.get("account"),
            partition=keys.get("partition"),
        ),
    )


def no_unit(unit: str | None) -> tuple[str, str] | None:
    """Why a unit of numbers is none, with what to write; None if it can be one."""
    from ckptplan.readers.records.moments import UNITS_S

    if unit is None or unit in UNITS_S:
        return None
    return f"{printable(unit[:60]) or 'nothing'}: no unit of time", f"write one of {', '.join(UNITS_S)}"


def _codes(texts: tuple[str, ...] | None) -> tuple[int, ...] | None:
    if texts is None:
        return None
    codes = []
    for text in (word.strip() for one in texts for word in one.split(",")):
        if not (text.isascii() and text.isdecimal() and len(text) < 4 and int(text) <= _MOST_CODE):
            message = f"{printable(text[:60])} is no exit code"
            raise InputError(message, hint=f"write a number from 0 to {_MOST_CODE}; a signal is 128 + its number: 137")
        codes.append(int(text))
    return tuple(codes)
