from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.recovery import recovery_factor, recovery_share


@pytest.mark.parametrize(
    ("strike", "factor"),
    [
        (Strike.SAFE, 1 + 520 / 1824.4),
        (Strike.R, np.exp(400 / 1824.4) * (1 + 120 / 1824.4)),
        (Strike.DR, np.exp(520 / 1824.4)),
    ],
)
def test_factor(strike, factor):
    """The three rules of what a failure may strike give their factor and the share (A - 1)/A."""
    assert recovery_factor(1824.4, 120, 400, strike) == pytest.approx(factor, rel=1e-15)
    assert recovery_share(1824.4, 120, 400, strike) == pytest.approx((factor - 1) / factor, rel=1e-14)


def test_factor_by_simulation():
    """With R struck, the mean time to a completed recovery is (A - 1) M for A = exp(R/M)(1 + D/M)."""
    M, D, R = 1000.0, 300.0, 800.0
    rng = np.random.default_rng(11)
    total = np.full(200_000, D)  # downtime is not struck
    open_ = np.arange(total.size)
    while open_.size:
        gap = rng.exponential(M, open_.size)
        struck = gap < R
        total[open_] += np.where(struck, gap + D, R)
        open_ = open_[struck]
    error = total.std() / np.sqrt(total.size)
    expected = (recovery_factor(M, D, R, Strike.R) - 1) * M
    assert abs(total.mean() - expected) < 4 * error


@pytest.mark.parametrize("strike", list(Strike))
def test_share_of_a_very_short_recovery(strike):
    """A recovery of 1e-12 of the MTBF keeps its digits in the share."""
    assert recovery_share(1e12, 0.25, 0.75, strike) == pytest.approx(1e-12, rel=1e-11)


@pytest.mark.parametrize("strike", [Strike.R, Strike.DR])
def test_overflow_is_infinity(strike):
    """A restart of a thousand MTBFs gives an infinite factor and a share of 1, without a warning."""
    assert recovery_factor(1.0, 10.0, 1000.0, strike) == np.inf
    assert recovery_share(1.0, 10.0, 1000.0, strike) == 1.0


@pytest.mark.parametrize("arguments", [(0, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (np.nan, 1, 1)])
def test_invalid_is_nan(arguments):
    """Input outside its domain is nan."""
    assert np.isnan(recovery_factor(*arguments, Strike.DR))
    assert np.isnan(recovery_share(*arguments, Strike.SAFE))
