from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from ckptplan.fit.survival import survival_curve
from tests.fit.laws_in_numbers import W, draw


@pytest.mark.parametrize("whole", [False, True])
def test_agrees_with_scipy(whole):
    """Survival and band are those of scipy.stats.ecdf on censored data, ties between failures and ends included."""
    time, ended = draw(W, 0.7, 300, np.random.default_rng(1))
    time = np.ceil(10 * time) if whole else time
    ended[np.argmax(time)] = False  # scipy leaves the band undefined where the survival is 0
    curve = survival_curve(time, ended, level=0.9)
    reference = stats.ecdf(stats.CensoredData(uncensored=time[ended], right=time[~ended])).sf
    at = np.isin(reference.quantiles, curve.time)
    assert at.sum() == curve.time.size
    np.testing.assert_allclose(curve.survival, reference.probabilities[at], rtol=1e-12)
    keep = reference.probabilities[at] > 0
    with warnings.catch_warnings():  # scipy warns of the part before the first failure
        warnings.simplefilter("ignore", RuntimeWarning)
        band = reference.confidence_interval(0.9, method="log-log")
    np.testing.assert_allclose(curve.low[keep], band.low.probabilities[at][keep], rtol=1e-9)
    np.testing.assert_allclose(curve.high[keep], band.high.probabilities[at][keep], rtol=1e-9)


def test_complete_sample():
    """Without censoring it falls by one share at each failure; at 0 the band ends at 0 and the upper limit before."""
    curve = survival_curve([3.0, 1.0, 2.0, 2.0], [True] * 4)
    np.testing.assert_allclose(curve.survival, [0.75, 0.25, 0.0], atol=1e-15)
    np.testing.assert_array_equal(curve.at_risk, [4, 3, 1])
    assert curve.low[-1] == 0.0
    assert curve.high[-1] == curve.high[-2]


def test_thinned_curve_is_part_of_the_whole():
    """At most as many steps as asked, each of the whole curve, the ends kept, no gap larger than two even ones."""
    time, ended = draw(W, 0.7, 20_000, np.random.default_rng(2))
    whole, few = survival_curve(time, ended, steps=None), survival_curve(time, ended, steps=100)
    assert 90 <= few.time.size <= 100
    assert (few.time[0], few.time[-1]) == (whole.time[0], whole.time[-1])
    at = np.searchsorted(whole.time, few.time)
    for part, all_of in zip(few, whole, strict=True):
        np.testing.assert_array_equal(part, all_of[at])
    assert -np.diff(few.survival).min() < 2.0 * (whole.survival[0] - whole.survival[-1]) / 99


def test_without_failures_there_is_no_step():
    """A record without failures has an empty curve, one of a single failure has one step."""
    assert survival_curve([1.0, 2.0], [False, False]).time.size == 0
    assert survival_curve([1.0], [True]).survival.tolist() == [0.0]
