"""Whole runs simulated at the interval of a row; the seed belongs to the point, whoever plays it and when."""

from __future__ import annotations

import numpy as np

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.plan.simulation import simulate_plan
from ckptplan.plan.status import OK
from ckptplan.sweep.rows import Row
from ckptplan.sweep.study import Study


def seed_of(study: Study, point: int) -> int:
    """The seed of a point, by its number in the study: that of a spawned sequence of random numbers."""
    sequence = np.random.SeedSequence(entropy=study.seed, spawn_key=(point,))
    return int(sequence.generate_state(1, np.uint64)[0])


def simulated(study: Study, scenario: Scenario, row: Row, point: int) -> Row:
    """A row with its runs simulated at the number to type; its status says why where they cannot be.

    Parameters
    ----------
    study : Study
        Runs of each point, and the seed.
    scenario : Scenario
        Of the point.
    row : Row
        With its record.
    point : int
        Number of the point in the study.
    """
    record = row.record
    if record is None:
        return row
    try:
        played = simulate_plan(
            scenario,
            strategy=record.strategy,
            interval_s=record.typed_interval_s(row.step_time_s),
            runs=study.runs,
            seed=seed_of(study, point),
        )
    except InputError as error:
        why = f"not simulated: {error}"
        return row._replace(status=why if row.status == OK else f"{row.status}; {why}")
    return row._replace(played=played)
