from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Law, LawName
from ckptplan.errors import InputError
from ckptplan.simulate.gaps import gaps_of, law, nodes, recorded

LAWS = pytest.mark.parametrize(
    ("name", "shape", "variation"),
    [("exponential", 1.0, 1.0), ("weibull", 0.7, 1.4624), ("gamma", 3.0, 0.57735), ("lognormal", 0.8, 0.94682)],
)


@LAWS
def test_mean_and_spread(name, shape, variation):
    """Each law has the given mean and the coefficient of variation that its shape says."""
    gaps = np.empty(200_000)
    law(name, 500.0, shape).fill(np.random.default_rng(1), gaps)
    assert abs(gaps.mean() - 500.0) < 4 * gaps.std() / np.sqrt(gaps.size)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, rel=0.02)


@LAWS
def test_residual_time(name, shape, variation):
    """Seen from any moment, the next failure is ``(1 + cv^2)/2`` means away on average."""
    times = np.empty(200_000)
    law(name, 500.0, shape).fill_residual(np.random.default_rng(2), times)
    assert abs(times.mean() - 250.0 * (1 + variation**2)) < 4 * times.std() / np.sqrt(times.size) + 0.1


def test_nodes_fail_in_order_of_their_times():
    """The gaps of a superposition are those between the sorted failure times of its nodes."""
    source = nodes(law("gamma", 1000.0, 4.0), 50)
    stream = source.start(np.random.default_rng(3), 200)
    total, gaps = np.zeros(200), np.empty(200)
    for _ in range(100):
        stream.fill(gaps)
        assert (gaps >= 0.0).all()
        total += gaps
    assert source.mean_s == 20.0
    # In the stationary regime the count of failures is linear in time; 100 failures take 100 gaps.
    assert abs(total.mean() / 100 - 20.0) < 4 * total.std() / np.sqrt(200) / 100


def test_new_nodes_fail_more_often():
    """With a falling hazard, nodes that are all new fail sooner than nodes in use for long."""
    each, gaps = law("weibull", 1000.0, 0.5), np.empty(4000)
    first = []
    for are_new in (True, False):
        nodes(each, 20, are_new=are_new).start(np.random.default_rng(4), 4000).fill(gaps)
        first.append(gaps.mean())
    assert first[0] < first[1] / 2


def test_recorded_in_order_starts_over():
    """A replay gives every run the same gaps, and begins again after the last."""
    stream = recorded([3.0, 1.0, 2.0], in_order=True).start(np.random.default_rng(5), 2)
    gaps, seen = np.empty(2), []
    for _ in range(4):
        stream.fill(gaps)
        seen.append(list(gaps))
    assert seen == [[3, 3], [1, 1], [2, 2], [3, 3]]


def test_resampled_draws_only_what_was_recorded():
    """Drawing with replacement gives each recorded gap about equally often."""
    gaps = np.empty(30_000)
    recorded([3.0, 1.0, 2.0]).start(np.random.default_rng(6), 30_000).fill(gaps)
    values, counts = np.unique(gaps, return_counts=True)
    assert list(values) == [1, 2, 3]
    assert (np.abs(counts - 10_000) < 400).all()


def test_sources_of_a_scenario():
    """A scenario's law becomes a source with the MTBF of the whole job, whatever it is the law of."""
    assert gaps_of(Law(), 500.0) == law("exponential", 500.0)
    assert gaps_of(Law(LawName.WEIBULL, 0.7), 500.0) == law("weibull", 500.0, 0.7)
    of_nodes = gaps_of(Law(LawName.WEIBULL, 0.7, of_nodes=True), 500.0, node_count=8)
    assert of_nodes == nodes(law("weibull", 4000.0, 0.7), 8)
    record = Law(LawName.RECORDED, gaps_s=(1.0, 3.0))
    assert gaps_of(record, 2.0, in_order=True) == recorded([1.0, 3.0], in_order=True)
    assert gaps_of(record, 20.0) == recorded([10.0, 30.0])
    with pytest.raises(InputError, match="of the whole job, not of each node"):
        gaps_of(record._replace(of_nodes=True), 2.0)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda: law("exponential", 0.0), "mean gap must be a positive number; got 0"),
        (lambda: law("weibull", 100.0, -1.0), "shape must be a positive number; got -1"),
        (lambda: law("weibull", float("nan")), "mean gap must be a positive number; got nan"),
        (lambda: law("recorded", 100.0), "recorded gaps have no formula"),
        (lambda: recorded([]), "holds no gap"),
        (lambda: recorded([5.0, -1.0]), "gap 2 of the record"),
        (lambda: recorded([0.0, 0.0]), "all gaps of the record are 0"),
        (lambda: nodes(law("weibull", 100.0, 0.7), 0), "number of nodes must be a whole number"),
        (lambda: nodes(law("weibull", 100.0, 0.7), 10**6), "number of nodes must be a whole number"),
    ],
)
def test_bad_sources(source, message):
    """A source without meaning is refused in one sentence."""
    with pytest.raises(InputError, match=message):
        source()
