from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.batches import (
    EvenSplit,
    UnevenSplit,
    even_splits,
    impossible_replicas,
    nearest_replicas,
    possible_replicas,
    uneven_split,
)

batches = st.integers(1, 400)
replica_counts = st.integers(1, 60)
sizes = st.sets(st.integers(1, 12), min_size=1, max_size=4)


def brute_force(batch: int, allowed: set[int]) -> set[EvenSplit]:
    """All triples with the right product."""
    return {
        EvenSplit(d, b, m)
        for d in range(1, batch + 1)
        for b in allowed
        for m in range(1, batch // (d * b) + 1)
        if d * b * m == batch
    }


def test_a_lost_replica_of_a_power_of_two():
    """2048 sequences on 128 replicas: the next possible number below 127 is 64, and an uneven split loses 0.8 %."""
    assert nearest_replicas(2048, 127, 1) == (64, 128)
    split = uneven_split(2048, 127, 1)
    assert split == UnevenSplit(127, 1, 16, 16)
    assert split.most == 17
    assert split.useful_replicas == pytest.approx(2048 / 17, rel=1e-15)
    assert split.efficiency == pytest.approx(2048 / 127 / 17, rel=1e-15)
    assert split.needed == 121


@pytest.mark.parametrize("batch", [1, 7, 12, 60, 64, 97, 144])
@pytest.mark.parametrize("allowed", [{1}, {4}, {2, 3}, {1, 4, 6}, {5, 7}])
def test_every_split_is_found(batch, allowed):
    """Splits, possible and impossible numbers of replicas are those of an exhaustive search."""
    truth = brute_force(batch, allowed)
    possible = sorted({split.replicas for split in truth})
    assert list(possible_replicas(batch, allowed)) == possible
    assert {s for d in range(1, batch + 3) for s in even_splits(batch, d, allowed)} == truth
    assert list(impossible_replicas(batch, allowed, batch)) == sorted(set(range(1, batch + 1)) - set(possible))


@given(batches, replica_counts, sizes)
def test_nothing_possible_lies_between(batch, replicas, allowed):
    """No number of replicas between the given one and its neighbours is possible."""
    truth = {split.replicas for split in brute_force(batch, allowed)}
    below, above = nearest_replicas(batch, replicas, allowed)
    assert below == max((d for d in truth if d <= replicas), default=None)
    assert above == min((d for d in truth if d >= replicas), default=None)


@given(batches, replica_counts, st.integers(1, 12))
def test_uneven_split_adds_up_and_is_the_fastest(batch, replicas, size):
    """All micro-batches are done, the busiest replica does as few as possible, and fewer replicas take longer."""
    split = uneven_split(batch, replicas, size)
    if batch % size:
        assert split is None
        return
    loads = [split.fewest + (i < split.with_one_more) for i in range(replicas)]
    assert sum(loads) * size == batch
    assert max(loads) == split.most
    assert (split.most - 1) * replicas * size < batch  # one micro-batch less on the busiest cannot do them all
    assert split.efficiency == pytest.approx(float(Fraction(sum(loads), replicas * max(loads))), rel=1e-14)
    assert uneven_split(batch, split.needed, size).most == split.most
    if split.needed > 1:
        assert uneven_split(batch, split.needed - 1, size).most > split.most


@given(batches, replica_counts, st.integers(1, 12))
def test_uneven_is_at_least_as_fast_as_even_below(batch, replicas, size):
    """To idle the replicas that an even split has no use for is never faster."""
    split = uneven_split(batch, replicas, size)
    below = nearest_replicas(batch, replicas, size).below
    assert (split is None) == (below is None)
    if split is not None:
        assert split.useful_replicas >= below * (1 - 1e-14)
        assert (split.with_one_more == 0) == (below == replicas)


@given(batches, sizes, sizes)
def test_more_sizes_allow_more(batch, some, more):
    """A further allowed size never rules a number of replicas out."""
    assert set(possible_replicas(batch, some)) <= set(possible_replicas(batch, some | more))


def test_more_replicas_than_micro_batches():
    """Three micro-batches keep three of five replicas busy."""
    split = uneven_split(6, 5, 2)
    assert (split.fewest, split.with_one_more, split.most, split.needed) == (0, 3, 1, 3)
    assert split.efficiency == pytest.approx(0.6, rel=1e-15)


def test_largest_micro_batch_first():
    """Where several sizes fit, the largest comes first; an iterator and repeated sizes do."""
    assert even_splits(96, 8, iter([1, 4, 2, 4, 5])) == ((8, 4, 3), (8, 2, 6), (8, 1, 12))


def test_large_batches_are_quick():
    """A million sequences have their 49 divisors; a limit cuts the list."""
    assert len(possible_replicas(1_000_000, 1)) == 49
    assert possible_replicas(1_000_000, 1, at_most=10) == (1, 2, 4, 5, 8, 10)


@pytest.mark.parametrize(("batch", "replicas", "size"), [(0, 4, 1), (-8, 4, 1), (8, 0, 1), (8, 4, 0), (9, 2, 2)])
def test_nothing_is_possible_outside_the_domain(batch, replicas, size):
    """Counts below 1, and sizes that do not divide the batch, allow nothing."""
    assert even_splits(batch, replicas, size) == ()
    assert uneven_split(batch, replicas, size) is None
    if replicas > 0:
        assert nearest_replicas(batch, replicas, size) == (None, None)
