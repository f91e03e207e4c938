"""What one more GPU adds: the difference to the next size, as two plans of their own have it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckptplan.cost.scenario import Law, LawName
from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.plan.case import cases_of
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.scaling import scaling


def useful(gpus: int, name: str, strategy: str) -> float:
    """Useful GPUs by a spec of that size itself, whose batch grows with it."""
    spec = load(name, environment={})
    each = spec.scenario.cluster.layout.tensor * spec.scenario.cluster.layout.pipeline
    sized = load(name, sets=[f"cluster.gpus={gpus}", f"cluster.layout.data={gpus // each}"], environment={}).scenario
    (case,) = [case for case in cases_of(sized) if case.save.name == strategy]
    return gpus * case.goodput(case.optimum("exact"))


@pytest.mark.parametrize(
    ("name", "strategy", "step", "printed"),
    [("llama3-405b", "asynchronous", 128, 0.855), ("llama3-405b", "synchronous", 128, 0.760)],
)
def test_one_more_adds_what_the_next_replica_adds(name: str, strategy: str, step: int, printed: float) -> None:
    """The useful GPUs of the run with one replica more, less those of the run, per GPU: to the digits printed too."""
    scenario = load(name, environment={}).scenario
    gpus = scenario.cluster.gpus
    found = scaling(scenario, gpus=[gpus], gpu_hour_price=2.5).planned(strategy)
    rise = (useful(gpus + step, name, strategy) - useful(gpus, name, strategy)) / step
    assert found.next_gpus == gpus + step
    assert found.marginal_gpus == pytest.approx(rise, rel=1e-9)
    assert round(rise, 3) == printed
    assert found.next_hour_price == pytest.approx(2.5 / rise, rel=1e-9)


def test_a_small_job_bends_within_one_gpu() -> None:
    """The 25th GPU adds 2 % less than the slope at 24 says."""
    curve = Curve(load("spot-24", environment={}).scenario)
    for strategy in curve.strategies:
        there, here, below = (curve.useful(strategy, gpus) for gpus in (25, 24, 23))
        assert curve.marginal(strategy, 24).per_gpu == pytest.approx(there - here, rel=1e-12)
        assert there - here < (there - below) / 2


def test_several_tiers_are_compared_at_the_best_of_both_sizes() -> None:
    """A pattern that is kept over one replica costs less than a thousandth of what that adds."""
    scenario = load("spectrum-16384", environment={}).scenario
    curve = Curve(replace(scenario, training=replace(scenario.training, global_batch=None)))
    found = curve.marginal("tiers", 16_384)
    rise = (curve.useful("tiers", 16_512) - curve.useful("tiers", 16_384)) / 128
    assert found.per_gpu == pytest.approx(rise, rel=1e-3)


def test_recorded_gaps_are_compared_over_a_tenth() -> None:
    """Their best interval jumps, and what single replicas add with it; over a tenth more GPUs it evens out."""
    scenario = load("llama3-405b", environment={}).scenario
    gaps = tuple(np.random.default_rng(1).exponential(3 * 3600.0, 50).tolist())
    recorded = replace(scenario, failures=replace(scenario.failures, law=Law(LawName.RECORDED, gaps_s=gaps)))
    curve = Curve(recorded)
    found = curve.marginal("synchronous", 16_384)
    assert found.to_gpus == 141 * 128
    rise = curve.useful("synchronous", 141 * 128) - curve.useful("synchronous", 16_384)
    assert found.per_gpu == pytest.approx(rise / (13 * 128), rel=1e-12)


def test_a_next_size_that_cannot_be_planned_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """No number then, no price, and the status says which size has no plan and why."""
    scenario = load("llama3-405b", environment={}).scenario
    whole = Curve.cases

    def cases(self: Curve, gpus: int, *, split: bool = True) -> object:
        if gpus == 16_512:
            raise InputError("the disk is full")
        return whole(self, gpus, split=split)

    monkeypatch.setattr(Curve, "cases", cases)
    for record in scaling(scenario, gpus=[16_384], gpu_hour_price=1.0).records:
        assert (record.marginal_gpus, record.next_hour_price) == (None, None)
        assert record.status == "what more GPUs add is not known: 16,512 GPUs cannot be planned (the disk is full)"
