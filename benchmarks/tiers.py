"""Speed of the best pattern of three tiers, as a ratio to a recursion: ``python benchmarks/tiers.py``.

All nested patterns of up to 64 x 64 saves over every subset of three tiers, each at its best interval, in one call of
``best_pattern``. Against it plain Python: the chain of Moody et al. 2010 as a recursion over blocks of saves, memoised,
with a golden-section search for the interval of each pattern. That runs over a sample of the patterns and is scaled up.
Over all patterns the recursion is evaluated once, at the intervals of the call. Exits with 1 if the call takes more
than 1/100 of the recursion, or if the recursion prefers another pattern, disagrees on a goodput, or finds a better
interval.
"""

from __future__ import annotations

import math
import random
import sys
import time
from functools import cache

import numpy as np

from ckptplan.cost.scenario import Strike
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.tier_cases import TieredSaves
from ckptplan.interval.tier_patterns import best_pattern, pattern_goodputs
from ckptplan.interval.tier_recovery import Causes

STALL = (9.0, 50.0, 438.0)  # added by each tier [s]
RATE = (7.78e-5, 5.19e-6, 3e-7)  # [1/s]
RESTART = (9.0, 50.0, 438.0)  # [s]
RATIOS = range(1, 65)
SAMPLE = 40
REPEATS = 5
LIMIT = 100.0  # times faster than the recursion
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Recursion:
    """Expected time of a pattern over kept tiers, block by block; failures may strike restarts."""

    def __init__(self, kept: tuple[int, ...]) -> None:
        self.slot = [sum(STALL[k] for k in kept[: i + 1]) for i in range(len(kept))]
        self.restart = [RESTART[k] for k in kept]
        bounds = (-1, *kept)
        self.rate = [sum(RATE[low + 1 : high + 1]) for low, high in zip(bounds, kept)]  # noqa: B905
        self.total = sum(RATE)
        self.goes_back = [self.recovery(level) for level in range(len(kept))]

    @cache  # noqa: B019
    def recovery(self, level: int) -> tuple[float, tuple[float, ...]]:
        """Expected time of a recovery at a level, and the probability of the level it ends at."""
        struck = -math.expm1(-self.total * self.restart[level])
        same = struck * sum(self.rate[: level + 1]) / self.total
        spent, ends = struck / self.total, [0.0] * len(self.rate)
        ends[level] = 1.0 - struck
        for higher in range(level + 1, len(self.rate)):
            chance = struck * self.rate[higher] / self.total
            more, where = self.recovery(higher)
            spent += chance * more
            ends = [own + chance * other for own, other in zip(ends, where, strict=True)]
        return spent / (1.0 - same), tuple(end / (1.0 - same) for end in ends)

    def goodput(self, work: float, ratios: tuple[int, ...]) -> float:
        """Useful work over wall time."""
        levels = len(self.rate)

        @cache
        def block(level: int, end: int) -> tuple[float, float, tuple[float, ...]]:
            """Probability that a block succeeds, its expected time, and those of going back to each level."""
            if level < 0:
                fails = -math.expm1(-self.total * (work + self.slot[end]))
                spent, back = fails / self.total, [0.0] * levels
                for rate, (more, where) in zip(self.rate, self.goes_back, strict=True):
                    chance = fails * rate / self.total
                    spent += chance * more
                    back = [own + chance * other for own, other in zip(back, where, strict=True)]
                return 1.0 - fails, spent, tuple(back)
            reached, spent, back = 1.0, 0.0, [0.0] * levels
            count = ratios[level]
            for number in range(count):
                succeeds, lasts, exits = block(level - 1, end if number == count - 1 else level - 1)
                spent += reached * lasts
                back = [own + reached * other for own, other in zip(back, exits, strict=True)]
                reached *= succeeds
            again = 1.0 - back[level]
            back[level] = 0.0
            return reached / again, spent / again, tuple(other / again for other in back)

        succeeds, spent, _ = block(levels - 1, levels - 1)
        assert abs(succeeds - 1.0) < 1e-9
        return math.prod(ratios) * work / spent

    def optimum(self, ratios: tuple[int, ...]) -> float:
        """Goodput at the best work between saves, found to 1e-6 of it."""
        low, high = math.log(1.0), math.log(1.0 / self.total)
        inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
        yields = [self.goodput(math.exp(at), ratios) for at in inner]
        while high - low > 1e-6:
            if yields[0] > yields[1]:
                high, inner[1], yields[1] = inner[1], inner[0], yields[0]
                inner[0] = high - GOLDEN * (high - low)
                yields[0] = self.goodput(math.exp(inner[0]), ratios)
            else:
                low, inner[0], yields[0] = inner[0], inner[1], yields[1]
                inner[1] = low + GOLDEN * (high - low)
                yields[1] = self.goodput(math.exp(inner[1]), ratios)
        return max(yields)


def patterns() -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Kept tiers and ratios (1 for the lowest) of every pattern."""
    three = [((0, 1, 2), (1, first, second)) for first in RATIOS for second in RATIOS]
    two = [((low, 2), (1, ratio)) for low in (0, 1) for ratio in RATIOS]
    return [((2,), (1,)), *two, *three]


def every_of(kept: tuple[int, ...], ratios: tuple[int, ...]) -> list[float]:
    """Slots between saves of each tier, nan for a dropped one."""
    row = [math.nan] * len(STALL)
    for tier, slots in zip(kept, np.cumprod(ratios).tolist(), strict=True):
        row[tier] = float(slots)
    return row


def main() -> int:
    """Print both times; 1 if the limit is missed."""
    saves = TieredSaves(STALL, Causes(RATE, (1, 2, 3), recovery_parts(0.0, RESTART, Strike.DR)))
    every_pattern = patterns()
    peers = {kept: Recursion(kept) for kept, _ in every_pattern}
    sample = random.Random(1).sample(every_pattern, SAMPLE)  # noqa: S311
    call = loop = math.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        best = best_pattern(saves)
        call = min(call, time.perf_counter() - start)
    start = time.perf_counter()
    reached = [peers[kept].optimum(ratios) for kept, ratios in sample]
    loop = (time.perf_counter() - start) * len(every_pattern) / SAMPLE
    table = pattern_goodputs(saves, [every_of(*pattern) for pattern in every_pattern])
    plain = np.array(
        [peers[k].goodput(W, r) for (k, r), W in zip(every_pattern, table.interval_s.tolist(), strict=True)]
    )
    top = every_of(*every_pattern[int(plain.argmax())])
    apart = float(np.abs(plain / table.goodput - 1.0).max())
    in_table = [float(table.goodput[every_pattern.index(pattern)]) for pattern in sample]
    excess = float(np.max(np.divide(reached, in_table))) - 1.0
    same = np.array_equal(top, best.every, equal_nan=True)
    print(
        f"{len(every_pattern):,} patterns: {call:.4f} s in one call, {loop:.1f} s by recursion over {SAMPLE} scaled up"
    )
    print(
        f"best: every {best.every.tolist()} at {best.interval_s:.1f} s, goodput {best.goodput:.9f}; by recursion {top}"
    )
    print(f"{loop / call:.0f} times faster (at least {LIMIT:.0f}); goodputs differ by {apart:.1e} at most,")
    print(f"the best interval of the recursion is better by {excess:.1e} at most")
    return int(loop < LIMIT * call or not same or apart > 1e-10 or excess > 1e-10)


if __name__ == "__main__":
    sys.exit(main())
