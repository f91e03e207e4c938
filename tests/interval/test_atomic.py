from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.atomic import atomic_goodput, atomic_interval
from ckptplan.interval.recovery import recovery_factor


def test_reference_value():
    """Failures only in work, restart safe: interval and goodput equal the reference."""
    A = recovery_factor(4000, 0, 3000, Strike.SAFE)
    W = atomic_interval(1500, 4000, A)
    assert pytest.approx(2175.663265, rel=1e-9) == W
    assert atomic_goodput(W, 1500, 4000, A) == pytest.approx(0.3316975882, rel=1e-9)


def test_against_the_lambert_form():
    """The interval is the principal Lambert branch at 60 digits, from tiny to huge stalls."""
    ratios = np.geomspace(1e-14, 1e6, 81)
    u = atomic_interval(ratios, 1.0)
    with mp.workdps(60):
        true = [mp.re(1 + mp.lambertw((mp.mpf(float(b)) - 1) / mp.e)) for b in ratios]
        worst = max(abs(mp.mpf(float(x)) / t - 1) for x, t in zip(u, true, strict=True))
    assert worst < 1e-14


def test_depends_on_the_restart():
    """Unlike with saves that can be struck, a longer restart shortens the interval."""
    assert atomic_interval(60, 3600, 1.5) < atomic_interval(60, 3600, 1.0)


def test_limits():
    """No stall gives 0; input outside its domain is nan."""
    assert atomic_interval(0, 100) == 0
    assert np.isnan(atomic_interval(-1, 100))
    assert np.isnan(atomic_interval(1, 100, 0.5))
    assert np.isnan(atomic_goodput(-1, 1, 100))
