"""Failures with a memory: what a hazard that falls with age allows, and what new nodes do to a young cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ckptplan.cost.scenario import LawName, Scenario
from ckptplan.plan.case import Case

_SHOWN = 10  # saves after a restart


class ScheduleFacts(NamedTuple):
    """Saves whose distance follows a hazard that changes with the time since the last failure."""

    strategy: str
    first_period_s: float
    tenth_period_s: float
    goodput: float
    gain: float  # of goodput, over the best equal intervals


class EarlyFacts(NamedTuple):
    """Failures of new nodes over the first while, against the long run."""

    over_s: float
    first_failures: float
    long_run_failures: float


def schedule_facts(case: Case) -> ScheduleFacts | None:
    """The best unequal intervals, where the hazard of the job changes and nothing is flushed in the background."""
    law = case.law
    smooth = law.name in {LawName.WEIBULL, LawName.GAMMA, LawName.LOGNORMAL} and not law.of_nodes
    if not smooth or case.save.flush_s > 0.0:
        return None
    from ckptplan.interval.schedule import fluid_schedule

    found = fluid_schedule(
        case.save.stall_s,
        case.mtbf_s,
        law.name,
        law.shape,
        downtime=case.restart.downtime_s,
        restart=case.restart.restart_s,
        strike=case.strike,
    )
    if len(found.instants_s) < _SHOWN:
        return None
    periods = np.diff(found.instants_s[:_SHOWN], prepend=0.0)
    return ScheduleFacts(case.save.name, float(periods[0]), float(periods[-1]), found.goodput, found.gain)


def early_facts(scenario: Scenario) -> EarlyFacts | None:
    """First failures of nodes that are all new at the start of the run, where its length is known."""
    law, work_s = scenario.failures.law, scenario.training.work_s
    if not law.of_nodes or work_s is None:
        return None
    from ckptplan.interval.superposed import early_life_first_failures, long_run_failures

    nodes = scenario.cluster.nodes
    node_s = nodes * scenario.failures.mtbf_per_gpu_s / scenario.cluster.gpus
    first = float(early_life_first_failures(work_s, node_s, nodes, law.name, law.shape))
    return EarlyFacts(work_s, first, float(long_run_failures(work_s, node_s, nodes)))
