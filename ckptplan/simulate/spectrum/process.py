"""What is simulated: how training saves, on which levels, and all that can go wrong, checked once."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from ckptplan.cost.scenario import Strike
from ckptplan.errors import InputError
from ckptplan.simulate.spectrum.causes import Cause, Silent, checked_cause


class SpectrumProcess(NamedTuple):
    """Work in segments, saves on nested levels, and causes of loss. [s], counts and speeds [1].

    Level 1 is the first element of each tuple and the cheapest; a save on a level is one on all levels below.

    Parameters
    ----------
    interval_s : float
        Work between two saves, W. [s]
    slot_stall_s : tuple of float
        Time that training stands still for a save whose highest level is this one. [s]
    restart_s : tuple of float
        R of a restart from this level. [s]
    causes : tuple of Cause
        `FailStop`, `Silent`, `Spike`, `Slow`, `Noticed`.
    every : tuple of int
        Every so many segments end with a save on this level or a higher one; 1 first, each divides the next. [1]
    flush_s : tuple of float, optional
        Background drain by which a level is reached from the one below; 0 for none, the default. [s]
    speed : tuple of float, optional
        Training speed during that drain; 1 by default. [1]
    downtime_s : float
        D, unless a cause has its own. [s]
    strike : Strike
        Which part of a recovery a fail-stop cause may strike.
    verifications : int
        Verifications per segment, equally spaced, the last directly before the save; 0 for none. [1]
    verify_s : float
        Length of one, V. [s]
    verify_level : int
        Verify only the segments that end with a save on this level or a higher one; above 1, one verification each.
    keep : int or tuple of int, optional
        Newest saves kept, on every level or on each; all by default. [1]
    archive_every : int
        Every so many slots of the top level their save is kept for ever, drained or not; 0 for none. [1]
    unkept_lost_s : float, optional
        Work lost by a rollback for which no save is left. By default it finds one all the same, as if every save had
        been archived. [s]
    """

    interval_s: float
    slot_stall_s: tuple[float, ...]
    restart_s: tuple[float, ...]
    causes: tuple[Cause, ...] = ()
    every: tuple[int, ...] = (1,)
    flush_s: tuple[float, ...] | None = None
    speed: tuple[float, ...] | None = None
    downtime_s: float = 0.0
    strike: Strike = Strike.DR
    verifications: int = 0
    verify_s: float = 0.0
    verify_level: int = 1
    keep: int | tuple[int, ...] | None = None
    archive_every: int = 0
    unkept_lost_s: float | None = None

    @property
    def levels(self) -> int:
        """Number of levels. [1]."""
        return len(self.every)


def checked(process: SpectrumProcess) -> SpectrumProcess:
    """The process with its defaults filled in, if it has a meaning; only drains that overlap are found later.

    Raises
    ------
    InputError
        A number is outside its domain, or the parts do not fit together.
    """
    levels = process.levels
    flush_s = (0.0,) * levels if process.flush_s is None else process.flush_s
    speed = (1.0,) * levels if process.speed is None else process.speed
    process = process._replace(flush_s=flush_s, speed=speed, strike=Strike(process.strike))
    for name, values in (("slot_stall_s", process.slot_stall_s), ("restart_s", process.restart_s)):
        _check_times(name, values, levels)
    _check_times("flush_s", flush_s, levels)
    _check_times("speed", speed, levels)
    if max(speed) > 1.0:
        raise InputError(f"speed must lie between 0 and 1; got {max(speed):g}")
    if not (math.isfinite(process.interval_s) and process.interval_s > 0.0):
        raise InputError(f"interval_s must be a positive number of seconds; got {process.interval_s:g}")
    _check_times("downtime_s", (process.downtime_s,), 1)
    _check_nesting(process.every)
    _check_verifications(process)
    _check_retention(process)
    planned_save_s = process.slot_stall_s[-1] + math.fsum(flush_s)
    causes = tuple(checked_cause(cause, levels, planned_save_s) for cause in process.causes)
    names = [cause.name for cause in causes]
    if len(set(names)) < len(names):
        raise InputError(f"every cause needs a name of its own; got {', '.join(names)}")
    return process._replace(causes=causes)


def kept_saves(process: SpectrumProcess) -> tuple[float, ...]:
    """Saves kept on each level, infinite for all. [1]."""
    if process.keep is None:
        return (math.inf,) * process.levels
    if isinstance(process.keep, tuple):
        return tuple(float(number) for number in process.keep)
    return (float(process.keep),) * process.levels


def _check_times(name: str, values: tuple[float, ...], levels: int) -> None:
    if len(values) != levels:
        raise InputError(f"{name} must have one number per level, {levels}; got {len(values)}")
    for value in values:
        if not (math.isfinite(value) and value >= 0.0):
            raise InputError(f"{name} must be finite, not negative; got {value:g}")


def _check_nesting(every: tuple[int, ...]) -> None:
    whole = all(number == int(number) and number >= 1 for number in every)
    if not whole or every[0] != 1 or any(high % low for low, high in itertools.pairwise(every)):
        shown = ", ".join(f"{number:g}" for number in every)
        raise InputError(f"every must begin with 1, and each number divide the next; got {shown}")


def _check_verifications(process: SpectrumProcess) -> None:
    number = process.verifications
    if number != int(number) or number < 0:
        raise InputError(f"verifications must be a whole number, not negative; got {number:g}")
    _check_times("verify_s", (process.verify_s,), 1)
    if process.verify_s > 0.0 and number == 0:
        raise InputError("verify_s without verifications", hint="set verifications to 1 or more per segment")
    if process.verify_level not in range(1, process.levels + 1):
        raise InputError(f"verify_level must be from 1 to {process.levels}; got {process.verify_level:g}")
    if process.verify_level > 1 and number > 1:
        raise InputError(f"with verify_level {process.verify_level}, verifications must be 1; got {number:g}")
    delays = {cause.latency_s is not None for cause in process.causes if isinstance(cause, Silent)}
    if len(delays) > 1:
        raise InputError("silent causes are found all by verifications or all after a delay, not some by each")
    if delays == {False} and number == 0:
        raise InputError(
            "nothing finds the silent causes",
            hint="give each a latency_s, or set verifications to 1 or more per segment",
        )


def _check_retention(process: SpectrumProcess) -> None:
    keep = kept_saves(process)
    if len(keep) != process.levels or any(number < 1 or (number != math.inf and number % 1) for number in keep):
        raise InputError(f"keep must be whole numbers of at least 1, one for each of {process.levels} levels")
    if process.archive_every < 0 or process.archive_every % 1:
        raise InputError(f"archive_every must be a whole number, not negative; got {process.archive_every:g}")
    if process.unkept_lost_s is not None:
        _check_times("unkept_lost_s", (process.unkept_lost_s,), 1)
