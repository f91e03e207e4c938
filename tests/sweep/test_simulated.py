"""Simulated points: the runs of `simulate_plan`, by seeds that belong to points."""

from __future__ import annotations

import math

import numpy as np

from ckptplan.load import load
from ckptplan.plan.simulation import simulate_plan
from ckptplan.sweep.evaluation import Chunk, evaluate
from ckptplan.sweep.simulated import seed_of
from ckptplan.sweep.study import GPUS, Each
from tests.sweep.studies import member, numbers, study, swept, texts

_COLUMNS = (
    "strategy",
    "typed_interval_s",
    "goodput_typed",
    "simulated_goodput",
    "simulated_goodput_error",
    "simulated_wall_s",
    "simulated_wall_error_s",
    "simulated_p5_s",
    "simulated_p50_s",
    "simulated_p95_s",
    "simulated_failures",
    "status",
)


def test_a_simulated_point_is_that_of_simulate_plan() -> None:
    """Mean, error and quantiles equal those of the same runs played by themselves, at the number to type."""
    asked = study("lab-64", {}, _COLUMNS, Each.STRATEGY, runs=50, seed=3)
    found = swept(asked)
    for row, strategy in enumerate(texts(found, "strategy")):
        made = simulate_plan(
            load("lab-64", environment={}).scenario,
            strategy=str(strategy),
            interval_s=numbers(found, "typed_interval_s")[row],
            runs=50,
            seed=seed_of(asked, 0),
        )
        wanted = (made.goodput.mean, made.goodput.standard_error, made.wall_s.mean, made.wall_s.standard_error)
        wanted += (made.wall_s.p5, made.wall_s.p50, made.wall_s.p95, made.failures.mean)
        assert tuple(numbers(found, name)[row] for name in _COLUMNS[3:-1]) == wanted


def test_simulated_goodput_agrees_with_the_formula() -> None:
    """Of six points none is five standard errors away from the exact goodput, long runs taken."""
    axes = {GPUS: (32, 64, 128), "restart.detect": (60.0, 900.0)}
    spec = member("lab-64", ["training.duration=3 years"])
    found = swept(study(spec, axes, _COLUMNS, runs=60))
    away = np.array(numbers(found, "simulated_goodput")) - np.array(numbers(found, "goodput_typed"))
    assert np.all(np.abs(away) < 5.0 * np.array(numbers(found, "simulated_goodput_error")))


def test_neither_chunks_nor_other_points_change_a_simulated_point() -> None:
    """Each point has a seed by its number in the study; the seeds of points and of studies differ."""
    asked = study("lab-64", {GPUS: (32, 64, 128)}, _COLUMNS, runs=20)
    asked = asked._replace(members=(*asked.members, member("spot-24")))
    whole = numbers(swept(asked), "simulated_wall_s")
    alone = [evaluate(asked, Chunk(spec, at, at + 1)) for spec in range(2) for at in range(3)]
    assert [numbers(part, "simulated_wall_s")[0] for part in alone] == whole
    seeds = {seed_of(asked._replace(seed=seed), point) for seed in range(3) for point in range(6)}
    assert len(seeds) == 18


def test_a_run_that_makes_no_progress_says_so() -> None:
    """The row keeps its plan, has no simulated numbers, and its status says why."""
    spec = member("lab-64", ["failures.mtbf_per_node=6 min"])
    found = swept(study(spec, {}, _COLUMNS, runs=5))
    assert math.isnan(numbers(found, "simulated_goodput")[0])
    assert not math.isnan(numbers(found, "goodput_typed")[0])
    status = str(texts(found, "status")[0])
    assert "hardly any progress" in status
    assert "not simulated: " in status
