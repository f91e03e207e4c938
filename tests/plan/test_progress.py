"""Runs that get nowhere: what is said of them, and that nothing is recommended."""

from __future__ import annotations

import re

import pytest
from mpmath import mp

from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.levers.outcome import outcome_of
from ckptplan.plan.progress import LEAST_GOODPUT, makes_progress
from ckptplan.plan.record import Plan
from ckptplan.units import parse_quantity

_HOPELESS = ("failures.mtbf=1 us", "failures.mtbf=1 s", "failures.mtbf=20 s")


def _planned(*sets: str, spec: str = "llama3-405b") -> Plan:
    return plan(load(spec, sets=list(sets)).scenario)


def _exact(work: float, stall: float, mtbf: float, restart: float) -> mp.mpf:
    """Goodput of a blocking save under exponential failures that strike all: ``W e^(-R/M) / (M (e^((W+d)/M) - 1))``."""
    with mp.workdps(40):
        w, d, m, r = (mp.mpf(value) for value in (work, stall, mtbf, restart))
        return w * mp.exp(-r / m) / (m * (mp.exp((w + d) / m) - 1))


@pytest.mark.parametrize("mtbf", _HOPELESS)
def test_a_hopeless_run_has_one_sentence_and_no_winner(mtbf: str) -> None:
    """No way of saving beats or wins, there is no lever and no flat region, and the records are as they were."""
    made = _planned(mtbf)
    (sentence,) = made.advice
    assert sentence.startswith("no progress is possible: the restart of 600 s is ")
    assert made.best_goodput < LEAST_GOODPUT
    assert made.lever is None
    assert made.flat is None
    assert not any(made.is_best(record) for record in made.records)
    assert len(made.optima()) == 2


def test_the_sentence_names_the_mtbf_that_gives_half_of_the_time() -> None:
    """At that MTBF the plan yields 50 % with the strategy that is named, and 2 % below it less."""
    (sentence,) = _planned("failures.mtbf=1 s").advice
    found = re.search(r"for 50 % goodput the MTBF must be ([\d,]+ s) \(with (\w+)\)", sentence)
    assert found is not None
    mtbf_s = parse_quantity(found[1].replace(",", ""), "time")
    made = _planned(f"failures.mtbf={mtbf_s} s")
    assert made.best.strategy == found[2]
    assert made.best_goodput == pytest.approx(0.5, abs=0.0005)
    assert _planned(f"failures.mtbf={0.98 * mtbf_s} s").best_goodput < 0.5


def test_the_sentence_names_the_restart_that_gives_half_of_the_time() -> None:
    """A long restart at a moderate MTBF: the one that is named yields 50 %."""
    (sentence,) = _planned("failures.mtbf=100 s", "restart.total=3000 s").advice
    found = re.search(r", or the restart ([\d.]+ s)$", sentence)
    assert found is not None
    made = _planned("failures.mtbf=100 s", f"restart.total={found[1]}")
    assert made.best_goodput == pytest.approx(0.5, abs=0.0005)


def test_a_restart_that_no_cut_makes_short_enough_is_said() -> None:
    """Where even a restart of no time leaves less than half, the sentence says so and names none."""
    (sentence,) = _planned("failures.mtbf=20 s").advice
    assert sentence.endswith("no restart is short enough at the MTBF as it is")
    assert _planned("failures.mtbf=20 s", "restart.total=0 s").best_goodput < 0.5


@pytest.mark.parametrize(("save", "what"), [("stall: 400 s", "one save of 400 s"), ("stall: 1 s", "one step of 300 s")])
def test_the_largest_of_what_must_go_by_is_the_reason(save: str, what: str) -> None:
    """A save, or a step, that is longer than the restart is named instead of it."""
    sets = [f"save=[{{name: blocking, mode: sharded, {save}}}]", "training.step_time=300 s", "restart.total=10 s"]
    (sentence,) = _planned(*sets, "failures.mtbf=5 s").advice
    assert f"{what} is " in sentence
    assert "with blocking" not in sentence


def test_the_bound_stands_between_a_bad_run_and_a_hopeless_one() -> None:
    """By a formula in 40 digits: the run just above the bound keeps its winner, the one just below has none."""
    for mtbf_s in (50.0, 40.0):
        save = "save=[{name: a, mode: sharded, stall: 10 s}, {name: b, mode: sharded, stall: 20 s}]"
        made = _planned(save, f"failures.mtbf={mtbf_s} s")
        best = made.best
        value = _exact(best.typed_interval_s(5.0), 10.0, mtbf_s, 600.0)
        assert made.best_goodput == pytest.approx(float(value), rel=1e-9)
        assert made.makes_progress is (value >= LEAST_GOODPUT)
        assert any(made.is_best(record) for record in made.records) is made.makes_progress
    assert makes_progress(0.005)


def test_levers_refuse_a_run_that_gets_nowhere() -> None:
    """As for a goodput of 0: GPU-hours of 6e+272 are no saving."""
    for mtbf in _HOPELESS:
        with pytest.raises(InputError, match="nothing useful is left"):
            outcome_of(load("llama3-405b", sets=[mtbf]).scenario)
    assert outcome_of(load("llama3-405b", sets=["failures.mtbf=100 s"]).scenario).goodput > LEAST_GOODPUT


def test_other_laws_name_what_to_change_without_numbers() -> None:
    """A law without closed forms has the same sentence, its remedies in words."""
    (sentence,) = _planned("failures.law={name: weibull, shape: 0.7}", "failures.mtbf=1 s").advice
    assert sentence.startswith("no progress is possible: the restart of 600 s is 600 times the MTBF of 1 s")
    assert sentence.endswith("raise the MTBF, or shorten the restart, the save and the interval that it needs")


def test_a_blocking_save_never_beats_a_shorter_break_even() -> None:
    """Coarse steps make a blocking save of 6.5 s best, though the flush is as good as one of 5.36 s: both are said."""
    saves = "save=[{name: quick, mode: sharded, stall: 6.5 s}, {name: flush, mode: asynchronous, stall: 5 s}]"
    made = _planned(saves, "training.step_time=500 s", "failures.mtbf=600 s", "restart.total=10 s")
    best, other = (next(r for r in made.optima() if r.strategy == name) for name in ("quick", "flush"))
    assert best.goodput_typed > other.goodput_typed
    assert best.goodput_exact < other.goodput_exact
    (sentence,) = made.advice
    assert sentence.startswith("quick beats flush at the intervals to type, and at no others")
    assert "which is as good as" not in sentence


@pytest.mark.parametrize("mtbf", ["60 s", "100 s", "200 s", "10 min", "1 h", "10 h"])
@pytest.mark.parametrize("stall", ["5.1 s", "6 s", "9 s", "60 s"])
def test_the_break_even_and_the_winner_agree_in_every_regime(mtbf: str, stall: str) -> None:
    """The limit that is printed lies on the side of the strategy that yields more at its very best interval."""
    made = _planned(f"save[0].stall={stall}", f"failures.mtbf={mtbf}")
    blocking, flush = made.optima()
    (sentence,) = made.advice
    limit = re.search(r"blocking save (?:of|longer than) ([\d.]+ s)", sentence)
    assert limit is not None
    limit_s, stall_s = (parse_quantity(text, "time") for text in (limit[1], stall))
    assert (stall_s <= limit_s) is (blocking.goodput_exact >= flush.goodput_exact)
    if "which is as good as" in sentence:
        assert sentence.startswith("synchronous beats asynchronous: ")
        assert stall_s <= limit_s
