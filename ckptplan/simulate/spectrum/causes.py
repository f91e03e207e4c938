"""What can go wrong: one named tuple per kind of cause, and how it looks to the engine."""

from __future__ import annotations

import math
from typing import NamedTuple

from ckptplan.errors import InputError


class FailStop(NamedTuple):
    """An end of the running attempt that takes some tiers with it.

    Parameters
    ----------
    name : str
        Unique among the causes.
    mtbf_s : float
        Mean time of the whole job between two of them. [s]
    level : int or tuple of float
        Lowest level that is left, 1 the cheapest; or the probability of each level to be that one. [1]
    downtime_s : float, optional
        D of this cause, where it is not that of the process. [s]
    restart_s : float or tuple of float, optional
        R of this cause, from every level or from each, where it is not that of the process. [s]
    """

    name: str
    mtbf_s: float
    level: int | tuple[float, ...] = 1
    downtime_s: float | None = None
    restart_s: float | tuple[float, ...] | None = None


class Silent(NamedTuple):
    """A corruption of the state that nobody notices at first; saves taken from then on are dirty.

    Parameters
    ----------
    name : str
        Unique among the causes.
    mtbf_s : float
        Mean work between two of them, work done again included; the running clock with ``on_stalls``. [s]
    latency_s : float, optional
        Delay until it is found, on the running clock; without it the verifications of the process find it. [s]
    fixed : bool
        Every delay is ``latency_s``; else that is the mean of an exponential delay.
    on_stalls : bool
        Stalls and verifications are struck like work.
    downtime_s : float, optional
        D of this cause, where it is not that of the process. [s]
    restart_s : float or tuple of float, optional
        R of this cause, from every level or from each, where it is not that of the process. [s]
    level : int
        Lowest level whose saves it may go back to: those below hold no history, or nothing that was verified. [1]
    """

    name: str
    mtbf_s: float
    latency_s: float | None = None
    fixed: bool = False
    on_stalls: bool = False
    downtime_s: float | None = None
    restart_s: float | tuple[float, ...] | None = None
    level: int = 1


class Spike(NamedTuple):
    """A loss spike: training goes back to before it and leaves its batches out.

    Parameters
    ----------
    name : str
        Unique among the causes.
    mtbf_s : float
        Mean new work between two of them. [s]
    back_s : float
        Work before the spike at which the state is sound again. [s]
    lag_s : float
        Work after which the spike is noticed. [s]
    downtime_s : float, optional
        D of this cause, where it is not that of the process. [s]
    restart_s : float or tuple of float, optional
        R of this cause, from every level or from each, where it is not that of the process. [s]
    level : int
        Lowest level whose saves it may go back to: those below hold no history, or nothing that was verified. [1]
    """

    name: str
    mtbf_s: float
    back_s: float
    lag_s: float = 0.0
    downtime_s: float | None = None
    restart_s: float | tuple[float, ...] | None = None
    level: int = 1


class Slow(NamedTuple):
    """A node that slows all of training down until it is found and evicted behind a planned save.

    Parameters
    ----------
    name : str
        Unique among the causes.
    mtbf_s : float
        Mean time on the running clock from the end of one to the onset of the next. [s]
    slowdown : float
        Training speed is ``1/(1 + slowdown)``. [1]
    latency_s : float
        Delay until it is found, on the running clock. [s]
    fixed : bool
        Every delay is ``latency_s``; else that is the mean of an exponential delay.
    save_s : float, optional
        Stall of the planned save; by default that of the top level and all its drains. [s]
    level : int or tuple of float, optional
        Level that training resumes from, or the probability of each to be that one; by default the top one. [1]
    downtime_s : float, optional
        D of this cause, where it is not that of the process. [s]
    restart_s : float or tuple of float, optional
        R of this cause, from every level or from each, where it is not that of the process. [s]
    """

    name: str
    mtbf_s: float
    slowdown: float
    latency_s: float
    fixed: bool = False
    save_s: float | None = None
    level: int | tuple[float, ...] | None = None
    downtime_s: float | None = None
    restart_s: float | tuple[float, ...] | None = None


class Noticed(NamedTuple):
    """A planned interruption: maintenance, or a preemption with notice.

    Parameters
    ----------
    name : str
        Unique among the causes.
    mtbf_s : float
        Mean time on the running clock between two of them. [s]
    notice_s : float
        Time to save; less than ``save_s`` makes it a failure that leaves ``level``. [s]
    save_s : float, optional
        Stall of the planned save; by default that of the top level and all its drains. [s]
    level : int or tuple of float, optional
        Level that training resumes from, or the probability of each to be that one; by default the top one. [1]
    downtime_s : float, optional
        D of this cause, where it is not that of the process. [s]
    restart_s : float or tuple of float, optional
        R of this cause, from every level or from each, where it is not that of the process. [s]
    """

    name: str
    mtbf_s: float
    notice_s: float = math.inf
    save_s: float | None = None
    level: int | tuple[float, ...] | None = None
    downtime_s: float | None = None
    restart_s: float | tuple[float, ...] | None = None


Cause = FailStop | Silent | Spike | Slow | Noticed

_TOLERANCE = 1e-9  # by which probabilities may miss 0 and their sum of 1


def checked_cause(cause: Cause, levels: int, planned_save_s: float) -> Cause:
    """The cause with its defaults filled in, if it has a meaning.

    Parameters
    ----------
    cause : Cause
        Any kind.
    levels : int
        Levels of the process. [1]
    planned_save_s : float
        Stall of a planned save by default. [s]

    Raises
    ------
    InputError
        A number is outside its domain.
    """
    if not cause.mtbf_s > 0.0:
        raise InputError(f"{cause.name}: mtbf_s must be positive; got {cause.mtbf_s:g}")
    for what in ("downtime_s", "latency_s", "back_s", "lag_s", "save_s", "slowdown"):
        _check_time(cause.name, what, getattr(cause, what, None))
    _check_restart(cause, levels)
    match cause:
        case FailStop() | Silent() | Spike():
            _check_level(cause.name, cause.level, levels)
        case Slow() | Noticed():
            level = levels if cause.level is None else cause.level
            _check_level(cause.name, level, levels)
            save_s = planned_save_s if cause.save_s is None else cause.save_s
            return _as_failure(cause._replace(level=level, save_s=save_s))
    return cause


def _as_failure(cause: Slow | Noticed) -> Cause:
    """A notice too short to save in is an ordinary failure."""
    if isinstance(cause, Slow):
        return cause
    if not cause.notice_s >= 0.0:
        raise InputError(f"{cause.name}: notice_s must not be negative; got {cause.notice_s:g}")
    if cause.save_s is None or cause.level is None or cause.notice_s >= cause.save_s:
        return cause
    return FailStop(cause.name, cause.mtbf_s, cause.level, cause.downtime_s, cause.restart_s)


def _check_time(name: str, what: str, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value >= 0.0):
        raise InputError(f"{name}: {what} must be a finite number, not negative; got {value:g}")


def _check_restart(cause: Cause, levels: int) -> None:
    by_level = cause.restart_s if isinstance(cause.restart_s, tuple) else (cause.restart_s,) * levels
    if len(by_level) != levels:
        raise InputError(f"{cause.name}: restart_s must be one number, or one for each of {levels} levels")
    for restart_s in by_level:
        _check_time(cause.name, "restart_s", restart_s)


def _check_level(name: str, level: int | tuple[float, ...], levels: int) -> None:
    if isinstance(level, tuple):
        sums = abs(math.fsum(level) - 1.0) <= _TOLERANCE
        if len(level) != levels or not sums or min(level) < -_TOLERANCE:
            raise InputError(f"{name}: level must give one probability for each of {levels} levels, with a sum of 1")
    elif level != int(level) or not 1 <= level <= levels:
        raise InputError(f"{name}: level must be a whole number from 1 to {levels}; got {level:g}")
