"""Numerical inversion of the transform of a time that is not negative and has an atom at zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from ckptplan.interval.blocks import Floats
from ckptplan.interval.completion_transform import FEW, Complex, ExcessTime

_BEYOND = 1e-10  # probability of a time longer than one period of the Fourier sum
_TAIL = 3e-9  # of the Fourier sum, that is worth no more terms
_ACCEPTED = 1e-6  # error of a probability above which there is no answer
_FIRST_BLOCK, _MOST_TERMS = 128, 32_768
_FEW_MATTER = 1e-12  # probability of no failure below which few failures are as unlikely
_BLURRED = 60.0  # twice the logarithm of what a resonance may be worth
_SMOOTH = 3.0  # longest stretch over the MTBF from which the Euler sum is tried first
_TABLE = 64  # points among which a quantile is looked up first
_ROUNDS = 60
_STEP, _LEVEL = 1e-12, 1e-11  # of time and of probability, below which a quantile is found
_DAMPING, _AVERAGED = 23.0, 14  # of the Euler sum: discretisation error exp(-23), terms averaged


class Inversion:
    """The distribution of an `ExcessTime`."""

    def __init__(self, law: ExcessTime) -> None:
        self._law = law
        self._apart = law.atom > _FEW_MATTER
        self._certain = 1.0 - law.atom < _BEYOND  # that no failure happens

    def cdf(self, x: Floats) -> Floats:
        """Probability of at most x; absolute error below 1e-6, else nan. [1]."""
        known = np.where(np.isnan(x), np.nan, np.where(x < 0.0, 0.0, np.where(self._certain, 1.0, self._law.atom)))
        open_ = np.flatnonzero(x > 0.0)
        if self._certain or not open_.size:
            return known
        inside = open_[x[open_] < self._period]
        known[x >= self._period] = 1.0 if np.isfinite(self._period) else np.nan
        if inside.size:
            known[inside] = self._method(x[inside])
        return known

    def quantiles(self, p: Floats) -> Floats:
        """Least x with a probability of at least p; nan where p cannot be resolved."""
        valid = (p > 0.0) & (p < 1.0)
        found = np.where(valid & (p <= self._law.atom), 0.0, np.nan)
        wanted = np.flatnonzero(valid & (p > self._law.atom) & (p <= 1.0 - _ACCEPTED))
        if wanted.size and np.isfinite(self._period):
            found[wanted] = self._solve(p[wanted])
        return found

    @cached_property
    def _period(self) -> float:
        """A time that is exceeded with a probability of at most 1e-10, by Chernoff's bound. [s]."""
        _, deviation = self._law.moments
        if not (np.isfinite(deviation) and deviation > 0.0):
            return np.inf
        with np.errstate(all="ignore"):
            s = np.geomspace(0.03, 100.0, 60) / deviation
            return float(np.min((self._law.log_moment(s) - np.log(_BEYOND)) / s))

    def _method(self, x: Floats) -> Floats:
        """The Fourier sum, unless the pieces are so long that it is long and the Euler sum good."""
        smooth = self._law.rate * float(self._law.lengths.max()) > _SMOOTH
        if not smooth and self._weights is not None:
            return self._fourier(x)
        found = self._euler(x)
        missed = np.flatnonzero(np.isnan(found))
        if missed.size and self._weights is not None:
            found[missed] = self._fourier(x[missed])
        return found

    @cached_property
    def _weights(self) -> Complex | None:
        """Transform of what few failures do not make, at odd multiples of half the frequency, over the index.

        Rows of `_TABLE`; None where too many terms would be needed.
        """
        blocks: list[Complex] = []
        start, stop = 0, self._first_block()
        while True:
            k = np.arange(start, stop) + 0.5
            values: Complex = self._rest(np.asarray((2j * np.pi / self._period) * k, dtype=np.complex128))
            blocks.append(values / k)
            tail = float(np.abs(values[len(values) // 2 :]).max()) / (np.pi * (FEW + 1))
            if not np.isfinite(tail):
                return None
            if tail <= _TAIL or stop >= _MOST_TERMS:
                return np.concatenate(blocks).reshape(-1, _TABLE) if tail <= _ACCEPTED / 2.0 else None
            start, stop = stop, min(2 * stop, _MOST_TERMS)

    def _first_block(self) -> int:
        """Terms to begin with: eight resonances of the time lost per failure, unless the spread of it blurs them."""
        law = self._law
        lost = law.unstruck + float(law.lengths.max())
        pieces = 1.0 + (law.weights[2] if law.weights.size > 2 else 0.0)
        spread = 2.0 * np.pi / lost * law.shortest / pieces
        blurred = law.rate * law.shortest * min(1.0, spread * spread / 24.0) > _BLURRED
        wanted = 0.0 if blurred else 8.0 * self._period / lost
        return int(min(max(_FIRST_BLOCK, _TABLE * np.ceil(wanted / _TABLE)), _MOST_TERMS))

    def _rest(self, theta: Complex) -> Complex:
        with np.errstate(all="ignore"):
            values = np.exp(self._law.log_transform(theta))
            return np.asarray(values - self._law.few_transform(theta) if self._apart else values, dtype=np.complex128)

    def _fourier(self, x: Floats) -> Floats:
        """Davies 1973: ``mass/2 + sum Im[transform exp(i omega x)]/(pi (k + 1/2))``."""
        # Index k = 64 j + i: two short tables of exponentials and a matrix product, not one exponential per term.
        weights = self._weights if self._weights is not None else np.zeros((0, _TABLE), dtype=np.complex128)
        phase = (2j * np.pi / self._period) * x[:, None]
        coarse = np.exp(phase * (_TABLE * np.arange(weights.shape[0])))
        fine = np.exp(phase * (np.arange(_TABLE) + 0.5))
        return self._completed(x, np.einsum("xj,ji,xi->x", coarse, weights, fine, optimize=False))

    def _table(self) -> tuple[Floats, Floats]:
        """Probabilities at times that divide the period evenly, those of the Fourier sum by folding it."""
        x = np.asarray(self._period / _TABLE * np.arange(1, _TABLE), dtype=np.float64)
        weights = self._weights if self._law.rate * float(self._law.lengths.max()) <= _SMOOTH else None
        if weights is None:
            return x, self._method(x)
        roots = np.exp(2j * np.pi / _TABLE * np.arange(_TABLE))  # numpy.fft takes longer to import than this sum
        total = roots[np.outer(np.arange(1, _TABLE), np.arange(_TABLE)) % _TABLE] @ weights.sum(axis=0)
        return x, self._completed(x, total * np.exp(1j * np.pi / self._period * x))

    def _completed(self, x: Floats, total: Complex) -> Floats:
        """The Fourier sum with the part that few failures make."""
        few = self._law.few_cdf(x) if self._apart else 0.0
        return np.asarray(np.clip(few + 0.5 * self._mass + total.imag / np.pi, 0.0, 1.0))

    @cached_property
    def _mass(self) -> float:
        """Probability of more than few failures."""
        return 1.0 - float(self._law.few_cdf(np.array([np.inf]))[0]) if self._apart else 1.0

    def _solve(self, p: Floats) -> Floats:
        """Times at which the probability passes p: false position in the Illinois form, halving now and then."""
        times, table = self._table()
        times, table = np.concatenate(([0.0], times, [self._period])), np.concatenate(([self._law.atom], table, [1.0]))
        above = np.argmax(table[:, None] >= p, axis=0)
        low, high = times[above - 1], times[above]
        below, over = table[above - 1] - p, table[above] - p
        tolerance = _STEP * (self._law.shortest + high)
        found, was_left = np.full(p.shape, np.nan), np.zeros(p.shape, dtype=np.bool_)
        for attempt in range(_ROUNDS):
            with np.errstate(all="ignore"):
                share = below / (below - over)
            share = np.where((attempt % 4 == 3) | ~np.isfinite(share), 0.5, share)
            x = low + (high - low) * np.clip(share, 1e-3, 1.0 - 1e-3)
            value = self._method(x) - p
            left = value < 0.0
            kept_twice = np.where((left == was_left) & (attempt > 0), 0.5, 1.0)  # the end that stays loses weight
            low, below, high, over = (
                np.where(left, x, low),
                np.where(left, value, below * kept_twice),
                np.where(left, high, x),
                np.where(left, over * kept_twice, value),
            )
            was_left = left
            done = (np.abs(value) <= _LEVEL) | ((high - low <= tolerance) & ~np.isnan(value))
            found = np.where(np.isnan(found) & done, x, found)
            if not np.isnan(found).any():
                break
        return found

    def _euler(self, x: Floats) -> Floats:
        """Abate and Whitt 1995, with the number of terms varied to tell the error."""
        shorter, longer = (_euler_sum(self._over_theta, x, terms) for terms in (40, 64))
        return np.where(np.abs(longer - shorter) <= _ACCEPTED / 2.0, np.clip(longer, 0.0, 1.0), np.nan)

    def _over_theta(self, theta: Complex) -> Complex:
        with np.errstate(all="ignore"):
            return np.asarray(np.exp(self._law.log_transform(theta)) / theta)


def _euler_sum(transform: Callable[[Complex], Complex], x: Floats, terms: int) -> Floats:
    """Function of x > 0 with a given Laplace transform: an alternating Fourier sum, its last partial sums averaged."""
    k = np.arange(terms + _AVERAGED + 1)
    theta = (_DAMPING + 2j * np.pi * k) / (2.0 * x[:, None])
    values = transform(np.asarray(theta, dtype=np.complex128)).real * np.where(k % 2 == 0, 1.0, -1.0)
    values[:, 0] *= 0.5
    partial = np.cumsum(values, axis=1)[:, terms:]
    average = np.array([math.comb(_AVERAGED, j) for j in range(_AVERAGED + 1)]) / 2.0**_AVERAGED
    return np.asarray(np.exp(_DAMPING / 2.0) / x * (partial @ average))
