"""A sample of wall times as a histogram."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.plan.distribution import distribution


def test_every_run_is_in_one_bin() -> None:
    """Counted one by one: from an edge up to the next one, the last edge belonging to the last bin."""
    sample = np.random.default_rng(1).gamma(3.0, 100.0, 500)
    found = distribution(sample)
    assert found is not None
    edges = found.edges_s
    assert (edges[0], edges[-1]) == (sample.min(), sample.max())
    assert sum(found.runs) == 500
    for place, count in enumerate(found.runs):
        last = place == len(found.runs) - 1
        inside = [t for t in sample if edges[place] <= t < edges[place + 1] or (last and t == edges[-1])]
        assert len(inside) == count


def test_bins_are_as_wide_as_freedman_and_diaconis_say() -> None:
    """2 IQR/n^(1/3) for 10,000 normal times, to the nearest whole number of bins."""
    sample = 1000.0 + np.random.default_rng(2).normal(size=10_000)
    found = distribution(sample)
    assert found is not None
    width = found.edges_s[1] - found.edges_s[0]
    iqr = np.subtract(*np.percentile(sample, (75, 25)))
    whole = np.ptp(sample) / (2.0 * iqr / 10_000 ** (1 / 3))
    assert len(found.runs) == min(int(np.ceil(whole)), 60)
    assert width == pytest.approx(np.ptp(sample) / len(found.runs))


@pytest.mark.parametrize(
    "sample", [np.array([1.0, 2.0]), np.array([5.0] * 99 + [6.0]), np.array([0.0, *[1.0] * 98, 1e12])]
)
def test_odd_samples_have_few_bins(sample: np.ndarray) -> None:  # type: ignore[type-arg]
    """Two runs, runs that are nearly all alike, one that takes much longer: 8 to 60 bins."""
    found = distribution(sample)
    assert found is not None
    assert 8 <= len(found.runs) <= 60
    assert sum(found.runs) == sample.size


def test_runs_that_all_take_the_same_have_no_distribution() -> None:
    """One run, or several of one length."""
    assert distribution(np.array([3.0])) is None
    assert distribution(np.array([3.0, 3.0])) is None
