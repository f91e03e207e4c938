"""Where the public failure data are, and how tests read a record that they write."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ckptplan.fit.record import Outcome

COLLECTION = Path(__file__).parents[4] / "shared" / "data" / "failures"
needs_collection = pytest.mark.skipif(not COLLECTION.is_dir(), reason="the failure data are not here")


def outcomes(content) -> dict[str, int]:
    """How many rows have each outcome."""
    return {one.name: int(np.sum(content.outcome == one)) for one in Outcome if np.any(content.outcome == one)}


def left(record) -> dict[str, int]:
    """Rows left out by reason."""
    return {one.reason: one.rows for one in record.left_out}
