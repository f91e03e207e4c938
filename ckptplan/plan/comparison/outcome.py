"""What each of two runs comes to, at the number that would be typed."""

from __future__ import annotations

from ckptplan.cost.scenario import Scenario
from ckptplan.plan.case import cases_of
from ckptplan.plan.comparison.record import Loss, Outcome
from ckptplan.plan.record import Plan, Record
from ckptplan.plan.wall_time import wall_time
from ckptplan.units import HOUR_S

LOSSES = ("save", "rework", "restart", "slow", "waiting")


def outcome_of(scenario: Scenario, plan: Plan, gpu_hour_price: float | None = None) -> Outcome:
    """The best way of saving of a plan, its shares those of the number to type.

    Parameters
    ----------
    scenario : Scenario
        The run.
    plan : Plan
        Its plan.
    gpu_hour_price : float, optional
        Price of one GPU for one hour. [money]

    Notes
    -----
    Wall time is ``work / goodput``: that of a long run, without the last piece that no save follows.
    """
    best = _best(scenario, plan)
    goodput, work_s = plan.best_goodput, plan.duration_s
    wall_s = wall_time(work_s, None, best.interval_s, goodput)
    gets_on = plan.makes_progress  # else no way of saving is better than another
    hours = None if wall_s is None else plan.gpus * wall_s / HOUR_S
    lost = None if hours is None else hours * (1.0 - goodput)
    price = gpu_hour_price
    return Outcome(
        name=plan.name,
        gpus=plan.gpus,
        useful_gpus=plan.gpus * goodput,
        size_bytes=plan.checkpoint.size_bytes,
        mtbf_per_gpu_s=plan.failures.mtbf_per_gpu_s,
        mtbf_s=plan.failures.mtbf_s,
        restart_total_s=best.restart_total_s,
        strategy=best.strategy if gets_on else None,
        stall_s=best.stall_s,
        flush_s=best.flush_s,
        step_time_s=plan.step_time_s,
        interval_s=best.typed_interval_s(plan.step_time_s) if gets_on else None,
        interval_steps=best.interval_steps if gets_on else None,
        goodput=goodput,
        save_fraction=best.save_fraction,
        rework_fraction=best.rework_fraction,
        restart_fraction=best.restart_fraction,
        slow_fraction=best.slow_fraction,
        waiting_fraction=best.waiting_fraction,
        work_s=work_s,
        wall_s=wall_s,
        gpu_hours=hours,
        lost_gpu_hours=lost,
        money=None if hours is None or price is None else hours * price,
        lost_money=None if lost is None or price is None else lost * price,
    )


def _best(scenario: Scenario, plan: Plan) -> Record:
    """The best record, accounted at the number to type instead of the optimum that was rounded to it."""
    if plan.tiers_are_best:
        return plan.best_record
    case = next(case for case in cases_of(scenario) if case.save.name == plan.best.strategy)
    shares = case.shares(plan.best.typed_interval_s(plan.step_time_s))
    save, rework, restart, slow, waiting = (float(getattr(shares, name, 0.0)) for name in LOSSES)
    return plan.best._replace(
        save_fraction=save,
        rework_fraction=rework,
        restart_fraction=restart,
        slow_fraction=slow,
        waiting_fraction=waiting,
    )


def losses(first: Outcome, second: Outcome) -> tuple[Loss, ...]:
    """Where wall time is lost in both; what one loses less, it has more of goodput."""
    pairs = [(name, getattr(first, f"{name}_fraction"), getattr(second, f"{name}_fraction")) for name in LOSSES]
    return tuple(Loss(name, a, b, a - b) for name, a, b in pairs)
