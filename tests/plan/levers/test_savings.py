"""Savings over the run, and the words for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckptplan.cost.scenario import Training
from ckptplan.plan.levers.lever import Lever
from ckptplan.plan.levers.savings import with_savings
from ckptplan.plan.levers.wording import do_first, first_of, first_sentence, gain, large, worth_of
from tests.plan.levers.shipped import scenario_of

_LEVER = Lever("k", "halve the stall", "stall 60 s to 30 s", "synchronous", 900.0, 180, 0.9)


def test_gpu_hours_are_gpus_times_work_over_goodput() -> None:
    """1,000 GPUs for 100 h of work at 80 % instead of 90 % save 1000 x 100 x (1/0.8 - 1/0.9) GPU-hours."""
    scenario = scenario_of("llama3-405b")
    scenario = replace(
        scenario, cluster=replace(scenario.cluster, gpus=1000), training=Training(duration_s=100 * 3600.0)
    )
    made = with_savings(_LEVER, scenario, 0.8, scenario, price=2.0)
    assert made.gained == pytest.approx(0.1)
    assert made.gpu_hours_saved == pytest.approx(100_000 * (1 / 0.8 - 1 / 0.9))
    assert made.money_saved == pytest.approx(2 * 100_000 * (1 / 0.8 - 1 / 0.9))
    assert made.wall_s_saved == pytest.approx(360_000 * (1 / 0.8 - 1 / 0.9))


def test_gpus_that_stand_by_are_taken_off() -> None:
    """Ten GPUs that stand by are paid for until the end of the shorter run."""
    scenario = scenario_of("llama3-405b")
    work_h = 54 * 24
    made = with_savings(_LEVER, scenario, 0.8, scenario, extra_gpus=10)
    free = with_savings(_LEVER, scenario, 0.8, scenario)
    assert made.gpu_hours_saved is not None
    assert free.gpu_hours_saved is not None
    assert made.gpu_hours_saved == pytest.approx(free.gpu_hours_saved - 10 * work_h / 0.9)
    assert made.gained == free.gained
    assert made.worth < free.worth == pytest.approx(0.1)


def test_work_that_is_not_known_has_no_savings() -> None:
    """Goodput only; a price changes nothing."""
    scenario = replace(scenario_of("llama3-405b"), training=Training())
    made = with_savings(_LEVER, scenario, 0.8, scenario, price=2.0)
    assert (made.gpu_hours_saved, made.money_saved, made.wall_s_saved) == (None, None, None)
    assert made.worth == pytest.approx(0.1)


def test_a_run_that_never_ends_has_no_savings() -> None:
    """Where nothing useful is left as it is, there is nothing to subtract from."""
    scenario = scenario_of("llama3-405b")
    made = with_savings(_LEVER, scenario, 0.0, scenario, price=2.0)
    assert (made.gained, made.gpu_hours_saved, made.money_saved) == (0.9, None, None)


def test_the_line_names_the_lever_and_what_it_saves() -> None:
    """Points, GPU-hours and money, each only where known."""
    one = _LEVER._replace(gained=0.067, worth=0.067)
    assert do_first(one) == "Do first: halve the stall: +6.7 points"
    one = one._replace(gpu_hours_saved=2.1e6)
    assert do_first(one) == "Do first: halve the stall: +6.7 points, 2.1 million GPU-hours"
    one = one._replace(money_saved=5.25e6)
    assert do_first(one) == "Do first: halve the stall: +6.7 points, 2.1 million GPU-hours worth 5.25 million"
    assert first_sentence(one, 0.83, 54 * 86_400.0).endswith(
        "worth 5.25 million, over 54 d of work (stall 60 s to 30 s; goodput 83.00 % to 90.00 %)"
    )


def test_nothing_worth_doing_is_said() -> None:
    """At 0.05 points or less, and where no lever applies."""
    small = _LEVER._replace(gained=0.0003, worth=0.0003)
    assert do_first(small) == (
        "Do first: nothing; no lever in hand gains more than 0.05 points (most: halve the stall, +0.03 points)"
    )
    assert do_first(None).startswith("Do first: nothing")
    assert first_sentence(small, 0.99, 1.0) == do_first(small)


def test_what_nobody_can_simply_do_is_not_the_first_thing_to_do() -> None:
    """The best lever in hand is, and what would gain more stands behind it; where that gains less it is not named."""
    goal = Lever("failures", "halve the failure rate", "c", "s", 900.0, 1, 0.9, 0.034, worth=0.034, in_hand=False)
    stall = _LEVER._replace(gained=0.02, worth=0.02)
    first = first_of([goal, stall, stall._replace(key="other", worth=0.01)])
    assert first is not None
    assert first.key == "k"
    assert do_first(first) == (
        "Do first: halve the stall: +2.0 points; halving the failure rate would gain more, 3.4 points"
    )
    assert first_sentence(first, 0.88, None).endswith("90.00 %); halving the failure rate would gain more, 3.4 points")
    assert first_of([goal, stall._replace(worth=0.05)]) == stall._replace(worth=0.05)
    assert first_of([]) is None


def test_where_only_the_failure_rate_is_left_nothing_is_in_hand() -> None:
    """Also where what is in hand is not worth it; a goal that is not worth it either is not named."""
    goal = Lever("failures", "halve the failure rate", "c", "s", 900.0, 1, 0.9, 0.034, worth=0.034, in_hand=False)
    assert do_first(first_of([goal])) == (
        "Do first: nothing; no lever that is in hand applies to what the spec says; halving the failure rate would "
        "gain 3.4 points"
    )
    small = _LEVER._replace(gained=0.0003, worth=0.0003)
    assert do_first(first_of([goal, small])) == (
        "Do first: nothing; no lever in hand gains more than 0.05 points (most: halve the stall, +0.03 points); "
        "halving the failure rate would gain 3.4 points"
    )
    assert "halving" not in do_first(first_of([goal._replace(gained=1e-5, worth=1e-5), small]))


@pytest.mark.parametrize("price", [3.0, 2.5, 0.35, 12.0])
@pytest.mark.parametrize("hours", [2597.4, 815_075.19, 2_455_103.0, 104_487.0, 12.34, 99.4, 131.6, 0.3149, -18_049.7])
def test_the_money_is_the_product_of_what_is_printed(hours: float, price: float) -> None:
    """Who multiplies the GPU-hours that stand there by the price finds the money that stands there, to its digits."""
    one = _LEVER._replace(gained=0.067, worth=0.067, gpu_hours_saved=hours, money_saved=hours * price)
    said = worth_of(one).partition(", ")[2]
    shown_hours, shown_money = (_read(part) for part in said.split(" GPU-hours worth "))
    assert shown_hours == pytest.approx(hours, rel=0.05)
    assert shown_money == pytest.approx(shown_hours * price, rel=0.0005 if abs(hours) >= 1e3 else 0.005)


def _read(text: str) -> float:
    number, _, unit = text.replace(",", "").partition(" ")
    return float(number) * {"": 1.0, "million": 1e6}[unit]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.1e6, "2.1 million"),
        (-1.72e6, "-1.72 million"),
        (999_600, "1 million"),
        (815_234.0, "815,000"),
        (104.0, "104"),
        (12.3, "12"),
        (0.31, "0.31"),
        (4.2e9, "4.2 billion"),
        (1.5e14, "150 trillion"),
        (0.0, "0"),
        (3.14159e40, "3.1e+40"),
    ],
)
def test_large_numbers_are_read_at_a_glance(value: float, text: str) -> None:
    """Two or three digits."""
    assert large(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0671, "+6.7 points"), (0.0042, "+0.42 points"), (-0.02, "-2.0 points"), (1e-7, "0 points")]
)
def test_gains_carry_their_sign(share: float, text: str) -> None:
    """In percentage points."""
    assert gain(share) == text
