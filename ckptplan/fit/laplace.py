"""The trend test of Laplace: whether failures come early or late in the time observed."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.fit.incomplete_gamma import Floats

_LEAST = 1e-290  # an observation as short as this is none: shares of it would lose their digits


class Laplace(NamedTuple):
    """Centre of the failures against the middle of the observation."""

    u: float  # standard normal where the rate is constant; below 0 it falls, above 0 it grows
    p_value: float  # of both sides
    note: str = ""


def checked_instants(instants: npt.ArrayLike, end: float) -> Floats:
    """Instants of failures in rising order, on a clock of exposure that starts at 0.

    Raises
    ------
    InputError
        If the end is not positive and finite, or an instant is not between 0 and the end.
    """
    t = np.sort(np.asarray(instants, dtype=np.float64).reshape(-1))
    if not _LEAST < end < np.inf:
        raise InputError(f"an observation that ends at {end:g}: it must end after 0, at a finite time")
    wrong = ~((t >= 0.0) & (t <= end))
    if wrong.any():
        raise InputError(f"a failure at {t[wrong][0]:g} in an observation from 0 to {end:g}: it must lie inside")
    return t


def counted(instants: Floats, end: float, until_failure: bool) -> tuple[Floats, float]:
    """Instants that are uniform on the time observed where the rate is constant, and that time.

    Where counting stopped at the last failure that one ends the observation and is not among them.
    """
    if until_failure and instants.size:
        return instants[:-1], float(instants[-1])
    return instants, end


def laplace(instants: npt.ArrayLike, end: float, until_failure: bool = False) -> Laplace:
    """Test of a constant rate against one that falls or grows.

    Parameters
    ----------
    instants : array_like
        Exposure at each failure, from 0 to the end, in any order; ties are allowed. [any unit of time]
    end : float
        Exposure observed, T. [unit of the instants]
    until_failure : bool
        Whether the observation stopped at the last failure, not at a time fixed beforehand.

    Returns
    -------
    Laplace
        nan with a note where nothing is left to test. [1]

    Notes
    -----
    ``u = (mean t - T/2) sqrt(12 n)/T``; n - 1 instants and T = t_n where a failure ended the observation (Cox and
    Lewis 1966, section 3.3; NIST/SEMATECH e-Handbook 8.2.3.4). Most powerful against a rate ``exp(a + b t)``. The
    normal law is close from n = 4; for fewer the test rejects less often than its level.
    """
    t, observed = counted(checked_instants(instants, end), end, until_failure)
    if t.size == 0 or observed <= 0.0:
        return Laplace(np.nan, np.nan, "no failure is left to tell a trend from")
    u = float(((t / observed).mean() - 0.5) * np.sqrt(12.0 * t.size))
    return Laplace(u, normal_tails(u))


def normal_tails(u: float) -> float:
    """Probability of a standard normal variable beyond plus and minus u."""
    from scipy.special import erfc

    return float(erfc(abs(u) / np.sqrt(2.0)))
