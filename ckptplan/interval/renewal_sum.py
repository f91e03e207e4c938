"""Sums of a survival over equidistant instants: the number of saves that a gap between failures leaves durable.

The sum over k of S(c + k P) has up to 1e10 terms that matter, but S changes by ratios of the age, not by steps. So the
first terms are added as they are, and each further block of instants, a fixed ratio long, is summed with 20 nodes of
the Gauss quadrature for equidistant points (discrete Chebyshev polynomials).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import LawName
from ckptplan.cost.unit_laws import Decay, decay, scale, unit_integral
from ckptplan.interval.blocks import Floats

_NODES = 18
_RATIO_LOG2 = 2.0  # blocks of ratio 4 are exact to rounding up to the sharpness below, narrower ones beyond
_SHARP = 1.6
_NEGLIGIBLE = 1e-17  # of the sum, for a block and with it the rest of the tail
_CHUNK = 512  # elements at a time: nodes times elements stay in the cache
_LAST = 2.0**100  # instants; never reached for a finite mean


Curve = Callable[..., Decay]  # (t, *parameters) -> S(t) and t f(t); t in units of the mean, elements on the last axis
Integral = Callable[..., Floats]  # (t, *parameters) -> int_0^t S in units of the mean


class GapLaw(NamedTuple):
    """A law of the gaps in units of its mean, with its parameters (flat arrays of one length).

    ``sharpness`` is the mean over the standard deviation, roughly: how quickly S falls against the age at which it
    does. The sums need it for their blocks, the optimum to know where goodput can have several maxima. [1]
    """

    curve: Curve
    integral: Integral
    parameters: tuple[Floats, ...]
    sharpness: Floats

    def take(self, rows: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> GapLaw:
        """The law of some of the elements."""
        return self._replace(parameters=tuple(p[rows] for p in self.parameters), sharpness=self.sharpness[rows])


class Durable(NamedTuple):
    """Durable saves per failure, n, and their fall with the period, ``-P dn/dP``. [1]."""

    saves: Floats
    fall: Floats


def gap_law(name: LawName, shape: Floats) -> GapLaw:
    """One of the families of `ckptplan.cost.laws`, in units of its mean.

    Parameters
    ----------
    name : LawName
        The family.
    shape : ndarray
        One shape per element, flat. [1]

    Returns
    -------
    GapLaw
        Its curve and integral.
    """

    def curve(t: Floats, per_size: Floats, k: Floats) -> Decay:
        return decay(t * per_size, k, name)

    def integral(t: Floats, per_size: Floats, k: Floats) -> Floats:
        return unit_integral(t * per_size, k, name)

    return GapLaw(curve, integral, (1.0 / scale(name, shape), shape), sharpness(name, shape))


def sharpness(name: LawName, shape: Floats) -> Floats:
    """About the mean of a law over its standard deviation. [1]."""
    match name:
        case LawName.WEIBULL:
            return shape
        case LawName.GAMMA:
            return np.sqrt(shape)
        case LawName.LOGNORMAL:
            return 1.0 / shape
    return np.ones_like(shape)


def durable_saves(law: GapLaw, period: Floats, offset: Floats) -> Durable:
    """Saves per failure that become durable, ``n = sum_{k>=1} S(c + k P)``, and ``-P dn/dP``.

    Parameters
    ----------
    law : GapLaw
        The law, in units of its mean.
    period : ndarray
        Period P over the mean, flat, positive and finite. [1]
    offset : ndarray
        Age c at which training starts, with what a save needs to become durable, over the mean; flat. [1]

    Returns
    -------
    Durable
        Relative error a few 1e-16 for shapes of the Weibull law from 0.3 to 10 and alike.

    Notes
    -----
    ``-P dn/dP = sum k P f(c + k P)``.
    """
    saves, fall = np.empty_like(period), np.empty_like(period)
    levels = _level(law.sharpness)
    for level in np.unique(levels):
        rows = np.flatnonzero(levels == level)
        for start in range(0, rows.size, _CHUNK):
            part = rows[start : start + _CHUNK]
            saves[part], fall[part] = _sum_blocks(law.take(part), period[part], offset[part], int(level))
    return Durable(saves, fall)


def _sum_blocks(law: GapLaw, period: Floats, offset: Floats, level: int) -> Durable:
    """Add block after block, for the elements whose next block may still matter."""
    saves, fall = np.zeros_like(period), np.zeros_like(period)
    rows, part, pace, start = np.arange(period.size), law, period, offset
    late = bool(np.any(offset))
    for nodes, weights, following in _blocks(level):
        age = steps = nodes[:, np.newaxis] * pace
        if late:
            age = steps + start
        alive, slope = part.curve(age, *part.parameters)
        saves[rows] += weights @ alive
        fall[rows] += weights @ (slope * (steps / age) if late else slope)
        # In the tail both only fall, so the end of this block bounds the next one, and that one all that follow.
        going = following * (alive[-1] + slope[-1]) > _NEGLIGIBLE * saves[rows]
        if not going.all():
            rows = rows[going]
            if not rows.size:
                break
            part, pace, start = law.take(rows), period[rows], offset[rows]
    return Durable(saves, fall)


def _level(sharp: Floats) -> npt.NDArray[np.int64]:
    """How often the ratio of a block is replaced by its square root, for laws of this sharpness."""
    return np.clip(np.ceil(np.log2(np.maximum(sharp / _SHARP, 1.0))), 0, 6).astype(np.int64)


def _blocks(level: int) -> Iterator[tuple[Floats, Floats, float]]:
    """Nodes and weights of the sum over 1, 2, 3, ..., block by block, and the number of instants in the next one."""
    for number in count():
        _, last, nodes, weights = _block(level, number)
        if last > _LAST:
            return
        yield nodes, weights, _block(level, number + 1)[1] - last


@lru_cache(maxsize=2048)
def _block(level: int, number: int) -> tuple[float, float, Floats, Floats]:
    """First and last instant of a block, with its nodes and weights; block 0 is the first terms as they are."""
    ratio = 2.0 ** (_RATIO_LOG2 / 2.0**level)
    if number == 0:
        last = float(np.ceil((_NODES + 1) / (ratio - 1.0)))
        return 1.0, last, np.arange(1.0, last + 1.0), np.ones(int(last))
    first = _block(level, number - 1)[1] + 1.0
    last = float(np.floor((first - 1.0) * ratio))
    nodes, weights = _gauss(last - first + 1.0)
    return first, last, 0.5 * (first + last) + nodes, weights


def _gauss(points: float) -> tuple[Floats, Floats]:
    """Gauss quadrature for the sum over ``points`` equidistant points centred at 0 (Golub and Welsch 1969)."""
    j = np.arange(1.0, _NODES)
    beta = 0.5 * j * np.sqrt((points - j) * (points + j) / (4.0 * j * j - 1.0))  # of the discrete Chebyshev polynomials
    nodes, vectors = np.linalg.eigh(np.diag(beta, 1) + np.diag(beta, -1))
    return nodes, points * vectors[0] ** 2
