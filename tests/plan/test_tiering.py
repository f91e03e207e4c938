"""Plans over several tiers: one tier is a single save, the table adds up, and a tier that is left out says why."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from ckptplan.cost.scenario import Scenario, Strike
from ckptplan.errors import InputError
from ckptplan.interval.breakdown import exact_shares
from ckptplan.interval.recovery import recovery_parts
from ckptplan.interval.tier_chain import tier_goodput
from ckptplan.interval.tier_recovery import Causes
from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.plan.case import cases_of
from ckptplan.plan.tiers.tiering import tiering_of
from ckptplan.spec.reading import read_spec
from tests.plan.test_spectrum import EVERY_KIND

SPEC = """\
name: a run
model: {{parameters: 405e9, state: adam-14}}
cluster: {{gpus: 16384, gpus_per_node: 8}}
failures:
  interruptions: {{count: 419, over: 54 d}}
  classes:
    - {{name: software, share: 60 %, loses: process}}
    - {{name: node, share: 40 %, loses: node}}
{classes}
storage:
  tiers:
{tiers}
restart: {{detect: 1 min, replace: 2 min, initialise: 3 min, load: 3 min, warm_up: 1 min}}
training: {{step_time: 5 s}}
{more}
"""
MEMORY = "kind: host memory, stall: 5 s, load: 10 s"
FILES = "kind: file system, stall: 60 s"


def scenario(*tiers: str, classes: str = "", more: str = "") -> Scenario:
    """A run with these tiers."""
    lines = "".join(f"    - {{{tier}}}\n" for tier in tiers)
    others = "".join(f"    - {{{line.strip()}}}\n" for line in classes.splitlines())
    return read_spec(SPEC.format(tiers=lines, classes=others, more=more).encode(), "run.yaml").scenario


def made(run: Scenario, **options: float) -> object:
    """The tiering of a run."""
    found = tiering_of(run, cases_of(run)[0], **options)
    assert found is not None
    return found


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("drain", ["", ", write: blocking"])
@pytest.mark.parametrize("classes", ["", EVERY_KIND])
def test_one_tier_is_a_single_save(strike: Strike, drain: str, classes: str) -> None:
    """A plan over one tier has the interval and the goodput of that tier as a strategy."""
    run = replace(
        scenario(
            f"{FILES}{drain}",
            classes=classes.replace("share: 2 %", "every: 100 h").replace("share: 1.5 %", "every: 200 h"),
        ),
        failures_strike=strike,
    )
    found = plan(run)
    assert found.tiers is not None
    assert found.tiers.interval_steps == found.best.interval_steps
    assert found.tiers.goodput == pytest.approx(found.best.goodput_typed, rel=1e-12)
    assert not found.tiers_are_best or found.tiers.goodput - found.best.goodput_typed < 1e-12


def test_two_tiers_are_the_exact_chain() -> None:
    """With crashes only, the goodput is that of the Markov chain for the pattern that the table prints."""
    run = scenario(MEMORY, FILES)
    found = made(run)
    case = cases_of(run)[0]
    rate = 1.0 / case.mtbf_s
    D, restart = 180.0, np.array([[250.0, 420.0]] * 2)
    parts = recovery_parts(D, restart, run.failures_strike)
    causes = Causes(rate * np.array([0.6, 0.4]), [1, 2], parts)
    exact = tier_goodput(found.plan.interval_s, found.every, [5.0, 65.0], causes)
    assert found.plan.goodput == pytest.approx(float(exact), rel=1e-12)
    assert found.plan.exact_goodput == pytest.approx(float(exact), rel=1e-6)
    # No neighbour is better.
    for every in ([1, found.every[1] - 1], [1, found.every[1] + 1]):
        assert float(tier_goodput(found.plan.interval_s, every, [5.0, 65.0], causes)) < float(exact)


def test_shares_add_up_and_so_do_the_failures() -> None:
    """Shares of wall time sum to one with every kind of class, and each failure goes back to some tier."""
    found = made(
        scenario(
            MEMORY,
            FILES,
            classes=EVERY_KIND.replace("share: 2 %", "every: 100 h").replace("share: 1.5 %", "every: 200 h"),
            more="spares: {nodes: 8, repair: 12 h}",
        )
    )
    assert sum(float(part) for part in found.shares[:6]) == pytest.approx(1.0, abs=1e-12)
    assert sum(tier.catches for tier in found.plan.tiers) == pytest.approx(1.0, abs=1e-12)
    assert found.plan.goodput == pytest.approx(float(found.shares.useful), rel=1e-15)


def test_the_worth_of_a_tier_is_what_a_plan_without_it_lacks() -> None:
    """Leaving the memory tier out of the spec costs what the table says that it is worth."""
    both, one = made(scenario(MEMORY, FILES)), made(scenario(FILES))
    memory = both.plan.tiers[0]
    assert memory.kept
    assert memory.gain == pytest.approx(both.plan.exact_goodput - one.plan.exact_goodput, abs=1e-9)
    assert both.plan.goodput > one.plan.goodput


def test_a_tier_that_nothing_needs_is_left_out_with_the_reason() -> None:
    """A disk that survives no more than the memory below it is not saved to."""
    found = made(scenario(MEMORY, "kind: local ssd, stall: 10 s", FILES))
    ssd = found.plan.tiers[1]
    assert not ssd.kept
    assert ssd.every_steps is None
    assert ssd.gain is not None
    assert ssd.gain < 0.0
    assert "no failure goes back to it" in ssd.why


@pytest.mark.parametrize("between", [(), ("kind: file system, name: archive, stall: 900 s",)])
def test_a_last_tier_that_nothing_needs_is_kept_with_the_reason(between: tuple[str, ...]) -> None:
    """It is kept because it is the last; the note names the lowest tier that survives everything without it."""
    *_, files, last = made(scenario(MEMORY, FILES, "kind: object store, stall: 600 s")).plan.tiers
    assert last.kept
    assert last.catches == 0.0
    assert "kept because the last tier must survive everything; no failure of the spec goes back to it" in last.why
    assert "file system survives everything too: it can be deleted" in last.why
    assert files.why == ""
    more = made(scenario(MEMORY, FILES, *between, "kind: object store, stall: 600 s")).plan.tiers
    assert more[-1].why == last.why


def test_a_last_tier_that_something_needs_has_no_note() -> None:
    """Failures go back to it, or the save before an announced end needs it though no failure does."""
    assert made(scenario(MEMORY, FILES)).plan.tiers[-1].why == ""
    peers = "kind: peer memory, stall: 5 s"
    announced = made(scenario(peers, FILES, classes="kind: maintenance, every: 10 d")).plan.tiers[-1]
    assert announced.catches == 0.0
    assert announced.why == ""


def test_a_tier_that_costs_more_than_it_saves_is_left_out_with_the_reason() -> None:
    """Memory that takes as long to write as the file system is not worth having."""
    found = made(scenario("kind: host memory, stall: 55 s", FILES))
    memory = found.plan.tiers[0]
    assert not memory.kept
    assert "more than the failures it survives" in memory.why


def test_a_tier_without_room_is_not_used() -> None:
    """A memory tier into which no save fits is left out, and the last tier is refused."""
    found = made(scenario(f"{MEMORY}, capacity: 1 TB", FILES))
    assert found.plan.tiers[0].why == "no save fits into it"
    assert found.plan.tiers[0].fits == 0
    with pytest.raises(InputError, match="no save fits into the last tier"):
        made(scenario(MEMORY, f"{FILES}, capacity: 1 TB"))


def test_steps_are_nested() -> None:
    """The steps between saves to each tier are whole multiples of those below."""
    found = made(scenario(MEMORY, "kind: peer memory, stall: 15 s, simultaneous: 20 %", FILES))
    steps = [tier.every_steps for tier in found.plan.tiers if tier.kept]
    assert steps[0] == found.plan.interval_steps
    assert all(high % low == 0 for low, high in itertools.pairwise(steps))


def test_a_given_interval_is_raised_to_the_drains() -> None:
    """An interval that the drain to the last tier does not allow is raised to the one that it does."""
    run = scenario(MEMORY, "kind: file system, write: background, drain: 40 min")
    found = made(run, interval_s=5.0)
    assert (found.plan.interval_s + 5.0) * found.every[-1] >= 2400.0 * (1 - 1e-9)
    asked = made(run, interval_s=found.plan.interval_s * 2)
    assert asked.plan.interval_s == pytest.approx(found.plan.interval_s * 2)


def test_total_recovery_leaves_loads_uncounted_and_says_so() -> None:
    """With a recovery given as a total the load of a tier cannot count, which the plan says."""
    text = SPEC.replace(
        "{{detect: 1 min, replace: 2 min, initialise: 3 min, load: 3 min, warm_up: 1 min}}", "{{total: 10 min}}"
    )
    spec = text.format(tiers=f"    - {{{MEMORY}}}\n    - {{{FILES}}}\n", classes="", more="")
    found = plan(read_spec(spec.encode(), "run.yaml").scenario)
    assert any("load times of the tiers do not count for software, node" in warning for warning in found.warnings)


@pytest.mark.parametrize("strike", list(Strike))
def test_a_tier_alone_restarts_from_itself(strike: Strike) -> None:
    """Its goodput is that of the exact formula with its own load in place of the spec's 3 min, not the spec's."""
    tiers = (f"{FILES}, load: 20 min", "kind: object store, stall: 90 s, load: 40 s")
    run = replace(scenario(*tiers), failures_strike=strike)
    slow, fast = cases_of(run)
    assert [case.save.name for case in (slow, fast)] == ["file system alone", "object store alone"]
    for case, load_s in ((slow, 1200.0), (fast, 40.0)):
        goodput = exact_shares(
            1500.0, case.save.stall_s, case.mtbf_s, downtime=180.0, restart=240.0 + load_s, strike=strike
        ).goodput
        assert case.goodput(1500.0) == pytest.approx(float(goodput), rel=1e-12)
        assert case.restart.total_s == pytest.approx(420.0 + load_s)
        assert case.of_spec.restart.total_s == pytest.approx(600.0)


def test_all_tiers_do_not_depend_on_the_case_they_are_planned_from() -> None:
    """A tier without a load of its own takes that of the spec, whichever tier alone the case is of."""
    run = scenario(MEMORY, f"{FILES}, load: 20 min", "kind: object store, stall: 90 s")
    first, second = (tiering_of(run, case) for case in cases_of(run))
    assert first is not None
    assert second is not None
    assert first.plan == second.plan
    assert [tier.name for tier in first.plan.tiers if tier.kept] == ["host memory", "object store"]
    assert first.restart_s[0] == pytest.approx([240.0 + 10.0, 240.0 + 180.0])


@pytest.mark.parametrize("load", ["20 s", "20 min", "3 h"])
def test_all_tiers_never_yield_less_than_one_alone(load: str) -> None:
    """Whatever a tier takes to load from, the plan over all tiers knows it as well as the tier alone does."""
    run = scenario(MEMORY, f"{FILES}, load: {load}", f"kind: object store, stall: 90 s, load: {load}")
    alone = max(case.goodput(case.typed_interval_s) for case in cases_of(run))
    assert made(run).plan.goodput >= alone - 1e-9


def test_tiers_of_a_run_that_fails_faster_than_it_saves_have_no_plan():
    """Where no interval has a goodput there is no pattern to recommend, and the single tiers say 0."""
    scenario = load("spectrum-16384").scenario
    hopeless = replace(scenario, failures=load("spot-24").scenario.failures)
    made = plan(hopeless, whole_run=False)
    assert made.tiers is None
    assert made.best_goodput == 0.0
