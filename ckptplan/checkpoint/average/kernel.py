"""The arithmetic of one block: the mean of its elements, and the inner products of the differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.elements import (
    REAL_PARTS,
    arithmetic,
    can_overflow,
    decode,
    encode,
    overflows,
    real_bytes,
)

Bytes = NDArray[np.uint8]
Matrix = NDArray[np.float64]

_PASS_BYTES = 1 << 21  # of numbers in work at a time: they stay in the caches of a core through all passes over them
_DOT = 8_192  # of an inner product in the type of the arithmetic; their sums are float64. BLAS starts no threads for it
_TINY = 1e-25  # sums of squares below it may have lost some to underflow of float32


class Result(NamedTuple):
    """What one block gave besides its mean."""

    # Inner products of the differences of each checkpoint from the first; at [0, 0] of the first with itself, and
    # nothing else in its row and column.
    gram: Matrix
    not_finite: tuple[int, ...]  # infinite or NaN, of each checkpoint
    overflowed: int  # finite means that the type of the result cannot hold


class Kernel:
    """Means of blocks of one type, with memory of its own: one for each thread and type.

    The mean is ``x_1 - sum_k w_k (x_1 - x_k)``, over differences from the first checkpoint: neighbours are close, so
    that the differences are small and their rounding errors much smaller than the last place of the result; and
    checkpoints that are equal give the same bits, whatever the weights. Types of up to 16 bits are summed in float32,
    if the result has no more; all others in float64. Each mean is rounded once.
    """

    def __init__(self, dtype: str, to: str, weights: Sequence[float]) -> None:
        self.dtype, self.to = dtype, to
        self.type = arithmetic(dtype, to)
        self._width, self._to_width = real_bytes(dtype), real_bytes(to)
        self._weights = np.array([weights[1:]], dtype=self.type)
        self._exact = tuple(weights)
        fitting = _PASS_BYTES // (len(weights) * np.dtype(self.type).itemsize)
        self._most = max(1, fitting // _DOT) * _DOT  # elements of one pass
        self._values = np.empty((len(weights), self._most), dtype=self.type)
        self._sum = np.empty(self._most, dtype=self.type)
        self._scratch = np.empty(self._most, dtype=np.uint32)
        self._narrow = can_overflow(dtype, to)

    def mean(self, raws: Bytes, out: Bytes | None) -> Result:
        """The mean of a block into `out`; None: only what is told of it. `raws` has one row for each checkpoint."""
        number, size = raws.shape
        gram = np.zeros((number, number))
        not_finite = np.zeros(number, dtype=np.int64)
        overflowed = 0
        with np.errstate(all="ignore"):
            for start in range(0, size // self._width, self._most):
                parts = raws[:, start * self._width : (start + self._most) * self._width]
                into = None if out is None else out[start * self._to_width : (start + self._most) * self._to_width]
                inner, strange, lost = self._pass(parts, into)
                gram += inner
                not_finite += strange
                overflowed += lost
        return Result(gram, tuple(not_finite.tolist()), overflowed)

    def _pass(self, raws: Bytes, out: Bytes | None) -> tuple[Matrix, Any, int]:
        elements = raws.shape[1] // self._width
        values = self._values[:, :elements]
        decode(raws, self.dtype, values)
        np.subtract(values[0], values[1:], out=values[1:])
        gram = _gram(values)
        if not np.isfinite(gram).all() or (self.type is np.float32 and gram[0, 0] < _TINY):
            return self._careful(raws, out)
        if out is None:
            return gram, 0, 0
        mean = self._sum[:elements]
        _weighted(self._weights, values[1:], mean)
        np.subtract(values[0], mean, out=mean)
        lost = int(overflows(mean, self.to).sum()) if self._narrow else 0
        encode(mean, self.to, out, finite=True, scratch=self._scratch[:elements])
        return gram, 0, lost

    def _careful(self, raws: Bytes, out: Bytes | None) -> tuple[Matrix, Any, int]:
        """The same for numbers that are infinite, NaN, huge or tiny: in float64, element by element as they need it."""
        values = np.empty((len(raws), raws.shape[1] // self._width))
        decode(raws, self.dtype, values)
        strange = ~np.isfinite(values)
        apart = values[0] - values
        kept = np.where(strange.any(axis=0) | ~np.isfinite(apart).all(axis=0), 0.0, apart)
        kept[0] = np.where(strange[0], 0.0, values[0])
        gram = kept @ kept.T
        gram[0, 1:] = gram[1:, 0] = 0.0
        if out is None:
            return gram, strange.sum(axis=1), 0
        weights = np.array(self._exact)
        mean = values[0] - weights[1:] @ apart[1:]
        plain = (weights[:, None] * values).sum(axis=0)  # what IEEE arithmetic makes of infinities; no overflow
        mean = np.where(np.isfinite(apart).all(axis=0), mean, plain)
        lost = overflows(mean, self.to) if self._narrow else np.zeros(1, dtype=np.bool_)
        encode(mean, self.to, out)
        if REAL_PARTS[self.to] == REAL_PARTS[self.dtype]:
            bits = raws.view(f"u{self._width}")
            same = (bits == bits[0]).all(axis=0)
            np.copyto(out.view(bits.dtype), bits[0], where=same)
        return gram, strange.sum(axis=1), int(lost.sum())


def _weighted(weights: NDArray[Any], rows: NDArray[Any], out: NDArray[Any]) -> None:
    """Rows times their weights, summed: in pieces that BLAS handles without threads of its own."""
    whole = rows.shape[1] - rows.shape[1] % 1024
    if whole:
        pieces = rows[:, :whole].reshape(len(rows), -1, 1024).transpose(1, 0, 2)
        np.matmul(weights, pieces, out=out[:whole].reshape(-1, 1, 1024))
    if whole < rows.shape[1]:
        np.matmul(weights, rows[:, whole:], out=out[None, whole:])


def _gram(rows: NDArray[Any]) -> Matrix:
    """Inner products of the first row with itself, and of all pairs of the others; sums over pieces are float64."""
    number, elements = rows.shape
    gram = np.zeros((number, number))
    whole = elements - elements % _DOT
    cuts = [rows[:, :whole].reshape(number, -1, _DOT).transpose(1, 0, 2)] if whole else []
    if whole < elements:
        cuts.append(rows[None, :, whole:])
    for pieces in cuts:
        for at in range(number):
            low = min(at, 1)
            inner = np.matmul(pieces[:, low : at + 1], pieces[:, at, :, None])
            gram[at, low : at + 1] += np.add.reduce(inner[:, :, 0], axis=0, dtype=np.float64)
    return gram + np.tril(gram, -1).T
