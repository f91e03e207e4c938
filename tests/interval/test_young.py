from __future__ import annotations

import numpy as np
import pytest

from ckptplan.interval.breakdown import first_order_shares
from ckptplan.interval.young import young_interval


@pytest.mark.parametrize(
    ("stall", "mtbf", "restart", "interval", "save", "restart_share", "overhead"),
    [
        (60, 11135.0835322, 600, 1155.945511, 0.05190556081, 0.05388374486, 0.1576948665),
        (300, 86400, 600, 7200, 0.04166666667, 0.006944444444, 0.09027777778),
    ],
)
def test_reference_values(stall, mtbf, restart, interval, save, restart_share, overhead):
    """Young's interval and its first-order shares equal the reference, save and rework being equal."""
    W = young_interval(stall, mtbf)
    shares = first_order_shares(W, stall, mtbf, restart=restart)
    assert pytest.approx(interval, rel=1e-9) == W
    assert shares.save == pytest.approx(save, rel=1e-9)
    assert shares.rework == pytest.approx(save, rel=1e-9)
    assert shares.restart == pytest.approx(restart_share, rel=1e-9)
    assert shares.overhead == pytest.approx(overhead, rel=1e-9)


@pytest.mark.parametrize(
    ("hours", "printed"),
    [(1296 / 419, "1156"), (50677 / 1024, "4624")],
)
def test_published_run(hours, printed):
    """419 interruptions in 54 days on 16,384 GPUs give 1,156 s, and 77 min on 1,024 GPUs."""
    assert f"{young_interval(60, hours * 3600):.0f}" == printed


@pytest.mark.parametrize(
    ("stall", "interval", "save", "rework"),
    [
        (5, None, 0.014984, 0.014984),
        (60, 3600, 0.0166667, 0.161651),
        (60, 300, 0.2, 0.013471),
    ],
)
def test_published_first_order_shares(stall, interval, save, rework):
    """The first-order shares of the published run: 1.5 + 1.5 %, 1.7 + 16.2 % and 20 + 1.3 %."""
    mtbf = 54 * 86400 / 419
    W = young_interval(stall, mtbf) if interval is None else interval
    shares = first_order_shares(W, stall, mtbf)
    assert shares.save == pytest.approx(save, abs=5e-7)
    assert shares.rework == pytest.approx(rework, abs=5e-7)


def test_products_outside_the_range_of_doubles():
    """A product of stall and MTBF that over- or underflows does not spoil the root."""
    assert young_interval(1e300, 1e300) == pytest.approx(np.sqrt(2) * 1e300, rel=1e-15)
    assert young_interval(1e-300, 1e-300) == pytest.approx(np.sqrt(2) * 1e-300, rel=1e-15)
    assert young_interval(1e-300, 1e300) == pytest.approx(np.sqrt(2), rel=1e-15)
