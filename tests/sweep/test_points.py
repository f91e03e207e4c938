"""Points planned one by one: the numbers of a plan, whatever the scenario is."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ckptplan.cost.layout import with_gpus
from ckptplan.load import load, shipped_configs
from ckptplan.plan import Plan, Record, plan
from ckptplan.plan.record import TIERS
from ckptplan.spec.reading import read_spec
from ckptplan.sweep.columns import Columns
from ckptplan.sweep.study import GPUS, INTERVAL, Each, Member
from tests.sweep.studies import member, numbers, study, swept, texts

CONFIGS = [config.name for config in shipped_configs()]
QUICK = ("llama3-405b", "lab-64", "spot-24", "tinyllama-16", "rsc-1")
_OF_RECORD = [name for name in Record._fields if name not in {"strategy", "method", "given", "status"}]
_COLUMNS = ("strategy", "method", *_OF_RECORD, "goodput_typed", "typed_interval_s", "status")


def rows_of(found: Columns) -> list[tuple[object, ...]]:
    """Every row, nan as None."""
    columns = [texts(found, n) if n in {"strategy", "method", "status"} else numbers(found, n) for n in _COLUMNS]
    return [tuple(_known(value) for value in row) for row in zip(*columns, strict=True)]


def row_of(record: Record, step_time_s: float | None) -> tuple[object, ...]:
    """The same of a record."""
    values = [getattr(record, name) for name in ("strategy", "method", *_OF_RECORD, "goodput_typed")]
    return (*(_known(value) for value in values), record.typed_interval_s(step_time_s), record.status)


def _known(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return None if math.isnan(value) else float(value)


def best_of(made: Plan) -> Record:
    """What `optimize` recommends."""
    return next(r for r in made.records if r.strategy == TIERS) if made.tiers_are_best else made.best


@pytest.mark.parametrize("name", CONFIGS)
def test_a_sweep_without_an_axis_is_the_plan_for_every_shipped_config(name: str) -> None:
    """The one row of a point, those of its strategies and those of its methods equal the plan to the last digit."""
    made = plan(load(name, environment={}).scenario)
    step_s = made.step_time_s
    assert rows_of(swept(study(name, {}, _COLUMNS))) == [row_of(best_of(made), step_s)]
    tiers = [record for record in made.records if record.strategy == TIERS]
    of_strategies = [row_of(record, step_s) for record in (*made.optima(), *tiers)]
    assert rows_of(swept(study(name, {}, _COLUMNS, Each.STRATEGY))) == of_strategies
    of_methods = rows_of(swept(study(name, {}, _COLUMNS, Each.METHOD)))
    assert of_methods == [row_of(record, step_s) for record in made.records]


@pytest.mark.parametrize("name", QUICK)
def test_another_number_of_gpus_is_that_of_the_plan_at_that_scale(name: str) -> None:
    """Rows of other scales equal the records of `optimize --gpus`, and what had to change is in their status."""
    base = load(name, environment={}).scenario
    counts = (base.cluster.gpus, 7, 3 * base.cluster.gpus)
    made = plan(base, gpus=counts)
    found = swept(study(name, {GPUS: counts}, _COLUMNS, Each.METHOD))
    notes = {count: with_gpus(base.cluster, count)[1] if count != counts[0] else None for count in counts}
    wanted = []
    for record in made.records:
        note = notes[record.gpus]
        status = record.status if note is None else note if record.status == "ok" else f"{record.status}; {note}"
        wanted.append(row_of(record._replace(status=status), made.step_time_s))
    assert rows_of(found) == wanted


@pytest.mark.parametrize("name", [*QUICK, "llama3-405b-causes"])
def test_a_given_interval_is_that_of_the_plan(name: str) -> None:
    """Rows of given intervals equal the records of `optimize --interval`, their loss and its price included."""
    intervals = (30.0, 1800.0)
    made = plan(load(name, environment={}).scenario, intervals_s=intervals, gpu_hour_price=2.5)
    found = rows_of(swept(study(name, {INTERVAL: intervals}, _COLUMNS, Each.METHOD, gpu_hour_price=2.5)))
    wanted = [row_of(record, made.step_time_s) for record in made.given()]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))


def test_a_run_is_that_of_the_plan() -> None:
    """Expected wall time, quantiles, failures and saves of the best strategy equal those of the plan."""
    for name in ("llama3-405b", "lab-64"):
        run = plan(load(name, environment={}).scenario).run
        assert run is not None
        columns = ("expected_s", "sd_s", "p5_s", "p50_s", "p95_s", "failures", "saves")
        found = swept(study(name, {}, columns))
        wanted = (run.expected_s, run.sd_s, *run.quantiles_s, run.failures, run.saves)
        assert tuple(numbers(found, column)[0] for column in columns) == wanted


def test_a_run_to_several_tiers_is_that_of_the_plan() -> None:
    """Where tiers are best, the run is theirs."""
    made = plan(load("spectrum-16384", environment={}).scenario)
    assert made.run is not None
    found = swept(study("spectrum-16384", {}, ("strategy", "expected_s", "p95_s")))
    assert texts(found, "strategy") == [made.run.strategy]
    assert (numbers(found, "expected_s")[0], numbers(found, "p95_s")[0]) == (
        made.run.expected_s,
        made.run.quantiles_s[2],
    )


def test_a_point_that_cannot_be_planned_is_a_row_that_says_why() -> None:
    """A refused value leaves nan and the first fault in one line; the other points have their numbers."""
    asked = study("llama3-405b", {"cluster.layout.tensor": (8, 7)}, ("goodput_typed", "status", "strategy"))
    found = swept(asked)
    good, bad = numbers(found, "goodput_typed")
    assert good > 0.9
    assert math.isnan(bad)
    fault = "tensor 7 x pipeline 16 x data 128 = 14,336 GPUs, but cluster.gpus is 16,384"
    assert texts(found, "status")[1] == f"cluster.layout: {fault}"
    assert texts(found, "strategy")[1] is None
    by_strategy = swept(asked._replace(each=Each.STRATEGY))
    assert texts(by_strategy, "strategy") == ["synchronous", "asynchronous"] * 2
    assert [math.isnan(value) for value in numbers(by_strategy, "goodput_typed")] == [False, False, True, True]


def test_a_sweep_of_one_point_that_cannot_be_planned_says_why() -> None:
    """Without an axis, a spec that has no answer is one row without numbers."""
    spec = member("lab-64")
    refused = replace(spec.scenario.saves[0], flush_s=5.0)
    asked = study(spec._replace(scenario=replace(spec.scenario, saves=(refused,))), {}, ("goodput_typed", "status"))
    found = swept(asked)
    assert math.isnan(numbers(found, "goodput_typed")[0])
    assert texts(found, "status") == ["the save 'synchronous' is sharded, so nothing is flushed after its stall"]


def test_only_the_wanted_strategies_are_planned() -> None:
    """A scenario restricted to some strategies stays so when it is built again."""
    asked = study("llama3-405b", {"storage.write_bandwidth": (1e12, 2e12)}, ("goodput_typed",), Each.STRATEGY)
    spec = asked.members[0]
    kept = replace(spec.scenario, saves=spec.scenario.saves[:1], strategies=("synchronous",))
    found = swept(asked._replace(members=(spec._replace(scenario=kept),)))
    assert texts(found, "strategy") == ["synchronous"] * 2


def test_bytes_of_a_listed_state_can_be_swept() -> None:
    """A state of a list takes the values of its axis, although its node is read again with every scenario."""
    data = (
        b"model: {parameters: 1e9, state: [{name: weights, bytes_per_parameter: 4}]}\ncluster: {gpus: 8}\n"
        b"failures: {mtbf: 10 h}\nsave: [{stall: 60 s}]\nrestart: {total: 5 min}\n"
    )
    spec = read_spec(data, "run.yaml")
    one = Member("run", spec.scenario, spec.with_values)
    found = swept(study(one, {"model.state[0].bytes_per_parameter": (4.0, 8.0)}, ("size_bytes",)))
    small, large = numbers(found, "size_bytes")
    assert large - small == 4e9  # of 1e9 parameters


def test_a_run_without_an_end_has_a_reason() -> None:
    """Columns of the run to its end stay empty where it never ends, or has too many failures to be played."""
    law = "law: {name: weibull, shape: 0.7}"
    many = member(
        "lab-64",
        (f"failures={{mtbf: 20 s, {law}}}", "restart.total=1s", "training.duration=1000 d", "save[0].stall=1 s"),
    )
    for spec, why in (
        (many, "too many failures to be played to its end"),
        (member("lab-64", ("failures.mtbf=320 s",)), "the run never ends"),
    ):
        found = swept(study(spec, {}, ("expected_s", "goodput", "status")))
        assert [math.isnan(value) for value in numbers(found, "expected_s")] == [True]
        assert numbers(found, "goodput")[0] > 0.0
        assert why in texts(found, "status")[0]
