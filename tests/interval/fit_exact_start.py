"""Generate the coefficients of ``ckptplan/interval/exact.py``: ``python tests/interval/fit_exact_start.py``.

The start of Newton's method is ``u0 = s P(s)/Q(s)`` with ``s = sqrt(2a)`` and polynomials of degree 5. It has
the first five terms of the power series of u(s), so that it is exact for small s, where Newton's residual
cancels; the other coefficients minimise the largest error *after* one Newton step over 0 < a <= 10 (Lawson's
iteration).
"""

from __future__ import annotations

import mpmath as mp
import numpy as np

DEGREE = 5
MATCHED = 5  # terms of the power series that the start has exactly
LARGEST_RATIO = 10
POINTS = 160
ROUNDS = 30


def power_series(count: int) -> list[mp.mpf]:
    """Coefficients of u/s: from ``u u' = s (1 - u)``, the derivative of ``-log(1 - u) - u = s^2/2``."""
    c = [mp.mpf(0), mp.mpf(1)]
    for k in range(2, count + 1):
        known = sum((c[i] * (k + 1 - i) * c[k + 1 - i] for i in range(2, k)), mp.mpf(0))
        c.append((-c[k - 1] - known) / (k + 1))
    return c[1:]


def value_at(s: mp.mpf, coefficients: list[mp.mpf]) -> mp.mpf:
    """A polynomial, lowest power first."""
    return sum((c * s**k for k, c in enumerate(coefficients)), mp.mpf(0))


def fit() -> tuple[list[mp.mpf], list[mp.mpf]]:
    """Numerator and denominator, lowest power first, both starting with 1."""
    with mp.workdps(40):
        series = power_series(MATCHED)
        top = mp.sqrt(2 * LARGEST_RATIO)
        nodes = [top * (1 - mp.cos((j + mp.mpf(1) / 2) * mp.pi / POINTS)) / 2 for j in range(POINTS)]
        u = [mp.re(1 + mp.lambertw(-mp.exp(-1 - s * s / 2))) for s in nodes]
        # Newton turns a relative error e into e^2 (1 - u)/2: that is the error to level out.
        weight = [mp.sqrt((1 - value) / 2) for value in u]
        share = np.full(POINTS, 1 / POINTS)
        q_at = [mp.mpf(1)] * POINTS
        best: tuple[float, list[mp.mpf], list[mp.mpf]] | None = None
        for turn in range(ROUNDS):
            P, Q = _weighted_fit(nodes, u, weight, share, q_at, series)
            q_at = [value_at(s, Q) for s in nodes]
            error = [
                float(w * abs(s * value_at(s, P) / q / value - 1))
                for s, q, value, w in zip(nodes, q_at, u, weight, strict=True)
            ]
            if best is None or max(error) < best[0]:
                best = (max(error), P, Q)
            if turn > 2:
                share = np.maximum(share * error / np.dot(share, error), 1e-14)
        assert best is not None
        return best[1], best[2]


def _weighted_fit(nodes, u, weight, share, q_at, series):
    """Least squares for ``P - (u/s) Q``, linearised about the last denominator; P follows from Q at s = 0."""
    free = DEGREE + 1 - MATCHED
    A, b = mp.zeros(POINTS, DEGREE + free), mp.zeros(POINTS, 1)
    for row, s in enumerate(nodes):
        value = u[row] / s
        scale = mp.sqrt(mp.mpf(float(share[row]))) * weight[row] / (value * abs(q_at[row]))
        for j in range(1, DEGREE + 1):
            tail = sum((series[k - j] * s**k for k in range(j, MATCHED)), mp.mpf(0))
            A[row, j - 1] = scale * (tail - value * s**j)
        for i in range(free):
            A[row, DEGREE + i] = scale * s ** (MATCHED + i)
        b[row] = scale * (value - sum(series[k] * s**k for k in range(MATCHED)))
    x = mp.qr_solve(A, b)[0]
    Q = [mp.mpf(1)] + [x[j] for j in range(DEGREE)]
    P = [sum(Q[j] * series[k - j] for j in range(k + 1)) for k in range(MATCHED)]
    return P + [x[DEGREE + i] for i in range(free)], Q


def as_written() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """As the package uses them: -u0 = r N(r)/D(r) with r = sqrt(a), D with leading coefficient 1."""
    with mp.workdps(40):
        P, Q = fit()
        root2 = mp.sqrt(2)
        lead = Q[-1] * root2**DEGREE
        numerator = tuple(float(-c * root2 ** (k + 1) / lead) for k, c in enumerate(P))
        denominator = tuple(float(c * root2**k / lead) for k, c in enumerate(Q))
        return numerator, denominator


if __name__ == "__main__":
    for name, coefficients in zip(("_NUMERATOR", "_DENOMINATOR"), as_written(), strict=True):
        print(f"{name} = (")  # noqa: T201
        for value in coefficients:
            print(f"    {value!r},")  # noqa: T201
        print(")")  # noqa: T201
