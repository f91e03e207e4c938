from __future__ import annotations

import mpmath
import numpy as np
import pytest

from ckptplan.interval.elastic import (
    break_even_repair,
    break_even_repair_first_order,
    elastic_or_wait,
    elastic_throughput,
    shrink_beats_waiting,
)
from ckptplan.interval.spares import erlang_b, spare_wait_fraction

LAM = 8.98069151325e-05

CASES = pytest.mark.parametrize(
    ("rate", "spares", "replicas", "repair", "reshard", "restart"),
    [
        (LAM, 1, 16, 6000.0, 120.0, 300.0),
        (LAM, 0, 4, 600.0, 30.0, 300.0),
        (1e-3, 5, 3, 9000.0, 600.0, 900.0),
        (1e-3, 0, 64, 90_000.0, 1000.0, 0.0),
        (1e-9, 8, 16, 3600.0, 120.0, 300.0),
        (1e-2, 40, 20, 5000.0, 0.0, 60.0),
    ],
)


def _exact(rate, spares, replicas, repair, reshard, restart) -> tuple[mpmath.mpf, ...]:
    """Throughputs of shrinking and of waiting, and the gain, by 40-digit Poisson sums; the fixed point by bisection."""
    with mpmath.workdps(40):
        rate, stop, R = mpmath.mpf(rate), mpmath.mpf(reshard), mpmath.mpf(restart)

        def law(load, top):
            weights = [load**j / mpmath.factorial(j) for j in range(top + 1)]
            return [weight / sum(weights) for weight in weights]

        def losses(working):
            pi = law(rate * repair * working, spares + replicas)
            size = sum(p * (1 - mpmath.mpf(max(j - spares, 0)) / replicas) for j, p in enumerate(pi))
            return 1 / (1 + rate * (R + 2 * stop * sum(pi[spares:]))), size

        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(130):
            middle = (low + high) / 2
            low, high = (middle, high) if losses(middle)[0] > middle else (low, middle)
        working = 1 / (1 + rate * R)
        elastic, wait = low * losses(low)[1], (1 - law(rate * repair * working, spares + 1)[-1]) * working
        return elastic, wait, elastic / wait - 1


def test_reference_value():
    """The throughput equals the reference."""
    assert elastic_throughput(LAM, 1, 16, 6000, reshard=120, restart=300) == pytest.approx(0.9586267289, rel=1e-9)


@CASES
def test_both_throughputs(rate, spares, replicas, repair, reshard, restart):
    """Shrinking and waiting, and the gain of one over the other, equal the 40-digit sums."""
    elastic, wait, gain = _exact(rate, spares, replicas, repair, reshard, restart)
    both = elastic_or_wait(rate, spares, replicas, repair, reshard=reshard, restart=restart)
    assert float(both.elastic) == pytest.approx(float(elastic), rel=1e-13)
    assert float(both.wait) == pytest.approx(float(wait), rel=1e-13)
    # 1e-9 failures per second and 8 spares: the gain is about 1e-50 and lost in 40 digits, see the next test.
    if abs(gain) > 1e-20:
        assert float(both.gain) == pytest.approx(float(gain), rel=1e-11)
    assert both.shrink == (both.gain > 0)


def test_gain_below_rounding():
    """Where both throughputs round to the same number, the gain is still that of the first order."""
    both = elastic_or_wait(1e-9, 8, 16, [2000, 3600], reshard=120, restart=300)
    assert (both.elastic == both.wait).all()
    load = 1e-9 * np.array([2000, 3600])
    out_of_spares = erlang_b(8, load)
    first = 1e-9 * out_of_spares * (np.array([2000, 3600]) / 9 * 15 / 16 - 240)
    np.testing.assert_allclose(both.gain, first, rtol=1e-5)
    np.testing.assert_array_equal(both.shrink, [False, True])


def test_one_replica_can_only_wait():
    """With one replica and free reshards, shrinking is waiting; with reshards it is worse."""
    both = elastic_or_wait(LAM, [0, 1, 5], 1, 6000, reshard=0, restart=300)
    np.testing.assert_allclose(both.elastic, both.wait, rtol=1e-15)
    assert not elastic_or_wait(LAM, [0, 1, 5], 1, 6000, reshard=120, restart=300).shrink.any()


def test_without_failures():
    """A job that never fails runs at full speed both ways; one whose nodes are back at once only restarts."""
    assert elastic_or_wait(0, 1, 16, 6000, reshard=120, restart=300) == (1, 1, 0, False)
    assert elastic_throughput(1e-3, 1, 16, 0, reshard=120, restart=250) == pytest.approx(0.8, rel=1e-15)


@pytest.mark.parametrize("spares", [0, 1, 2, 8])
@pytest.mark.parametrize("rate", [1e-6, LAM, 1e-3])
def test_break_even(spares, rate):
    """At the break-even repair both ways do the same; just below waiting does more, just above shrinking."""
    mean = break_even_repair(rate, spares, 16, reshard=120, restart=300)
    around = mean * np.array([1 - 1e-9, 1 + 1e-9])
    np.testing.assert_array_equal(
        elastic_or_wait(rate, spares, 16, around, reshard=120, restart=300).shrink, [False, True]
    )


def test_break_even_tends_to_first_order():
    """The break-even repair is the first-order one plus a term in proportion to the failure rate."""
    first = break_even_repair_first_order([0, 1, 4], [2, 16, 64], 120)
    np.testing.assert_allclose(first, [480, 512, 1200 * 64 / 63], rtol=1e-15)
    error = [
        break_even_repair(rate, [0, 1, 4], [2, 16, 64], reshard=120, restart=300) / first - 1 for rate in (1e-7, 1e-6)
    ]
    assert np.abs(error[1]).max() < 3e-3
    np.testing.assert_allclose(error[1] / error[0], 10, rtol=0.02)


@pytest.mark.parametrize("spares", [0, 1, 4])
@pytest.mark.parametrize("replicas", [2, 16])
def test_rule_of_thumb(spares, replicas):
    """The rule by expected wait agrees with the throughputs 5 % off the first-order break-even, for a small load."""
    mean = break_even_repair_first_order(spares, replicas, 120) * np.array([0.5, 0.95, 1.05, 3])
    wait = spare_wait_fraction(spares, 1e-6, mean).mean_wait_s
    rule = shrink_beats_waiting(wait, replicas, 120)
    np.testing.assert_array_equal(rule, [False, False, True, True])
    np.testing.assert_array_equal(elastic_or_wait(1e-6, spares, replicas, mean, reshard=120, restart=300).shrink, rule)


def test_edges_of_the_break_even():
    """One replica never shrinks, free reshards always pay; where no break-even is near there is none."""
    np.testing.assert_array_equal(
        break_even_repair(LAM, 1, [1, 16, 16, 0], reshard=[120, 0, -1, 120], restart=300), [np.inf, 0, np.nan, np.nan]
    )
    assert np.isnan(break_even_repair([-1, np.nan], 1, 1, reshard=120, restart=300)).all()
    # 100 failures per repair of 1000 s beside one spare and two replicas: neither way does anything.
    assert np.isnan(break_even_repair(0.1, 1, 2, reshard=1000, restart=300))
    assert not shrink_beats_waiting([np.nan, 1e9, 1e9], [16, 0, 1], 120).any()


def test_broadcast_and_invalid():
    """Arrays broadcast; input outside the domain is nan beside valid neighbours."""
    spares, replicas = [1, -1, 1, 1.5, 1], [16, 16, 0, 16, 16]
    throughput = elastic_throughput(LAM, spares, replicas, [6000, 6000, 6000, 6000, -1], reshard=120, restart=300)
    assert throughput[0] == elastic_throughput(LAM, 1, 16, 6000, reshard=120, restart=300)
    assert np.isnan(throughput[1:]).all()
    both = elastic_or_wait([[-1], [LAM]], 1, [2, 16, 64], 6000, reshard=120, restart=300)
    assert both.gain.shape == (2, 3)
    assert np.isnan(both.gain[0]).all()
    assert not both.shrink[0].any()
    assert both.shrink[1].all()
