"""Whether failures come in clusters, so that their count varies more than a Poisson count."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.fit.incomplete_gamma import regularized_gamma
from ckptplan.fit.laplace import checked_instants

_EXPECTED = 5  # failures in each window
_MOST = 1000


class Dispersion(NamedTuple):
    """Variance over mean of the counts in windows of equal exposure: 1 for a Poisson process."""

    index: float  # type: ignore[assignment]  # hides the method of tuples, which nothing here needs
    windows: int
    p_value: float  # of so large an index, or a larger one, without clusters
    widening: float  # by which the exact interval of the rate is too narrow, 1 where the index is not above 1
    note: str = ""


def dispersion(instants: npt.ArrayLike, end: float) -> Dispersion:
    """Test of a Poisson process against counts that vary more.

    Parameters
    ----------
    instants : array_like
        Exposure at each failure, from 0 to the end; ties are allowed. [any unit of time]
    end : float
        Exposure observed. [unit of the instants]

    Returns
    -------
    Dispersion
        nan with a note below ten failures. [1]

    Notes
    -----
    ``sum (c - mean)^2/mean`` over m windows with five failures on average, at most 1,000, is close to chi-squared
    with m - 1 degrees of freedom (Fisher 1925; Cox and Lewis 1966, section 6.3). The variance of the total count is
    larger by about the index, an interval wider by its square root. A trend raises the index too.
    """
    t = checked_instants(instants, end)
    windows = min(t.size // _EXPECTED, _MOST)
    if windows < 2:
        return Dispersion(np.nan, windows, np.nan, 1.0, "fewer than ten failures tell nothing of clusters")
    counts = np.bincount(np.minimum((t / end * windows).astype(np.int64), windows - 1), minlength=windows)
    statistic = float(((counts - counts.mean()) ** 2).sum() / counts.mean())
    upper = float(regularized_gamma(0.5 * (windows - 1.0), 0.5 * statistic)[1])
    index = statistic / (windows - 1.0)
    return Dispersion(index, windows, upper, float(np.sqrt(max(index, 1.0))))
