"""How many saves to keep: through a spec, against references, against draws of errors, and against the plan."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.interval.retention import DelayLaw
from ckptplan.plan import plan
from ckptplan.plan.chosen import ways_of_saving
from ckptplan.plan.retention import rules
from ckptplan.plan.retention.given import typed_time
from ckptplan.plan.retention.retaining import RetentionPlan, retention_plan
from ckptplan.plan.retention.rules import Late, Rule, leaves
from ckptplan.plan.retention.saving import period_of_slots, saving_of
from ckptplan.plan.retention.thin import fewest, two_steps
from ckptplan.spec.reading import read_spec
from ckptplan.units import parse_quantity

SILENT = "{name: sdc, kind: silent corruption, share: 20 %, detect: 1 h}"
BLOCKING = "save: [{name: blocking, mode: sharded, stall: 200 s}]\n"
TIERS = """
save: []
storage:
  write_bandwidth: 2 TB/s
  tiers:
    - {kind: host memory, stall: 1 s, load: 5 s, capacity_per_node: 1 TB}
    - {kind: local ssd, write: background, bandwidth_per_node: 0.1 GB/s, endurance_per_node: 5.6 PB, load: 20 s}
    - {kind: file system, stall: 40 s, capacity: 5 PB, load: 3 min}
"""
TIER_CLASSES = (
    "{name: process, kind: crash, loses: process, share: 40 %}",
    "{name: sdc, kind: silent corruption, share: 1.4 %}",
    "{kind: loss spike, every: 2 d}",
)


def scenario(*classes: str, saves: str = BLOCKING, more: str = "", mtbf: str = "200 h", gpus: int = 64) -> Scenario:
    """A run with some classes of failures; 1,000 s of work and 200 s of stall make a period of 1,200 s."""
    listed = f"  classes: [{', '.join(classes)}]\n" if classes else ""
    text = (
        f"name: run\nmodel: {{parameters: 1e9, state: adam-14}}\ncluster: {{gpus: {gpus}, gpus_per_node: 8}}\n"
        f"failures:\n  mtbf: {mtbf}\n{listed}"
        f"training: {{step_time: 5 s}}\nrestart: {{detect: 30 s, initialise: 3 min, load: 3 min}}\n{saves}{more}\n"
    )
    return read_spec(text.encode(), "run.yaml").scenario


def tiered(more: str = "", classes: tuple[str, ...] = TIER_CLASSES) -> Scenario:
    """A large run that is best saved to several tiers."""
    return scenario(*classes, saves=TIERS.replace("save: []\n", ""), more=more, mtbf="3.09 h", gpus=16384)


def made(*classes: str, more: str = "", interval_s: float = 1000.0, **asked: Any) -> RetentionPlan:
    """A plan at a period of 1,200 s."""
    return retention_plan(scenario(*classes, more=more), interval_s=interval_s, **asked)


def drawn(rule: Rule, period_s: float, delays_s: np.ndarray, seed: int) -> tuple[float, float, float, float]:
    """Share of errors without a clean save and mean extra rework, each with its standard error, by drawing errors.

    Saves are numbered; a save is kept as the stages say. Each error is found after its delay, at a random moment.
    """
    rng = np.random.default_rng(seed)
    stages = [(stage.every, stage.until_s) for stage in rule.stages]
    stages += [] if rule.archive_every is None else [(rule.archive_every, math.inf)]
    cycle = math.lcm(*(every for every, _ in stages))
    none, extra = np.zeros(len(delays_s)), np.zeros(len(delays_s))
    for k, delay_s in enumerate(delays_s):
        newest, phase = int(rng.integers(cycle)), rng.random() * period_s
        backs = math.ceil(delay_s / period_s) + 2 * cycle + 2
        index = newest - np.arange(backs) + 10 * backs * cycle
        age = phase + period_s * np.arange(backs)
        old_enough = age >= delay_s
        kept = np.any([(index % every == 0) & (age < until) for every, until in stages], axis=0)
        clean = age[kept & old_enough]
        none[k] = clean.size == 0
        extra[k] = 0.0 if clean.size == 0 else clean[0] - age[old_enough][0]
    root = math.sqrt(len(delays_s))
    return float(none.mean()), float(none.std() / root), float(extra.mean()), float(extra.std() / root)


@pytest.mark.parametrize(
    ("law", "needed", "keep", "missing"),
    [("exponential", 22, 2, 0.6093425746), ("fixed", 4, 2, 1.0)],
)
def test_references_come_out_of_a_spec(law: str, needed: int, keep: int, missing: float) -> None:
    """A delay of 1 h at a period of 1,200 s: the published numbers to keep, and the probability of two."""
    found = made(SILENT.replace("}", f", detect_delay: {law}}}"), more=f"retention: {{keep: {keep}}}")
    assert found.history.period_s == pytest.approx(1200.0, rel=1e-12)
    assert (found.classes[0].needed, found.rules[0].saves) == (needed, needed)
    assert found.given is not None
    assert found.given.missing == pytest.approx(missing, rel=1e-9)
    assert not found.given.is_enough


def test_a_loss_spike_needs_its_way_back_in_steps() -> None:
    """100 steps back, noticed 10 steps later, at 50 steps between saves: four saves, whatever the stall."""
    for stall in ("10 s", "300 s"):
        saves = BLOCKING.replace("200 s", stall)
        run = scenario("{kind: loss spike, every: 2 d, back_steps: 100, lag_steps: 10}", saves=saves)
        found = retention_plan(run, interval_s=250.0)
        assert (found.classes[0].needed, found.classes[0].missing) == (4, 0.0)
        assert found.rules[0].probability == 1.0


def test_the_number_of_the_least_class_is_not_enough_and_the_largest_binds() -> None:
    """Each class has its own number; the rule is that of the largest, and one save fewer is not enough."""
    found = made(SILENT, "{kind: loss spike, every: 2 d, back_steps: 3000}")
    needs = {one.name: (one.needed, one.binds) for one in found.classes}
    assert needs == {"sdc": (22, True), "loss spike": (math.ceil(3010 * 5 / 1000) + 1, False)}
    assert found.rules[0].saves == 22
    less = made(SILENT, "{kind: loss spike, every: 2 d, back_steps: 3000}", more="retention: {keep: 21}")
    assert less.given is not None
    assert (less.given.is_enough, less.given.least_sure) == (False, "sdc")


@pytest.mark.parametrize(
    ("more", "which"),
    [
        ("retention: {probability: 95 %}", "newest"),
        ("retention: {probability: 95 %}", "two steps"),
        ("retention: {probability: 95 %}", "fewest"),
        ("retention: {keep_all: 1 h, then_every: 1 h, then_for: 2.4 h}", "spec"),
        ("retention: {keep_all: 1 h, then_every: 2 h, then_for: 2.4 h}", "spec"),
        ("retention: {keep_all: 97 min}", "spec"),
        ("retention: {keep: 2, archive_every: 4 h}", "spec"),
        ("retention: {keep_all: 50 min, then_every: 45 min, then_for: 3.1 h, archive_every: 3 h}", "spec"),
    ],
)
def test_rules_leave_what_draws_of_errors_find(more: str, which: str) -> None:
    """20,000 errors at random moments: share without a clean save and extra rework agree to four standard errors."""
    found = made(SILENT, more=more)
    rules = found.rules if found.given is None else (found.given,)
    rule = next(one for one in rules if one.rule == which)
    delays_s = np.random.default_rng(7).exponential(3600.0, 20_000)
    missing, of_missing, extra_s, of_extra = drawn(rule, 1200.0, delays_s, seed=11)
    assert abs(missing - rule.missing) <= 4.0 * of_missing + 1e-12
    assert abs(extra_s - rule.extra_rework_s) <= 4.0 * of_extra + 1e-9
    assert (rule.extra_rework_s > 0.0) == (len(rule.stages) > 1 or rule.archive_every is not None)


def test_a_thinner_rule_costs_what_its_rework_takes() -> None:
    """Goodput lost to first order: what the errors of a second bring of extra rework, times the goodput."""
    found = made(SILENT)
    rate = 0.2 / (200 * 3600.0)
    for rule in found.rules[1:]:
        assert rule.lost_goodput == pytest.approx(found.saving.goodput * rate * rule.extra_rework_s, rel=1e-12)
        assert rule.none_left_every_s == pytest.approx(1.0 / (rate * rule.missing), rel=1e-12)
    assert [rule.saves for rule in found.rules] == sorted({rule.saves for rule in found.rules}, reverse=True)
    assert all(rule.is_enough for rule in found.rules)


def test_the_rule_in_two_steps_can_be_typed_into_the_spec() -> None:
    """Its keys, written under retention, are judged as what was proposed."""
    for detect in ("1 h", "7.3 h", "3 d"):
        silent = SILENT.replace("1 h", detect)
        proposed = next(rule for rule in made(silent).rules if rule.rule == "two steps")
        given = made(silent, more=f"retention: {{{proposed.keep}}}").given
        assert given is not None
        assert given._replace(rule="", keep="") == proposed._replace(rule="", keep="")


def test_no_rule_in_two_steps_of_that_form_needs_much_less() -> None:
    """Trying every spacing finds at most two saves fewer: what rounding the times for typing costs."""
    late = Late("sdc", 0.0, 24.0, DelayLaw.EXPONENTIAL, 0.001)
    found = two_steps(1200.0, [late])
    assert found is not None
    rule = found[1]
    saves = sum(math.ceil(stage.until_s / 1200.0 / stage.every) for stage in rule.stages) - 1
    least = min(
        k + int(1 + math.ceil(24.0 / k * math.log((1 - math.exp(-k / 24.0)) * 24.0 / k / 0.001))) - 1
        for k in range(2, 100)
    )
    assert least <= saves <= least + 2


def test_the_thinnest_rule_is_enough_for_every_class() -> None:
    """Classes that want different things: what any of their rules wants is kept."""
    lates = [
        Late("late", 1e-6, 40.0, DelayLaw.EXPONENTIAL, 0.001),
        Late("fixed", 1e-6, 300.0, DelayLaw.BOUNDED, 0.001),
        Late("spike", 1e-6, 3.5, DelayLaw.BOUNDED, 0.001, is_way_back=True),
    ]
    found = fewest(60.0, lates)
    assert found is not None
    assert all(part <= 0.001 for part in leaves(found[1], lates).missing)


def test_a_long_rule_is_judged_in_groups_of_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saves taken together make the probability of no clean save slightly larger, never smaller."""
    more = "retention: {keep_all: 6 h, then_every: 100 min, then_for: 7 h}"
    silent = SILENT.replace("1 h", "3 h")
    fine = made(silent, more=more, interval_s=100.0).given
    monkeypatch.setattr(rules, "_MOST_PAIRS", 200)
    coarse = made(silent, more=more, interval_s=100.0).given
    assert fine is not None
    assert coarse is not None
    assert fine.missing < coarse.missing < 1.2 * fine.missing
    assert coarse.extra_rework_s == pytest.approx(fine.extra_rework_s, rel=0.1)


def test_a_check_before_the_save_leaves_one_save_to_keep() -> None:
    """Verified saves: the newest one is clean, and the check is a part of the period."""
    found = made(SILENT, more="verification: {time: 30 s, per_save: 2}")
    assert (found.classes[0].law, found.classes[0].needed, found.rules[0].saves) == ("verified", 1, 1)
    assert found.history.period_s == pytest.approx(1260.0, rel=1e-12)
    assert found.tiers[0].room_bytes == 2.0 * found.history.bytes_per_save


def test_nothing_found_late_needs_one_save() -> None:
    """Restarts go back to the newest save; a rule of the spec is enough as long as it keeps one."""
    found = made(more="retention: {keep: 5}")
    assert found.classes == ()
    assert found.rules[0].saves == 1
    assert found.given is not None
    assert (found.given.is_enough, found.given.saves) == (True, 5)


@pytest.mark.parametrize(
    ("every", "stalls"), [((1,), (7.0,)), ((1, 5), (1.0, 40.0)), ((2, 6, 24), (1.0, 4.0, 40.0)), ((1, 1, 3), (1, 2, 9))]
)
def test_the_period_of_the_last_tier_is_a_sum_over_slots(every: tuple[int, ...], stalls: tuple[float, ...]) -> None:
    """Slot after slot: each has the stall of the highest tier that is due, and one is due in every slot."""
    total = 0.0
    for slot in range(1, every[-1] + 1):
        due = [stall_s for n, stall_s in zip(every, stalls, strict=True) if slot % n == 0]
        total += 30.0 + (due[-1] if due else 0.0)
    assert period_of_slots(30.0, every, stalls) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("run", [scenario(SILENT), tiered(), tiered(more="verification: {time: 2 s}"), scenario()])
def test_the_way_of_saving_is_that_of_the_plan(run: Scenario) -> None:
    """Strategy, interval and goodput are those that `plan` recommends, to the last digit."""
    best, saving = plan(run), saving_of(run)
    assert saving.goodput == best.best_goodput
    if best.tiers is not None and best.tiers_are_best:
        assert (saving.strategy, saving.interval_s) == ("tiers", best.tiers.interval_s)
        assert [place.name for place in saving.places] == [tier.name for tier in best.tiers.tiers if tier.kept]
        assert [place.work_s for place in saving.places] == [t.interval_s for t in best.tiers.tiers if t.kept]
    else:
        assert (saving.strategy, saving.interval_steps) == (best.best.strategy, best.best.interval_steps)
        assert saving.interval_s == best.best.typed_interval_s(best.step_time_s)


def test_a_given_interval_is_that_of_the_plan() -> None:
    """The goodput of an asked interval is that of the plan's row for it; one below the flush is raised."""
    run = tiered()
    for name in ways_of_saving(run)[:-1]:
        record = next(r for r in plan(run, intervals_s=[40.0], methods=["exact"]).given() if r.strategy == name)
        saving = saving_of(run, strategy=name, interval_s=40.0)
        assert (saving.interval_s, saving.goodput) == (record.interval_s, record.goodput_exact)
    raised = saving_of(run, strategy="tiers", interval_s=0.001)
    assert raised.interval_s > 0.001
    assert raised.goodput < saving_of(run, strategy="tiers").goodput


def test_tiers_hold_the_newest_save_and_the_last_one_the_history() -> None:
    """The number is reckoned with the period of the tier that errors go back to; the others hold one save."""
    found = retention_plan(tiered())
    last = found.tiers[-1]
    assert found.saving.strategy == "tiers"
    assert [tier.saves for tier in found.tiers[:-1]] == [1] * (len(found.tiers) - 1)
    assert last.name == found.history.name == "file system"
    assert last.saves == found.rules[0].saves == max(one.needed for one in found.classes)
    k = math.ceil(1 + math.log(1000.0) * 28800.0 / last.period_s)
    assert k - 1 <= last.saves <= k


def test_memory_with_room_for_one_save_holds_no_other() -> None:
    """A second buffer is assumed only where it fits."""
    classes = ("{name: process, kind: crash, loses: process, share: 90 %}", TIER_CLASSES[1])
    saves = TIERS.replace("save: []\n", "").replace("bandwidth_per_node: 0.1 GB/s", "stall: 30 s, drain: 1 h")
    for capacity, under_way in (("10 MB", 0), ("15 MB", 1), ("1 TB", 1)):
        memory = saves.replace("capacity_per_node: 1 TB", f"capacity_per_node: {capacity}")
        found = retention_plan(scenario(*classes, saves=memory, mtbf="1 h", gpus=16384), strategy="tiers")
        host = found.tiers[0]
        assert host.name == "host memory"
        assert (host.saves, host.under_way) == (1, under_way)
        assert host.room_bytes == (1 + under_way) * found.history.bytes_per_save


def test_a_disk_that_is_said_to_keep_a_history_holds_it_for_the_class() -> None:
    """A class goes back to the lowest tier that survives it, and that tier holds as many saves as it needs."""
    survives = "load: 20 s, survives: [process, loss spike]"
    saves = TIERS.replace("save: []\n", "").replace("load: 20 s", survives)
    run = scenario(*TIER_CLASSES, saves=saves, mtbf="3.09 h", gpus=16384)
    found = retention_plan(run, strategy="tiers", interval_s=100.0)
    spike = next(one for one in found.classes if one.kind == "loss spike")
    disk = next(tier for tier in found.tiers if tier.name == "local ssd")
    place = next(one for one in found.saving.places if one.name == "local ssd")
    assert (spike.tier, spike.needed) == ("local ssd", math.ceil(550.0 / place.work_s) + 1)
    assert disk.saves == spike.needed > 2
    assert next(one for one in found.classes if one.name == "sdc").tier == "file system"


def test_bytes_written_wear_out_the_disks() -> None:
    """A day of saves to each tier, and the days until the endurance of all nodes has been written."""
    run = tiered()
    found = retention_plan(run, strategy="tiers")
    disk = next(tier for tier in found.tiers if tier.name == "local ssd")
    a_day = plan(run).checkpoint.size_bytes * 86_400.0 / disk.period_s
    assert disk.written_bytes_per_day == pytest.approx(a_day, rel=1e-12)
    assert disk.worn_out_days == pytest.approx(5.6e15 * 2048 / disk.written_bytes_per_day, rel=1e-12)
    assert found.tiers[-1].worn_out_days is None


def test_an_archive_grows_without_end() -> None:
    """One of every so many whole saves for ever: bytes a year, the time until the room is full, and what it rescues."""
    found = made(SILENT, more="retention: {keep: 3, archive_every: 7 h, capacity: 1 TB}")
    assert found.archive_every == 21
    size = found.history.bytes_per_save
    assert found.tiers[-1].archive_bytes_per_year == pytest.approx(size * 365 * 86_400 / (21 * 1200.0), rel=1e-12)
    assert found.archive_full_s == (int(1e12 // size) - 4) * 21 * 1200.0
    rule = found.given
    assert rule is not None
    assert (rule.missing, rule.is_enough) == (0.0, True)
    plain = made(SILENT, more="retention: {keep: 3}").given
    assert plain is not None
    assert rule.only_in_archive == pytest.approx(plain.missing, rel=1e-12)


def test_too_little_room_is_refused_with_what_it_is_worth() -> None:
    """The needed number and its bytes, the room, the number that fits with its probability, and what to change."""
    with pytest.raises(InputError) as error:
        made(SILENT, more="retention: {capacity: 150 GB}")
    (problem,) = error.value.problems
    fits, x = 9, 1200.0 / 3600.0  # complete saves beside the one under way
    clean = 1.0 - math.exp(-(fits - 1) * x) * (1.0 - math.exp(-x)) / x
    assert problem.key == "retention.capacity"
    assert "keep: 22" in problem.message
    assert "23 saves, the one under way included (322 GB)" in problem.message
    assert "room for 10 (140 GB)" in problem.message
    assert "the number that fits is 9 beside the one under way" in problem.message
    assert f"leaves a clean save for {math.floor(1e4 * clean) / 100} % of sdc" in problem.message
    assert problem.hint is not None
    assert "thin out: {keep_all: 80 min" in problem.hint
    assert "raise the capacity to 322 GB" in problem.hint
    assert "verify saves" in problem.hint


def test_the_delay_that_the_room_allows_is_enough() -> None:
    """Found as soon as the hint says, the errors need no more saves than fit."""
    with pytest.raises(InputError) as error:
        made(SILENT, more="retention: {capacity: 150 GB}")
    hint = error.value.problems[0].hint or ""
    within_s = float(hint.split("find sdc within ")[1].split(" s")[0].replace(",", ""))
    assert made(SILENT.replace("1 h", f"{within_s - 1} s")).rules[0].saves <= 9
    assert made(SILENT.replace("1 h", f"{within_s + 1} s")).rules[0].saves > 9


def test_the_rule_of_the_spec_is_refused_where_it_does_not_fit() -> None:
    """A rule that holds more than there is room for, a tier's capacity that is less than the retention's, and none."""
    with pytest.raises(InputError, match=r"the rule of the spec \(keep: 30\) holds 31 saves"):
        made(SILENT, more="retention: {keep: 30, capacity: 400 GB}")
    with pytest.raises(InputError, match="none fits beside the one under way"):
        made(SILENT, more="retention: {keep: 1, capacity: 20 GB}")
    run = tiered(more="retention: {keep: 9, capacity: 1 PB}")
    tiers = (*run.storage.tiers[:-1], run.storage.tiers[-1]._replace(capacity_bytes=130e9))
    small = replace(run, storage=replace(run.storage, tiers=tiers))
    with pytest.raises(InputError) as error:
        retention_plan(small)
    assert error.value.problems[0].key == "storage.tiers"
    assert "room for 9" in error.value.problems[0].message


def test_a_time_shorter_than_the_period_keeps_nothing() -> None:
    """For part of the time no save would be there: refused, with the least time that makes sense."""
    with pytest.raises(InputError, match=r"keep_all: 600 s is shorter than the 1,200 s") as error:
        made(SILENT, more="retention: {keep_all: 10 min}")
    assert error.value.problems[0].hint == "write keep_all: 20 min or more, or keep: 2"


def test_the_wanted_probability_can_be_asked_for() -> None:
    """A given probability replaces that of the spec."""
    assert made(SILENT, more="retention: {probability: 95 %}").probability == 0.95
    few, many = (made(SILENT, probability=value).rules[0].saves for value in (0.9, 0.99999))
    assert few < 22 < many


@pytest.mark.parametrize("time_s", [1.0, 61.0, 119.99, 4799.999, 7200.0, 123_456.0, 1e9])
def test_times_to_type_are_rounded_to_one_side(time_s: float) -> None:
    """Three digits, up or down, and the text is the value."""
    for up in (True, False):
        value_s, text = typed_time(time_s, up=up)
        assert parse_quantity(text, "time") == pytest.approx(value_s, rel=1e-12)
        assert abs(value_s - time_s) <= 0.01 * time_s
        assert value_s >= time_s * (1 - 1e-9) if up else value_s <= time_s * (1 + 1e-9)
