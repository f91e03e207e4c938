"""Laws with known parameters, drawn with random ends of observation, for the tests of fits."""

from __future__ import annotations

import numpy as np
from scipy import stats

from ckptplan.cost.scenario import LawName

E, W, L, G = LawName.EXPONENTIAL, LawName.WEIBULL, LawName.LOGNORMAL, LawName.GAMMA
TRUTHS = [(E, 1.0), (W, 0.7), (W, 2.0), (L, 1.5), (G, 3.0)]
SHAPED = TRUTHS[1:]


def scipy_law(name: LawName, shape: float, scale: float = 1.0):
    """The law in scipy.stats."""
    if name is E:
        return stats.expon(scale=scale)
    if name is W:
        return stats.weibull_min(shape, scale=scale)
    return stats.lognorm(shape, scale=scale) if name is L else stats.gamma(shape, scale=scale)


def draw(name: LawName, shape: float, number: int, rng: np.random.Generator, seen: float = 2.0):
    """Times and whether they failed, with ends of observation that come after ``seen`` means on average."""
    law = scipy_law(name, shape)
    failure = law.rvs(number, random_state=rng)
    end = rng.exponential(seen * law.mean(), number)
    return np.minimum(failure, end), failure <= end


def within(share: float, expected: float, number: int, sigmas: float = 4.0) -> bool:
    """Whether a share of a number of trials agrees with its expectation."""
    return abs(share - expected) <= sigmas * np.sqrt(expected * (1.0 - expected) / number)


BEARINGS = np.array(
    [17.88, 28.92, 33.0, 41.52, 42.12, 45.6, 48.4, 51.84, 51.96, 54.12, 55.56, 67.8, 68.64, 68.64, 68.88, 84.12, 93.12,
     98.64, 105.12, 105.84, 127.92, 128.04, 173.4]
)  # fmt: skip  # Lieblein and Zelen 1956, million revolutions
REPAIRS = np.array([5.0, 40, 43, 175, 389, 712, 747, 795, 1299, 1478])  # NIST 8.2.2.3, hours, observed for 1,500
