"""Young's first-order interval."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ckptplan.interval.blocks import Floats, in_blocks


def young_interval(stall: npt.ArrayLike, mtbf: npt.ArrayLike) -> Floats:
    """Work between saves by the first-order rule ``sqrt(2 d M)``.

    Parameters
    ----------
    stall : array_like
        Time one save blocks training, d. [s]
    mtbf : array_like
        Mean time between failures of the whole job, M. [s]

    Returns
    -------
    ndarray
        Work between two saves, the save excluded; nan for a negative stall or an MTBF that is not positive.
        [s]

    Notes
    -----
    Minimises ``d/W + W/(2M)`` (Young 1974): at the optimum a save and the expected rework cost the same.
    Valid for ``d << M``; too long by ``(2/3) d`` to the next order. An infinite MTBF gives infinity, a zero
    stall gives 0.
    """
    return in_blocks(_fast, _careful, stall, mtbf)


def _fast(stall: Floats, mtbf: Floats, out: Floats, scratch: Floats) -> None:
    np.multiply(stall, mtbf, out=out)
    np.multiply(out, 2.0, out=out)
    np.sqrt(out, out=out)


def _careful(stall: Floats, mtbf: Floats) -> Floats:
    product = 2.0 * (stall * mtbf)
    split = np.sqrt(stall) * np.sqrt(mtbf) * np.sqrt(2.0)  # where the product leaves the range of doubles
    ordinary = (product > 1e-290) & (product < np.inf)
    interval = np.where(ordinary, np.sqrt(product), split)
    interval = np.where(stall == 0.0, 0.0, interval)  # not nan with an infinite MTBF
    return np.where((stall >= 0.0) & (mtbf > 0.0), interval, np.nan)
