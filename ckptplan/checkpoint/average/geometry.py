"""Where checkpoints lie to each other: distances, directions, how straight the way is. All from inner products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class Geometry(NamedTuple):
    """Distances are Euclidean, over all elements that are averaged. [the unit of the parameters]."""

    norm: float  # of the first checkpoint
    distances: Matrix  # of each from each
    moves: tuple[float, ...]  # from each to the next
    cosines: tuple[float | None, ...]  # between each move and the next; None where one is zero
    displacement: float  # from the first to the last
    path: float  # sum of the moves
    spread: float  # root of the weighted mean square distance from the mean
    lag: float  # from the mean to the last

    @property
    def relative_displacement(self) -> float | None:
        """Displacement over the norm of the first checkpoint."""
        return self.displacement / self.norm if self.norm else None

    @property
    def wandering(self) -> float | None:
        """Path over displacement: 1 on a straight line, large where the checkpoints wander about a centre."""
        return self.path / self.displacement if self.displacement else None


def geometry(gram: Matrix, weights: Sequence[float]) -> Geometry:
    """Distances and angles of K points from the inner products of their differences from the first.

    Parameters
    ----------
    gram : ndarray, K x K
        ``(x_i - x_1) . (x_j - x_1)``; at [0, 0], whose difference is zero, the squared norm of ``x_1`` instead.
    weights : sequence of float
        Of the mean; sum 1.

    Returns
    -------
    Geometry
        With ``|x_i - x_j|^2 = g_ii + g_jj - 2 g_ij``. Stationary noise about a centre whose correlation over one gap
        is r gives moves with cosines ``-(1 - r)/2``: 0 while neighbours are close (a random walk), -1/2 once each is
        independent of the one before; a straight line gives 1. The path over the displacement of K points is 1 on a
        line, ``sqrt(K - 1)`` on a random walk, ``K - 1`` for independent points. (An Ornstein-Uhlenbeck process; for
        SGD on a quadratic see Mandt, Hoffman and Blei 2017, JMLR 18, section 3.)
    """
    norm = float(np.sqrt(gram[0, 0]))
    inner = gram.copy()
    inner[0, :] = inner[:, 0] = 0.0
    squares = np.diag(inner)
    distances = np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2.0 * inner, 0.0))
    np.fill_diagonal(distances, 0.0)
    moves = np.diff(np.eye(len(inner)), axis=0)
    between = moves @ inner @ moves.T
    lengths = [float(distances[k, k + 1]) for k in range(len(inner) - 1)]
    cosines = [_cosine(float(between[k, k + 1]), lengths[k], lengths[k + 1]) for k in range(len(lengths) - 1)]
    share = np.asarray(weights)
    square_of_mean = float(share @ inner @ share)
    to_last = float(squares[-1] - 2.0 * inner[-1] @ share + square_of_mean)
    return Geometry(
        norm,
        distances,
        tuple(lengths),
        tuple(cosines),
        float(distances[0, -1]),
        sum(lengths),
        float(np.sqrt(max(0.0, float(share @ squares) - square_of_mean))),
        float(np.sqrt(max(0.0, to_last))),
    )


def _cosine(product: float, one: float, two: float) -> float | None:
    return None if one == 0.0 or two == 0.0 else max(-1.0, min(1.0, product / (one * two)))
