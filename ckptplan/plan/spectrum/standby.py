"""Nodes that stand by: how long a job waits for one, or how much it loses by going on with fewer replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ckptplan.cost.classes import ClassCost, FailureKind, Loss
from ckptplan.interval.spectrum import SpectrumShares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckptplan.cost.protection import Spares
    from ckptplan.plan.case import Case

Floats = npt.NDArray[np.float64]

_FEW = 5


def takes_a_node(one: ClassCost) -> bool:
    """Whether a failure of this class needs another node: not if only the process died, or the node comes back."""
    return one.loses in (Loss.NODE, Loss.NODES) and one.kind is not FailureKind.MAINTENANCE


def node_loss_rate(classes: Sequence[ClassCost], case: Case, found: SpectrumShares) -> Floats:
    """Nodes lost per second of wall time that is not spent waiting. [1/s]."""
    rate = sum(one.rate_per_s(case.mtbf_s) for one in classes if takes_a_node(one))
    return np.asarray(rate * (1.0 - found.restart))


def waiting_share(spares: Spares, classes: Sequence[ClassCost], case: Case, found: SpectrumShares) -> Floats:
    """Share of wall time that is lost for want of a node: waiting, or with replicas missing. [1]."""
    rate = node_loss_rate(classes, case, found)
    if spares.reshard_s is not None:
        return _shrunk(spares, classes, case, found)
    if spares.always_failing:
        from ckptplan.interval.spares import node_unavailability, spare_shortage_binomial

        total = sum(one.rate_per_s(case.mtbf_s) for one in classes if takes_a_node(one))
        down = node_unavailability(spares.repair_s, case.nodes / total) if total > 0.0 else 0.0
        return np.broadcast_to(spare_shortage_binomial(case.nodes, spares.nodes, down), rate.shape)
    from ckptplan.interval.spares import spare_wait_fraction

    return np.asarray(spare_wait_fraction(spares.nodes, rate, spares.repair_s).wait_fraction)


def _shrunk(spares: Spares, classes: Sequence[ClassCost], case: Case, found: SpectrumShares) -> Floats:
    """What replicas that are missing, and changes of their number, take from a job that goes on without them."""
    from ckptplan.interval.elastic import elastic_throughput

    rate = sum(one.rate_per_s(case.mtbf_s) for one in classes if takes_a_node(one))
    if rate == 0.0:
        return np.zeros_like(found.useful)
    restart_s = found.restart / (1.0 - found.restart) / rate  # of all recoveries, per node lost

    def lost(restart: Floats) -> Floats:
        kept = elastic_throughput(
            rate, spares.nodes, case.replicas, spares.repair_s, reshard=spares.reshard_s or 0.0, restart=restart
        )
        return np.asarray(np.clip(1.0 - kept * (1.0 + rate * restart), 0.0, 1.0))

    if restart_s.size <= _FEW:
        return lost(restart_s)
    # It changes little and smoothly with the recoveries: a few of them tell the others, for a search over intervals.
    known = np.linspace(np.nanmin(restart_s), np.nanmax(restart_s), _FEW)
    return np.asarray(np.interp(restart_s, known, lost(known)))


def mean_wait_s(spares: Spares, rate: float) -> float:
    """Mean of each wait for a node, if nodes fail while the job runs. [s]."""
    from ckptplan.interval.spares import spare_wait_fraction

    return float(spare_wait_fraction(spares.nodes, rate, spares.repair_s).mean_wait_s)


def spares_needed(spares: Spares, classes: Sequence[ClassCost], case: Case, rate: float) -> int | None:
    """Least number of spares for which the job waits no longer than wanted; None if no number is enough."""
    from ckptplan.interval import spares as formulas

    if spares.always_failing:
        total = sum(one.rate_per_s(case.mtbf_s) for one in classes if takes_a_node(one))
        down = formulas.node_unavailability(spares.repair_s, case.nodes / total) if total > 0.0 else 0.0
        found = formulas.spares_needed_binomial(case.nodes, down, spares.most_waiting)
    else:
        found = formulas.spares_needed(rate * spares.repair_s, spares.most_waiting)
    return int(found) if np.isfinite(found) else None
