from __future__ import annotations

import numpy as np
import pytest

from ckptplan.interval.asynchronous import effective_stall
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_interval
from ckptplan.interval.variants import (
    bosilca_period,
    daly_first_order,
    daly_first_order_less_stall,
    herault_robert_interval,
    saxena_interval,
)
from ckptplan.interval.young import young_interval


@pytest.mark.parametrize(
    ("variant", "interval"),
    [
        (daly_first_order, 804.9844719),
        (daly_first_order_less_stall, 744.9844719),
        (herault_robert_interval, 404.7580015),
        (saxena_interval, 807.2174428),
        (lambda d, M, R: exact_interval(d, M), 617.890625),
    ],
)
def test_reference_values(variant, interval):
    """The published variants and the exact value for d = 60, M = 3600, R = 1800 equal the reference."""
    assert variant(60, 3600, 1800) == pytest.approx(interval, rel=1e-9)


def test_reference_bosilca():
    """The overlapped period equals the reference."""
    assert bosilca_period(0.3, 600, 20000, 600, 60) == pytest.approx(4011.782646, rel=1e-9)


@pytest.mark.parametrize(
    "variant", [daly_first_order, daly_first_order_less_stall, herault_robert_interval, saxena_interval]
)
def test_reduce_to_young(variant):
    """All variants tend to Young's interval as stall and restart vanish against the MTBF."""
    assert variant(1e-6, 1e6, 1.0) == pytest.approx(float(young_interval(1e-6, 1e6)), rel=2e-6)


def test_bosilca_reduces_to_the_effective_stall():
    """With everything short against the MTBF, the overlapped period is sqrt(2 M d_eff)."""
    expected = np.sqrt(2 * 1e9 * effective_stall(0, 10, 0.3))
    assert bosilca_period(0.3, 10, 1e9, 0) == pytest.approx(expected, rel=1e-8)


def test_saxena_minimises_dalys_first_order_cost():
    """d/W with (M + R) and half a period of rework has its minimum there."""
    d, M, R = 60.0, 3600.0, 1800.0
    W = saxena_interval(d, M, R) * np.array([1.0, 0.999, 1.001])
    cost = (1 + d / W) * (1 + (R + (W + d) / 2) / M)
    assert cost[0] < min(cost[1], cost[2])


def test_minus_restart_form_loses_most_of_the_goodput_near_the_mtbf():
    """At M = 4000, d = 1500, R = 3000 the form that falls with R loses 70 % of the goodput."""
    used = exact_goodput(herault_robert_interval(1500, 4000, 3000), 1500, 4000, restart=3000)
    best = exact_goodput(exact_interval(1500, 4000), 1500, 4000, restart=3000)
    assert 1 - used / best == pytest.approx(0.70, abs=0.01)


def test_undefined_is_nan():
    """A recovery longer than the MTBF leaves the falling form without a root: nan, no warning."""
    assert np.isnan(herault_robert_interval(60, 100, 200))
    assert np.isnan(bosilca_period(0.3, 600, 100, 600))
