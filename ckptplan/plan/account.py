"""Interval and shares where the closed forms do not hold: another failure law, or a host copy that survives."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ckptplan.cost.scenario import Law, LawName
from ckptplan.interval.breakdown import Shares

Floats = npt.NDArray[np.float64]

_NEAR = 1_000  # steps on either side of the best interval of recorded gaps


class FailuresOfJob(NamedTuple):
    """How the failures of a job at one scale come, and how many of them leave the copy in host memory. [s, 1]."""

    law: Law
    mtbf_s: float
    nodes: int
    copy_survives: float

    @property
    def gaps_s(self) -> Floats:
        """Recorded gaps, scaled to the MTBF. [s]."""
        recorded = np.asarray(self.law.gaps_s, dtype=np.float64)
        return np.asarray(recorded * (self.mtbf_s / recorded.mean()))

    @property
    def are_of_nodes(self) -> bool:
        """Whether several nodes fail, each by the law and keeping its age."""
        return self.law.of_nodes and self.nodes > 1


def best_interval(failures: FailuresOfJob, stall_s: float, process: dict[str, Any]) -> float:
    """Work between saves that maximises goodput; the floor is not applied. [s]."""
    law, mtbf_s = failures.law, failures.mtbf_s
    if law.name is LawName.EXPONENTIAL:
        return _best_exponential(failures, stall_s, process)
    if law.name is LawName.RECORDED:
        from ckptplan.interval.empirical import empirical_interval

        return float(empirical_interval(failures.gaps_s, stall_s, **process).interval_s)
    if failures.are_of_nodes:
        from ckptplan.interval.superposed import superposed_interval

        node_s, nodes = mtbf_s * failures.nodes, failures.nodes
        return float(superposed_interval(stall_s, node_s, law.name, law.shape, nodes=nodes, **process))
    from ckptplan.interval.renewal_optimum import renewal_interval

    return float(renewal_interval(stall_s, mtbf_s, law.name, law.shape, **process))


def _best_exponential(failures: FailuresOfJob, stall_s: float, process: dict[str, Any]) -> float:
    if failures.copy_survives > 0.0:
        from ckptplan.interval.host_copy import host_copy_interval

        recovery = {name: process[name] for name in ("downtime", "restart", "strike")}
        flush, speed, survives = process["flush"], process["speed"], failures.copy_survives
        return float(host_copy_interval(stall_s, flush, speed, failures.mtbf_s, survives=survives, **recovery))
    from ckptplan.interval.asynchronous import effective_stall
    from ckptplan.interval.exact import exact_interval

    return float(exact_interval(effective_stall(stall_s, process["flush"], process["speed"]), failures.mtbf_s))


def shares(failures: FailuresOfJob, interval_s: npt.ArrayLike, stall_s: float, process: dict[str, Any]) -> Shares:
    """Shares of wall time by the law of the failures, at one interval or several."""
    law, mtbf_s = failures.law, failures.mtbf_s
    if failures.copy_survives > 0.0:
        from ckptplan.interval.host_copy import host_copy_shares

        one = {name: value for name, value in process.items() if name != "in_flight"}  # it is one
        return host_copy_shares(interval_s, stall_s, mtbf_s, survives=failures.copy_survives, **one)
    if law.name is LawName.RECORDED:
        from ckptplan.interval.empirical import empirical_shares

        return empirical_shares(interval_s, failures.gaps_s, stall_s, **process)
    if failures.are_of_nodes:
        from ckptplan.interval.superposed import superposed_shares

        node_s, nodes = mtbf_s * failures.nodes, failures.nodes
        return superposed_shares(interval_s, stall_s, node_s, law.name, law.shape, nodes=nodes, **process)
    from ckptplan.interval.renewal import renewal_shares

    return renewal_shares(interval_s, stall_s, mtbf_s, law.name, law.shape, **process)


def steps_near(interval_s: float, step_time_s: float, least: int, *, wide: bool) -> npt.NDArray[np.int64]:
    """Whole steps of which one is the best: the neighbours of an interval, or any number near it.

    Goodput of recorded gaps jumps, so that the neighbours of its maximum may lie behind a jump.
    """
    below = max(int(interval_s / step_time_s), least)
    near = _NEAR if wide else 1
    first = max(least, below - near + 1)
    return np.arange(first, max(below + near, first) + 1)
