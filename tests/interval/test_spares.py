from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from ckptplan.interval.spares import (
    erlang_b,
    goodput_with_waits,
    node_unavailability,
    spare_shortage_binomial,
    spare_wait_fraction,
    spares_needed,
    spares_needed_binomial,
)

LAM = 8.98069151325e-05


def _erlang(servers: int, load: float) -> mpmath.mpf:
    """Erlang's formula by its sum, at 40 digits: 1/B = sum_k c (c - 1) ... (c - k + 1) / a^k."""
    with mpmath.workdps(40):
        total = term = mpmath.mpf(1)
        for k in range(servers):
            term *= (servers - k) / mpmath.mpf(load)
            total += term
        return 1 / total


def _shortage(nodes: int, spares: int, q: float) -> mpmath.mpf:
    """P(Binomial(N + S, q) > S) by its sum, at 40 digits."""
    with mpmath.workdps(40):
        total, Q = nodes + spares, mpmath.mpf(q)
        term = mpmath.binomial(total, spares + 1) * Q ** (spares + 1) * (1 - Q) ** (nodes - 1)
        tail = term
        for k in range(spares + 1, total):
            term *= mpmath.mpf(total - k) / (k + 1) * Q / (1 - Q)
            tail += term
        return tail


def test_reference_values():
    """Wait fraction, mean wait, spares needed and the binomial shortage equal the reference."""
    np.testing.assert_allclose(spare_wait_fraction(1, LAM, 3888), (0.043229804, 1944), rtol=1e-9)
    assert spares_needed(7.89300591975, 0.01) == 14
    assert spare_shortage_binomial(128, 2, 0.01) == pytest.approx(0.1420728208, rel=1e-9)


@pytest.mark.parametrize(
    ("servers", "load"),
    [
        (0, 3.0),
        (1, 1e-8),
        (5, 0.1),
        (50, 0.1),
        (2, 0.35),
        (40, 100.0),
        (1000, 1000.0),
        (900, 1000.0),
        (1300, 1000.0),
        (20, 1e5),
        (5000, 1e4),
        (10_000, 1e4),
        (10_500, 1e4),
    ],
)
def test_erlang_b(servers, load):
    """Erlang's formula equals its 40-digit sum, also where the recursion does not begin at 0 and far in the tail."""
    assert float(erlang_b(servers, load)) == pytest.approx(float(_erlang(servers, load)), rel=1e-13)


def test_erlang_b_from_zero():
    """Where the recursion begins has no influence: at a load of 100,000 it equals the one that begins at 0."""
    load, B = 1e5, 1.0
    wanted = {50_000: 0.0, 99_000: 0.0, 100_000: 0.0, 101_500: 0.0}
    for j in range(1, 101_501):
        B = load * B / (j + load * B)
        if j in wanted:
            wanted[j] = B
    np.testing.assert_allclose(erlang_b(list(wanted), load), list(wanted.values()), rtol=1e-13)


def test_mean_wait_balances():
    """Share of time waiting = rate at which waits begin times mean wait, for every number of spares."""
    S, rate = np.arange(6)[:, np.newaxis], np.geomspace(1e-6, 1e-2, 9)
    wait = spare_wait_fraction(S, rate, 3888)
    begins = rate * (1 - wait.wait_fraction) * erlang_b(S, rate * 3888)  # with S nodes down and none missing
    np.testing.assert_allclose(begins * wait.mean_wait_s, wait.wait_fraction, rtol=1e-13)


@pytest.mark.parametrize("load", [1e-3, 0.35, 1.0, 7.893, 60.0, 1000.0])
@pytest.mark.parametrize("limit", [0.9, 0.5, 0.1, 0.01, 1e-6, 1e-12])
def test_least_number_of_spares(load, limit):
    """That many spares keep waits at the limit, by 40 digits, and one less does not."""
    S = int(spares_needed(load, limit))
    assert _erlang(S + 1, load) <= limit
    assert S == 0 or _erlang(S, load) > limit


def test_spares_needed_for_a_large_load():
    """At a load of 100,000 the answer is that of the recursion from 0, at limits from tiny to nearly 1."""
    limits = [1e-9, 0.01, 0.5, 0.999]
    load, B, answers = 1e5, 1.0, {}
    for j in range(1, 110_000):
        B = load * B / (j + load * B)
        for limit in limits:
            if limit not in answers and limit >= B:
                answers[limit] = j - 1
    np.testing.assert_array_equal(spares_needed(load, limits), [answers[limit] for limit in limits])


def test_a_limit_that_is_met_exactly():
    """B_1(1) = 1/2, B_2(1) = 1/5, and three of three nodes are down for 0.001^3: a limit of just that is met."""
    np.testing.assert_array_equal(spares_needed(1.0, [0.5, 0.2, 0.2 * (1 - 1e-9)]), [0, 1, 2])
    np.testing.assert_array_equal(spares_needed_binomial(1, 0.001, [1e-9, 1e-9 * (1 - 1e-9)]), [2, 3])


@pytest.mark.parametrize(
    ("nodes", "spares", "q"),
    [(128, 2, 0.01), (1000, 20, 0.01), (20_000, 230, 0.01), (20_000, 400, 0.01), (16, 40, 1e-3), (5, 0, 0.9)],
)
def test_binomial_shortage(nodes, spares, q):
    """The shortage equals its 40-digit sum, also far in the tail."""
    assert float(spare_shortage_binomial(nodes, spares, q)) == pytest.approx(
        float(_shortage(nodes, spares, q)), rel=1e-11
    )


def test_least_number_of_spares_when_all_nodes_fail():
    """That many spares keep the shortage at the limit, by 40 digits, and one less does not."""
    for nodes, q, limit in itertools.product((1, 16, 500), (0.002, 0.05, 0.6), (0.3, 1e-3, 1e-9)):
        S = int(spares_needed_binomial(nodes, q, limit))
        assert _shortage(nodes, S, q) <= limit
        assert S == 0 or _shortage(nodes, S - 1, q) > limit


def test_idle_spares_that_fail():
    """With rare failures both models agree to first order in the load; nodes that never, or always, are down."""
    nodes, q = 64, 1e-7
    load = nodes * q / (1 - q)  # failures of the running job per mean repair
    assert float(spare_shortage_binomial(nodes, 0, q)) == pytest.approx(float(erlang_b(1, load)), rel=1e-4)
    # With one spare, of the pairs of nodes that can be down (65 over 2) one in 65 begins with the spare.
    ratio = float(spare_shortage_binomial(nodes, 1, q) / erlang_b(2, load))
    assert ratio == pytest.approx(65 / 64, rel=1e-4)
    np.testing.assert_array_equal(spares_needed_binomial(64, [0, 1, 1], [0, 1, 0.5]), [0, 0, np.nan])


def test_unavailability():
    """A node is down for the share of its repairs in the time from repair to repair."""
    assert node_unavailability(100, 9900) == pytest.approx(0.01, rel=1e-15)
    np.testing.assert_array_equal(node_unavailability([0, -1, 5, 5], [5, 5, 0, np.inf]), [0, np.nan, np.nan, 0])


def test_goodput_with_waits():
    """Waits take their share of all goodput; what is no share is nan."""
    assert goodput_with_waits(0.9, 0.25) == pytest.approx(0.675, rel=1e-15)
    assert np.isnan(goodput_with_waits([1.1, -0.1, 0.5, 0.5], [0.1, 0.1, -0.1, 1.1])).all()


def test_broadcast_and_invalid():
    """Arrays broadcast; input outside the domain is nan beside valid neighbours."""
    wait = spare_wait_fraction([1, -1, 1.5, 1, 1, math.nan], [LAM, LAM, LAM, -LAM, LAM, LAM], [3888] * 4 + [-1, 3888])
    assert wait.wait_fraction[0] == spare_wait_fraction(1, LAM, 3888).wait_fraction
    assert np.isnan(wait.wait_fraction[1:]).all()
    assert np.isnan(wait.mean_wait_s[1:]).all()
    np.testing.assert_array_equal(
        spares_needed([1, -1, 1, 0, np.inf], [0.1, 0.1, 0, 0, 0.1]), [2, np.nan, np.nan, 0, np.nan]
    )
    assert np.isnan(spare_shortage_binomial([0, 5, 5.5, 5], [1, -1, 1, 1], [0.1, 0.1, 0.1, 1.1])).all()
    assert np.isnan(spares_needed_binomial([0, 5, 5], [0.1, -0.1, 0.1], [0.1, 0.1, 0])).all()
    assert erlang_b(np.zeros((3, 1)), np.ones(4)).shape == (3, 4)
    assert erlang_b(500, 1.0) == 0.0  # below the range of doubles
