"""One flat record per strategy, method and interval: what a case comes out as."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ckptplan.interval.first_order import FirstOrder, first_order_shares
from ckptplan.interval.methods import METHODS
from ckptplan.plan import status
from ckptplan.plan.case import Case
from ckptplan.plan.record import TIERS, Record
from ckptplan.plan.wall_time import wall_time
from ckptplan.units import HOUR_S

if TYPE_CHECKING:
    from ckptplan.plan.tiers.tiering import TierPlan


class Money(NamedTuple):
    """The work of a run, and what a GPU-hour of it costs, where they are known. [s, money]."""

    work_s: float | None
    gpu_hour_price: float | None


class Best(NamedTuple):
    """What a given interval is held against: the best goodput of a number to type, and the time of the work at it."""

    goodput: float
    wall_s: float | None


def best_of(case: Case, work_s: float | None) -> Best:
    """The best number to type of one way of saving."""
    interval_s = case.typed_interval_s
    goodput = case.goodput(interval_s)
    return Best(goodput, wall_time(work_s, case, interval_s, goodput))


def held_against(best: Best, row: Record, case: Case | None, money: Money) -> Record:
    """A record of a given interval with what it loses: points, GPU-hours that the same work takes more, their price.

    The points of goodput times the planned duration would be too few hours: the run that loses them also lasts longer.
    Without a ``case``, of saves to several tiers, work takes its time over goodput. Nothing is known of the hours of a
    run that never ends.
    """
    row = row._replace(lost_goodput=max(best.goodput - row.goodput_exact, 0.0))
    typed_s = row.typed_interval_s(None if case is None else case.step_time_s)
    wall_s = wall_time(money.work_s, case, typed_s, row.goodput_exact)
    if wall_s is None or best.wall_s is None:
        return row
    hours = max(wall_s - best.wall_s, 0.0) * row.gpus / HOUR_S
    price = money.gpu_hour_price
    return row._replace(lost_gpu_hours=hours, lost_money=None if price is None else hours * price)


def records_of(
    case: Case, methods: Sequence[str], given: Sequence[float], money: Money, best: Best | None = None
) -> Iterator[Record]:
    """The records of one case: the optimum by each method, then the given intervals, held against its best if none."""
    for method in methods:
        yield _record(case, method, case.optimum(method))
    if not given:
        return
    held = best_of(case, money.work_s) if best is None else best
    for asked_s in dict.fromkeys(given):
        raised = case.raised(asked_s)
        # Young and Daly differ in their interval only; for a given one their first-order account is the same.
        for method in dict.fromkeys("young" if METHODS[m].accounting == "first order" else m for m in methods):
            row = _record(case, method, raised, asked_s=asked_s)
            yield held_against(held, row, case, money)


def _record(case: Case, method: str, interval_s: float, *, asked_s: float | None = None) -> Record:
    save, rework, restart, slow, waiting, overhead, goodput = _shares(case, method, interval_s)
    by_law = goodput if method in (case.method, "renewal") else None
    exact = case.goodput(interval_s) if by_law is None else by_law
    best_method = method == case.method
    steps = case.steps(interval_s, wide=best_method) if asked_s is None else case.steps_if_whole(interval_s)
    row = Record(
        strategy=case.save.name,
        method=method,
        given=asked_s is not None,
        asked_interval_s=asked_s,
        gpus=case.gpus,
        mtbf_s=case.mtbf_s,
        restart_total_s=case.restart.total_s,
        stall_s=case.save.stall_s,
        flush_s=case.save.flush_s,
        effective_stall_s=case.effective_stall_s,
        interval_floor_s=case.floor_s,
        interval_s=interval_s,
        interval_steps=steps,
        save_fraction=save,
        rework_fraction=rework,
        restart_fraction=restart,
        slow_fraction=slow,
        waiting_fraction=waiting,
        overhead=overhead,
        goodput=goodput,
        goodput_exact=exact,
        goodput_steps=case.goodput_of_steps(steps),
        lost_goodput=None,
        lost_gpu_hours=None,
        lost_money=None,
        status="",
    )
    within_a_step = asked_s is not None and case.step_time_s is not None and interval_s < case.step_time_s
    return row._replace(status=status.of_record(row, is_short=case.save.is_short, within_a_step=within_a_step))


def tier_record(case: Case, tiers: "TierPlan") -> Record:
    """The plan over all tiers as one more record, beside those of single saves; its stall is that of a slot."""
    lowest, *higher = (tier for tier in tiers.tiers if tier.kept)
    parts = (tiers.save_fraction, tiers.rework_fraction, tiers.restart_fraction)
    every = [
        f"{tier.name} every {tier.every:,} slots" if tier.every != 1 else f"{tier.name} as often" for tier in higher
    ]
    return Record(
        strategy=TIERS,
        method="exact",
        given=False,
        asked_interval_s=None,
        gpus=case.gpus,
        mtbf_s=case.mtbf_s,
        restart_total_s=case.restart.total_s,
        stall_s=lowest.stall_s,
        flush_s=lowest.flush_s,
        effective_stall_s=lowest.stall_s,
        interval_floor_s=0.0,
        interval_s=tiers.interval_s,
        interval_steps=tiers.interval_steps,
        save_fraction=parts[0],
        rework_fraction=parts[1],
        restart_fraction=parts[2],
        slow_fraction=tiers.slow_fraction,
        waiting_fraction=tiers.waiting_fraction,
        overhead=1.0 / tiers.goodput - 1.0 if tiers.goodput > 0.0 else float("inf"),
        goodput=tiers.goodput,
        goodput_exact=tiers.goodput,
        goodput_steps=None if tiers.interval_steps is None else tiers.goodput,
        lost_goodput=None,
        lost_gpu_hours=None,
        lost_money=None,
        status="; ".join([f"to {lowest.name}", *every]),
    )


def _shares(
    case: Case, method: str, interval_s: float
) -> tuple[float, float, float, float, float, float, float | None]:
    """Save, rework, restart, slow, waiting, overhead and goodput by the accounting of the method."""
    if METHODS[method].accounting != "first order":
        s = case.shares(interval_s) if method in (case.method, "renewal") else case.exponential_shares(interval_s)
        slow, waiting = (float(getattr(s, name, 0.0)) for name in ("slow", "waiting"))
        return (float(s.save), float(s.rework), float(s.restart), slow, waiting, float(s.overhead), float(s.goodput))
    if case.spectrum is not None:
        from ckptplan.plan.spectrum.shares import first_order

        return _of_first_order(first_order(case, case.spectrum, interval_s))
    f = first_order_shares(
        interval_s,
        case.save.stall_s,
        case.mtbf_s,
        restart=case.restart.total_s,
        flush=case.save.flush_s,
        speed=case.speed,
    )
    return _of_first_order(f)


def _of_first_order(f: FirstOrder) -> tuple[float, float, float, float, float, float, float | None]:
    goodput = float(f.goodput)
    terms = (float(f.save), float(f.rework), float(f.restart), 0.0, 0.0, float(f.overhead))
    return (*terms, None if np.isnan(goodput) else goodput)
