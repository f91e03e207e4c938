"""The transform of the time beyond the shortest one, and the part of it that few failures make."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import expm1_minus, expm1_minus_two
from ckptplan.interval.finite import stretch_variance

Complex = npt.NDArray[np.complex128]

FEW = 3  # failures, up to which the distribution is inverted by hand


class Terms(NamedTuple):
    """Sum of ``coefficient y^order exp(-z length)``, one entry per term."""

    order: Floats
    length: Floats
    coefficient: Floats


class ExcessTime:
    """Time to finish beyond the shortest one: stretches in a row, each begun again after a failure.

    Parameters
    ----------
    rate : float
        Failures per second while their clock runs, lambda. [1/s]
    unstruck : float
        Time that each failure costs beside the work, while the clock stands still, U. [s]
    shortest : float
        Time without failures. [s]
    weights, lengths : ndarray
        The stretches, of `FiniteRun`; the weights sum to 0. [1, s]
    """

    def __init__(self, rate: float, unstruck: float, shortest: float, weights: Floats, lengths: Floats) -> None:
        self.rate, self.unstruck, self.shortest = rate, unstruck, shortest
        self.weights, self.lengths = weights, lengths

    @property
    def atom(self) -> float:
        """Probability of no failure. [1]."""
        return float(np.exp(-self.rate * self.shortest))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Mean and standard deviation [s]; infinite beyond the range of doubles."""
        M, U = 1.0 / self.rate, self.unstruck
        with np.errstate(all="ignore"):
            x = self.lengths * self.rate
            mean = float(self.weights @ (M * expm1_minus(x) + U * np.expm1(x)))
            return mean, float(np.sqrt(self.weights @ stretch_variance(self.lengths, M, U)))

    def log_transform(self, theta: Complex) -> Complex:
        """Logarithm, of any branch, of ``E exp(-theta X)`` for a positive real part of theta, or an imaginary one."""
        z = self.rate + theta
        starts = theta - self.rate * np.expm1(-theta * self.unstruck)
        again = self.rate * np.exp(-theta * self.unstruck)
        # z (1 - y (1 - exp(-z L))), with its leading terms cancelled by hand; the powers of z cancel as a whole.
        through = [starts + again * np.exp(-z * length) for length in self.lengths]
        total: Complex = np.log(through[1] / through[0])
        if len(through) > 2:
            total += self.weights[2] * np.log(through[3] / through[2])
        return np.asarray(total - self.rate * self.shortest)

    def log_moment(self, s: Floats) -> Floats:
        """``log E exp(s X)`` for s > 0, infinite where that does not exist."""
        z = self.rate - s
        starts, again = -s - self.rate * np.expm1(s * self.unstruck), self.rate * np.exp(s * self.unstruck)
        parts = (starts + again * np.exp(-z * self.lengths[:, None])) / z
        total = -self.weights @ np.log(parts) - self.rate * self.shortest
        return np.where(np.isfinite(total) & (parts > 0.0).all(axis=0), total, np.inf)

    @cached_property
    def few(self) -> Terms:
        """The transform cut after `FEW` failures, the atom left out, as a sum of terms that invert by hand.

        ``-sum w log(1 - y a)`` with ``a = 1 - exp(-z L)`` has the power sums ``p_k = sum w a^k``; Newton's
        identities give the coefficients of its exponential, of which those up to y^3 are kept.
        """
        w = self.weights
        index = range(len(w))
        sums: dict[tuple[int, tuple[int, ...]], float] = {}

        def add(order: int, parts: tuple[int, ...], value: float) -> None:
            key = (order, tuple(sorted(parts)))
            sums[key] = sums.get(key, 0.0) + value

        for i in index:
            for order, parts, value in (
                (1, 1, -1.0),
                (2, 1, -1.0),
                (2, 2, 0.5),
                (3, 1, -1.0),
                (3, 2, 1.0),
                (3, 3, -1 / 3),
            ):
                add(order, (i,) * parts, w[i] * value)
            for j in index:
                pair = w[i] * w[j]
                add(2, (i, j), pair / 2.0)
                add(3, (i, j), pair)
                add(3, (i, j, j), -pair / 2.0)
                for k in index:
                    add(3, (i, j, k), -pair * w[k] / 6.0)
        orders = np.array([order for order, _ in sums], dtype=np.float64)
        lengths = np.array([sum(self.lengths[i] for i in parts) for _, parts in sums])
        return Terms(orders, lengths, np.array(list(sums.values())) * self.atom)

    def few_transform(self, theta: Complex) -> Complex:
        """Transform of the distribution cut after `FEW` failures, the atom included."""
        z = self.rate + theta
        y = self.rate * np.exp(-theta * self.unstruck) / z
        powers = [np.exp(-z * length) for length in self.lengths]
        p1, p2, p3 = (sum(w * (1.0 - e) ** k for w, e in zip(self.weights, powers, strict=True)) for k in (1, 2, 3))
        total = 1.0 + y * (p1 + y * ((p1 * p1 + p2) / 2.0 + y * (p1**3 + 3.0 * p1 * p2 + 2.0 * p3) / 6.0))
        return np.asarray(self.atom * total)

    def few_cdf(self, x: Floats) -> Floats:
        """Probability of at most `FEW` failures and a time of at most x >= 0, the atom included."""
        terms = self.few
        # Beyond the longest time of so many failures the terms cancel to a constant: stop there.
        longest = terms.order * (self.unstruck + self.lengths.max())
        u = np.minimum(x[:, None], longest) - terms.order * self.unstruck - terms.length
        u = np.maximum(u * self.rate, 0.0)
        three = expm1_minus_two(u)
        two = three + 0.5 * u * u
        erlang = np.where(terms.order == 3.0, three, np.where(terms.order == 2.0, two, two + u))
        scale = terms.coefficient * np.exp(-self.rate * terms.length)
        return np.asarray(self.atom + (erlang * np.exp(-u)) @ scale)
