"""What is simulated: the numbers of one process, checked once."""

from __future__ import annotations

import math
from typing import NamedTuple

from ckptplan.cost.scenario import Strike
from ckptplan.errors import InputError

_FLOOR_TOLERANCE = 1e-9  # relative: an interval of whole steps may miss the floor by rounding


class Process(NamedTuple):
    """One way to save and to recover. [s], speed and fraction [1].

    Parameters
    ----------
    interval_s : float
        Work between two saves, the save excluded, W. [s]
    stall_s : float
        Time one save blocks training, d. [s]
    flush_s : float
        Background flush of one save, F; 0 for a synchronous save. [s]
    speed : float
        Training speed during the flush, om, 0 to 1. [1]
    downtime_s, restart_s : float
        Per failure, D and R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike.
    host_copy_survives : float
        Fraction of the failures after which the copy in host memory is still there, phi. [1]
    in_flight : int
        Saves whose flush may be under way at one time; with a host copy that survives, one. [1]
    """

    interval_s: float
    stall_s: float
    flush_s: float = 0.0
    speed: float = 1.0
    downtime_s: float = 0.0
    restart_s: float = 0.0
    strike: Strike = Strike.DR
    host_copy_survives: float = 0.0
    in_flight: int = 1


class Recovery(NamedTuple):
    """A recovery, seen from the clock of failures. [s]."""

    safe_s: float  # the part in which the clock stands still
    struck_s: float  # the part that must pass without a failure, at the end of the recovery


def checked(process: Process) -> Process:
    """The process itself, if it has a meaning.

    Raises
    ------
    InputError
        A number is outside its domain, or the interval is below the floor ``om F``.
    """
    for name in ("stall_s", "flush_s", "downtime_s", "restart_s"):
        value = getattr(process, name)
        if not (math.isfinite(value) and value >= 0.0):
            raise InputError(f"{name} must be a number of seconds, not negative; got {value:g}")
    if not (math.isfinite(process.interval_s) and process.interval_s > 0.0):
        raise InputError(f"interval_s must be a positive number of seconds; got {process.interval_s:g}")
    for name in ("speed", "host_copy_survives"):
        value = getattr(process, name)
        if not 0.0 <= value <= 1.0:
            raise InputError(f"{name} must lie between 0 and 1; got {value:g}")
    floor = _floor_s(process)
    if process.in_flight != 1 and process.host_copy_survives > 0.0:
        raise InputError("a host copy that survives is simulated for one save in flight only")
    if process.interval_s < floor * (1.0 - _FLOOR_TOLERANCE):
        raise InputError(
            f"an interval of {process.interval_s:g} s is below the floor of {floor:g} s: "
            "a save would start before the last one is durable",
            hint=f"take an interval of at least {floor:g} s",
        )
    return process._replace(strike=Strike(process.strike))


def _floor_s(process: Process) -> float:
    """Least work between saves: flush j ends before save j + b starts, b of them in flight. [s]."""
    b = process.in_flight
    if b < 1 or b != int(b):
        raise InputError(f"in_flight must be a whole number of at least 1; got {b:g}")
    ready = (process.stall_s + process.flush_s) / b  # the period that the flushes allow
    return max(ready - process.stall_s - (1.0 - process.speed) * process.flush_s, 0.0)


def recovery_of(process: Process) -> Recovery:
    """Which part of a recovery the clock of failures does not count, and which part failures may strike.

    Parameters
    ----------
    process : Process
        A checked process.

    Returns
    -------
    Recovery
        After a failure, the next gap g on the clock of failures means: if ``g < struck_s`` the recovery was struck
        after ``safe_s + g``; otherwise it took ``safe_s + struck_s`` and training ran for ``g - struck_s``. [s]
    """
    down, restart = process.downtime_s, process.restart_s
    match process.strike:
        case Strike.SAFE:
            return Recovery(down + restart, 0.0)
        case Strike.R:
            return Recovery(down, restart)
        case Strike.DR:
            return Recovery(0.0, down + restart)
