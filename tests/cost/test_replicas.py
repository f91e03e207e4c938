from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.replicas import PeerPlacement, rack_loss_recoverable_probability, recoverable_probability

small = st.tuples(st.integers(1, 40), st.integers(1, 5), st.integers(0, 40)).filter(lambda t: max(t[1:]) <= t[0])
placements = st.sampled_from(PeerPlacement)


def holders(nodes: int, copies: int, placement: str) -> list[set[int]]:
    """For the state of each node, the nodes that hold it."""
    ring = nodes if placement == "ring" else (copies + nodes % copies if nodes % copies else 0)
    first = nodes - ring
    held = [set(range(i - i % copies, i - i % copies + copies)) for i in range(first)]
    return held + [{first + (i + j) % ring for j in range(copies)} for i in range(ring)]


def enumerated(held: list[set[int]], lost: int, candidates: range | list[int], gone: frozenset[int]) -> tuple[int, int]:
    """Recoverable patterns of lost nodes next to those already gone, and all patterns."""
    patterns = [gone | set(more) for more in combinations(candidates, lost)]
    return sum(all(nodes - pattern for nodes in held) for pattern in patterns), len(patterns)


def test_published_probability():
    """Two of sixteen nodes lost, two copies: 93.3 % (14/15) in groups, 86.7 % (13/15) in a ring."""
    assert recoverable_probability(16, 2, 2) == 14 / 15
    assert recoverable_probability(16, 2, 2, "ring") == 13 / 15


@pytest.mark.parametrize("placement", ["group", "ring"])
@pytest.mark.parametrize(
    ("nodes", "copies"), [(1, 1), (2, 2), (6, 1), (8, 2), (9, 2), (9, 3), (11, 3), (5, 4), (12, 4)]
)
def test_enumeration(placement, nodes, copies):
    """Every number of lost nodes, with and without an incomplete last group, counted pattern by pattern."""
    held = holders(nodes, copies, placement)
    for lost in range(nodes + 1):
        good, all_ = enumerated(held, lost, range(nodes), frozenset())
        assert recoverable_probability(nodes, copies, lost, placement) == good / all_


@pytest.mark.parametrize("rack_aware", [True, False])
@pytest.mark.parametrize(
    ("racks", "per_rack", "copies"), [(4, 2, 2), (4, 4, 2), (6, 2, 2), (6, 3, 3), (2, 2, 1), (4, 4, 4)]
)
def test_rack_losses_by_enumeration(rack_aware, racks, per_rack, copies):
    """Whole racks and up to two further nodes, counted pattern by pattern."""
    if not rack_aware and per_rack % copies:
        pytest.skip("groups do not fit in a rack")
    if rack_aware:
        held = [
            {(first + j) * per_rack + i for j in range(copies)}
            for first in range(0, racks, copies)
            for i in range(per_rack)
        ]
    else:
        held = holders(racks * per_rack, copies, "group")
    for lost_racks in range(racks + 1):
        for lost_nodes in range(min(2, (racks - lost_racks) * per_rack) + 1):
            good = all_ = 0
            for dark in combinations(range(racks), lost_racks):
                gone = frozenset(n for n in range(racks * per_rack) if n // per_rack in dark)
                left = [n for n in range(racks * per_rack) if n not in gone]
                more = enumerated(held, lost_nodes, left, gone)
                good, all_ = good + more[0], all_ + more[1]
            value = rack_loss_recoverable_probability(
                racks, per_rack, copies, lost_racks, lost_nodes, rack_aware=rack_aware
            )
            assert value == good / all_


def test_a_rack_loss_is_survived_by_copies_in_other_racks_only():
    """One of 32 racks of 16 nodes: no loss with a copy in another rack, certain loss with both in one."""
    assert rack_loss_recoverable_probability(32, 16, 2, 1) == 1.0
    assert rack_loss_recoverable_probability(32, 16, 2, 1, rack_aware=False) == 0.0
    # Of two racks lost, the second is the partner of the first with a probability of 1/31.
    assert rack_loss_recoverable_probability(32, 16, 2, 2) == pytest.approx(30 / 31, rel=1e-15)


def test_after_a_rack_loss_its_partner_rack_is_bare():
    """A further node is fatal if it is one of the 16 in the partner rack."""
    expected = 1 - 16 / (31 * 16)
    assert rack_loss_recoverable_probability(32, 16, 2, 1, 1) == pytest.approx(expected, rel=1e-15)


@given(small, placements)
def test_more_losses_never_help(case, placement):
    """The probability falls with the number of lost nodes, from one to zero, and fewer than g losses are harmless."""
    nodes, copies, lost = case
    probability = recoverable_probability(nodes, copies, range(nodes + 1), placement)
    assert (np.diff(probability) <= 0).all()
    assert (probability[:copies] == 1.0).all()
    assert probability[-1] == 0.0
    assert recoverable_probability(nodes, copies, lost, placement) == probability[lost]


@given(small)
def test_groups_beat_a_ring(case):
    """Fewer patterns are fatal in groups than in a ring."""
    nodes, copies, lost = case
    group, ring = (recoverable_probability(nodes, copies, lost, placement) for placement in PeerPlacement)
    assert group >= ring


@pytest.mark.parametrize("placement", ["group", "ring"])
def test_simulated_losses_of_a_large_job(placement):
    """Sixty of 1,024 nodes drawn at random lose a part as often as stated, within four standard errors."""
    rng = np.random.default_rng(5)
    held = np.array([sorted(h) for h in holders(1024, 2, placement)])
    draws = 4000
    order = rng.random((draws, 1024)).argpartition(60, axis=1)[:, :60]
    lost = np.zeros((draws, 1024), dtype=bool)
    np.put_along_axis(lost, order, True, axis=1)
    survived = ~lost[:, held].all(axis=2).any(axis=1)
    p = float(recoverable_probability(1024, 2, 60, placement))
    assert abs(survived.mean() - p) < 4 * np.sqrt(p * (1 - p) / draws)


def test_broadcast_and_invalid():
    """Arrays broadcast; counts outside the domain are nan beside valid neighbours."""
    value = recoverable_probability([[16], [32]], 2, [0, 2, 33, -1, 1.5, np.nan, np.inf])
    np.testing.assert_array_equal(np.isnan(value), [[False] * 2 + [True] * 5] * 2)
    assert value[1, 1] == 1 - 16 / 496
    assert np.isnan(recoverable_probability([4, 0, 4], [5, 1, 0], 1)).all()
    racks = rack_loss_recoverable_probability([4, 5, 0, 4, 4], 4, [2, 2, 1, 0, 2], [1, 1, 0, 0, 5])
    np.testing.assert_array_equal(np.isnan(racks), [False, True, True, True, True])
    assert np.isnan(rack_loss_recoverable_probability(4, 4, 2, 1, 13))
    assert np.isnan(rack_loss_recoverable_probability(4, 3, 2, 1, rack_aware=False))
