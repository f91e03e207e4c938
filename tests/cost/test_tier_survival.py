"""Which failures the saves of a tier survive, and whether tiers are nested."""

from __future__ import annotations

from itertools import combinations

import pytest

from ckptplan.cost.classes import ClassCost, FailureClass, FailureKind, Loss
from ckptplan.cost.tier_survival import Tier, TierKind, faults_of_order, survival
from ckptplan.errors import InputError

T, K = TierKind, FailureKind
NODES = 64
CRASH = ClassCost("crash", K.CRASH, 1.0, 0.0, 60.0, 300.0)

_SURVIVES = {
    T.HOST: (1, 0, 0, 0),
    T.LOCAL: (1, 1, 0, 0),
    T.PEER: (1, 1, 1, 0),
    T.SHARED: (1, 1, 1, 1),
    T.OBJECT: (1, 1, 1, 1),
}


@pytest.mark.parametrize("kind", list(TierKind))
def test_what_each_kind_survives(kind: TierKind) -> None:
    """Loss of a process, of the memory of a node, of a node, of several: memory, disks, peers, storage."""
    found = tuple(survival(Tier("it", kind), CRASH._replace(loses=loses), NODES) for loses in Loss)
    assert found == _SURVIVES[kind]


@pytest.mark.parametrize("kind", list(TierKind))
@pytest.mark.parametrize("far_back", [K.SILENT, K.SPIKE])
def test_what_goes_back_past_several_saves_needs_a_history(kind: TierKind, far_back: FailureKind) -> None:
    """Storage keeps one; the disks of a node if the spec says so; memory never."""
    one = CRASH._replace(kind=far_back, loses=Loss.PROCESS)
    assert survival(Tier("it", kind), one, NODES) == (kind in {T.SHARED, T.OBJECT})
    said = Tier("it", kind, survives=("all",))
    assert survival(said, one, NODES) == (kind in {T.LOCAL, T.SHARED, T.OBJECT})


@pytest.mark.parametrize("kind", list(TierKind))
def test_what_the_spec_says_goes_before_the_kind(kind: TierKind) -> None:
    """``survives`` names classes, or all; a class that it does not name is not survived."""
    one = FailureClass("fire", K.CRASH, loses=Loss.PROCESS)
    assert survival(Tier("it", kind, survives=("fire", "flood")), one, NODES) == 1
    assert survival(Tier("it", kind, survives=("all",)), one, NODES) == 1
    assert survival(Tier("it", kind, survives=("flood",)), one, NODES) == 0


def _kept(nodes: int, copies: int, lost: int) -> float:
    """Patterns of lost nodes that leave every group of neighbours a node, counted one by one."""
    groups = [set(range(first, first + copies)) for first in range(0, nodes, copies)]
    patterns = [set(pattern) for pattern in combinations(range(nodes), lost)]
    return sum(not any(group <= pattern for group in groups) for pattern in patterns) / len(patterns)


@pytest.mark.parametrize(("nodes", "copies", "lost"), [(16, 2, 2), (12, 3, 4), (8, 2, 3), (8, 4, 4)])
@pytest.mark.parametrize("simultaneous", [0.0, 0.05, 1.0])
def test_peers_lose_a_group_with_some_probability(nodes: int, copies: int, lost: int, simultaneous: float) -> None:
    """A share of the losses takes several nodes, which may be all that hold a shard: counted one by one."""
    tier = Tier("it", T.PEER, replicas=copies, lost_at_once=lost, simultaneous=simultaneous)
    kept = _kept(nodes, copies, lost)
    assert survival(tier, CRASH, nodes) == pytest.approx(1 - simultaneous * (1 - kept), rel=1e-12)


@pytest.mark.parametrize("loses", [Loss.PROCESS, Loss.MEMORY])
def test_peers_keep_all_copies_when_no_node_is_lost(loses: Loss) -> None:
    """Simultaneous losses are a share of those of a node: one of a process or of memory takes no copy of another node.

    So peers may stand above the disks of a node, which survive such a loss for certain.
    """
    tier = Tier("peers", T.PEER, simultaneous=1.0, lost_at_once=NODES)
    one = CRASH._replace(loses=loses)
    assert survival(tier, one, NODES) == 1
    assert survival(tier, CRASH, NODES) == 0
    table = [[survival(it, one, NODES)] for it in (Tier("disks", T.LOCAL), tier)]
    assert faults_of_order(["disks", "peers"], ["it"], table) == []


def test_two_of_sixteen_nodes_with_two_copies() -> None:
    """14 of 15, the 93.3 % that GEMINI (2023) reports."""
    tier = Tier("it", T.PEER, simultaneous=1.0)
    assert survival(tier, CRASH, 16) == pytest.approx(14 / 15, rel=1e-12)


def test_a_class_of_several_nodes_is_survived_by_peers_only_in_part() -> None:
    """If the spec says that peers survive it, each such loss takes that many nodes, whatever the share of others."""
    tier = Tier("it", T.PEER, survives=("crash",))
    assert survival(tier, CRASH._replace(loses=Loss.NODES), 16) == pytest.approx(14 / 15, rel=1e-12)


def test_peers_need_as_many_nodes_as_copies() -> None:
    """A job of too few nodes is refused; a loss of more nodes than there are is one of all of them."""
    with pytest.raises(InputError, match="keeps 3 copies on different nodes, and the job has 2"):
        survival(Tier("it", T.PEER, replicas=3), CRASH, 2)
    assert survival(Tier("it", T.PEER, lost_at_once=9, simultaneous=1.0), CRASH, 4) == 0


def test_faults_of_order_are_all_told() -> None:
    """One for each tier that is out of place, with every class that it loses; none where all is well."""
    names, classes = ["a", "b", "c"], ["x", "y"]
    found = faults_of_order(names, classes, [(1, 1), (0, 0.5), (0, 0)])
    assert [(fault.tier, fault.message) for fault in found] == [
        (1, "b does not survive x and y, which a before it does"),
        (2, "c does not survive y, which b before it does"),
    ]
    assert faults_of_order(names, classes, [(0, 0), (0, 0.5), (1, 1)]) == []
    assert faults_of_order([], classes, []) == []
