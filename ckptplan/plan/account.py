"""Interval and shares where the closed forms do not hold: another failure law, or a host copy that survives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckptplan.cost.scenario import LawName
from ckptplan.interval.breakdown import Shares

if TYPE_CHECKING:
    import numpy.typing as npt

    from ckptplan.plan.case import Case


def best_interval(case: Case) -> float:
    """Work between saves that maximises goodput by the law of the failures; the floor is not applied. [s]."""
    law = case.law
    if case.is_exponential:
        return _best_exponential(case)
    if law.name is LawName.RECORDED:
        from ckptplan.interval.empirical import empirical_interval

        return float(empirical_interval(gaps(case), case.save.stall_s, **_process(case)).interval_s)
    if law.of_nodes and case.nodes > 1:
        from ckptplan.interval.superposed import superposed_interval

        node_s = case.mtbf_s * case.nodes
        return float(
            superposed_interval(case.save.stall_s, node_s, law.name, law.shape, nodes=case.nodes, **_process(case))
        )
    from ckptplan.interval.renewal_optimum import renewal_interval

    return float(renewal_interval(case.save.stall_s, case.mtbf_s, law.name, law.shape, **_process(case)))


def shares(case: Case, interval_s: float) -> Shares:
    """Shares of wall time by the law of the failures."""
    law, stall_s, mtbf_s = case.law, case.save.stall_s, case.mtbf_s
    if case.copy_survives > 0.0:
        from ckptplan.interval.host_copy import host_copy_shares

        return host_copy_shares(
            interval_s, stall_s, mtbf_s, survives=case.copy_survives, **_recovery(case), **_flush(case)
        )
    if law.name is LawName.RECORDED:
        from ckptplan.interval.empirical import empirical_shares

        return empirical_shares(interval_s, gaps(case), stall_s, **_process(case))
    if law.of_nodes and case.nodes > 1:
        from ckptplan.interval.superposed import superposed_shares

        node_s = mtbf_s * case.nodes
        return superposed_shares(interval_s, stall_s, node_s, law.name, law.shape, nodes=case.nodes, **_process(case))
    from ckptplan.interval.renewal import renewal_shares

    return renewal_shares(interval_s, stall_s, mtbf_s, law.name, law.shape, **_process(case))


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
                **_recovery(case),
            )
        )
    from ckptplan.interval.exact import exact_interval

    return float(exact_interval(case.effective_stall_s, case.mtbf_s))


def _process(case: Case) -> dict[str, Any]:
    return {**_recovery(case), **_flush(case), "in_flight": case.save.in_flight}


def _recovery(case: Case) -> dict[str, Any]:
    return {"downtime": case.restart.downtime_s, "restart": case.restart.restart_s, "strike": case.strike}


def _flush(case: Case) -> dict[str, Any]:
    return {"flush": case.save.flush_s, "speed": case.speed}
