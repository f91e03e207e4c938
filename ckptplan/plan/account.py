"""Interval and shares where the closed forms do not hold: another failure law, or a host copy that survives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckptplan.cost.scenario import LawName
from ckptplan.interval.breakdown import Shares

if TYPE_CHECKING:
    import numpy.typing as npt

    from ckptplan.plan.case import Case

_NEAR = 1_000  # steps on either side


def best_interval(case: Case) -> float:
    """Work between saves that maximises goodput by the law of the failures; the floor is not applied. [s]."""
    law = case.law
    if case.is_exponential:
        return _best_exponential(case)
    if law.name is LawName.RECORDED:
        from ckptplan.interval.empirical import empirical_interval

        return float(empirical_interval(gaps(case), case.save.stall_s, **case.process).interval_s)
    if law.of_nodes and case.nodes > 1:
        from ckptplan.interval.superposed import superposed_interval

        node_s = case.mtbf_s * case.nodes
        return float(
            superposed_interval(case.save.stall_s, node_s, law.name, law.shape, nodes=case.nodes, **case.process)
        )
    from ckptplan.interval.renewal_optimum import renewal_interval

    return float(renewal_interval(case.save.stall_s, case.mtbf_s, law.name, law.shape, **case.process))


def shares(case: Case, interval_s: npt.ArrayLike) -> Shares:
    """Shares of wall time by the law of the failures, at one interval or several."""
    law, stall_s, mtbf_s = case.law, case.save.stall_s, case.mtbf_s
    if case.copy_survives > 0.0:
        from ckptplan.interval.host_copy import host_copy_shares

        process = {name: value for name, value in case.process.items() if name != "in_flight"}  # it is one
        return host_copy_shares(interval_s, stall_s, mtbf_s, survives=case.copy_survives, **process)
    if law.name is LawName.RECORDED:
        from ckptplan.interval.empirical import empirical_shares

        return empirical_shares(interval_s, gaps(case), stall_s, **case.process)
    if law.of_nodes and case.nodes > 1:
        from ckptplan.interval.superposed import superposed_shares

        node_s = mtbf_s * case.nodes
        return superposed_shares(interval_s, stall_s, node_s, law.name, law.shape, nodes=case.nodes, **case.process)
    from ckptplan.interval.renewal import renewal_shares

    return renewal_shares(interval_s, stall_s, mtbf_s, law.name, law.shape, **case.process)


def best_steps(case: Case, interval_s: float, step_time_s: float, least: int) -> int:
    """Whole steps with the best goodput: a neighbour of the optimum, or for recorded gaps any number near it.

    Goodput of recorded gaps jumps, so that the neighbours of its maximum may lie behind a jump.
    """
    import numpy as np

    below = max(int(interval_s / step_time_s), least)
    near = _NEAR if case.law.name is LawName.RECORDED else 1
    first = max(least, below - near + 1)
    counts = np.arange(first, max(below + near, first) + 1)
    return int(counts[np.argmax(shares(case, counts * step_time_s).goodput)])


def gaps(case: Case) -> npt.NDArray[Any]:
    """Recorded gaps, scaled to the MTBF of the case. [s]."""
    import numpy as np

    recorded = np.asarray(case.law.gaps_s, dtype=np.float64)
    return np.asarray(recorded * (case.mtbf_s / recorded.mean()))


def _best_exponential(case: Case) -> float:
    if case.copy_survives > 0.0:
        from ckptplan.interval.host_copy import host_copy_interval

        save = case.save
        return float(
            host_copy_interval(
                save.stall_s,
                save.flush_s,
                case.speed,
                case.mtbf_s,
                survives=case.copy_survives,
                downtime=case.restart.downtime_s,
                restart=case.restart.restart_s,
                strike=case.strike,
            )
        )
    from ckptplan.interval.exact import exact_interval

    return float(exact_interval(case.effective_stall_s, case.mtbf_s))
