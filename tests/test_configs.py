"""The shipped specs: every number has its source beside it, and each plan comes out as published or worked out.

The expected sizes count bytes per parameter alone. A ledger also holds small states per rank or per job (random
numbers, data position, scheduler), some 11 kB per GPU, which shift the last printed digit here and there. So each
number is compared in its printed rounding for the states per parameter alone, and the spec as it ships must keep the
steps and, to 1e-5, the goodput.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest

from ckptplan.cost.scenario import Scenario, Scope, Strike
from ckptplan.load import load
from ckptplan.plan import Plan, Record, plan
from tests.golden.published_runs import FACTS, GIVEN, OPTIMA, Facts, Given, Optimum

CONFIGS = Path(__file__).parents[1] / "configs"
FAULT_SPECS = ("llama3-405b-causes", "spectrum-16384")  # tests/golden/test_fault_specs.py
HOUR_S = 3600.0
SOURCE_WORDS = re.compile(
    r"paper|quoted|derived|assumed|computed|README|chronicles|log|updates|book|mlsysim|study|post|recipe|script|benchmark|trace"
)


def close(value: float, printed: str) -> bool:
    """Whether a value rounds to what is printed: within half of the last digit."""
    number = Decimal(printed)
    half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
    return abs(Decimal(value) - number) <= half * Decimal("1.000001")  # a tie in binary may fall on either side


@cache
def shipped(name: str) -> Scenario:
    """The scenario of a shipped spec, as it ships."""
    return load(name).scenario


@cache
def scenario_of(name: str) -> Scenario:
    """The scenario of a shipped spec, with the states that are kept per parameter and no others."""
    scenario = shipped(name)
    states = tuple(state for state in scenario.model.ledger.states if state.scope is Scope.PARAMETER)
    ledger = replace(scenario.model.ledger, states=states)
    return replace(scenario, model=replace(scenario.model, ledger=ledger))


@cache
def plan_of(name: str, strike: Strike = Strike.DR) -> Plan:
    """The plan of a shipped spec, small states left out."""
    return plan(replace(scenario_of(name), failures_strike=strike))


def record_of(result: Plan, strategy: str, method: str) -> Record:
    """The optimum of one strategy by one method."""
    (found,) = (r for r in result.records if r.strategy == strategy and r.method == method and not r.given)
    return found


def by_spec(case: Facts | Optimum | Given) -> str:
    """A readable test id."""
    return "-".join(str(part) for part in case[:2])


def test_every_shipped_spec_is_in_the_table() -> None:
    """Every file of the configs folder has expected results, here or among the specs of the fault spectrum."""
    assert sorted(path.stem for path in CONFIGS.iterdir()) == sorted([*(facts.spec for facts in FACTS), *FAULT_SPECS])
    assert len(FACTS) == 16


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: facts.spec)
def test_size_failures_and_restart(facts: Facts) -> None:
    """Bytes, MTBF and restart time of each spec are those worked out from its sources."""
    result = plan_of(facts.spec)
    assert close(result.checkpoint.size_bytes, facts.size_bytes)
    assert close(result.checkpoint.size_per_gpu_bytes, facts.size_per_gpu_bytes)
    assert close(result.failures.mtbf_s, facts.mtbf_s)
    assert close(result.failures.mtbf_s / HOUR_S, facts.mtbf_h)
    assert close(result.failures.mtbf_per_gpu_s / HOUR_S, facts.mtbf_per_gpu_h)
    assert close(result.restart.total_s, facts.restart_s)


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: facts.spec)
def test_every_strategy_is_in_the_table(facts: Facts) -> None:
    """No strategy of a spec goes unchecked."""
    expected = [optimum.strategy for optimum in OPTIMA if optimum.spec == facts.spec]
    assert [save.name for save in scenario_of(facts.spec).saves] == expected


@pytest.mark.parametrize("optimum", OPTIMA, ids=by_spec)
def test_costs_of_a_save(optimum: Optimum) -> None:
    """Stall, flush and effective stall follow from size, bandwidths and slow-down."""
    record = record_of(plan_of(optimum.spec), optimum.strategy, "exact")
    assert close(record.stall_s, optimum.stall_s)
    assert close(record.flush_s, optimum.flush_s)
    assert close(record.effective_stall_s, optimum.effective_stall_s)


@pytest.mark.parametrize("optimum", OPTIMA, ids=by_spec)
def test_interval_by_each_method(optimum: Optimum) -> None:
    """Young, Daly and the exact optimum give the expected intervals, and the exact one its whole steps."""
    result = plan_of(optimum.spec)
    for method, printed in (("young", optimum.young_s), ("daly", optimum.daly_s), ("exact", optimum.exact_s)):
        assert close(record_of(result, optimum.strategy, method).interval_s, printed)
    assert record_of(result, optimum.strategy, "exact").interval_steps == optimum.steps


@pytest.mark.parametrize("optimum", OPTIMA, ids=by_spec)
def test_goodput_and_shares_at_the_exact_optimum(optimum: Optimum) -> None:
    """Exact goodput agrees to five digits; save, rework and restart shares to those printed."""
    record = record_of(plan_of(optimum.spec), optimum.strategy, "exact")
    assert close(record.goodput_exact, optimum.goodput)
    assert record.goodput is not None
    assert math.isclose(record.goodput, record.goodput_exact, rel_tol=1e-12)  # two ways to sum the same shares
    assert close(100 * record.save_fraction, optimum.save_percent)
    assert close(100 * record.rework_fraction, optimum.rework_percent)
    assert close(100 * record.restart_fraction, optimum.restart_percent)


@pytest.mark.parametrize("optimum", OPTIMA, ids=by_spec)
def test_goodput_of_using_the_young_interval(optimum: Optimum) -> None:
    """The young row carries the exact goodput of its own interval."""
    record = record_of(plan_of(optimum.spec), optimum.strategy, "young")
    assert close(record.goodput_exact, optimum.goodput_at_young)


@pytest.mark.parametrize("optimum", OPTIMA, ids=by_spec)
def test_goodput_when_recovery_is_safe(optimum: Optimum) -> None:
    """With failures that spare recovery the interval stays and the goodput rises as expected."""
    safe = record_of(plan_of(optimum.spec, Strike.SAFE), optimum.strategy, "exact")
    struck = record_of(plan_of(optimum.spec), optimum.strategy, "exact")
    assert close(safe.goodput_exact, optimum.goodput_safe)
    assert safe.interval_s == struck.interval_s


@pytest.mark.parametrize("case", GIVEN, ids=lambda case: f"{case.spec}-{case.strategy}-{case.interval_s}")
def test_interval_in_use(case: Given) -> None:
    """An interval that a run used, or a habit, yields the expected goodput and loss against the optimum."""
    result = plan(scenario_of(case.spec), intervals_s=(case.interval_s,))
    (record,) = (r for r in result.records if r.given and r.strategy == case.strategy and r.method == "exact")
    best = record_of(result, case.strategy, "exact")
    assert record.interval_s == case.interval_s
    assert close(record.goodput_exact, case.goodput)
    assert close(100 * record.save_fraction, case.save_percent)
    assert close(100 * record.rework_fraction, case.rework_percent)
    assert close(100 * record.restart_fraction, case.restart_percent)
    assert close(100 * (best.goodput_exact - record.goodput_exact), case.points_below)


@pytest.mark.parametrize("optimum", OPTIMA, ids=by_spec)
def test_spec_as_it_ships_keeps_goodput_and_steps(optimum: Optimum) -> None:
    """With the small states in, the exact goodput moves by less than 1e-5 and the step count not at all."""
    record = record_of(plan(shipped(optimum.spec)), optimum.strategy, "exact")
    assert abs(record.goodput_exact - float(optimum.goodput)) < 1e-5
    assert record.interval_steps == optimum.steps


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: facts.spec)
def test_small_states_are_small(facts: Facts) -> None:
    """Random numbers, data position and the like add at most 16 KiB per GPU to the states per parameter."""
    extra = plan(shipped(facts.spec)).checkpoint.size_bytes - plan_of(facts.spec).checkpoint.size_bytes
    assert 0 < extra < 16 * 1024 * shipped(facts.spec).cluster.gpus


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: facts.spec)
def test_every_number_says_where_it_comes_from(facts: Facts) -> None:
    """Each line that carries a number has a comment, on it or above it, that names its source or says assumed."""
    above = ""
    for line in (CONFIGS / f"{facts.spec}.yaml").read_text(encoding="ascii").splitlines():
        content, _, comment = line.partition("#")
        key_only = not re.search(r":\s*\S", content) or content.startswith("name:")
        if content.strip() and not key_only and "bytes_per_parameter" not in content:
            computed = re.search(r"mode: (gathered|sharded)}\s*$", content)
            assert computed or SOURCE_WORDS.search(comment or above), line
        above = (above if content.strip() else line) if comment or content.strip() else ""


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: facts.spec)
def test_header_names_sources_and_contradictions(facts: Facts) -> None:
    """The comment at the top says what the run is and where it is published, and admits contradictions."""
    text = (CONFIGS / f"{facts.spec}.yaml").read_text(encoding="ascii")
    header = text.split("\nname:")[0]
    assert re.search(r"^# Sources?:", header, re.MULTILINE)
    assert re.search(r"arXiv \d{4}\.\d{5}|\w+/[\w.-]+@[0-9a-f]{7,}|\w+/\w+ issue \d+|mlsysim", header)
    assert "ontradiction" in header or "Not the real run" in header


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_no_strategy_is_another_one_with_a_cost_left_out(path: Path) -> None:
    """A save whose flush slows training down has no twin of the same stall that is free: nobody can save that way."""
    saves = shipped(path.stem).saves
    for slow in (save for save in saves if (save.training_speed_while_flushing or 1.0) < 1.0):
        for other in saves:
            free = other.training_speed_while_flushing in (None, 1.0)
            assert not (free and other.stall_s == slow.stall_s), (slow.name, other.name)
