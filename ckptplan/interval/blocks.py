"""Large arrays in blocks: intermediate results stay in the cache, a bad element slows down its block only.

A formula is written twice. The *fast* form writes into given buffers and may assume ordinary numbers; numpy
tells by its floating-point flags when that assumption fails (a negative root, an overflow, an underflow), and
then the *careful* form, which knows every edge case, does that block again.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BLOCK = 65_536  # elements: small enough for the caches, large enough that calls cost nothing beside the arithmetic


class Fast(Protocol):
    """Write the formula into ``out``, using the rows of ``scratch`` for intermediate results."""

    def __call__(self, stall: Floats, mtbf: Floats, out: Floats, scratch: Floats) -> None:
        """Fill ``out``. [s]."""


class Careful(Protocol):
    """The formula for any input, nan where it has no meaning."""

    def __call__(self, stall: Floats, mtbf: Floats) -> Floats:
        """The values. [s]."""
        ...


def in_blocks(
    fast: Fast, careful: Careful, stall: npt.ArrayLike, mtbf: npt.ArrayLike, *, scratch_rows: int = 0
) -> Floats:
    """Evaluate a formula of stall and MTBF over their broadcast shape, block by block.

    Parameters
    ----------
    fast, careful : callable
        The two forms of the formula.
    stall, mtbf : array_like
        The arguments. [s]
    scratch_rows : int
        Buffers that the fast form needs. [1]

    Returns
    -------
    ndarray
        Values in the broadcast shape (0-d for scalars).

    Notes
    -----
    A row of ``scratch`` is not cleared between blocks. ``mtbf > 0`` is the one condition that leaves no trace
    in the floating-point flags (two negative arguments have a positive product), so it is checked before.
    """
    d, M = np.asarray(stall, dtype=np.float64), np.asarray(mtbf, dtype=np.float64)
    out = np.empty(np.broadcast_shapes(d.shape, M.shape))
    if out.size == 0:
        return out
    flat, d, M = out.reshape(-1), _flat(d, out.shape), _flat(M, out.shape)
    scratch = np.empty((scratch_rows, min(BLOCK, flat.size)))
    with np.errstate(all="raise"):
        for start in range(0, flat.size, BLOCK):
            part = slice(start, start + BLOCK)
            target = flat[part]
            block = (d if d.size == 1 else d[part], M if M.size == 1 else M[part])
            if not _succeeds(fast, block, target, scratch[:, : target.size]):
                with np.errstate(all="ignore"):
                    target[...] = careful(*block)
    return out


def _flat(values: Floats, shape: tuple[int, ...]) -> Floats:
    """One-dimensional; a single value stays single, because numpy is quickest with a scalar operand."""
    if values.size == 1:
        return values.reshape(1)
    return np.broadcast_to(values, shape).reshape(-1)


def _succeeds(fast: Fast, block: tuple[Floats, Floats], out: Floats, scratch: Floats) -> bool:
    """Whether the fast form applies, and went through without raising a floating-point flag."""
    if not np.minimum.reduce(block[1]) > 0.0:  # so that nan is refused too
        return False
    try:
        fast(*block, out, scratch)
    except FloatingPointError:
        return False
    return True
