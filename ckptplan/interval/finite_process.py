"""The process of a finite amount of work: a number of saves, a last piece, and the stretches that they make."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import effective_stall, interval_floor, meets_floor
from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import ceil_to_whole, floor_to_whole
from ckptplan.interval.recovery import recovery_parts


class FiniteRun(NamedTuple):
    """A finite amount of work, divided; nan where the input is outside its domain."""

    saves: Floats  # n [1]
    last_piece_s: Floats  # work after the last save, r [s]
    period_s: Floats  # wall time from save to save without failures, P [s]
    exposed_s: Floats  # how much longer than a period a save takes to be durable after a restart, om F [s]
    mtbf_s: Floats  # M [s]
    unstruck_s: Floats  # part of a recovery during which the clock of failures stands still [s]
    struck_s: Floats  # part of a recovery that a failure starts again [s]

    @property
    def shortest_s(self) -> Floats:
        """Wall time without failures, ``n P + r``. [s]."""
        return np.asarray(self.saves * self.period_s + self.last_piece_s)

    @property
    def stretches(self) -> tuple[tuple[Floats, Floats], ...]:
        """Weights and lengths [1, s] of the uninterrupted stretches that the time to finish is made of.

        Its cumulants are the weighted sums of those of the time to get through each stretch without a failure,
        where every failure costs ``unstruck_s`` and starts the stretch again.
        """
        B, f = self.struck_s, self.exposed_s
        one = np.ones_like(self.saves)
        return (
            (one, self.last_piece_s + B),
            (-one, B),
            (self.saves, self.period_s + f + B),
            (-self.saves, f + B),
        )


def finite_run(
    work: npt.ArrayLike,
    interval: npt.ArrayLike,
    stall: npt.ArrayLike,
    mtbf: npt.ArrayLike,
    *,
    downtime: npt.ArrayLike = 0.0,
    restart: npt.ArrayLike = 0.0,
    strike: Strike = Strike.DR,
    flush: npt.ArrayLike = 0.0,
    speed: npt.ArrayLike = 1.0,
    in_flight: npt.ArrayLike = 1.0,
) -> FiniteRun:
    """A finite amount of work as a number of saves and a last piece.

    Parameters
    ----------
    work : array_like
        Work to do, S. [s]
    interval : array_like
        Work between two saves, W. [s]
    stall, mtbf, downtime, restart : array_like
        d, M, D and R. [s]
    strike : Strike
        Which part of a recovery a further failure may strike.
    flush : array_like
        Background flush of one save, F; 0 for a synchronous save. [s]
    speed : array_like
        Training speed during the flush, om. [1]
    in_flight : array_like
        Saves whose flush may be under way at one time. [1]

    Returns
    -------
    FiniteRun
        ``n = ceil(S/W) - 1`` saves: none after the last piece, so that work that is a multiple of W has one
        save fewer than pieces. A save whose flush would not end before the run does (``r < om F``) is left out.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (work, interval, stall, mtbf, downtime, restart, flush, speed))
    S, W, d, M, D, R, F, om = np.broadcast_arrays(*arrays)
    with np.errstate(all="ignore"):
        exposed = om * F
        floor = interval_floor(F, om, in_flight=in_flight, stall=d)
        useful = floor_to_whole((S - exposed) / W)  # saves that are durable before the end
        n = np.maximum(np.minimum(ceil_to_whole(S / W) - 1.0, useful), 0.0)
        valid = (S > 0.0) & (W > 0.0) & meets_floor(W, floor) & (d >= 0.0) & (M > 0.0)
        valid &= (D >= 0.0) & (R >= 0.0) & (F >= 0.0) & (om >= 0.0) & (om <= 1.0)
        recovery = recovery_parts(D, R, strike)
        columns = (n, S - n * W, W + effective_stall(d, F, om), exposed, M, recovery.unstruck, recovery.struck)
        return FiniteRun(*(np.where(valid, column, np.nan) for column in columns))
