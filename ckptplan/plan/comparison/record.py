"""What a comparison comes out as: two plans, and the difference in goodput divided among its causes."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.plan.record import Plan


class Cause(NamedTuple):
    """One group of inputs that differs, or several that only go together, and its part of the difference.

    ``goodput`` of all causes sum to the difference of the runs. ``least`` and ``most`` are what the cause makes when it
    is changed first, last or in between; where they are far apart, causes overlap. [1]
    """

    groups: tuple[str, ...]  # of the scenario: model, cluster, failures, storage, save, restart, training, ...
    goodput: float  # gained by it, below 0 where it does harm
    least: float
    most: float
    why: str | None = None  # several groups: what cannot be planned when they are not changed together
    standard_error: float | None = None  # of ``goodput``, where orders were sampled

    @property
    def name(self) -> str:
        """``save``, ``storage and save``, ``model, storage and save``."""
        *others, last = self.groups
        return f"{', '.join(others)} and {last}" if others else last


class Outcome(NamedTuple):
    """What one of the two runs comes to at the best number that can be typed.

    The shares are of wall time, and sum to one with ``goodput``. ``wall_s`` is ``work_s / goodput``; hours and
    money follow from it. None where the work, or the price, is not known, or the run never ends. [1, s, bytes]
    """

    name: str
    gpus: int
    useful_gpus: float  # GPUs that lose nothing and would do as much
    size_bytes: float
    mtbf_per_gpu_s: float
    mtbf_s: float
    restart_total_s: float
    strategy: str | None  # ``tiers`` where several tiers are best; None: no progress, so that none is
    stall_s: float
    flush_s: float
    step_time_s: float | None
    interval_s: float | None  # whole steps where the step time is known
    interval_steps: int | None
    goodput: float
    save_fraction: float
    rework_fraction: float
    restart_fraction: float
    slow_fraction: float
    waiting_fraction: float
    work_s: float | None
    wall_s: float | None
    gpu_hours: float | None
    lost_gpu_hours: float | None
    money: float | None
    lost_money: float | None


class Loss(NamedTuple):
    """One way in which wall time is lost, in both runs; ``goodput`` of all of them sum to the difference too. [1]."""

    name: str  # save, rework, restart, slow, waiting
    first: float
    second: float
    goodput: float  # gained by it: ``first - second``, since what is lost less is gained


class Comparison(NamedTuple):
    """Two runs: ``first`` and ``second`` plans, and why the second one's goodput differs."""

    first: Plan
    second: Plan
    difference: float  # goodput of the second minus that of the first
    causes: tuple[Cause, ...]  # the largest first
    mixed: int  # scenarios in between that were planned
    outcomes: tuple[Outcome, Outcome]
    losses: tuple[Loss, ...]
    orders: int | None = None  # that were sampled; None: all orders count
    silent: tuple[str, ...] = ()  # groups that differ, and that no goodput depends on
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
