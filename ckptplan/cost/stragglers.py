"""Stragglers: a synchronous step lasts as long as the slowest of its ranks."""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# Trapezoid rule for the maximum of N normals. Its density has the width of a Gumbel law, 1/b at b standard deviations,
# and the rule errs by exp(-pi^2/(b h)): below rounding for b <= 8. Outside the nodes there is less than 1e-17.
_STEP = 1.0 / 32.0
_FIRST, _LAST = -9.0, 13.0
_MOST_GPUS = 1e15
_BLOCK = 256  # numbers of GPUs at a time, so that the table of densities stays in the cache

_EULER = 0.5772156649015329
_SHIFT = 10  # terms of the harmonic sum taken one by one, before the asymptotic series is exact to rounding
_SERIES = (-1.0 / 12.0, 1.0 / 120.0, -1.0 / 252.0, 1.0 / 240.0, -1.0 / 132.0, 691.0 / 32760.0)


class Noise(StrEnum):
    """How the time of a step scatters from rank to rank."""

    NORMAL = "normal"
    EXPONENTIAL = "exponential"


def expected_max(gpus: ArrayLike, noise: Noise | str = Noise.NORMAL) -> Floats:
    """Expected maximum of the noise of N ranks, over its standard deviation.

    Parameters
    ----------
    gpus : array_like
        Ranks that wait for each other, N; from 1 to 1e15, not necessarily whole. [1]
    noise : Noise
        Standard normal, or exponential of mean 1; independent from rank to rank and from step to step.

    Returns
    -------
    ndarray
        Relative error below 1e-12; nan outside the domain. [1]

    Notes
    -----
    Normal: ``int z N phi(z) Phi(z)^(N-1) dz`` by the trapezoid rule, which converges faster than any power here.
    Exponential: the harmonic number ``H_N``. Order statistics, e.g. David and Nagaraja 2003, section 3.1.
    """
    N = np.asarray(gpus, dtype=np.float64)
    valid = (N >= 1.0) & (N <= _MOST_GPUS)
    checked = np.where(valid, N, np.nan)
    if Noise(noise) is Noise.EXPONENTIAL:
        return _harmonic(checked)
    flat = checked.reshape(-1)
    parts = [_normal_max(flat[start : start + _BLOCK]) for start in range(0, flat.size, _BLOCK)]
    return np.concatenate(parts).reshape(N.shape) if parts else np.empty(N.shape)


def slowdown(base: ArrayLike, noise_scale: ArrayLike, gpus: ArrayLike, noise: Noise | str = Noise.NORMAL) -> Floats:
    """Factor by which waiting for the slowest rank lengthens a step.

    Parameters
    ----------
    base : array_like
        Time of a step without noise; with normal noise also the mean of one rank. [s]
    noise_scale : array_like
        Standard deviation of the noise; of exponential noise also the mean. [s]
    gpus : array_like
        Ranks that wait for each other, N. [1]
    noise : Noise
        Law of the noise.

    Returns
    -------
    ndarray
        ``(base + noise E max)/base``, at least 1; nan outside the domain. [1]

    Notes
    -----
    Exact for independent noise and one barrier per step. With several barriers in a step each part waits by itself:
    take the noise of the part, and add. Noise that all ranks share does not belong here.
    """
    t, scale = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (base, noise_scale)))
    with np.errstate(all="ignore"):
        return np.asarray(1.0 + np.where((t > 0.0) & (scale >= 0.0), scale / t, np.nan) * expected_max(gpus, noise))


def slowdown_from_cv(cv: ArrayLike, gpus: ArrayLike, noise: Noise | str = Noise.NORMAL) -> Floats:
    """Factor by which waiting for the slowest lengthens a step, against the mean step of one rank.

    Parameters
    ----------
    cv : array_like
        Standard deviation over mean of the step time of one rank. [1]
    gpus : array_like
        Ranks that wait for each other, N. [1]
    noise : Noise
        Law of the noise; exponential noise lies on top of a constant, and its cv is at most 1.

    Returns
    -------
    ndarray
        ``1 + cv (E max - E noise)``, at least 1; nan outside the domain. [1]

    Notes
    -----
    What `slowdown` says of ``base = mean - E noise`` and ``scale = cv mean``, over the mean: for normal noise the
    two are the same.
    """
    c = np.asarray(cv, dtype=np.float64)
    mean, most = (1.0, 1.0) if Noise(noise) is Noise.EXPONENTIAL else (0.0, math.inf)
    with np.errstate(all="ignore"):
        excess = np.where((c >= 0.0) & (c <= most), c, np.nan) * (expected_max(gpus, noise) - mean)
        return np.asarray(1.0 + excess)


def persistent_slowdown(
    own: ArrayLike, base: ArrayLike, noise_scale: ArrayLike, gpus: ArrayLike, noise: Noise | str = Noise.NORMAL
) -> Floats:
    """Factor by which one persistently slow rank lengthens every step of the job.

    Parameters
    ----------
    own : array_like
        Its step without noise over that of the others, at least 1. [1]
    base, noise_scale, gpus, noise
        As for `slowdown`; the noise of the slow rank is that of the others. [s, 1]

    Returns
    -------
    ndarray
        Step of the job with the slow rank over its step without: ``own`` without noise, and less where the rank
        partly hides in the noise of the others; at least 1, nan outside the domain. [1]

    Notes
    -----
    The larger of the mean of the slow rank and ``E max`` of ordinary ranks, over the latter. The true step is
    longer, but by no more than half the standard deviation of the difference of the two: 0.57 standard deviations
    of normal noise, 0.82 of exponential; by nothing where they lie far apart. Unlike noise, the slow-down does not
    average out.
    """
    arrays = (np.asarray(v, dtype=np.float64) for v in (own, base, noise_scale, gpus))
    f, t, scale, N = np.broadcast_arrays(*arrays)
    own_noise = 1.0 if Noise(noise) is Noise.EXPONENTIAL else 0.0
    with np.errstate(all="ignore"):
        slow = f + own_noise * scale / t
        return np.where(f >= 1.0, np.maximum(slow / slowdown(t, scale, N, noise), 1.0), np.nan)


def _harmonic(N: Floats) -> Floats:
    """``H_N`` by the asymptotic series of ``H_(N+10)``, less its last terms."""
    x = N + _SHIFT
    with np.errstate(all="ignore"):
        tail = np.zeros_like(x)
        for coefficient in reversed(_SERIES):
            tail = (tail + coefficient) / (x * x)
        late = sum((1.0 / (N + k) for k in range(_SHIFT, 0, -1)), np.zeros_like(x))
        return np.asarray(np.log(x) + _EULER + 0.5 / x + tail - late)


def _normal_max(N: Floats) -> Floats:
    weighted, log_below = _nodes()
    with np.errstate(under="ignore"):
        value = N * (np.exp((N[:, None] - 1.0) * log_below) @ weighted)
        return np.where(N == 1.0, 0.0, value)  # not the rounding error of the sum


@cache
def _nodes() -> tuple[Floats, Floats]:
    """``h z phi(z)`` and ``log Phi(z)`` at the nodes; each tail from its own side, so that none cancels."""
    z = np.arange(_FIRST, _LAST + 0.5 * _STEP, _STEP)
    tail = [0.5 * math.erfc(abs(v) / math.sqrt(2.0)) for v in z]
    log_below = np.array([math.log(q) if v < 0.0 else math.log1p(-q) for v, q in zip(z, tail, strict=True)])
    return _STEP * z * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi), log_below
