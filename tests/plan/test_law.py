"""Failure laws other than exponential, in a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ckptplan.cost.scenario import Law, LawName
from ckptplan.errors import InputError
from ckptplan.interval.empirical import empirical_goodput, empirical_interval
from ckptplan.interval.renewal import renewal_goodput
from ckptplan.interval.renewal_optimum import renewal_interval
from ckptplan.interval.superposed import superposed_goodput
from ckptplan.load import load
from ckptplan.plan import Plan, plan
from ckptplan.plan.case import cases_of

_GAPS = [812, 1530, 2210, 3333, 4100, 5875, 7300, 9050, 14800, 40990]
_SAVE = "save=[{name: blocking, mode: sharded, stall: 60 s}]"


def _planned(*sets: str, config: str = "llama3-405b", **options: object) -> Plan:
    spec = load(config, sets=[_SAVE, "training={}", *sets])
    return plan(spec.scenario, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("written", "name", "shape"),
    [
        ("{name: weibull, shape: 0.7}", "weibull", 0.7),
        ("{name: gamma, shape: 3}", "gamma", 3.0),
        ("{name: lognormal, sigma: 1.5}", "lognormal", 1.5),
    ],
)
def test_the_renewal_row_is_the_best_of_its_law(written: str, name: str, shape: float) -> None:
    """A law adds a row of its own, with the interval and the goodput of the renewal formulas, and it is recommended."""
    made = _planned("failures={mtbf: 10000 s}", f"failures.law={written}")
    assert [record.method for record in made.records] == ["young", "daly", "exact", "renewal"]
    best = made.best
    assert best.method == "renewal"
    assert best.interval_s == pytest.approx(
        float(renewal_interval(60.0, 10_000.0, name, shape, restart=600.0)), rel=1e-6
    )
    for record in made.records:
        law = float(renewal_goodput(record.interval_s, 60.0, 10_000.0, name, shape, restart=600.0))
        assert record.goodput_exact == pytest.approx(law, rel=1e-9)
        assert record.goodput_exact <= best.goodput_exact + 1e-12
    assert sum((best.goodput, best.save_fraction, best.rework_fraction, best.restart_fraction)) == pytest.approx(1.0)
    assert any(name in text for text in made.assumptions)


def test_exponential_by_name_changes_nothing() -> None:
    """The law that is the default can be written, and gives the plan without it."""
    assert _planned("failures.law={name: exponential}").records == _planned().records


def test_the_renewal_method_of_exponential_failures_is_exact() -> None:
    """Asked for by name, renewal gives the exact row for exponential failures."""
    exact, renewal = _planned(methods=["exact", "renewal"]).records
    assert renewal.interval_s == exact.interval_s
    assert renewal.goodput == exact.goodput


def test_recorded_gaps_are_read_beside_the_spec(tmp_path: Path) -> None:
    """Ten recorded gaps give their true maximiser, 1,400 s, with a warning that they are few and Young's interval."""
    (tmp_path / "gaps.csv").write_text("gap_s\n" + "\n".join(map(str, _GAPS)) + "\n")
    (tmp_path / "run.yaml").write_text(
        "model: {parameters: 70e9}\ncluster: {gpus: 512}\nfailures: {law: {name: recorded, file: gaps.csv}}\n"
        "save: [{mode: sharded, stall: 60 s}]\nrestart: {total: 10 min}\nassume: {failures_strike: safe}\n"
    )
    made = plan(load(str(tmp_path / "run.yaml")).scenario)
    assert made.best.interval_s == pytest.approx(1400.0)
    assert made.best.goodput == pytest.approx(0.8604166667, rel=1e-9)
    assert made.best.interval_s == empirical_interval(_GAPS, 60.0, restart=600.0, strike="safe").interval_s
    (warning,) = [text for text in made.warnings if "gaps recorded: only 10" in text]
    assert "by young, from their mean alone: sharded 1,039 s" in warning


def test_nodes_that_keep_their_age() -> None:
    """A law of each node gives the goodput of the superposition, near that of exponential failures for many nodes."""
    made = _planned(
        "cluster={gpus: 128}", "failures={mtbf: 11135 s}", "failures.law={name: weibull, shape: 0.7, of: node}"
    )
    best = made.best
    expected = superposed_goodput(best.interval_s, 60.0, 16 * 11_135.0, "weibull", 0.7, nodes=16, restart=600.0)
    assert best.goodput == pytest.approx(float(expected), rel=1e-9)
    exponential = next(r for r in made.records if r.method == "exact")
    assert abs(best.goodput_exact - exponential.goodput) < 0.005


def test_new_nodes_fail_more_often_than_in_the_long_run() -> None:
    """16,384 new nodes of shape 0.7 have 1,419 first failures in 54 days, against 419 in the long run."""
    sets = ["cluster={gpus: 16384, gpus_per_node: 1}", "failures={mtbf_per_gpu: 50677 h}", "training={duration: 54 d}"]
    spec = load("llama3-405b", sets=[_SAVE, *sets, "failures.law={name: weibull, shape: 0.7, of: node}"])
    from ckptplan.plan.memory import early_facts

    early = early_facts(spec.scenario)
    assert early is not None
    assert early.first_failures == pytest.approx(1419.098374)
    assert early.long_run_failures == pytest.approx(419.0000197)


def test_unequal_intervals_are_shown_with_their_gain() -> None:
    """For a falling hazard the plan tells two periods and what they gain, 0.13 points at shape 0.7."""
    made = _planned(
        "failures={mtbf: 10000 s}", "failures.law={name: weibull, shape: 0.7}", "assume.failures_strike=safe"
    )
    assert made.schedule is not None
    assert made.schedule.first_period_s == pytest.approx(685.5437958)
    assert made.schedule.tenth_period_s == pytest.approx(1199.848956)
    assert made.schedule.gain == pytest.approx(0.0013, abs=5e-5)


def test_a_host_copy_is_left_out_with_a_word_under_another_law() -> None:
    """What is counted for exponential failures only is left out on the careful side, and said."""
    sets = ["save=[{mode: asynchronous, stall: 1 s, flush: 100 s}]", "failures.host_copy_survives=0.5"]
    made = _planned(*sets, "failures.law={name: weibull, shape: 0.7}")
    assert any("host_copy_survives is counted for exponential failures" in text for text in made.warnings)


def test_whole_steps_of_recorded_gaps_are_searched() -> None:
    """Goodput of a record jumps: the number of steps is the best of all near it, not the better neighbour."""
    gaps = tuple(np.random.default_rng(5).exponential(40_000.0, 60))
    case = cases_of(load("llama3-405b", sets=[_SAVE]).scenario)[0]
    case = case._replace(mtbf_s=float(np.mean(gaps)), law=Law(LawName.RECORDED, gaps_s=gaps), step_time_s=3.0)
    steps = case.steps(case.optimum("renewal"), wide=True)
    counts = np.arange(max(steps - 800, 1), steps + 800)
    goodput = empirical_goodput(counts * 3.0, gaps, 60.0, restart=600.0)
    assert steps == counts[np.argmax(goodput)]


def test_very_many_nodes_are_taken_as_exponential_for_the_run() -> None:
    """2,048 nodes that keep their age have all but exponential failures: the run is computed, and says so."""
    spec = load("llama3-405b", sets=[_SAVE, "failures.law={name: weibull, shape: 0.7, of: node}"])
    made = plan(spec.scenario, methods=["renewal"])
    assert made.run is not None
    assert (made.run.runs, made.run.taken_as_exponential) == (0, True)


def test_the_clock_of_recorded_gaps_is_warned_of() -> None:
    """With a clock that stands still in recovery, gaps by wall time count recoveries twice."""
    scenario = load("llama3-405b", sets=[_SAVE, "assume.failures_strike=safe"]).scenario
    failures = replace(scenario.failures, law=Law(LawName.RECORDED, gaps_s=tuple(map(float, _GAPS))))
    assert any("must not contain the recoveries" in w for w in plan(replace(scenario, failures=failures)).warnings)


def test_gaps_too_short_for_any_save_are_an_error() -> None:
    """Where no gap lasts until one save is durable, there is no best interval, and the error says why."""
    case = cases_of(load("llama3-405b", sets=[_SAVE]).scenario)[0]
    case = case._replace(mtbf_s=15.0, law=Law(LawName.RECORDED, gaps_s=(10.0, 20.0)))
    with pytest.raises(InputError, match="long enough for a restart and one save"):
        case.optimum("renewal")
