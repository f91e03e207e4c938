"""The algebra of nested patterns: a block of a level is a row of blocks of the level below, retried as a whole.

A block of level l lasts from one save of level l or higher to the next. Failures that go back to level l or lower are
retried inside it; those that go further end the attempt. Let x be the expected number of failures until the block
succeeds, per success, and V the probability that a failure goes back to a level above l, wherever it strikes. Then an
attempt at the block succeeds with probability 1/(1 + V x), and for a row of blocks the factors 1 + V x multiply: the
whole chain is one product per level. 1 + V x is carried as its logarithm, so that nothing cancels for rare failures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.interval.blocks import Floats
from ckptplan.interval.elementary import decay_deficit

LARGEST = 1e299  # expected failures; whatever has more has no goodput
_EXPONENT = 690.0  # exp of it is above that, and in range
_RAREST = 1e-200  # probability that stands for 0: a failure that never goes further


class Row(NamedTuple):
    """A row of blocks: ``inner`` equal ones that end at their own level, and a last one, by the level of its end."""

    inner: Floats  # number of blocks before the last, k - 1
    log_inner: Floats  # log(1 + V x) of one of them; last axis of length 1
    log_last: Floats  # log(1 + V x) of the last, by the level of its end (last axis)
    failures: Floats  # x of the row, by the level of its end

    @property
    def log_before(self) -> Floats:
        """``log(1 + V x)`` of all blocks before the last."""
        return np.asarray(self.inner * self.log_inner)

    @property
    def last_part(self) -> Floats:
        """Part of the failures that strike the last block."""
        before = self.log_before
        return np.asarray(np.exp(-before) * np.expm1(-self.log_last) / np.expm1(-(before + self.log_last)))

    @property
    def inner_part(self) -> Floats:
        """Part of the failures that strike the blocks before the last; the two add up to one."""
        before = self.log_before
        return np.asarray(np.expm1(-before) / np.expm1(-(before + self.log_last)))

    @property
    def blocks_before(self) -> Floats:
        """Mean number of blocks done when a failure strikes one before the last; 0 if there is none.

        ``(k - 2)/2`` for rare failures. Position i of m has the weight ``(1 + V x)^(m - 1 - i)``.
        """
        done = (decay_deficit(self.log_before) - decay_deficit(self.log_inner)) / self.log_inner
        return np.where(self.inner > 0.0, done, 0.0)


def segments(length: Floats) -> Floats:
    """Expected failures per success of one segment, work and save, of this length over the MTBF: ``exp(y) - 1``."""
    return np.expm1(np.minimum(length, _EXPONENT))


def row(failures: Floats, beyond: Floats, repeats: Floats) -> Row:
    """A row of blocks of one level, which makes a block of the next.

    Parameters
    ----------
    failures : ndarray, shape (..., E)
        x of one block, by the level of the slot that ends it, from its own level up. [1]
    beyond : ndarray, shape (...)
        Probability V that a failure goes back to a level above that of the blocks. [1]
    repeats : ndarray, shape (...)
        Blocks in the row, k. [1]

    Returns
    -------
    Row
        By the level of the end of the row, last axis E - 1: ``1 + V x = (1 + V x_own)^(k - 1) (1 + V x_end)``.
    """
    V = np.maximum(beyond, _RAREST)[..., np.newaxis]
    inner = repeats[..., np.newaxis] - 1.0
    log_inner, log_last = np.log1p(V * failures[..., :1]), np.log1p(V * failures[..., 1:])
    total = np.expm1(np.minimum(inner * log_inner + log_last, _EXPONENT)) / V
    return Row(inner, log_inner, log_last, np.minimum(total, LARGEST))
