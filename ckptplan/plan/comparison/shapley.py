"""Dividing a difference among its causes, so that the parts add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Part(NamedTuple):
    """The part of one cause, and its least and its most over the orders in which causes may be changed."""

    value: float
    least: float
    most: float
    standard_error: float | None = None  # where orders were sampled


def shapley(values: npt.ArrayLike) -> list[Part]:
    """Shapley values of causes.

    Parameters
    ----------
    values : array_like
        2**n values: entry ``s`` is the value with those causes changed whose bits are set in ``s``. [1]

    Returns
    -------
    list of Part
        One per cause, in the order of the bits; ``value`` sum to ``values[-1] - values[0]``.

    Notes
    -----
    The mean over all n! orders of what the cause adds when its turn comes (Shapley 1953, "A value for n-person games",
    eq. 12): a set of k others stands before it in ``k! (n - k - 1)!`` of the orders. The only division that adds up,
    is the same for causes that act alike, gives nothing to a cause that never matters, and is additive.
    """
    v = np.asarray(values, dtype=np.float64)
    n = int(v.size).bit_length() - 1
    sets = np.arange(v.size)
    counts = np.array([int(s).bit_count() for s in sets])
    weights = np.array([factorial(k) * factorial(n - k - 1) / factorial(n) for k in range(n)])
    return [_part(v, sets[sets >> place & 1 == 0], 1 << place, weights, counts) for place in range(n)]


def _part(v: Floats, without: npt.NDArray[np.int64], one: int, weights: Floats, counts: npt.NDArray[np.int64]) -> Part:
    added = v[without | one] - v[without]
    return Part(float(weights[counts[without]] @ added), float(added.min()), float(added.max()))


def sampled_shapley(count: int, value: Callable[[Sequence[int]], float], orders: int, seed: int = 0) -> list[Part]:
    """The same over a sample of the orders, for more causes than can be mixed in every way.

    Parameters
    ----------
    count : int
        Number of causes.
    value : callable
        The value with some causes changed, given by their numbers.
    orders : int
        Number of orders, even: each one is walked forward and backward, which cancels what is additive.
    seed : int
        Of the orders.

    Notes
    -----
    Castro, Gomez and Tejada 2009, "Polynomial calculation of the Shapley value based on sampling". Along one order the
    parts telescope to the whole difference, so their means add up exactly too. ``least`` and ``most`` are those of the
    orders that were walked; the standard error is that of the mean of the pairs.
    """
    generator = np.random.default_rng(seed)
    pairs = []
    for _ in range(max(orders // 2, 1)):
        order = [int(k) for k in generator.permutation(count)]
        pairs.append([_walk(value, order), _walk(value, order[::-1])])
    added = np.array(pairs)
    means = added.mean(axis=1)
    errors = means.std(axis=0, ddof=1) / np.sqrt(len(pairs)) if len(pairs) > 1 else np.full(count, np.nan)
    columns = (means.mean(axis=0), added.min(axis=(0, 1)), added.max(axis=(0, 1)), errors)
    return [Part(*map(float, row)) for row in zip(*columns, strict=True)]


def _walk(value: Callable[[Sequence[int]], float], order: Sequence[int]) -> Floats:
    """What each cause adds along one order."""
    added = np.zeros(len(order))
    before = value(())
    for place, cause in enumerate(order):
        after = value(order[: place + 1])
        added[cause], before = after - before, after
    return added
