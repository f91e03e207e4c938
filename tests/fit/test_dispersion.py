from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ckptplan.fit.dispersion import dispersion
from tests.fit.laws_in_numbers import within


def test_by_hand():
    """Variance over mean of the counts in windows of five failures on average, and its chi-squared tail."""
    t = np.concatenate([np.linspace(0.01, 0.19, 11), np.linspace(0.31, 0.99, 9)])
    counts = np.histogram(t, np.linspace(0, 1, 5))[0]
    found = dispersion(t, 1.0)
    assert found.index == pytest.approx(counts.var(ddof=1) / counts.mean())
    assert found.p_value == pytest.approx(stats.chi2.sf(3 * found.index, 3))
    assert found.widening == pytest.approx(np.sqrt(found.index))


@pytest.mark.parametrize("number", [50, 500])
def test_false_alarms_at_the_level(number):
    """Of 2,000 Poisson records 5 % are said to cluster."""
    rng = np.random.default_rng(number)
    alarms = np.mean([dispersion(rng.random(number), 1.0).p_value < 0.05 for _ in range(2000)])
    assert within(alarms, 0.05, 2000)


def test_clusters_are_found():
    """Failures in clusters of two on average, 50 in all, are found in 70 % of records."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(400):
        start = rng.random(rng.poisson(25))
        found += dispersion(np.repeat(start, rng.geometric(0.5, start.size)), 1.0).p_value < 0.05
    assert within(found / 400, 0.70, 400)


def test_regular_failures_widen_nothing():
    """Counts that vary less than Poisson do not narrow the interval."""
    found = dispersion(np.linspace(0.005, 0.995, 100), 1.0)
    assert found.index < 0.2
    assert found.widening == 1.0


def test_few_failures():
    """Below ten failures there is no index, and the note says so; one at the very end is counted."""
    found = dispersion(np.linspace(0.1, 0.9, 9), 1.0)
    assert np.isnan(found.p_value)
    assert found.note
    assert dispersion(np.linspace(0.1, 1.0, 10), 1.0).windows == 2
