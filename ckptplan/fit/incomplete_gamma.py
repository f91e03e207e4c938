"""The regularised incomplete gamma function and its inverse, on numpy alone.

`scipy.special` has both, but importing it takes as long as the whole ``ckptplan optimize`` command. A confidence
interval of a failure rate is printed by every such command, hence these hundred lines. The tests compare them with
scipy and with arithmetic of 40 digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_NODES = 64  # of the quadrature, and terms of the series: both are at rounding error with it
_SERIES_BELOW = 20.0  # shape up to which the series needs no more than that
_END = 40.0  # the integrand has fallen by exp(-40) where the integral is cut
_BLOCK = 4096  # elements at a time, 2 MB for each intermediate result
_STEPS = 60  # of Newton's method; four are usual


def _fejer(n: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Fejer's first rule on [0, 1]: as good as Gauss here, and in closed form."""
    angle = (2.0 * np.arange(n) + 1.0) * (np.pi / (2.0 * n))
    j = np.arange(1.0, n // 2 + 1.0)
    weights = (1.0 - 2.0 * np.sum(np.cos(2.0 * angle[:, None] * j) / (4.0 * j * j - 1.0), axis=1)) / n
    return 0.5 * (1.0 - np.cos(angle)), weights


_X, _WEIGHTS = _fejer(_NODES)


def regularized_gamma(shape: npt.ArrayLike, x: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Both tails of a gamma distribution of unit scale: P(a, x) below x and Q(a, x) above.

    Parameters
    ----------
    shape : array_like
        a, positive. [1]
    x : array_like
        Where the tails meet, not negative. [1]

    Returns
    -------
    tuple of ndarray
        P and Q, which sum to one; nan outside the domain. The smaller one has a relative error of about 1e-13,
        for shapes from 0.1 to 1e7. [1]

    Notes
    -----
    Below x = a + 1 and for a < 20 the power series (DLMF 8.7.1). Else the integral over ``v = log(t/x)``, whose
    integrand ``exp(-(a phi(w) + (x - a) w))``, ``w = exp(v) - 1``, ``phi(w) = w - log(1 + w)``, is a bell with
    nothing that cancels (compare Temme 1979).
    """
    lower, upper = _in_blocks(lambda a, b: _tails(a, b, _density(a, b, _scale(a))), shape, x)
    return lower, upper


def inverse_regularized_gamma(shape: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
    """Quantile of a gamma distribution of unit scale: the x at which P(a, x) = p.

    Parameters
    ----------
    shape : array_like
        a, positive. [1]
    p : array_like
        Probability below x. [1]

    Returns
    -------
    ndarray
        x, relative error about 1e-13; 0 at p = 0, infinity at p = 1, nan outside the domain. [1]

    Notes
    -----
    Newton's method for the logarithm of the smaller tail over ``log(x)``. The density of log(x) is
    log-concave, so both tails are, and the iteration converges from any start; it begins with the cube-root
    approximation of Wilson and Hilferty 1931. The chi-squared quantile of 2 a degrees of freedom is 2 x.
    """
    (quantile,) = _in_blocks(_quantiles, shape, p)
    return quantile


def _in_blocks(
    function: Callable[[Floats, Floats], tuple[Floats, ...]], first: npt.ArrayLike, second: npt.ArrayLike
) -> tuple[Floats, ...]:
    """A function of two one-dimensional arrays over their broadcast shape, some elements at a time."""
    a, b = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    shape, a, b = a.shape, a.reshape(-1), b.reshape(-1)
    with np.errstate(all="ignore"):
        if a.size <= _BLOCK:
            return tuple(part.reshape(shape) for part in function(a, b))
        parts = [function(a[i : i + _BLOCK], b[i : i + _BLOCK]) for i in range(0, a.size, _BLOCK)]
        return tuple(np.concatenate(column).reshape(shape) for column in zip(*parts, strict=True))


def _tails(a: Floats, x: Floats, density: Floats) -> tuple[Floats, Floats]:
    valid = (a > 0.0) & (a < np.inf) & (x >= 0.0)
    inside = valid & (x > 0.0) & (x < np.inf)
    lower = np.where(valid, (x > 0.0) * 1.0, np.nan)
    upper = 1.0 - lower
    series = inside & (a < _SERIES_BELOW) & (x < a + 1.0)
    below = inside & ~series & (x <= a)
    above = inside & ~series & (x > a)
    for where, tail, this, other in (
        (series, _series, lower, upper),
        (below, _lower_integral, lower, upper),
        (above, _upper_integral, upper, lower),
    ):
        if where.any():
            this[where] = tail(a[where], x[where]) * density[where]
            other[where] = 1.0 - this[where]
    return lower, upper


def _quantiles(a: Floats, p: Floats) -> tuple[Floats]:
    valid = (a > 0.0) & (a < np.inf) & (p >= 0.0) & (p <= 1.0)
    result = np.where(valid, np.where(p == 1.0, np.inf, 0.0), np.nan)
    inside = valid & (p > 0.0) & (p < 1.0)
    if inside.any():
        result[inside] = _newton(a[inside], p[inside])
    return (result,)


def _newton(a: Floats, p: Floats) -> Floats:
    """Quantiles of probabilities inside (0, 1): Newton's method with the correction of Halley."""
    small = p <= 0.5
    target = np.log(np.where(small, p, 1.0 - p))
    scale = _scale(a)
    log_x = _start(a, p, scale)
    for _ in range(_STEPS):
        x = np.exp(log_x)
        density = _density(a, x, scale)
        lower, upper = _tails(a, x, density)
        tail = np.where(small, lower, upper)
        slope = density / np.where(small, tail, -tail)
        step = (target - np.log(tail)) / slope
        bend = step * (a - x - slope)  # step times the second derivative over the first
        step = np.where(np.abs(bend) < 0.5, step / (1.0 + 0.5 * bend), step)
        step = np.where(np.isfinite(step), np.clip(step, -2.0, 2.0), 0.0)
        log_x = log_x + step
        # The next error is of the order of the cube of the step, measured in standard deviations of log(x).
        if np.max(np.abs(step) * np.sqrt(np.maximum(a, 1.0))) < 1e-5:
            break
    return np.exp(log_x)


def _start(a: Floats, p: Floats, scale: Floats) -> Floats:
    """Logarithm of a first quantile: Wilson and Hilferty, or the first term of the series far below."""
    r = np.sqrt(-2.0 * np.log(np.minimum(p, 1.0 - p)))
    # Normal quantile to 4.5e-4 (Abramowitz and Stegun 26.2.23).
    z = r - (2.515517 + r * (0.802853 + r * 0.010328)) / (1.0 + r * (1.432788 + r * (0.189269 + r * 0.001308)))
    root = 1.0 - 1.0 / (9.0 * a) + np.where(p < 0.5, -z, z) / (3.0 * np.sqrt(a))
    far_below = np.log(a) - 1.0 + np.log(p * a / scale) / a
    return np.where(root > 0.3, np.log(a) + 3.0 * np.log(np.maximum(root, 0.3)), far_below)


def _scale(a: Floats) -> Floats:
    """Density of log(x) at its peak x = a, ``a^a exp(-a) / Gamma(a)``, as ``sqrt(a/(2 pi))`` less Stirling's error."""
    return np.asarray(np.sqrt(a / (2.0 * np.pi)) * np.exp(-_stirling_error(a)))


def _density(a: Floats, x: Floats, scale: Floats) -> Floats:
    """Density of log(x), ``x^a exp(-x) / Gamma(a)``, from its peak down: powers of large numbers never meet."""
    mu = (x - a) / a
    near = np.abs(mu) < 0.3
    phi = np.where(near, _phi_series(np.where(near, mu, 0.0)), mu - np.log(x / a))
    return np.asarray(scale * np.exp(-a * phi))


def _series(a: Floats, x: Floats) -> Floats:
    """P(a, x) over the density: ``(1 + x/(a + 1) (1 + x/(a + 2) (1 + ...)))/a``."""
    terms = np.cumprod(x[:, None] / (a[:, None] + np.arange(1.0, _NODES + 1.0)), axis=1)
    return np.asarray((1.0 + terms.sum(axis=1)) / a)


def _lower_integral(a: Floats, x: Floats) -> Floats:
    """P(a, x) over the density, for x <= a."""
    linear = 2.0 * (a - x) - _END  # exp(-s) >= (2 - s)/(2 + s) bounds the exponent from below: it is 40 before the end
    end = 4.0 * _END / (linear + np.sqrt(linear * linear + 8.0 * a * _END))
    return _integral(a, x, -end)


def _upper_integral(a: Floats, x: Floats) -> Floats:
    """Q(a, x) over the density, for x > a."""
    excess = x - a  # the end: from x v^2/2 + (x - a) v = 40, then one step of Newton's method in w
    w = np.expm1(2.0 * _END / (excess + np.sqrt(excess * excess + 2.0 * x * _END)))
    w = (_END + a * (np.log1p(w) - w / (1.0 + w))) / (x - a / (1.0 + w))
    return _integral(a, x, np.log1p(w))


def _integral(a: Floats, x: Floats, end: Floats) -> Floats:
    """Integral of the density of v over its value at 0, from 0 to an end on either side."""
    v = end[:, None] * _X
    w = np.expm1(v)
    near = np.abs(w) < 0.3
    phi = np.where(near, _phi_series(np.where(near, w, 0.0)), w - v)
    exponent = a[:, None] * phi + (x - a)[:, None] * w
    return np.asarray(np.abs(end) * (np.exp(-exponent) @ _WEIGHTS))


def _phi_series(w: Floats) -> Floats:
    """``w - log(1 + w)`` for abs(w) < 0.3, as ``w r - 2 r^3 (1/3 + r^2/5 + ...)`` with ``r = w/(2 + w)``."""
    r = w / (2.0 + w)
    square = r * r
    total = np.full_like(w, 1.0 / 21.0)
    for k in range(19, 1, -2):
        total = total * square + 1.0 / k
    return np.asarray(w * r - 2.0 * r * square * total)


def _stirling_error(a: Floats) -> Floats:
    """``log Gamma(a)`` less Stirling's ``(a - 1/2) log(a) - a + log(2 pi)/2``."""
    if (a >= 16.0).all():
        return _stirling_series(a)
    small = np.where(a < 16.0, a, 1.0)
    return np.where(a < 16.0, _shifted_log_gamma(small) - _stirling(small), _stirling_series(np.maximum(a, 16.0)))


def _stirling(a: Floats) -> Floats:
    return np.asarray((a - 0.5) * np.log(a) - a + 0.5 * np.log(2.0 * np.pi))


def _shifted_log_gamma(a: Floats) -> Floats:
    """``log Gamma(a)`` for a small a: that of a + 16, less the product in between."""
    product = np.prod(a[:, None] + np.arange(16.0), axis=1)
    return np.asarray(_stirling(a + 16.0) + _stirling_series(a + 16.0) - np.log(product))


def _stirling_series(a: Floats) -> Floats:
    s = 1.0 / (a * a)
    return np.asarray((1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / a)
