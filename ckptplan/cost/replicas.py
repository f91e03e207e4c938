"""Copies in the memory of peers: whether every part of the state outlives the nodes that are lost at once.

Counts of patterns are exact integers; a probability is the ratio of two of them, rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from math import comb, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class PeerPlacement(StrEnum):
    """Which nodes hold a copy of the state of a node, next to the node itself."""

    GROUP = "group"  # the others of its group; what is left after the last whole group forms a ring with it
    RING = "ring"  # the next ones, in a ring of all nodes


def recoverable_probability(
    nodes: ArrayLike, copies: ArrayLike, lost: ArrayLike, placement: PeerPlacement | str = PeerPlacement.GROUP
) -> Floats:
    """Probability that memory still holds every part of the state after some nodes are lost at once.

    Parameters
    ----------
    nodes : array_like of int
        Nodes of the job, N. [1]
    copies : array_like of int
        Nodes that hold each part, the owner included, g; not more than there are nodes. [1]
    lost : array_like of int
        Nodes lost at once, before lost copies are made again, k: any k are equally likely. [1]
    placement : PeerPlacement
        Groups of g nodes that hold the state of all their members, or a ring.

    Returns
    -------
    ndarray
        nan for counts outside the domain. [1]

    Notes
    -----
    In groups, all is recoverable if no group is lost whole: by inclusion and exclusion over lost groups,
    ``sum_j (-1)^j C(N/g, j) C(N - j g, k - j g) / C(N, k)``. In a ring no g neighbours may be lost: ``N/(N-k)
    sum_j (-1)^j C(N-k, j) C(N-1 - j g, N-k-1) / C(N, k)``. A ring has g-fold as many fatal patterns of g nodes,
    since any of its nodes may be the first. Groups: Wang et al., GEMINI, SOSP 2023, who report 93.3 % for two
    of 16 nodes and two copies.
    """
    count = _grouped if PeerPlacement(placement) is PeerPlacement.GROUP else _ring

    def probability(N: int, g: int, k: int) -> float:
        return count(N, g, k) / comb(N, k) if 1 <= g <= N and 0 <= k <= N else nan

    return _each(probability, nodes, copies, lost)


def rack_loss_recoverable_probability(
    racks: ArrayLike,
    nodes_per_rack: ArrayLike,
    copies: ArrayLike,
    lost_racks: ArrayLike,
    lost_nodes: ArrayLike = 0,
    *,
    rack_aware: bool = True,
) -> Floats:
    """Probability that memory still holds every part of the state after whole racks, and further nodes, are lost.

    Parameters
    ----------
    racks, nodes_per_rack : array_like of int
        Racks of the job, and nodes of each. [1]
    copies : array_like of int
        Nodes that hold each part, the owner included, g. [1]
    lost_racks : array_like of int
        Racks lost at once, any equally likely. [1]
    lost_nodes : array_like of int
        Nodes lost in the other racks at the same time, any equally likely. [1]
    rack_aware : bool
        Whether a group takes its nodes from g racks, one of each; otherwise all from one rack.

    Returns
    -------
    ndarray
        nan for counts outside the domain: g has to divide the racks, or, unaware of racks, the nodes of a rack. [1]

    Notes
    -----
    Racks form groups of g, and node i of each holds what node i of the others does. A group of racks of which
    j < g are lost keeps ``(1 + x)^(g-j) - x^(g-j)`` patterns of further lost nodes per group of nodes; the product
    over all is counted. So any loss of fewer than g racks alone is survived, while groups within a rack survive none.
    """
    patterns = _aware if rack_aware else _unaware

    def probability(a: int, r: int, g: int, q: int, k: int) -> float:
        if min(a, r, g) < 1 or not 0 <= q <= a or not 0 <= k <= (a - q) * r or (a if rack_aware else r) % g:
            return nan
        return patterns(a, r, g, q, k) / (comb(a, q) * comb((a - q) * r, k))

    return _each(probability, racks, nodes_per_rack, copies, lost_racks, lost_nodes)


def _grouped(N: int, g: int, k: int) -> int:
    """Patterns of k lost nodes that leave every group a node; a last incomplete group joins the one before."""
    if N % g == 0:
        return _whole_groups(N, g, k)
    ring = g + N % g
    return sum(_ring(ring, g, i) * _whole_groups(N - ring, g, k - i) for i in range(min(k, ring) + 1))


def _whole_groups(N: int, g: int, k: int) -> int:
    if k > N:
        return 0
    return sum((-1 if j % 2 else 1) * comb(N // g, j) * comb(N - j * g, k - j * g) for j in range(k // g + 1))


def _ring(N: int, g: int, k: int) -> int:
    """Patterns of k lost nodes of a ring without g neighbours."""
    kept = N - k
    if kept == 0:
        return int(N == 0)
    # Kept nodes cut the ring into as many runs of fewer than g lost ones; each pattern is seen from each kept node.
    runs = sum((-1 if j % 2 else 1) * comb(kept, j) * comb(N - 1 - j * g, kept - 1) for j in range(k // g + 1))
    return N * runs // kept


def _unaware(racks: int, per_rack: int, g: int, lost_racks: int, lost_nodes: int) -> int:
    return 0 if lost_racks else _whole_groups(racks * per_rack, g, lost_nodes)


def _aware(racks: int, per_rack: int, g: int, lost_racks: int, lost_nodes: int) -> int:
    """Coefficient of ``y^lost_racks x^lost_nodes`` in the product over groups of racks, each row one power of y."""
    one_group = [
        [comb(g, j) * _whole_groups(per_rack * (g - j), g - j, i) for i in range(lost_nodes + 1)]
        for j in range(min(g - 1, lost_racks) + 1)
    ]
    rows = [[int(i == q == 0) for i in range(lost_nodes + 1)] for q in range(lost_racks + 1)]
    for _ in range(racks // g):
        rows = [_convolved(rows, one_group, q) for q in range(lost_racks + 1)]
    return rows[lost_racks][lost_nodes]


def _convolved(rows: list[list[int]], group: list[list[int]], q: int) -> list[int]:
    """Row q of the product, truncated to the length of a row."""
    width = len(rows[0])
    return [
        sum(rows[q - j][n - i] * row[i] for j, row in enumerate(group[: q + 1]) for i in range(n + 1))
        for n in range(width)
    ]


def _each(function: Callable[..., float], *counts: ArrayLike) -> Floats:
    """A function of whole numbers over the broadcast shape of its arguments; nan where one is not whole."""
    arrays = np.broadcast_arrays(*(np.asarray(count, dtype=np.float64) for count in counts))
    elements = zip(*(a.ravel().tolist() for a in arrays), strict=True)
    values = [function(*map(int, e)) if all(count.is_integer() for count in e) else nan for e in elements]
    return np.array(values, dtype=np.float64).reshape(arrays[0].shape)
