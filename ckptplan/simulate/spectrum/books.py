"""What is counted in every chain: where wall time went, and what each cause did."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.simulate.spectrum.pattern import BOOKED, Floats, Ints


class Books(NamedTuple):
    """Sums, last axis: chain; ``training`` in the order of WORKED, SAVING, ...; the others first by cause. [s, 1]."""

    training: Floats
    recovering: Floats
    thrown_back: Floats  # work
    planned: Floats  # stall of planned saves that came to something
    slowed: Floats  # time lost by slow training
    events: Floats
    unkept: Floats  # rollbacks for which no save was left
    rollbacks: Floats  # recoveries begun, second axis: level

    @classmethod
    def of(cls, causes: int, levels: int, chains: int) -> Books:
        """Empty books."""
        training, rollbacks = np.zeros((BOOKED, chains)), np.zeros((causes, levels, chains))
        recovering, thrown_back, planned, slowed, events, unkept = np.zeros((6, causes, chains))
        return cls(training, recovering, thrown_back, planned, slowed, events, unkept, rollbacks)

    def kept(self, chains: Ints) -> Books:
        """Those of some chains."""
        return Books(*(each[..., chains] for each in self))

    def clear(self, chains: Ints) -> None:
        """Begin to count anew."""
        for each in self:
            each[..., chains] = 0.0

    def write(self, chains: Ints, books: Books, rows: Ints) -> None:
        """Take over some chains of other books."""
        for each, other in zip(self, books, strict=True):
            each[..., chains] = other[..., rows]

    def wall_s(self) -> Floats:
        """Wall time of each chain. [s]."""
        return np.asarray(self.training.sum(axis=0) + self.recovering.sum(axis=0))
