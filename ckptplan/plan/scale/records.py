"""One flat record per way of saving and size: what a run comes out as with that many GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ckptplan.errors import InputError
from ckptplan.plan.case import Case
from ckptplan.plan.progress import gets_nowhere, makes_progress, why_stuck
from ckptplan.plan.scale import notes
from ckptplan.plan.scale.curve import NOT_THERE, Curve
from ckptplan.plan.scale.refusals import Refusal
from ckptplan.plan.scale.size import Size
from ckptplan.plan.scale.yields import Yield, Yields
from ckptplan.plan.wall_time import wall_time
from ckptplan.units import HOUR_S

_J_PER_MWH = 3.6e9


class ScaleRecord(NamedTuple):
    """One way of saving at one size. Times in seconds; None stands for "not known" or "not there".

    ``useful_gpus`` is the throughput in GPUs of the planned size that lose nothing, ``marginal_gpus`` what each of the
    GPUs up to ``next_gpus``, the next size, adds to it. Powers are means over the GPUs. [1, s, money, W]
    """

    strategy: str
    gpus: int
    idle_gpus: int
    replicas: int
    mtbf_s: float
    restart_total_s: float  # downtime and restart
    stall_s: float | None
    flush_s: float | None
    step_time_s: float | None
    interval_s: float | None  # as typed: whole steps where the step time is known; None: no progress
    interval_steps: int | None
    goodput: float
    waiting_fraction: float  # for nodes, or with replicas missing
    speed_gpus: float  # throughput without saves and failures
    useful_gpus: float
    marginal_gpus: float | None  # None: the next size cannot be planned
    next_gpus: int
    wall_s: float | None  # of the run
    money: float | None  # that it costs
    useful_hour_price: float | None
    next_hour_price: float | None
    energy_interval_s: float | None  # of least energy
    energy_interval_steps: int | None
    energy_goodput: float | None
    energy_lost_goodput: float | None  # against the interval of least time
    useful_gpu_power_w: float | None  # per useful GPU, at the interval of least time
    least_useful_gpu_power_w: float | None
    energy_saved_fraction: float | None
    run_energy_mwh: float | None
    least_run_energy_mwh: float | None
    energy_accounting: str | None
    status: str


class Asked(NamedTuple):
    """What else each record is to say."""

    gpu_hour_price: float | None
    energy: bool


def records_at(yields: Yields, gpus: int, asked: Asked) -> Iterator[ScaleRecord | Refusal]:
    """Every way of saving at one size; what cannot be planned there is a refusal."""
    curve, size = yields.curve, yields.curve.at(gpus)
    for name in curve.strategies:
        try:
            found = yields.at(name, gpus)
            if found is None:
                raise InputError(NOT_THERE)
        except InputError as error:
            yield Refusal(name, gpus, error.problems)
        else:
            record = _record(curve, size, name, found, asked)
            if name == curve.tiers:
                yield record._replace(stall_s=None, flush_s=None)
            else:
                yield _with_energy(record, found.case, size, asked)


def _record(curve: Curve, size: Size, name: str, found: Yield, asked: Asked) -> ScaleRecord:
    case, interval_s, steps, goodput, waiting = found
    stuck = _why_stuck(curve, name, found)
    if stuck:
        interval_s = steps = None  # where nothing is done, no interval is better than another
    useful = size.speed_gpus * goodput
    marginal = curve.marginal(name, size.gpus)
    adds = marginal.per_gpu
    wall_s = wall_time(size.scenario.training.work_s, case, interval_s, goodput)
    price = asked.gpu_hour_price
    made = ScaleRecord(
        strategy=name,
        gpus=size.gpus,
        idle_gpus=size.idle_gpus,
        replicas=size.replicas,
        mtbf_s=case.mtbf_s,
        restart_total_s=case.restart.total_s,
        stall_s=case.save.stall_s,
        flush_s=case.save.flush_s,
        step_time_s=case.step_time_s,
        interval_s=interval_s,
        interval_steps=steps,
        goodput=goodput,
        waiting_fraction=waiting,
        speed_gpus=size.speed_gpus,
        useful_gpus=useful,
        marginal_gpus=adds,
        next_gpus=marginal.to_gpus,
        wall_s=wall_s,
        money=None if price is None or wall_s is None else price * size.gpus * wall_s / HOUR_S,
        useful_hour_price=None if price is None or useful == 0.0 else price * size.gpus / useful,
        next_hour_price=None if price is None or adds is None or adds <= 0.0 else price / adds,
        energy_interval_s=None,
        energy_interval_steps=None,
        energy_goodput=None,
        energy_lost_goodput=None,
        useful_gpu_power_w=None,
        least_useful_gpu_power_w=None,
        energy_saved_fraction=None,
        run_energy_mwh=None,
        least_run_energy_mwh=None,
        energy_accounting=None,
        status="",
    )
    return made._replace(status=notes.status(made, size, marginal, stuck))


def _why_stuck(curve: Curve, name: str, found: Yield) -> str:
    """Why a run gets nowhere; empty if it gets on."""
    case = found.case
    if makes_progress(found.goodput):
        return ""
    if found.interval_s is None and case.law.gaps_s:
        return "no gap between failures is long enough for a restart and one save"
    if name == curve.tiers:
        return gets_nowhere("the restart", case.restart.total_s, case.mtbf_s)
    return why_stuck(case)


def _with_energy(record: ScaleRecord, case: Case, size: Size, asked: Asked) -> ScaleRecord:
    power = size.scenario.cluster.power
    if not asked.energy or power is None or record.interval_s is None:
        return record
    from ckptplan.plan.scale.energy import energy_facts

    found = energy_facts(case, power, record.interval_s)
    if found is None:
        return record
    per_useful = size.gpus / size.speed_gpus  # GPUs behind one useful one, losses apart
    work_s = size.scenario.training.work_s
    mwh = None if work_s is None else size.gpus * work_s / _J_PER_MWH
    return record._replace(
        energy_interval_s=found.interval_s,
        energy_interval_steps=found.interval_steps,
        energy_goodput=found.goodput,
        energy_lost_goodput=max(record.goodput - found.goodput, 0.0),
        useful_gpu_power_w=found.power_time_w * per_useful,
        least_useful_gpu_power_w=found.power_w * per_useful,
        energy_saved_fraction=found.saved_fraction,
        run_energy_mwh=None if mwh is None else found.power_time_w * mwh,
        least_run_energy_mwh=None if mwh is None else found.power_w * mwh,
        energy_accounting=found.accounting,
    )
