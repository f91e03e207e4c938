from __future__ import annotations

import math
import random

import numpy as np
import pytest

from ckptplan.simulate.spectrum import Silent, SpectrumProcess
from ckptplan.simulate.spectrum.process import checked
from ckptplan.simulate.spectrum.saves import Tiers
from tests.simulate.spectrum_event_loop import Loop

THREE = SpectrumProcess(
    100.0, (0.0,) * 3, (0.0,) * 3, (Silent("sdc", 1.0, 1.0),), (1, 2, 6), (0.0, 10.0, 10.0), keep=(2, 3, 2)
)
ONLY = np.zeros(1, dtype=np.int64)


class _Both:
    """The ranges of the simulator beside the lists of the plain loop."""

    def __init__(self, process: SpectrumProcess, *, has_past: bool) -> None:
        self.tiers = Tiers(checked(process), np.zeros(1), has_past=has_past)
        self.loop = Loop(checked(process), 0, is_new=not has_past)
        self.position = 0.0

    def save(self, up_to: int) -> None:
        """Training reaches the next slot; its save is durable up to a level at most."""
        self.position = math.floor(self.position) + 1.0
        for level, every in enumerate(self.loop.p.every):
            if self.position % every == 0 and level <= up_to:
                self.tiers.levels[level].add(ONLY, np.array([self.position]), np.ones(1))
                self.loop.add(level, self.position)

    def save_as_planned(self, part: float) -> None:
        """A planned save before the next slot."""
        self.position = math.floor(self.position) + max(part, self.position % 1.0)
        self.tiers.add_planned(ONLY, np.array([self.position]))
        self.loop.add_planned(self.position)

    def roll_back(self, limit: float, needed: int) -> tuple[float, int, bool, bool]:
        """Go back; both must choose the same, and hold the same afterwards."""
        chosen = self.loop.choose(self.position, limit, needed)
        choice = self.tiers.choose(ONLY, np.array([self.position]), np.array([limit]), np.array([needed]))
        assert tuple(part[0] for part in choice) == chosen
        self.tiers.settle(ONLY, choice, np.array([needed]))
        self.loop.resume(chosen[0], chosen[1], needed, is_planned=chosen[3])
        self.position = chosen[0]
        return chosen


@pytest.mark.parametrize(
    ("keep", "archive_every", "has_gaps"),
    [((2, 3, 2), 0, True), ((5, 16, 1), 0, True), ((5, 20, 2), 0, False), ((2, 3, 2), 2, False)],
)
@pytest.mark.parametrize("has_past", [True, False])
def test_ranges_are_lists(keep, archive_every, has_gaps, has_past):
    """In 200 random histories the kept saves are those in the lists of a plain loop, and the same state is chosen.

    Drained saves that never became durable leave gaps; beyond 16 saves, and in an archive, these are overlooked.
    """
    draw = random.Random(archive_every)  # noqa: S311 - a test
    durable = (0, 2, 2, 2) if has_gaps else (2,)
    levels, kept = set(), set()
    for _ in range(200):
        both = _Both(THREE._replace(archive_every=archive_every, keep=keep), has_past=has_past)
        for _ in range(60):
            what = draw.random()
            if what < 0.75:
                both.save(draw.choice(durable))
            elif what < 0.85:
                both.save_as_planned(draw.random())
            else:
                limit = both.position - draw.expovariate(draw.choice((0.2, 0.03))) if draw.random() < 0.5 else math.inf
                _, level, is_kept, _ = both.roll_back(
                    max(limit, 0.0 if not has_past else -1e9), draw.choice((0, 0, 1, 2))
                )
                levels.add(level)
                kept.add(is_kept)
    assert levels == {0, 1, 2}
    # Without an archive some states are kept no longer; with one the start of the run is there for ever.
    assert kept == ({True, False} if archive_every == 0 else {True})


def test_a_given_loss():
    """A rollback without a save goes back as far as the caller says, to a slot, and not past the limit."""
    tiers = Tiers(checked(THREE._replace(unkept_lost_s=450.0)), np.zeros(1), has_past=False)
    for level in tiers.levels:
        level.listed[0] = level.oldest[:] = 20.0
    for limit, expected in ((17.9, 17.0), (19.0, 17.0), (12.2, 12.0)):
        choice = tiers.choose(ONLY, np.array([21.7]), np.array([limit]), np.array([0]))
        assert (choice.position[0], choice.level[0], choice.is_kept[0]) == (expected, 2, False)
