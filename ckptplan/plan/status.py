"""What to believe of one record: its status, one plain sentence or two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ckptplan.interval.methods import METHODS
from ckptplan.plan.record import Record
from ckptplan.units import format_time, format_times

Amount = TypeVar("Amount", float, npt.NDArray[np.float64])
OK = "ok"

# A first-order figure that is off by half a point or more is worth a word; below that it prints the same.
_POINTS_OFF = 0.005
_STEPS_COST = 0.0005
_NO_PROGRESS = 0.05
_LARGE_STALL = 0.2  # of the interval
_SHORT = "a given time is shorter than the given bandwidths allow"
_WITHIN_A_STEP = "the given interval is shorter than one step, the least that can be typed"


def of_record(row: Record, *, is_short: bool = False, within_a_step: bool = False) -> str:
    """The status of one record: ``ok``, or what limits it.

    ``is_short`` is that of its `SaveCost`; ``within_a_step`` says that its interval was given and is no whole step.
    """
    remarks = list(_remarks(row))
    remarks += [_SHORT] if is_short else []
    remarks += [_WITHIN_A_STEP] if within_a_step else []
    return "; ".join(remarks) or OK


def _remarks(row: Record) -> Iterator[str]:
    if row.asked_interval_s is not None and row.interval_s > row.asked_interval_s:
        yield f"raised from {format_time(row.asked_interval_s)}: the flush must end before the next save starts"
    elif not row.given and row.interval_floor_s > 0 and row.interval_s <= row.interval_floor_s:
        yield "the flush sets the interval"
    if METHODS[row.method].accounting == "first order":
        yield from _first_order_remark(row)
    elif row.goodput is not None and abs(row.goodput - row.goodput_exact) >= _POINTS_OFF:
        off = row.goodput - row.goodput_exact
        side = "below" if off < 0 else "above"
        yield f"{row.method} takes the failures to be exponential: {_points(abs(off))} {side} the law"
    elif row.goodput_exact < _NO_PROGRESS and row.given and row.interval_s > row.mtbf_s:
        yield f"hardly any progress: the given interval is {_times(row.interval_s / row.mtbf_s)} the MTBF"
    elif row.goodput_exact < _NO_PROGRESS and stalls_most(row.goodput_exact, row.effective_stall_s / row.interval_s):
        yield f"hardly any progress: each save takes {_times(row.effective_stall_s / row.interval_s)} the interval"
    elif row.goodput_exact < _NO_PROGRESS:
        yield "hardly any progress: failures come faster than restarts and saves end"
    if row.goodput_steps is not None and row.goodput_exact - row.goodput_steps > _STEPS_COST:
        cost = _points(row.goodput_exact - row.goodput_steps)
        yield f"coarse steps: the whole number costs {cost}"


def stalls_most(goodput: Amount, stall_per_interval: Amount) -> Any:
    """Whether saves take more of the time than failures do. [1, 1].

    Saves alone leave 1/(1 + r) of the time; failures leave goodput * (1 + r) of that.
    """
    return goodput * (1.0 + stall_per_interval) * (1.0 + stall_per_interval) > 1.0  # a square would not overflow to inf


def _first_order_remark(row: Record) -> Iterator[str]:
    if row.goodput is None:
        yield f"not valid here: the first-order sum is {row.overhead:.3g}; {_why(row)}"
        return
    off = row.goodput - row.goodput_exact
    if abs(off) >= _POINTS_OFF:
        side = "below" if off < 0 else "above"
        yield f"first order is {_points(abs(off))} {side} exact: {_why(row)}"


def _why(row: Record) -> str:
    shares = {
        "the stall": row.effective_stall_s / row.mtbf_s,
        "the interval": row.interval_s / row.mtbf_s,
        "the restart": row.restart_total_s / row.mtbf_s,
    }
    name = max(shares, key=lambda key: shares[key])
    of_interval = row.effective_stall_s / row.interval_s if row.interval_s > 0.0 else 0.0
    if of_interval > max(shares[name], _LARGE_STALL):
        return f"each save is {100 * of_interval:,.3g} % of the interval"
    percent = 100 * shares[name]
    return f"{name} is {percent:.2g} % of the MTBF" if percent < 100 else f"{name} is {_times(shares[name])} the MTBF"


def _times(ratio: float) -> str:
    """Three digits, by which sentences of many rows are told apart."""
    return format_times(float(f"{ratio:.3g}"))


def _points(share: float) -> str:
    return f"{100 * share:.1f} points" if share >= 0.0005 else f"{100 * share:.2g} points"
