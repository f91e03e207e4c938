"""A sample of times as the counts of a histogram: few numbers that show its shape, whatever its size."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_FEWEST, _MOST = 8, 60  # bins


class Distribution(NamedTuple):
    """Runs in each bin; one edge more than there are bins. [s, 1]."""

    edges_s: tuple[float, ...]
    runs: tuple[int, ...]


def distribution(sample_s: npt.NDArray[np.float64]) -> Distribution | None:
    """Counts in bins of equal width over all of a sample.

    Parameters
    ----------
    sample_s : ndarray
        One time per run. [s]

    Returns
    -------
    Distribution or None
        None where all times are the same. [s, 1]

    Notes
    -----
    Bins are ``2 IQR/n^(1/3)`` wide (Freedman and Diaconis 1981), but there are 8 of them at least and 60 at most.
    """
    low, high = float(sample_s.min()), float(sample_s.max())
    if not high > low:
        return None
    lower, upper = np.quantile(sample_s, (0.25, 0.75))
    width = 2.0 * float(upper - lower) / sample_s.size ** (1.0 / 3.0)
    bins = _MOST if width <= 0.0 else math.ceil(min((high - low) / width, _MOST))
    counts, edges = np.histogram(sample_s, bins=max(bins, _FEWEST), range=(low, high))
    return Distribution(tuple(edges.tolist()), tuple(counts.tolist()))
