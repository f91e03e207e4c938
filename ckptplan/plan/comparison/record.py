"""What a comparison comes out as: two plans, and the difference in goodput divided among its causes."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.plan.record import Plan


class Cause(NamedTuple):
    """One group of inputs that differs, or several that only go together, and its part of the difference.

    ``points`` of all causes sum to the difference of the goodputs. ``least`` and ``most`` are what the cause makes when
    it is changed first, last or in between; where they are far apart, causes overlap. [1]
    """

    groups: tuple[str, ...]  # of the scenario: model, cluster, failures, storage, save, restart, training
    points: float
    least: float
    most: float


class Comparison(NamedTuple):
    """Two runs: ``first`` and ``second`` plans, and why the second one's goodput differs."""

    first: Plan
    second: Plan
    difference: float  # goodput of the second minus that of the first
    causes: tuple[Cause, ...]  # the largest first
    mixed: int  # scenarios in between that were planned
    warnings: tuple[str, ...] = ()
