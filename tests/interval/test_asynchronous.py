from __future__ import annotations

import numpy as np
import pytest

from ckptplan.interval.asynchronous import (
    asynchronous_interval,
    break_even_stall,
    break_even_stall_first_order,
    effective_stall,
    interval_floor,
)
from ckptplan.interval.breakdown import exact_goodput, first_order_shares
from ckptplan.interval.exact import exact_interval

OPTIMA = pytest.mark.parametrize(
    ("stall", "flush", "speed", "mtbf", "restart", "interval", "period", "goodput", "binds", "first_order"),
    [
        (5, 120, 0.95, 11135.0835322, 600, 487.6402893, 498.6402893, 0.8968177036, False, 0.1085709231),
        (5, 1500, 1, 11135.0835322, 600, 1500, 1505, 0.7708502628, True, 0.2594945628),
        (1, 600, 0.97, 1824.4, 400, 582, 601, 0.4772986416, True, 0.7345848164),
    ],
)


@OPTIMA
def test_reference_optima(stall, flush, speed, mtbf, restart, interval, period, goodput, binds, first_order):
    """Interval, period, goodput and whether the floor binds equal the reference."""
    W = asynchronous_interval(stall, flush, speed, mtbf)
    assert pytest.approx(interval, rel=1e-9) == W
    assert W + effective_stall(stall, flush, speed) == pytest.approx(period, rel=1e-9)
    assert exact_goodput(W, stall, mtbf, restart=restart, flush=flush, speed=speed) == pytest.approx(goodput, rel=1e-9)
    assert bool(interval_floor(flush, speed) == W) is binds


@OPTIMA
def test_reference_first_order_overhead(
    stall, flush, speed, mtbf, restart, interval, period, goodput, binds, first_order
):
    """The published first-order overhead divides by the best first-order period, at least d + F."""
    P = max(np.sqrt(2 * mtbf * effective_stall(stall, flush, speed)), stall + flush)
    shares = first_order_shares(P, stall, mtbf, restart=restart, flush=flush, speed=speed)
    assert shares.overhead == pytest.approx(first_order, rel=1e-9)


def test_break_even_reference():
    """An asynchronous save of 5 s + 99 s at 90 % speed equals a synchronous one of 19.8 s, exactly."""
    assert break_even_stall(5, 99, 0.9, 11135.0835322) == pytest.approx(19.76765678, rel=1e-9)


@pytest.mark.parametrize(
    ("stall", "flush", "speed", "mtbf"),
    [(5, 99, 0.9, 11135), (5, 1500, 1, 11135), (1, 600, 0.97, 1824.4), (0, 3000, 1, 3000)],
)
def test_break_even_means_equal_goodput(stall, flush, speed, mtbf):
    """A synchronous save of the break-even stall has the same goodput at its optimum, floor or not."""
    sync = break_even_stall(stall, flush, speed, mtbf)
    W = asynchronous_interval(stall, flush, speed, mtbf)
    assert exact_goodput(exact_interval(sync, mtbf), sync, mtbf) == pytest.approx(
        float(exact_goodput(W, stall, mtbf, flush=flush, speed=speed)), rel=1e-12
    )


def test_flush_that_costs_nothing_wins_up_to_163_percent_of_the_mtbf():
    """Without slow-down and copy-out, a flush as long as the synchronous stall helps until F = 1.63 M."""
    assert break_even_stall(0, 1.62, 1, 1.0) < 1.62
    assert break_even_stall(0, 1.64, 1, 1.0) > 1.64


def test_synchronous_is_the_case_without_flush():
    """With no flush the interval is the exact one."""
    assert asynchronous_interval(60, 0, 1, 11135) == exact_interval(60, 11135)
    assert break_even_stall(60, 0, 1, 11135) == pytest.approx(60, rel=1e-12)


def test_invalid_is_nan():
    """A negative effective stall or MTBF gives nan without a warning."""
    assert np.isnan(asynchronous_interval(-5, 0, 1, 100))
    assert np.isnan(asynchronous_interval(5, 10, 0.9, -1))
    assert np.isnan(break_even_stall(5, 10, 0.9, -1))
    assert np.isnan(break_even_stall_first_order(5, 10, 0.9, -1))
    assert np.isnan(break_even_stall_first_order(5, 10, 1.1, 100))
    assert np.isnan(interval_floor(100, 1, in_flight=0))


def test_first_order_break_even():
    """Where the floor does not bind, sqrt(2 d_eff/M) + om F/M equals sqrt(2 d_s/M)."""
    d, F, om, M = 5, 99, 0.9, 11135.0835322
    sync = break_even_stall_first_order(d, F, om, M)
    assert np.sqrt(2 * sync / M) == pytest.approx(np.sqrt(2 * (d + 0.1 * F) / M) + om * F / M, rel=1e-12)
    excess = sync / break_even_stall(d, F, om, M) - 1
    assert om * F / M / 3 < excess < om * F / M * 2 / 3


def test_first_order_break_even_under_the_floor():
    """Without slow-down and copy-out the first-order forms part at F = 8/9 of the MTBF."""
    assert break_even_stall_first_order(0, 8 / 9, 1, 1.0) == pytest.approx(8 / 9, rel=1e-12)


def test_first_order_break_even_tends_to_the_effective_stall():
    """For a long MTBF an asynchronous save wins while its effective stall is the shorter one."""
    assert break_even_stall_first_order(5, 99, 0.9, 1e12) == pytest.approx(14.9, rel=1e-4)


@pytest.mark.parametrize("in_flight", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(("stall", "flush", "speed"), [(5, 1500, 1.0), (60, 900, 0.8), (0, 600, 0.3), (2, 0, 1.0)])
def test_floor_lets_a_buffer_free_itself_in_time(stall, flush, speed, in_flight):
    """At the floor, b periods are just as long as stall and flush of one save, or no interval is too short."""
    floor = interval_floor(flush, speed, in_flight=in_flight, stall=stall)
    periods = in_flight * (floor + effective_stall(stall, flush, speed))
    if floor > 0:
        assert periods == pytest.approx(stall + flush, rel=1e-12)
    else:
        assert periods >= stall + flush
    assert floor <= interval_floor(flush, speed)


def test_more_saves_in_flight_admit_a_shorter_interval():
    """Shares below om F exist with a second buffer, and follow the same formula."""
    assert np.isnan(exact_goodput(800, 5, 11135, flush=1500))
    shorter = exact_goodput(800, 5, 11135, flush=1500, in_flight=2)
    assert shorter == pytest.approx(800 / 11135 * np.exp(-1500 / 11135) / np.expm1(805 / 11135), rel=1e-12)
