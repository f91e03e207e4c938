"""Shares under several classes of failures: exact where the parts are exact, and a sum of known parts elsewhere."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_shares
from ckptplan.interval.recovery import recovery_factor
from ckptplan.interval.spectrum import Behaviour, Causes, recovery_by_cause, spectrum_shares
from ckptplan.interval.verified import verified_shares

STOP, LATE, VERIFIED, SPIKE, SLOW, NOTICED = Behaviour
M = 11135.0835322


def of(kind: Behaviour, rate: float, **rest: object) -> Causes:
    """One cause."""
    return Causes((kind,), [rate], [rest.pop("downtime", 0.0)], [rest.pop("restart", 0.0)], **rest)


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize(("flush", "speed"), [(0.0, 1.0), (120.0, 0.95)])
def test_equal_stops_are_one_class(strike: Strike, flush: float, speed: float) -> None:
    """Stops with equal recoveries have the exact shares of one class, however their rate is divided."""
    causes = Causes((STOP, STOP, STOP), np.array([0.2, 0.7, 0.1]) / M, [120] * 3, [480] * 3)
    W = np.array([200.0, 1156.0, 9000.0])
    found = spectrum_shares(W, 60, causes, strike=strike, flush=flush, speed=speed)
    exact = exact_shares(W, 60, M, downtime=120, restart=480, strike=strike, flush=flush, speed=speed)
    for part, wanted in zip(found[:4], exact, strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(found.rework_by_cause[:, 1] / found.rework, 0.7, rtol=1e-13)
    np.testing.assert_allclose(found.overhead, exact.overhead, rtol=1e-12)


@pytest.mark.parametrize("strike", list(Strike))
def test_mixed_recoveries_by_markov_chain(strike: Strike) -> None:
    """Recoveries that differ by class, struck by any class, take as long as the linear equations of the process say."""
    rate, D, R = np.array([3e-5, 4e-5, 2e-6]), np.array([30.0, 900.0, 7200.0]), np.array([300.0, 60.0, 3600.0])
    total, p = rate.sum(), rate / rate.sum()
    unstruck, struck = {
        Strike.SAFE: (D + R, 0 * R),
        Strike.R: (D, R),
        Strike.DR: (0 * D, D + R),
    }[strike]
    hit = 1.0 - np.exp(-total * struck)
    # T_c = time of this try + (if it is struck) the mean recovery of the striker
    each = unstruck + hit / total
    mean = np.linalg.solve(np.eye(3) - np.outer(hit, p), each) @ p
    found = recovery_by_cause(rate, D, R, strike)
    assert found.sum() == pytest.approx(total * mean, rel=1e-13)
    # Tries of class c per failure: those that start a recovery and those that strike one.
    tries = p / (1.0 - hit @ p)
    np.testing.assert_allclose(found, total * tries * each, rtol=1e-13)


@pytest.mark.parametrize("strike", list(Strike))
def test_equal_recoveries_give_the_recovery_factor(strike: Strike) -> None:
    """The time in recoveries of one class is A - 1."""
    found = recovery_by_cause([1 / M], [200.0], [400.0], strike)
    assert 1.0 + found[0] == pytest.approx(float(recovery_factor(M, 200.0, 400.0, strike)), rel=1e-14)


def test_spike_reference() -> None:
    """Loss spikes alone have the reference overhead and goodput."""
    found = spectrum_shares(300, 10, of(SPIKE, 0.000990099009901 / 6, restart=300.0, back=[660.0]), step_time=6)
    assert found.overhead == pytest.approx(0.2196369637, rel=1e-9)
    assert found.useful == pytest.approx(0.8199161142, rel=1e-9)


def test_notice_reference() -> None:
    """An announced end costs a save and a restart, and the interval stays where it was."""
    found = spectrum_shares(1e4, 60, of(NOTICED, 1 / 99268.0851064, restart=600.0))
    alone = 1e4 / (1e4 + 60)
    assert 1 / found.useful - 1 / alone == pytest.approx(0.006648662551, rel=2e-2)  # the reference is first order
    tiny = spectrum_shares(1e4, 60, of(NOTICED, 1e-6 / 99268.0851064, restart=600.0))
    assert (1 / tiny.useful - 1 / alone) * 1e6 * alone == pytest.approx(0.006648662551, rel=1e-4)


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("m", [1, 3])
def test_verified_errors_are_exact(strike: Strike, m: int) -> None:
    """Errors that a verification finds, beside stops, have the exact shares of verified saves."""
    causes = Causes((STOP, VERIFIED), [8.98e-5, 2.5e-5], [0.0, 0.0], [600.0, 600.0])
    found = spectrum_shares(2000, 60, causes, strike=strike, verify=30, verifications=m)
    exact = verified_shares(2000, 30, 60, 8.98e-5, 2.5e-5, verifications=m, restart=600, strike=strike)
    assert found.useful == pytest.approx(float(exact.useful), rel=1e-12)
    assert found.save == pytest.approx(float(exact.save + exact.verify), rel=1e-12)
    np.testing.assert_allclose(found.rework_by_cause, [exact.rework_failstop, exact.rework_silent], rtol=1e-12)
    assert found.restart == pytest.approx(float(exact.restart), rel=1e-11)


def test_what_is_found_late_costs_its_delay() -> None:
    """To first order a delay adds its rate times itself to the overhead, and does not move the best interval."""
    W = np.geomspace(200, 5000, 2001)
    prompt, late = (
        spectrum_shares(W, 60, Causes((STOP, LATE), [1 / M, 1e-9], [0, 0], [600, 600], delay=[0.0, delay]))
        for delay in (0.0, 3600.0)
    )
    extra = (late.overhead - prompt.overhead) / (1.0 + prompt.overhead)
    at = int(np.argmax(prompt.useful))
    # Only what was kept until then is thrown back, and only errors in what was kept count.
    kept = prompt.useful[at] * (W[at] + 60) / W[at] / (1.0 - prompt.restart[at])
    assert extra[at] == pytest.approx(1e-9 * 3600 * float(kept), rel=1e-5)
    assert abs(int(np.argmax(late.useful)) - at) <= 1


def test_slow_nodes() -> None:
    """A slow node that is found at once costs its eviction, and until then its slow-down."""
    causes = of(SLOW, 1e-7, restart=600.0, delay=[3600.0], slowdown=[0.25])
    found = spectrum_shares(1e4, 60, causes)
    assert found.slow == pytest.approx(1e-7 * 3600 * 0.25 / 1.25, rel=1e-3)
    assert found.restart == pytest.approx(1e-7 * 600, rel=1e-3)
    assert found.useful == pytest.approx(1e4 / 10060 * (1 - 1e-7 * (3600 * 0.2 + 60 + 600)), rel=1e-6)


def all_kinds(scale: float = 1.0) -> Causes:
    """Every behaviour at once."""
    return Causes(
        (STOP, LATE, VERIFIED, SPIKE, SLOW, NOTICED),
        scale * np.array([8e-5, 7e-6, 2e-6, 3e-6, 4e-6, 1e-5]),
        [60, 600, 0, 0, 0, 0],
        [300, 300, 400, 500, 600, 100],
        delay=[0, 7200, 0, 0, 3600, 0],
        back=[0, 0, 0, 550, 0, 0],
        slowdown=[0, 0, 0, 0, 0.06, 0],
    )


@pytest.mark.parametrize(("strike", "flush"), list(product(Strike, (0.0, 100.0))))
def test_shares_sum_to_one(strike: Strike, flush: float) -> None:
    """With every behaviour at once the shares sum to one, and those by cause to their totals."""
    W = np.geomspace(100, 20_000, 9)
    found = spectrum_shares(
        W, 20, all_kinds(), strike=strike, flush=flush, speed=0.9, step_time=5, verify=4, verifications=2
    )
    np.testing.assert_allclose(sum(found[:5]), 1.0, rtol=1e-12)
    for total, parts in zip(found[2:5], found[5:], strict=True):
        np.testing.assert_allclose(parts.sum(axis=-1), total, rtol=1e-13)
        assert (parts >= 0.0).all()


def test_rare_causes_add_up() -> None:
    """As causes become rare, their overheads add: each alone, at a thousandth of the rate."""
    scale, W = 1e-5, 1000.0
    together = spectrum_shares(W, 20, all_kinds(scale), step_time=5, verify=4)
    base = float(spectrum_shares(W, 24, of(STOP, 1e-30)).overhead)
    every = all_kinds(scale)
    lost = 0.0
    for k, kind in enumerate(every.behaviours):
        alone = Causes((kind,), *(np.asarray(v)[k : k + 1] for v in every[1:]))
        lost += float(spectrum_shares(W, 20, alone, step_time=5, verify=4).overhead) - base
    assert float(together.overhead) - base == pytest.approx(lost, rel=1e-4)


def test_nothing_is_kept_where_more_is_thrown_back_than_done() -> None:
    """An interval that is as long as the time between errors leaves no useful work, and all of it is rework."""
    found = spectrum_shares(1e5, 60, of(LATE, 1e-4, delay=[1e4]))
    assert found.useful == 0.0
    assert found.rework == 1.0


def test_broadcast_and_invalid() -> None:
    """Arrays broadcast; input outside the domain is nan beside valid neighbours."""
    found = spectrum_shares([[1000.0], [-1.0]], [60.0, 30.0], of(STOP, 1e-4))
    assert found.useful.shape == (2, 2)
    assert np.isnan(found.useful[1]).all()
    assert not np.isnan(found.useful[0]).any()
