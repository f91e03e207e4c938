"""A plan with several classes of failures: the same as without where they are alike, and a ledger that adds up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckptplan.cost.scenario import Scenario, Strike
from ckptplan.interval.verified_optimum import verified_optimum
from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.case import cases_of
from ckptplan.plan.spectrum.shares import CaseShares
from ckptplan.spec.reading import read_spec

BASE = """\
name: a run
model: {{parameters: 405e9, state: adam-14}}
cluster: {{gpus: 16384, gpus_per_node: 8}}
failures:
  interruptions: {{count: 419, over: 54 d}}
{classes}
storage: {{write_bandwidth: 2 TB/s}}
save:
  - {{name: blocking, mode: sharded, stall: 60 s}}
  - {{name: background, mode: asynchronous, stall: 5 s, flush: 60 s, training_speed_while_flushing: 0.97}}
restart: {{detect: 1 min, replace: 2 min, initialise: 3 min, load: 3 min, warm_up: 1 min}}
training: {{step_time: 5 s}}
{more}
"""


def scenario(classes: str = "", more: str = "") -> Scenario:
    """The base run with classes, one per line, and further groups."""
    lines = "  classes:\n" + "".join(f"    - {{{line.strip()}}}\n" for line in classes.splitlines()) if classes else ""
    return read_spec(BASE.format(classes=lines, more=more).encode(), "run.yaml").scenario


EVERY_KIND = """kind: hang, share: 2 %
kind: silent corruption, share: 1.5 %, detect: 4 h
kind: loss spike, every: 60 h
kind: slow node, mtbf_per_gpu: 1_000_000 h, slowdown: 10 %, detect: 30 min
kind: preemption, every: 30 h, notice: 30 s
kind: maintenance, every: 28 h"""


@pytest.mark.parametrize("strike", list(Strike))
def test_classes_that_are_alike_change_nothing(strike: Strike) -> None:
    """Classes with the recovery of the spec give the plan of a spec without classes."""
    alike = replace(scenario("name: a, share: 30 %\nname: b, share: 50 %"), failures_strike=strike)
    plain = plan(replace(scenario(), failures_strike=strike))
    found = plan(alike)
    for one, two in zip(plain.optima(), found.optima(), strict=True):
        assert two.interval_steps == one.interval_steps
        assert two.interval_s == pytest.approx(one.interval_s, rel=1e-5)
        assert two.goodput_exact == pytest.approx(one.goodput_exact, rel=1e-12)
        assert two.goodput_typed == pytest.approx(one.goodput_typed, rel=1e-13)
    assert [one.name for one in found.classes] == ["a", "b", "other"]
    assert found.classes[2].lost_fraction / found.classes[1].lost_fraction == pytest.approx(0.4, rel=1e-12)


@pytest.mark.parametrize("more", ["", "verification: {time: 10 s}", "spares: {nodes: 6, repair: 12 h}"])
def test_the_ledger_adds_up(more: str) -> None:
    """Useful work, saves, waiting and what each class takes sum to one, at any interval."""
    for case in cases_of(scenario(EVERY_KIND, more)):
        for interval_s in (100.0, 600.0, 5000.0):
            found = case.shares(interval_s)
            assert isinstance(found, CaseShares)
            assert sum(float(part) for part in found[:6]) == pytest.approx(1.0, abs=1e-13)
    made = plan(scenario(EVERY_KIND, more))
    case = next(one for one in cases_of(scenario(EVERY_KIND, more)) if one.save.name == made.best.strategy)
    at = case.shares(case.typed_interval_s)
    lost = sum(one.lost_fraction for one in made.classes)
    waiting = float(getattr(at, "waiting", 0.0))
    assert float(at.useful) + float(at.save) + waiting + lost == pytest.approx(1.0, abs=1e-12)
    assert float(at.useful) == pytest.approx(made.best.goodput_typed, rel=1e-12)


def test_detection_enters_the_restart_cost() -> None:
    """A hang that the watchdog finds after 30 min costs that much more per event than one found after 10."""
    fast, slow = (plan(scenario(f"kind: hang, share: 10 %, detect: {minutes} min")).classes[0] for minutes in (10, 30))
    assert slow.recovery_s - fast.recovery_s == pytest.approx(1200.0)
    assert slow.restart_fraction / fast.restart_fraction == pytest.approx(slow.recovery_s / fast.recovery_s, rel=0.1)


def test_verification_alone_is_the_optimum_of_verified_saves() -> None:
    """With errors and crashes only, the interval is the exact optimum of verified saves."""
    made = scenario("kind: silent corruption, share: 10 %", "verification: {time: 10 s, per_save: 2}")
    case = cases_of(made)[0]
    rate = 1.0 / case.mtbf_s
    exact = verified_optimum(10, 60, 0.9 * rate, 0.1 * rate, verifications=2, downtime=180.0, restart=420.0)
    # A failed check has no downtime in the formula; the class has that of the spec, which shifts nothing but A.
    assert case.optimum("exact") == pytest.approx(float(exact.interval_s), rel=2e-3)


def test_a_notice_that_is_too_short_is_a_failure() -> None:
    """A preemption with less notice than a save takes is a failure of that strategy, and said to be one."""
    made = plan(scenario("kind: preemption, every: 10 h, notice: 30 s"))
    rework = {one.name: one.rework_fraction for one in made.classes}
    assert made.best.strategy == "background"
    assert rework["preemption"] > 0.0
    assert any("the notice of 30 s before a preemption is shorter than a save of 65 s" in w for w in made.warnings)
    enough = plan(scenario("kind: preemption, every: 10 h, notice: 2 min"))
    assert {one.name: one.rework_fraction for one in enough.classes}["preemption"] == 0.0
    assert enough.best.goodput_typed > made.best.goodput_typed


def test_more_spares_wait_less_and_enough_are_named() -> None:
    """With the number of spares that the plan asks for, the job waits no longer than wanted."""
    few = plan(scenario("", "spares: {nodes: 1, repair: 24 h, most_waiting: 1 %}"))
    assert few.guards is not None
    assert few.guards.spares is not None
    needed = few.guards.spares.nodes_needed
    assert few.guards.spares.waiting_fraction > 0.01
    assert any(f"{needed} would do" in warning for warning in few.warnings)
    enough, short = (
        plan(scenario("", f"spares: {{nodes: {count}, repair: 24 h}}")).best.waiting_fraction
        for count in (needed, needed - 1)
    )
    assert enough <= 0.01 < short


def test_a_class_seen_rarely_is_said_to_be_uncertain() -> None:
    """A class that costs much and rests on few events has its range said."""
    made = plan(scenario("kind: silent corruption, count: 6"))
    assert any("silent corruption takes" in w and "rests on 6 events" in w for w in made.warnings)


def test_first_order_rows_count_every_class() -> None:
    """The first-order account is within a few points of exact, also with delays, spikes and slow nodes."""
    made = plan(scenario(EVERY_KIND))
    for row in made.records:
        if row.method in ("young", "daly"):
            assert row.goodput == pytest.approx(row.goodput_exact, abs=0.02)


def test_false_alarms_of_the_watchdog_are_in_the_goodput() -> None:
    """A timeout that kills healthy pauses costs them, so that the best timeout is also the best plan."""
    goodput = {}
    for minutes in (2, 7, 30):
        watchdog = f"  watchdog: {{timeout: {minutes} min, false_alarms_per_day: 1, seen_at: 4 min, decay: 48 s}}"
        text = BASE.format(classes=f"  classes: [{{kind: hang, share: 10 %}}]\n{watchdog}\n", more="")
        made = plan(read_spec(text.encode(), "run.yaml").scenario)
        goodput[minutes] = made.best.goodput_typed
        names = [one.name for one in made.classes]
        assert names == ["hang", "false alarm", "other"]
        assert made.guards is not None
        assert made.guards.watchdog is not None
        assert 240.0 <= made.guards.watchdog.best_timeout_s < 900.0
    assert goodput[7] > goodput[2]
    assert goodput[7] > goodput[30]


def test_own_rates_count_for_prediction_and_for_the_rule_of_a_loop() -> None:
    """A class with a rate of its own shortens the MTBF that a predictor and an adaptive interval begin with."""
    from ckptplan.plan.adaptive import adaptive_plan

    predictor = "prediction: {recall: 60 %, precision: 80 %}"
    rare = plan(scenario("", predictor))
    often = plan(scenario("name: more, every: 1 h", predictor))
    assert rare.guards is not None and rare.guards.prediction is not None  # noqa: PT018
    assert often.guards is not None and often.guards.prediction is not None  # noqa: PT018
    stall_s = 5.0 + 0.03 * 60.0  # the period is proportional to the root of the MTBF
    ratio = (often.guards.prediction.interval_s + stall_s) / (rare.guards.prediction.interval_s + stall_s)
    assert ratio == pytest.approx((3600.0 / (3600.0 + 54 * 86_400 / 419)) ** 0.5, rel=5e-4)
    assert adaptive_plan(scenario("name: more, every: 1 h")).mtbf_s == pytest.approx(
        1 / (1 / 3600 + 419 / (54 * 86_400)), rel=1e-9
    )


def test_errors_that_outlive_the_run_are_said() -> None:
    """A delay of the order of the run leaves errors in the finished model, which the plan says."""
    run = read_spec(
        BASE.format(classes="  classes: [{kind: silent corruption, share: 1 %, detect: 40 d}]", more="")
        .replace("step_time: 5 s", "step_time: 5 s, duration: 30 d")
        .encode(),
        "run.yaml",
    ).scenario
    assert any("many errors stay in the finished model" in warning for warning in plan(run).warnings)


def test_a_flush_much_longer_than_the_best_interval_still_has_a_plan():
    """Where the flush forbids every interval near the first-order one, the best is looked for from the floor up."""
    scenario = load("llama3-405b-causes", sets=["storage.write_bandwidth=120 MB/s"]).scenario
    slow = next(case for case in cases_of(scenario) if case.save.flush_s > 0.0)
    found = slow.optimum("exact")
    around = slow.shares(slow.floor_s * np.linspace(1.0, 3.0, 400)).goodput
    assert found >= slow.floor_s
    assert slow.goodput(found) >= np.nanmax(around) * (1.0 - 1e-9)
