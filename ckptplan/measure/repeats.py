"""A figure that was measured several times: mean and scatter."""

import math
import statistics
from typing import NamedTuple


class Repeats(NamedTuple):
    """Values of one figure, in the order in which they were measured."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Arithmetic mean; nan without a value."""
        return math.fsum(self.values) / len(self.values) if self.values else math.nan

    @property
    def sd(self) -> float | None:
        """Sample standard deviation; None below two values."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def cv(self) -> float | None:
        """Standard deviation over mean; None where there is none. [1]."""
        return None if self.sd is None or not self.mean > 0.0 else self.sd / self.mean

    @property
    def least(self) -> float:
        """The smallest value."""
        return min(self.values, default=math.nan)

    @property
    def most(self) -> float:
        """The largest value."""
        return max(self.values, default=math.nan)
