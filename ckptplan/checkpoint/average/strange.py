"""Numbers of the result that are infinite or NaN."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.elements import REAL_PARTS, decode, real_bytes


class Strange(NamedTuple):
    """How many; of a complex number each part counts."""

    nan: int
    infinite: int

    def plus(self, other: Strange) -> Strange:
        """Both together."""
        return Strange(self.nan + other.nan, self.infinite + other.infinite)

    @property
    def words(self) -> str:
        """As one says it: 1 NaN and 2 infinities."""
        infinities = "infinity" if self.infinite == 1 else "infinities"
        counts = ((self.nan, "NaN"), (self.infinite, infinities))
        return " and ".join(f"{number:,} {name}" for number, name in counts if number) or "none"


NONE = Strange(0, 0)


def strange_of(stored: NDArray[np.uint8], dtype: str) -> Strange:
    """What a block of stored elements holds; nothing, where the type has no such numbers."""
    if dtype not in REAL_PARTS:
        return NONE
    width = real_bytes(dtype)
    values = np.empty(stored.size // width, dtype=np.float64 if width > 4 else np.float32)
    with np.errstate(all="ignore"):
        decode(stored, dtype, values)
        if np.isfinite(values).all():
            return NONE
        return Strange(int(np.isnan(values).sum()), int(np.isinf(values).sum()))
