"""Where adding GPUs stops helping, where it stops paying, and which sizes show both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.errors import InputError
from ckptplan.plan.case import Case
from ckptplan.plan.scale.batch import best_even, even_sizes
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.search import highest
from ckptplan.plan.scale.yields import Yields

MOST_GPUS = 1_000_000_000
_MOST_SIZES = 12
_RATIOS = (2, 4, 10, 100)
_BELOW = 8  # the least size of the series, over the planned one
_BEYOND = 64  # the largest one, where there is no peak
_SAME = 1e-3  # costs at two sizes: states of every rank add a little to what a save writes


class Turn(NamedTuple):
    """The size at which something turns, at the best interval there. [1, s].

    ``gpus`` None: it does not turn up to 1e9 GPUs; 0: it does so before the first GPU. ``free_gpus`` is the same if the
    global batch came in equal parts for any number of replicas.
    """

    gpus: int | None
    free_gpus: int | None
    replicas: int | None = None
    mtbf_s: float | None = None
    goodput: float | None = None
    useful_gpus: float | None = None


class ScalePeak(NamedTuple):
    """One way of saving: where adding GPUs stops helping, and where it stops paying (None if that was not asked)."""

    strategy: str
    peak: Turn
    formula_gpus: float | None  # of the peak, where the closed form holds; not rounded
    is_endless: bool  # the closed form holds, and there is no peak
    paying: Turn | None


def peak_of(yields: Yields, strategy: str, price_over_worth: float | None = None) -> ScalePeak:
    """Where adding GPUs stops helping and paying by one way of saving.

    Parameters
    ----------
    yields : Yields
        The run at any size.
    strategy : str
        One of ``yields.curve.strategies``.
    price_over_worth : float, optional
        Price of a GPU-hour over the worth of a useful one. [1]

    Returns
    -------
    ScalePeak

    Notes
    -----
    Beyond the peak, useful GPUs U(N) fall; GPUs pay up to the highest ``U(N) - N p/v``, where one more adds as much as
    it costs. Found by search over whole replicas, with all that changes with N: times of saves and loads, classes with
    rates of their own, spares, stragglers, floors. What is said of the size found is what its record says.
    """
    curve = yields.curve
    peak = _turn(yields, strategy, 0.0)
    formula = _formula(curve, strategy, peak.free_gpus)
    paying = None if price_over_worth is None else _turn(yields, strategy, price_over_worth)
    is_endless = formula is not None and math.isnan(formula)
    return ScalePeak(strategy, peak, None if is_endless else formula, is_endless and peak.gpus is None, paying)


def _turn(yields: Yields, strategy: str, price_over_worth: float) -> Turn:
    """Where ``U(N) - N p/v`` is highest."""
    curve = yields.curve
    step, even = curve.step_gpus, even_sizes(curve)

    def value(gpus: int) -> float:
        return curve.useful(strategy, gpus) - price_over_worth * gpus

    steps = highest(lambda n: value(n * step), max(MOST_GPUS // step, 1), beyond=curve.planned // step)
    free = None if steps is None else steps * step
    if free is not None and not value(free) > 0.0:
        return Turn(0, 0)
    gpus = best_even(value, free, even) or free
    if gpus is None:
        return Turn(None, None)
    if not value(gpus) > 0.0:
        return Turn(0, free)
    size = curve.at(gpus)
    found = yields.at(strategy, gpus)
    goodput = 0.0 if found is None else found.goodput
    mtbf_s = next(iter(curve.cases(gpus).values())).mtbf_s
    return Turn(gpus, free, size.replicas, mtbf_s, goodput, size.speed_gpus * goodput)


def _formula(curve: Curve, strategy: str, gpus: int | None) -> float | None:
    """GPUs at the peak by the closed form; nan: there is no peak; None: it does not hold."""
    if strategy == curve.tiers:
        return None
    planned = curve.cases(curve.planned, split=False)[strategy]
    if not planned.is_closed or curve.scenario.training.step_noise > 0.0:
        return None
    there = curve.cases(gpus or MOST_GPUS // curve.step_gpus * curve.step_gpus, split=False).get(strategy)
    if there is None or not _is_of_formula(planned, there):
        return None
    from ckptplan.interval.scale import gpus_at_peak

    found = gpus_at_peak(
        there.save.stall_s,
        there.restart.restart_s,
        curve.scenario.failures.mtbf_per_gpu_s,
        downtime=there.restart.downtime_s,
        strike=there.strike,
        scaling_exponent=curve.scenario.training.scaling_exponent,
        flush=there.save.flush_s,
        speed=there.speed,
    )
    return float(found.gpus)


def _is_of_formula(planned: Case, there: Case) -> bool:
    """Whether the closed form holds: one class, one save in flight, the same costs at both sizes, no coarse steps."""
    same = all(
        math.isclose(one, other, rel_tol=_SAME) for one, other in zip(_costs(planned), _costs(there), strict=True)
    )
    fine = there.step_time_s is None or there.optimum("exact") >= there.step_time_s
    return planned.save.in_flight == 1 and same and fine


def _costs(case: Case) -> tuple[float, ...]:
    return (case.save.stall_s, case.save.flush_s, case.speed, case.restart.downtime_s, case.restart.restart_s)


def sizes_around(curve: Curve, peaks: Sequence[ScalePeak]) -> tuple[int, ...]:
    """A geometric series of whole replicas around the planned size, from well below it to beyond all peaks."""
    found = [peak.peak.gpus for peak in peaks if peak.peak.gpus]
    top = max(found, default=_BEYOND * curve.planned)
    if len(found) < len(peaks):
        top = max(top, _BEYOND * curve.planned)
    low = min([curve.planned / _BELOW, *(n / 2 for n in found)])
    for ratio in _RATIOS:
        sizes = _series(curve.planned, ratio, low, top)
        if len(sizes) <= _MOST_SIZES:
            break
    possible = even_sizes(curve)
    whole = {_nearest(gpus, possible) if possible else _rounded(gpus, curve.step_gpus) for gpus in sizes}
    return tuple(sorted({*(n for n in whole if _is_there(curve, n)), curve.planned}))


def _series(planned: int, ratio: int, low: float, top: float) -> list[float]:
    """``planned`` times powers of the ratio: all from ``low`` up to the first one beyond ``top``."""
    down = max(math.floor(math.log(planned / low, ratio) + 1e-9), 0)
    up = max(math.floor(math.log(top / planned, ratio) + 1e-9) + 1, 1)
    return [planned * float(ratio) ** k for k in range(-down, up + 1) if planned * float(ratio) ** k <= MOST_GPUS]


def _rounded(gpus: float, step: int) -> int:
    return max(round(gpus / step), 1) * step


def _nearest(gpus: float, possible: dict[int, int]) -> int:
    return min(possible, key=lambda n: abs(math.log(n / gpus)))


def _is_there(curve: Curve, gpus: int) -> bool:
    """Whether the run can be planned at this size: peers need enough nodes, tiers enough room."""
    try:
        curve.cases(gpus)
        if curve.tiers in curve.strategies:
            curve.pattern(gpus)
    except InputError:
        return False
    return True
