from __future__ import annotations

import numpy as np
import pytest

from ckptplan.interval.notice import mtbf_without_notice, noticed_interruption_overhead


def test_reference_value():
    """The overhead of a noticed interruption equals the reference."""
    noticed = noticed_interruption_overhead(60, 600, 99268.0851064)
    assert noticed.overhead == pytest.approx(0.006648662551, rel=1e-9)
    assert noticed.is_long_enough


def test_length_of_the_notice():
    """A notice suffices from the whole save on, its flush included; a shorter one is a failure."""
    noticed = noticed_interruption_overhead(5, 600, 1e5, notice=[4.9, 5, 124, 125, 1e9], flush=[0, 0, 120, 120, 120])
    np.testing.assert_array_equal(noticed.is_long_enough, [False, True, False, True, True])
    np.testing.assert_array_equal(np.isnan(noticed.overhead), ~noticed.is_long_enough)
    np.testing.assert_allclose(noticed.overhead[noticed.is_long_enough], [605e-5, 725e-5, 725e-5], rtol=1e-15)


@pytest.mark.parametrize(("stall", "flush"), [(60.0, 0.0), (5.0, 120.0)])
def test_work_of_the_flush_is_lost(stall, flush):
    """Played: progress of interrupted stretches is that at the start of the last save, flush or not."""
    rng, M_i, R = np.random.default_rng(5), 1e5, 600.0
    stretch = rng.exponential(M_i, 1_000_000)
    # Training runs, saves so that the save is durable when the notice ends, and resumes from the state at its start.
    useful, wall = np.maximum(stretch - stall - flush, 0.0), stretch + R
    overhead = wall.sum() / useful.sum() - 1
    error = np.std(wall - (1 + overhead) * useful) / np.sqrt(stretch.size) / useful.mean()
    first_order = float(noticed_interruption_overhead(stall, R, M_i, flush=flush).overhead)
    # The next order: useful = M_i exp(-(d + F)/M_i), so that the overhead is (1 + R/M_i) exp((d + F)/M_i) - 1.
    exact = (1 + R / M_i) * np.exp((stall + flush) / M_i) - 1
    assert abs(overhead - exact) < 4 * error
    assert error < 1e-5  # the flush alone is 1.2e-3: without it the formula would be far off
    assert 0 < exact - first_order < first_order**2


def test_what_sets_the_interval():
    """A notice that is long enough leaves the MTBF as it is; a shorter one adds its rate to that of the failures."""
    M = mtbf_without_notice(11135.0, 60, 99268.0, notice=[60, 59, np.inf])
    np.testing.assert_allclose(M, [11135, 1 / (1 / 11135 + 1 / 99268), 11135], rtol=1e-15)
    assert mtbf_without_notice(np.inf, 5, 99268.0, notice=100, flush=120) == pytest.approx(99268, rel=1e-15)


def test_broadcast_and_invalid():
    """Arrays broadcast; input outside the domain is nan and no notice beside valid neighbours."""
    noticed = noticed_interruption_overhead(
        [60, -60, 60, 60, 60], 600, [1e5, 1e5, 0, 1e5, 1e5], notice=[60] * 3 + [-1, 60]
    )
    np.testing.assert_array_equal(noticed.is_long_enough, [True, False, False, False, True])
    np.testing.assert_array_equal(np.isnan(noticed.overhead), ~noticed.is_long_enough)
    assert noticed_interruption_overhead(60, [[600], [np.nan]], [1e5, 2e5]).overhead.shape == (2, 2)
    assert np.isnan(mtbf_without_notice([0, 1, 1, np.nan], [1, -1, 1, 1], [1, 1, 0, 1])).all()
