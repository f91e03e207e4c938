"""An input that is not known exactly: a range, or a mean with a coefficient of variation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Spread(NamedTuple):
    """What is known of an input, in SI.

    With ``low`` and ``high`` it is equally likely anywhere between them. With ``cv`` (standard deviation over mean)
    it is log-normal, or a beta distribution for a share of one (``share``), so that it never leaves its domain.
    """

    mean: float
    cv: float | None = None
    low: float | None = None
    high: float | None = None
    share: bool = False

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Independent values of the input.

        Parameters
        ----------
        generator : numpy.random.Generator
            Source of randomness.
        count : int
            Values to draw. [1]

        Returns
        -------
        ndarray
            The values, with the mean and the coefficient of variation of the input. [its unit]
        """
        if self.low is not None and self.high is not None:
            return generator.uniform(self.low, self.high, count)
        cv = self.cv or 0.0
        if cv == 0.0 or self.mean == 0.0:
            return np.full(count, self.mean)
        if self.share:
            total = (1.0 - self.mean) / (self.mean * cv * cv) - 1.0
            return generator.beta(self.mean * total, (1.0 - self.mean) * total, count)
        sigma = math.sqrt(math.log1p(cv * cv))
        return generator.lognormal(math.log(self.mean) - sigma * sigma / 2.0, sigma, count)


def largest_cv(mean: float) -> float:
    """Coefficient of variation that a share of this mean stays below: that of a coin which shows one or zero. [1]."""
    return math.sqrt((1.0 - mean) / mean) if 0.0 < mean < 1.0 else 0.0
