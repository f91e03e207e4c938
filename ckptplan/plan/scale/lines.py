"""Goodput and useful GPUs at many sizes between those of the table: enough of them for a line that bends as it does."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.scale.batch import even_sizes
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.scaling import Scaling
from ckptplan.plan.scale.yields import Yields

CLOSED_SIZES = 64  # between the smallest and the largest one, where the closed forms hold: a millisecond each
SEARCHED_SIZES = 24  # where an interval is searched for at every size, or a pattern of tiers: up to 50 ms each


class ScaleLine(NamedTuple):
    """One way of saving at sizes in ascending order, with the interval to type there; nan where it cannot be had. [1].

    All that the table, the peak and the limit of pay say is among the points, with the same numbers.
    """

    strategy: str
    gpus: tuple[int, ...]
    goodput: tuple[float, ...]
    useful_gpus: tuple[float, ...]


def scale_lines(scenario: Scenario, made: Scaling) -> tuple[ScaleLine, ...]:
    """The lines of a scaling, one per way of saving.

    Parameters
    ----------
    scenario : Scenario
        The run that was scaled.
    made : Scaling
        What it came out as.

    Returns
    -------
    tuple of ScaleLine
        Between the smallest and the largest size of the table and of the peaks: whole replicas, evenly spread in the
        logarithm; with a global batch only those that divide it evenly, as all others lie below them by what they wait.
    """
    yields = Yields(Curve(scenario), in_full=False)
    known = {strategy: _known(made, strategy) for strategy in made.strategies}
    every = [gpus for points in known.values() for gpus in points]
    between = _between(yields.curve, min(every), max(every))
    return tuple(_line(yields, strategy, points, between) for strategy, points in known.items())


def _known(made: Scaling, strategy: str) -> dict[int, tuple[float, float]]:
    """Goodput and useful GPUs by size, as the document has them."""
    (peak,) = [one for one in made.peaks if one.strategy == strategy]
    found = {r.gpus: (r.goodput, r.useful_gpus) for r in made.records if r.strategy == strategy}
    for turn in (peak.peak, peak.paying):
        if turn is not None and turn.gpus and turn.goodput is not None and turn.useful_gpus is not None:
            found.setdefault(turn.gpus, (turn.goodput, turn.useful_gpus))
    return found


def _between(curve: Curve, low: int, high: int) -> list[int]:
    """Sizes to look at beside the known ones."""
    is_cheap = curve.tiers not in curve.strategies and all(c.is_closed for c in curve.cases(curve.planned).values())
    most, step = CLOSED_SIZES if is_cheap else SEARCHED_SIZES, curve.step_gpus
    wanted = np.geomspace(low, high, most)
    if curve.scenario.training.global_batch is None:
        return sorted({max(round(gpus / step), 1) * step for gpus in wanted})
    even = [gpus for gpus in even_sizes(curve) if low <= gpus <= high]
    if len(even) <= most:
        return even
    return sorted({min(even, key=lambda one: abs(math.log(one / gpus))) for gpus in wanted})


def _line(yields: Yields, strategy: str, known: dict[int, tuple[float, float]], between: list[int]) -> ScaleLine:
    low, high = min(known), max(known)
    points = {gpus: _at(yields, strategy, gpus) for gpus in between if low <= gpus <= high} | known
    gpus = sorted(points)
    return ScaleLine(strategy, tuple(gpus), *zip(*(points[n] for n in gpus), strict=True))


def _at(yields: Yields, strategy: str, gpus: int) -> tuple[float, float]:
    try:
        found = yields.at(strategy, gpus)
    except InputError:  # a tier needs more nodes than there are, or more room than one has
        found = None
    if found is None:
        return math.nan, math.nan
    return found.goodput, yields.curve.at(gpus).speed_gpus * found.goodput
