"""Plans of the fault spectrum against runs played out: goodput, waiting, what each class takes, and what is kept."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ckptplan.cost.scenario import Scenario, Strike
from ckptplan.plan import plan
from ckptplan.plan.case import cases_of
from ckptplan.plan.simulation import Simulation, simulate_plan
from ckptplan.plan.spectrum.process import process_of_tiers
from ckptplan.plan.spectrum.simulation import simulate_spectrum_plan
from ckptplan.render.schemas import output_schema
from ckptplan.render.simulation_report import simulation_document
from ckptplan.simulate.spectrum import simulate_spectrum
from tests.plan import test_tiering
from tests.plan.test_spectrum import EVERY_KIND, scenario


def simulated(run: Scenario, strategy: str = "background", runs: int = 60) -> Simulation:
    """One strategy at its recommended interval."""
    case = next((case for case in cases_of(run) if case.save.name == strategy), None)
    interval_s = test_tiering.made(run).plan.interval_s if case is None else case.typed_interval_s
    return simulate_plan(run, strategy=strategy, interval_s=interval_s, runs=runs)


@pytest.mark.parametrize("strategy", ["blocking", "background"])
@pytest.mark.parametrize("more", ["", "verification: {time: 10 s}", "spares: {nodes: 4, repair: 12 h}"])
def test_every_kind_of_class_is_played_as_predicted(strategy: str, more: str) -> None:
    """With every kind of class the goodput is within a tenth of a point, and the classes lose what was predicted."""
    made = simulated(scenario(EVERY_KIND, more), strategy)
    found = made.prediction
    assert not found.is_exact
    assert found.holds
    assert found.simulated == pytest.approx(found.predicted, abs=1e-3 + 4 * found.standard_error)
    assert sum(one.lost for one in made.causes) == pytest.approx(sum(one.predicted for one in made.causes), rel=0.2)


def test_crashes_alone_are_exact() -> None:
    """Classes that stop the run, with recoveries of their own, are within four standard errors of the formula."""
    made = simulated(scenario("kind: hang, share: 20 %, detect: 30 min\nname: lost rack, share: 10 %, total: 2 h"))
    assert made.prediction.is_exact
    assert abs(made.prediction.z) < 4.0


@pytest.mark.parametrize("reshard", ["", ", reshard: 2 min"])
def test_waiting_and_shrinking_are_simulated(reshard: str) -> None:
    """The share of time that is lost for want of nodes is that of a simulated pool."""
    made = simulated(scenario("", f"spares: {{nodes: 3, repair: 12 h{reshard}}}"))
    (waiting,) = (part for part in made.parts if part.name == "waiting")
    assert waiting.predicted > 0.0005
    # Shrinking is an approximation, good to two tenths of a percent.
    assert abs(waiting.simulated - waiting.predicted) < 4.0 * waiting.standard_error + (0.002 if reshard else 0.0)


def test_tiers_without_drains_are_exact() -> None:
    """Crashes over blocking tiers are within four standard errors of the Markov chain."""
    run = test_tiering.scenario(test_tiering.MEMORY, test_tiering.FILES)
    made = simulated(run, "tiers")
    assert made.prediction.is_exact
    assert abs(made.prediction.z) < 4.0
    assert made.strategy == "tiers"


@pytest.mark.parametrize("strike", list(Strike))
def test_a_class_whose_recovery_is_as_long_as_the_mtbf_is_played_with_it(strike: Strike) -> None:
    """Over tiers each class has a recovery of its own; with the mean of all the run would get on by points less."""
    run = replace(
        test_tiering.scenario(
            test_tiering.MEMORY, test_tiering.FILES, classes="name: by hand, every: 15 h, loses: process, total: 4 h"
        ),
        failures_strike=strike,
    )
    found = simulated(run, "tiers").prediction
    assert found.is_exact
    assert found.standard_error < 1e-3
    assert abs(found.z) < 4.0


@pytest.mark.parametrize(
    "line",
    [
        "kind: maintenance, every: 10 h",
        "kind: silent corruption, every: 20 h, detect: 1 h",
        "kind: loss spike, every: 10 h",
        "kind: slow node, every: 10 h",
    ],
)
def test_every_recovery_loads_from_its_tier(line: str) -> None:
    """An end, an error or a spike that goes back to the last tier pays the load from there, not that of the spec."""
    run = test_tiering.scenario(test_tiering.MEMORY, f"{test_tiering.FILES}, load: 30 min", classes=line)
    tiering, case = test_tiering.made(run), cases_of(run)[0].of_spec
    played = simulate_spectrum(process_of_tiers(case, tiering, tiering.plan.interval_s), failures=200_000)
    # First order, held to two tenths of a point; with the load of the spec it would be off by 1.5 to 3 points.
    assert abs(played.goodput - tiering.plan.goodput) < 0.002 + 4.0 * played.goodput_error
    restart = played.kept.restart
    assert abs(restart.value - tiering.plan.restart_fraction) < 0.002 + 4.0 * restart.error


def test_drains_that_slow_training_are_counted_once() -> None:
    """Stalls and slow-down take the share of the formula; with the slow-down twice it would be half as much again."""
    slow = "kind: file system, write: background, drain: 60 s, training_speed_while_draining: 0.8"
    run = test_tiering.scenario(test_tiering.MEMORY, slow, classes="kind: maintenance, every: 28 h")
    made = simulated(run, "tiers")
    predicted = float(made.predicted_shares.save)
    assert predicted > 0.02
    assert made.kept.save == pytest.approx(predicted, rel=0.01)
    assert made.prediction.holds


def test_too_few_saves_kept_are_counted() -> None:
    """With far fewer saves than retain asks for, rollbacks find none; with enough, hardly any do."""
    few, enough = (
        simulated(scenario("kind: silent corruption, share: 5 %, detect: 4 h", f"retention: {{keep: {keep}}}"))
        for keep in (5, 4000)
    )
    lost = {one.name: one.unkept for one in few.causes}
    assert lost["silent corruption"] > 0
    assert sum(one.unkept for one in enough.causes) == 0


def test_the_document_has_its_schema_and_the_seed_decides() -> None:
    """The JSON document is valid, and two runs of one seed are equal."""
    import jsonschema

    run = scenario(EVERY_KIND, "spares: {nodes: 4, repair: 12 h}")
    one = simulated(run, runs=20)
    document, again = (json.loads(json.dumps(simulation_document(made, {}))) for made in (one, simulated(run, runs=20)))
    assert document == again
    jsonschema.validate(document, output_schema("simulation"))
    assert {cause["name"] for cause in document["causes"]} == {cause.name for cause in one.causes}


def test_verify_of_a_plan_plays_its_tiers() -> None:
    """A plan that recommends tiers is verified with them."""
    made = plan(test_tiering.scenario(test_tiering.MEMORY, test_tiering.FILES), verify=True)
    assert made.tiers_are_best
    assert made.verification is not None
    assert made.verification.predicted == pytest.approx(made.best_goodput, rel=1e-9)


def test_an_unknown_strategy_of_a_spec_without_tiers() -> None:
    """Tiers cannot be played where there are none."""
    from ckptplan.errors import InputError

    with pytest.raises(InputError, match="no tiers"):
        simulate_spectrum_plan(scenario(EVERY_KIND), strategy="tiers", interval_s=100.0, runs=5)
