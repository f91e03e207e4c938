"""A plan held against its simulation."""

from __future__ import annotations

import pytest

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.simulation import Simulation, simulate_plan


def _played(*sets: str, interval_s: float = 1000.0, **options: object) -> Simulation:
    """A blocking or background strategy of a small run, simulated."""
    background = "{name: background, mode: asynchronous, stall: 5 s, flush: 300 s}"
    save = f"save=[{{name: blocking, mode: sharded, stall: 60 s}}, {background}]"
    spec = load("llama3-405b", sets=["failures={mtbf: 3 h}", "training={duration: 10 d}", save, *sets])
    chosen = {"strategy": "blocking", "runs": 500, "interval_s": interval_s, **options}
    return simulate_plan(spec.scenario, **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sets", "strategy", "quantity"),
    [
        ((), "blocking", "wall_s"),
        ((), "background", "wall_s"),
        (("save[1].in_flight=3",), "background", "wall_s"),
        (("assume.failures_strike=safe",), "blocking", "wall_s"),
        (("failures.host_copy_survives=0.6",), "background", "goodput"),
        (("failures.law={name: weibull, shape: 0.7}",), "background", "goodput"),
        (("failures.law={name: lognormal, sigma: 1.5}",), "blocking", "goodput"),
        (("cluster={gpus: 128}", "failures.law={name: gamma, shape: 3, of: node}"), "blocking", "goodput"),
    ],
)
def test_the_formula_holds(sets: tuple[str, ...], strategy: str, quantity: str) -> None:
    """Every process that a spec can describe comes out of the simulation as the formulas predict, within 4 errors."""
    made = _played(*sets, strategy=strategy)
    assert made.prediction.quantity == quantity
    assert made.prediction.standard_error > 0
    assert abs(made.prediction.z) < 4
    assert made.prediction.holds


def test_saves_in_flight_may_be_closer_than_a_flush() -> None:
    """With three in flight an interval of 100 s is simulated beside a flush of 300 s, and predicted."""
    made = _played("save[1].in_flight=3", strategy="background", interval_s=100.0)
    assert made.interval_s == 100.0
    assert abs(made.prediction.z) < 4


def test_an_interval_below_the_floor_is_raised() -> None:
    """What is simulated is what the plan would give: the flush of 300 s is the least interval."""
    assert _played(strategy="background", interval_s=100.0).interval_s == 300.0


def test_shares_add_up() -> None:
    """Both ledgers account for all of the wall time."""
    made = _played()
    assert sum(made.kept) == pytest.approx(1.0, abs=1e-12)
    assert sum(made.gross) == pytest.approx(1.0, abs=1e-12)
    assert made.gross.save > made.kept.save


def test_a_wrong_prediction_does_not_hold() -> None:
    """The verdict can fail: a prediction five standard errors away is told apart."""
    one = _played().prediction
    assert not one._replace(z=5.0).holds


def test_recorded_gaps_are_replayed_in_their_order() -> None:
    """One record is one run: two gaps of 700 s and then a long one lose 700 s each, by hand."""
    gaps = (700.0, 700.0, 1e9)
    made = _played("training={duration: 2000 s}", replay=gaps, interval_s=1000.0)
    assert made.runs == 1
    # Two failed attempts of 700 s with 600 s of recovery each, struck by no further failure; then 1000 + 60 + 1000 s.
    # Under DR the clock runs through the recovery: the second gap leaves 100 s of training.
    assert made.wall_s.mean == pytest.approx(700 + 600 + 100 + 600 + 1000 + 60 + 1000)
    assert made.failures.mean == 2


def test_resampled_gaps_vary_from_run_to_run() -> None:
    """Drawn with replacement, recorded gaps give runs that differ, and the formula for them holds."""
    made = _played(replay=(2000.0, 9000.0, 30_000.0), resample=True)
    assert made.wall_s.sd > 0
    assert abs(made.prediction.z) < 4


def test_without_an_end_a_length_is_chosen_and_told() -> None:
    """A spec without work is simulated over 100 MTBFs of it."""
    made = _played("training={}")
    assert not made.has_end
    assert made.work_s == pytest.approx(100 * 3 * 3600.0)


def test_a_plan_verifies_itself() -> None:
    """With verify, a plan carries the comparison of its best record."""
    made = plan(load("llama3-405b").scenario, methods=["exact"], verify=True)
    assert made.verification is not None
    assert made.verification.holds
    assert made.run is not None
    assert made.verification.predicted == pytest.approx(made.run.expected_s)


def test_two_runs_do_not_judge_a_formula() -> None:
    """Below thirty runs the standard error is not known well enough, so that there is no verdict."""
    one = _played(runs=2).prediction
    assert one.z != one.z
    assert one.holds


def test_what_the_simulation_leaves_out_is_said() -> None:
    """Host copies under another law are left out, and the notes of the simulation say so."""
    sets = ("failures.law={name: weibull, shape: 0.7}", "failures.host_copy_survives=0.9")
    assert any("host_copy_survives" in note for note in _played(*sets, strategy="background").notes)
    assert not _played(strategy="background").notes
