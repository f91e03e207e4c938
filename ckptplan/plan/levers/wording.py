"""The one thing to do first, in words."""

from collections.abc import Sequence

from ckptplan.plan.levers.catalogue import GOALS
from ckptplan.plan.levers.lever import Lever
from ckptplan.units import COUNTLESS, format_time

WORTH_DOING = 0.0005  # of goodput: 0.05 points
_FULL = 99.5  # from here on numbers have all their digits, below it one less
MONEY_DIGITS = 4  # one more than GPU-hours have: their product with a price


def first_of(levers: Sequence[Lever]) -> Lever | None:
    """The lever to do first: of those in hand the one that is worth most, with what would be worth more than it.

    Where none is in hand, the best of the others, which says of itself that nobody can simply do it.
    """
    best = max(levers, key=lambda lever: lever.worth, default=None)
    first = max((lever for lever in levers if lever.in_hand), key=lambda lever: lever.worth, default=best)
    if best is None or first is None or best.in_hand or not best.worth > WORTH_DOING:
        return first
    more = "would gain" if first is best or not first.worth > WORTH_DOING else "would gain more,"
    return first._replace(behind=f"{GOALS[best.key]} {more} {gain(best.gained).removeprefix('+')}")


def do_first(lever: Lever | None) -> str:
    """``Do first: save asynchronously: +6.7 points, 2.1 million GPU-hours``; or that nothing is worth it."""
    return _head(lever) if lever is None else _with_more(_head(lever), lever)


def _head(lever: Lever | None) -> str:
    if lever is None:
        return "Do first: nothing; no lever applies to what the spec says"
    if not lever.in_hand:
        return "Do first: nothing; no lever that is in hand applies to what the spec says"
    if not lever.worth > WORTH_DOING:
        return f"Do first: nothing; no lever in hand gains more than 0.05 points (most: {lever.title}, {_most(lever)})"
    return f"Do first: {lever.title}: {worth_of(lever)}"


def _most(lever: Lever) -> str:
    """A gain that is paid for with more GPU-hours than it saves is no gain."""
    cost = lever.gpu_hours_saved
    return _points(lever) if cost is None or cost >= 0.0 else worth_of(lever)


def _with_more(text: str, lever: Lever) -> str:
    return text if lever.behind is None else f"{text}; {lever.behind}"


def worth_of(lever: Lever) -> str:
    """What a lever gains, saves and costs less: only what is known."""
    if lever.gpu_hours_saved is None:
        return _points(lever)
    text = f"{large(lever.gpu_hours_saved)} GPU-hours"
    if _by_hours(lever):
        text += f" ({_of_all(lever)})"
    if lever.gained > WORTH_DOING or not _by_hours(lever):
        text = f"{gain(lever.gained)}, {text}"
    money = money_of(lever)
    return text if money is None else f"{text} worth {large(money, MONEY_DIGITS)}"


def money_of(lever: Lever) -> float | None:
    """The money of the GPU-hours as they are printed, so that their product with the price is what is printed."""
    hours, money = lever.gpu_hours_saved, lever.money_saved
    if money is None or not hours:
        return money
    return float(f"{hours:.3g}" if abs(hours) >= _FULL else f"{hours:.2g}") * (money / hours)


def _points(lever: Lever) -> str:
    """The gain; where other GPUs or another step make GPU-hours another matter, the share of these that is saved."""
    if not _by_hours(lever):
        return gain(lever.gained)
    hours = f"{_of_all(lever)} GPU-hours"
    return f"{gain(lever.gained)} ({hours})" if lever.gained > WORTH_DOING else hours


def _by_hours(lever: Lever) -> bool:
    """Whether the GPU-hours saved do not follow from the points: GPUs stand by, or there are other GPUs or steps."""
    return abs(lever.worth - lever.gained) > WORTH_DOING


def _of_all(lever: Lever) -> str:
    """``12 % of all``: GPU-hours that the same work takes less, of those that it takes as the run is."""
    goodput = lever.goodput - lever.gained
    return f"{100.0 * lever.worth / (goodput + lever.worth):.3g} % of all"


def first_sentence(lever: Lever | None, goodput: float, work_s: float | None) -> str:
    """The same with the numbers before and after."""
    if lever is None or not lever.in_hand or not lever.worth > WORTH_DOING:
        return do_first(lever)
    run = "" if work_s is None else f", over {format_time(work_s)} of work"
    before, after = f"{100 * goodput:.2f} %", f"{100 * lever.goodput:.2f} %"
    moved = f"goodput stays {after}" if before == after else f"goodput {before} to {after}"
    if lever.wall_s_saved is not None and lever.wall_s_saved < 0.0:
        moved += f"; the run ends {format_time(-lever.wall_s_saved)} later"
    return _with_more(f"{_head(lever)}{run} ({lever.change}; {moved})", lever)


def gain(share: float) -> str:
    """``+6.7 points``, ``-0.004 points``: two digits, and no smaller than a thousandth."""
    shown = 100.0 * share
    if abs(shown) < 0.0005:
        return "0 points"
    return f"{shown:+.1f} points" if abs(shown) >= 0.95 else f"{shown:+.2g} points"


def large(value: float, digits: int = 3) -> str:
    """``2.1 million``, ``563,000``, ``12``: as many digits, one less where few; ``3.1e+40`` beyond all counting."""
    size = abs(value)
    if size >= COUNTLESS:
        return f"{value:.2g}"
    most = 10.0 ** (digits - 1) - 0.5
    for unit, least in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if size >= least * (1.0 - 0.5 * 10.0**-digits):
            short = value / least
            return f"{short:,.0f} {unit}" if abs(short) >= most else f"{short:.{digits}g} {unit}"
    return f"{float(f'{value:.{digits}g}'):,.0f}" if size >= _FULL else f"{value:.{digits - 1}g}"
