"""The arithmetic of one block: the mean of its elements, and the inner products of the differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.average.buffers import buffer
from ckptplan.checkpoint.elements import (
    REAL_PARTS,
    arithmetic,
    can_overflow,
    decode,
    decode_pairs,
    encode,
    encode_pairs,
    overflows,
    real_bytes,
)

Bytes = NDArray[np.uint8]
Matrix = NDArray[np.float64]

_PASS_BYTES = 1 << 21  # of numbers in work at a time: they stay in the caches of a core through all passes over them
# Elements in one call of BLAS: an inner product of so many is in the type of the arithmetic, and the sums of those are
# float64; OpenBLAS starts threads of its own, beside ours, from 10,000 (dot) and 9,216 (matrix by vector) elements on.
_DOT = 8_192
_RELEASING = 512  # numbers that a product of matrices must give for numpy to release the interpreter (501 in 2.4)
_TINY = 1e-25  # sums of squares below it may have lost some to underflow of float32


class Result(NamedTuple):
    """What one block gave besides its mean."""

    # Inner products of the differences of each checkpoint from the first; at [0, 0] of the first with itself, and
    # nothing else in its row and column.
    gram: Matrix
    not_finite: tuple[int, ...]  # infinite or NaN, of each checkpoint
    overflowed: int  # finite means that the type of the result cannot hold


class _Product(NamedTuple):
    """What numpy.matmul takes."""

    left: NDArray[Any]
    right: NDArray[Any]
    out: NDArray[Any]


class _Sums(NamedTuple):
    """Inner products of pieces, and which of them add up to which place of the matrix; each pair has one."""

    inner: NDArray[Any]
    starts: NDArray[np.int64]
    places: tuple[NDArray[np.int64], ...]


class _Room(NamedTuple):
    """The memory of one pass, seen as each step needs it."""

    values: NDArray[Any]
    first: NDArray[Any]
    others: NDArray[Any]  # becomes the differences
    products: list[_Product]
    sums: _Sums
    weighted: list[_Product]
    mean: NDArray[Any]
    scratch: NDArray[np.uint32]


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
        self._paired = dtype == to == "bfloat16"
        fitting = _PASS_BYTES // (len(weights) * np.dtype(self.type).itemsize)
        self._most = max(1, fitting // _DOT) * _DOT  # elements of one pass
        held = buffer((len(weights) + 2) * self._most * np.dtype(self.type).itemsize)
        rows = held.view(self.type).reshape(-1, self._most)
        self._values, self._sum, self._scratch = rows[:-2], rows[-2], rows[-1].view(np.uint32)
        self._narrow = can_overflow(dtype, to)
        self._room = self._room_of(self._most)

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
        gram = np.triu(gram) + np.triu(gram, 1).T
        return Result(gram, tuple(not_finite.tolist()), overflowed)

    def _room_of(self, elements: int) -> _Room:
        """Views on as much of the memory as one pass needs: to make them takes as long as some of the arithmetic."""
        values, total = self._values[:, :elements], self._sum[:elements]
        products, sums = _products(values)
        return _Room(
            values,
            values[0],
            values[1:],
            products,
            sums,
            _weighted(self._weights, values[1:], total),
            total,
            self._scratch[:elements],
        )

    def _pass(self, raws: Bytes, out: Bytes | None) -> tuple[Matrix, Any, int]:
        elements = raws.shape[1] // self._width
        room = self._room if elements == self._most else self._room_of(elements)
        paired = self._paired and elements % 2 == 0
        if paired:
            decode_pairs(raws, room.values)
        else:
            decode(raws, self.dtype, room.values)
        np.subtract(room.first, room.others, out=room.others)
        for left, right, product in room.products:
            np.matmul(left, right, out=product)
        gram = np.zeros((len(raws), len(raws)))
        np.add.at(gram, room.sums.places, np.add.reduceat(room.sums.inner, room.sums.starts, dtype=np.float64))
        if not np.isfinite(gram).all() or (self.type is np.float32 and gram[0, 0] < _TINY):
            return self._careful(raws, out)
        if out is None:
            return gram, 0, 0
        for left, right, product in room.weighted:
            np.matmul(left, right, out=product)
        mean = np.subtract(room.first, room.mean, out=room.mean)
        lost = int(overflows(mean, self.to).sum()) if self._narrow else 0
        if paired:
            encode_pairs(mean, out, room.scratch)
        else:
            encode(mean, self.to, out, finite=True, scratch=room.scratch)
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


def _weighted(weights: NDArray[Any], rows: NDArray[Any], out: NDArray[Any]) -> list[_Product]:
    """Rows times their weights, summed, as products of matrices: none larger than one call of BLAS may be."""
    number, elements = rows.shape
    step = 1 << max(4, (_DOT // number).bit_length() - 1)
    whole = elements - elements % step
    pieces = rows[:, :whole].reshape(number, -1, step).transpose(1, 0, 2)
    products = [_Product(weights, pieces, out[:whole].reshape(-1, 1, step))] if whole else []
    if whole < elements:
        products.append(_Product(weights, rows[:, whole:], out[None, whole:]))
    return products


def _products(rows: NDArray[Any]) -> tuple[list[_Product], _Sums]:
    """Inner products of each row with itself, and of all pairs of rows but the first, piece by piece.

    They are asked for as products of one row by one column, for which numpy calls the inner product of BLAS: twice as
    fast as a product of matrices that are as thin as these. Pairs whose rows are equally far apart are one call.
    """
    number, elements = rows.shape
    products, starts, places, size = [], [], [], 0
    pairs = [(rows, rows, 0, 0), *((rows[1:-d], rows[1 + d :], 1, 1 + d) for d in range(1, number - 1))]
    cuts = [(pair, cut) for pair in pairs for cut in _cuts(len(pair[0]), elements)]
    inner = np.zeros(sum(len(pair[0]) * (stop - start) // step for pair, (start, stop, step) in cuts), rows.dtype)
    for (left, right, at, other), (start, stop, step) in cuts:
        pieces = (stop - start) // step
        one, two = (side[:, start:stop].reshape(len(left), pieces, step) for side in (left, right))
        into = inner[size : size + len(left) * pieces].reshape(len(left), pieces, 1, 1)
        products.append(_Product(one[:, :, None, :], two[:, :, :, None], into))
        starts += [size + n * pieces for n in range(len(left))]
        places += [(at + n, other + n) for n in range(len(left))]
        size += into.size
    return products, _Sums(inner, np.array(starts), tuple(np.array(places).T))


def _cuts(rows: int, elements: int) -> list[tuple[int, int, int]]:
    """From where to where pieces of one length reach: short enough that numpy lets other threads run meanwhile."""
    step = min(_DOT, 1 << max(5, (rows * elements // _RELEASING).bit_length() - 1))
    whole = elements - elements % step
    return [cut for cut in ((0, whole, step), (whole, elements, elements - whole)) if cut[0] < cut[1]]
