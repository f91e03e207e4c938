"""Scenarios built for all values of a key at once: the costs, refusals and texts of those built one by one."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.load import shipped_configs
from ckptplan.sweep.built import Parts
from ckptplan.sweep.closed import is_closed_study
from ckptplan.sweep.study import GPUS, INTERVAL, Each, Member
from tests.sweep.studies import differing, member, numbers, numeric_keys, point_by_point, study, swept

CONFIGS = [config.name for config in shipped_configs()]
_AT_ONCE = ("failures.", "restart.", "storage.", "save[")
_RATES = {
    "failures.mtbf": ["failures.mtbf=3h"],
    "failures.mtbf_per_gpu": ["failures.mtbf_per_gpu=50000h"],
    "failures.mtbf_per_node": ["failures.mtbf_per_node=50d"],
    "failures.rate_per_node_day": ["failures.rate_per_node_day=6.5e-3"],
    **{
        f"failures.interruptions.{name}": ["failures.interruptions={count: 9, over: 30d, gpus: 512}"]
        for name in ("count", "over", "gpus")
    },
}


def at_once(spec: Member, key: str) -> bool:
    """Whether values of a key are taken at once."""
    asked = study(spec, {key: (1.0, 2.0)})
    return bool(Parts(asked, spec, (range(2),))._arrays)


def dense(key: str, value: float, count: int, seed: int) -> tuple[float | int, ...]:
    """Random values around one, that the key takes."""
    factors = 10.0 ** np.random.default_rng(seed).uniform(-0.8, 0.8, count)
    if isinstance(value, int):
        return tuple(dict.fromkeys(max(int(value * factor), 1) for factor in factors))
    most = 1.0 if "speed" in key or "communication" in key else 1e24
    return tuple(dict.fromkeys(min(float(value * factor), most) for factor in factors))


@pytest.mark.parametrize("name", CONFIGS)
def test_dense_values_of_every_key_give_the_numbers_of_their_plans(name: str) -> None:
    """With two numbers of GPUs, along each key of failures, restart, storage and saves, taken at once."""
    spec = member(name)
    if not is_closed_study(study(spec, {}), spec):
        pytest.skip("planned point by point")
    gpus = (spec.scenario.cluster.gpus, 2 * spec.scenario.cluster.gpus)
    for seed, (key, value) in enumerate(numeric_keys(name).items()):
        asked = study(spec, {GPUS: gpus, key: dense(key, value, 9, seed)}, each=Each.STRATEGY)
        if key.startswith((*_AT_ONCE, "training.step_time")) and is_closed_study(asked, spec):
            assert at_once(spec, key) == (not key.startswith("failures.record.")), key
            assert differing(swept(asked), point_by_point(asked)) == [], key


@pytest.mark.parametrize("key", _RATES)
@pytest.mark.parametrize("prior", [False, True])
def test_every_source_of_the_failure_rate_is_taken_at_once(key: str, prior: bool) -> None:
    """Also a count of zero, a prior, and beside a number of GPUs in a node that is built one by one."""
    counted = "interruptions" in key
    if prior and not counted:
        pytest.skip("a prior is weighed against a count")
    sets = [*_RATES[key], *(["failures.prior={shape: 2, mtbf_per_gpu: 40000h}"] if prior else [])]
    spec = member("lab-64", [*sets, "cluster.gpus_per_node=8"])
    value = {"count": 9.0, "over": 2.6e6, "gpus": 512}.get(key.rpartition(".")[2], 2e5)
    values = dense(key, 6.5e-3 if "rate" in key else value, 30, 3)
    values = (0.0, *values) if key.endswith("count") else values
    asked = study(spec, {key: values, "cluster.gpus_per_node": (4, 8)}, each=Each.METHOD)
    assert at_once(spec, key)
    assert differing(swept(asked), point_by_point(asked)) == []


def test_values_refused_beside_each_other_are_those_of_their_plans() -> None:
    """A peak below the sustained bandwidth, forward and backward longer than a step, no failure that ends a count."""
    rates = tuple(np.geomspace(5e11, 5e13, 9).tolist())
    peaks = {"storage.write_bandwidth": rates, "storage.peak_write_bandwidth": rates, INTERVAL: (600.0,)}
    spec = member("lab-64", ["storage={write_bandwidth: 1 TB/s, peak_write_bandwidth: 2 TB/s, read_bandwidth: 1 TB/s}"])
    asked = study(spec, peaks)
    assert differing(swept(asked), point_by_point(asked)) == []
    assert 0 < np.isnan(numbers(swept(asked), "goodput")).sum() < 81
    spec = member("lab-64", ["training.step_time=5s", "training.forward_backward=4s"])
    asked = study(spec, {"training.step_time": (3.0, 4.0, 5.0, 9.0), "training.forward_backward": (2.0, 4.5)})
    assert differing(swept(asked), point_by_point(asked)) == []
    spec = member("lab-64", ["failures.interruptions={count: 9, over: 30d, until: failure}"])
    asked = study(spec, {"failures.interruptions.count": (0.0, 0.5, 1.0, 4.0)})
    assert differing(swept(asked), point_by_point(asked)) == []
    asked = study(spec, {"failures.interruptions.count": (0.0, 0.5)})
    assert differing(swept(asked), point_by_point(asked)) == []


def test_keys_that_decide_more_than_numbers_are_built_one_by_one() -> None:
    """Tokens that make whole steps, and a global batch that replicas must divide, are taken in turn."""
    spec = member("llama3-405b", ["training={step_time: 5 s, tokens: 1e13, tokens_per_step: 1.6e7}"])
    asked = study(spec, {"training.tokens": (1e12, 5e12, 9e12)})
    assert not at_once(spec, "training.tokens")
    assert differing(swept(asked), point_by_point(asked)) == []


def test_a_refusal_that_does_not_hold_for_one_value_is_not_believed() -> None:
    """Where an array says that values are refused that a scenario takes, all are built one by one."""
    spec = member("lab-64")

    def wrong(values):  # type: ignore[no-untyped-def]
        scenario, _ = spec.along(values)  # type: ignore[misc]
        return scenario, [next(iter(values.values())) > 0.0]

    asked = study(spec._replace(along=wrong), {"restart.detect": (60.0, 90.0, 120.0)})
    assert differing(swept(asked), point_by_point(asked)) == []
    assert not np.isnan(numbers(swept(asked), "goodput")).any()


def test_a_whole_grid_that_is_too_much_is_built_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers, whatever is held."""
    from ckptplan.sweep import closed, evaluation

    axes = {"restart.detect": (60.0, 90.0, 120.0), "storage.latency": (1.0, 2.0, 3.0, 4.0), GPUS: (64, 128)}
    asked = study(member("lab-64", ["storage.latency=1s"]), axes)
    whole = swept(asked)
    monkeypatch.setattr(evaluation, "_CLOSED_ROWS", 5)
    for most in ("_MOST_OBJECTS", "_MOST_NUMBERS"):
        with monkeypatch.context() as patched:
            patched.setattr(closed, most, 0)
            assert differing(swept(asked), whole) == []
