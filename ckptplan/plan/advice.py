"""Which way of saving is better here, and why, in one sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptplan.cost.scenario import Mode
from ckptplan.interval.asynchronous import break_even_stall
from ckptplan.plan.case import Case
from ckptplan.plan.progress import makes_progress
from ckptplan.plan.record import Record
from ckptplan.units import format_percent, format_time

_WORTH_A_WORD = 0.001  # of goodput
_HALVINGS = 20  # leave a millionth of the stall open, and more digits are not printed


def advice(cases: Sequence[Case], best: Record) -> tuple[str, ...]:
    """Sentences on asynchronous against blocking saves, for the cases of one scale; none where none gets anywhere."""
    if not makes_progress(best.goodput_typed):
        return ()
    blocking = [case for case in cases if case.save.mode is not Mode.ASYNCHRONOUS]
    background = [case for case in cases if case.save.mode is Mode.ASYNCHRONOUS]
    return tuple(_sentences(blocking, background, best))


def _sentences(blocking: Sequence[Case], background: Sequence[Case], best: Record) -> Iterator[str]:
    for case in background:
        name, limit_s = case.save.name, break_even_s(case)
        why = _why(case)
        if best.strategy != name and any(rival.save.name == best.strategy for rival in blocking):
            yield _beaten(case, best, limit_s, why)
        elif case.save.write_s < limit_s and not blocking:
            yield from _blocking_instead(case, limit_s, why)
        elif best.strategy == name:
            yield f"{name} wins against any blocking save longer than {format_time(limit_s)}"


def _beaten(case: Case, best: Record, limit_s: float, why: str) -> str:
    """Why a blocking save is recommended: it is the better one, or only the intervals that can be typed make it so."""
    name, stall = case.save.name, format_time(best.stall_s)
    limit = f"as good as a blocking save of {format_time(limit_s)}"
    if best.stall_s <= limit_s:
        return f"{best.strategy} beats {name}: {why}, which is {limit}; {best.strategy} blocks for {stall}"
    return (
        f"{best.strategy} beats {name} at the intervals to type, and at no others: at its very best one {name} is "
        f"{limit}, and {best.strategy} blocks for {stall}"
    )


def _blocking_instead(case: Case, limit_s: float, why: str) -> Iterator[str]:
    """A blocking save that lasts as long as the flush would be better than the asynchronous one."""
    rival = _blocking(case, case.save.write_s)
    if rival.save.stall_s <= 0.0:
        return
    gain = _best_goodput(rival) - _best_goodput(case)
    if gain >= _WORTH_A_WORD:
        yield (
            f"{case.save.name} loses to a blocking save: {why}, and writing takes {format_time(case.save.write_s)}; "
            f"mode: sharded with that stall would yield {100 * gain:.2g} points of goodput more, as any blocking save "
            f"shorter than {format_time(limit_s)} would"
        )


def _why(case: Case) -> str:
    """What a background save costs besides its stall."""
    save = case.save
    slow_s = case.effective_stall_s - save.stall_s
    if case.optimum(case.method) <= case.floor_s:
        return f"its flush of {format_time(save.flush_s)} forces an interval of {format_time(case.floor_s)}"
    if slow_s > 0.0:
        return (
            f"each save costs {format_time(case.effective_stall_s)}, of which {format_time(slow_s)} is training "
            f"slowed to {format_percent(case.speed)} while it flushes"
        )
    return f"each save blocks for {format_time(save.stall_s)} and puts {format_time(save.flush_s)} more work at risk"


def break_even_s(case: Case) -> float:
    """Stall of the blocking save that is as good: by its closed form, or by halving where there is none. [s]."""
    save = case.save
    closed = float(break_even_stall(save.stall_s, save.flush_s, case.speed, case.mtbf_s))
    if case.is_closed and save.in_flight == 1:
        return closed
    goodput = _best_goodput(case)
    low, high = 0.0, 2.0 * closed
    while _best_goodput(_blocking(case, high)) > goodput and high < case.mtbf_s:
        high *= 2.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _best_goodput(_blocking(case, middle)) > goodput else (low, middle)
    return high


def _blocking(case: Case, stall_s: float) -> Case:
    """The same run with a save that blocks for a time and flushes nothing."""
    save = case.save._replace(
        mode=Mode.SHARDED, stall_s=stall_s, flush_s=0.0, training_speed_while_flushing=1.0, in_flight=1, transfer_s=0.0
    )
    return case._replace(save=save)


def _best_goodput(case: Case) -> float:
    if case.spectrum is not None:  # waiting for nodes is the same for both
        case = case._replace(spectrum=case.spectrum._replace(spares=None))
    return case.goodput(case.optimum(case.method))
