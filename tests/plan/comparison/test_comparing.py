"""Comparisons of whole runs: causes that add up, against plans made one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest

from ckptplan.cost.protection import Prediction, Retention
from ckptplan.cost.scenario import Law, LawName, Mode, Restart, Save, Scenario, Storage, Strike, Training
from ckptplan.load import load, shipped_configs
from ckptplan.plan import plan
from ckptplan.plan.comparison.comparing import _most_mixes, compare
from ckptplan.plan.comparison.groups import GROUPS, differing
from ckptplan.plan.comparison.mixes import Mixes
from ckptplan.plan.comparison.record import Comparison
from ckptplan.plan.record import TIERS

_COSTLY = ("llama3-405b-causes", "spectrum-16384")
_CLOSED = [config.name for config in shipped_configs() if config.name not in _COSTLY]
_ALL_PAIRS = list(combinations(_CLOSED, 2))
_PAIRS = [_ALL_PAIRS[k] for k in np.random.default_rng(7).choice(len(_ALL_PAIRS), 60, replace=False)]


@cache
def _scenario(name: str) -> Scenario:
    return load(name).scenario


def _goodput(scenario: Scenario) -> float:
    return plan(scenario, whole_run=False).best_goodput


def _holds(made: Comparison) -> None:
    """Everything that must hold of any comparison."""
    assert made.difference == made.second.best_goodput - made.first.best_goodput
    assert sum(cause.goodput for cause in made.causes) == pytest.approx(made.difference, abs=1e-12)
    assert sum(loss.goodput for loss in made.losses) == pytest.approx(made.difference, abs=1e-12)
    for cause in made.causes:
        assert cause.least <= cause.goodput + 1e-15
        assert cause.goodput <= cause.most + 1e-15
    sizes = [abs(cause.goodput) for cause in made.causes]
    assert sizes == sorted(sizes, reverse=True)
    for outcome in made.outcomes:
        lost = outcome.save_fraction + outcome.rework_fraction + outcome.restart_fraction
        lost += outcome.slow_fraction + outcome.waiting_fraction
        assert lost + outcome.goodput == pytest.approx(1.0, abs=1e-12)


def test_the_pairs_are_all_different() -> None:
    """The sample below has every shipped config without classes and tiers in it."""
    assert len(set(_PAIRS)) == 60
    assert {name for pair in _PAIRS for name in pair} == set(_CLOSED)


@pytest.mark.parametrize("pair", _PAIRS, ids="-".join)
def test_causes_of_shipped_runs_add_up(pair: tuple[str, str]) -> None:
    """Sums of causes and of losses are the difference of the goodputs of ``optimize``, for any two shipped runs."""
    _holds(compare(_scenario(pair[0]), _scenario(pair[1])))


@pytest.mark.parametrize("pair", [("llama3-405b", "llama3-405b-causes"), ("llama3-405b", "spectrum-16384")])
def test_causes_with_classes_and_tiers_add_up(pair: tuple[str, str]) -> None:
    """The same where failures have classes, and where saves go to several tiers."""
    made = compare(_scenario(pair[0]), _scenario(pair[1]))
    _holds(made)
    assert made.orders is None


@pytest.mark.parametrize("pair", _PAIRS[:6], ids="-".join)
def test_the_other_way_round_everything_changes_its_sign(pair: tuple[str, str]) -> None:
    """``compare B A`` has the causes of ``compare A B``, negated; least and most change places."""
    first, second = map(_scenario, pair)
    there, back = compare(first, second), compare(second, first)
    assert back.difference == -there.difference
    found = {cause.groups: cause for cause in back.causes}
    assert set(found) == {cause.groups for cause in there.causes}
    for cause in there.causes:
        other = found[cause.groups]
        assert other.goodput == pytest.approx(-cause.goodput, abs=1e-14)
        assert (other.least, other.most) == pytest.approx((-cause.most, -cause.least), abs=1e-14)


@pytest.mark.parametrize(
    ("first", "second", "every"),
    [("llama3-405b", "rsc-1", 1), ("llama3-405b", "llama3-405b-causes", 1), ("rsc-2", "spectrum-16384", 37)],
)
def test_mixes_have_the_goodput_that_their_plan_has(first: str, second: str, every: int) -> None:
    """The short way to the goodput of a mix is to the last bit what ``plan`` recommends."""
    a, b = _scenario(first), _scenario(second)
    mixes = Mixes(a, b, differing(a, b))
    checked = 0
    for members in range(0, mixes.everything + 1, every):
        if mixes.refusal(members) is None:
            assert mixes.goodput(members) == _goodput(mixes.scenario(members))
            checked += 1
    assert checked >= 4


def test_two_groups_by_hand() -> None:
    """Restart and save of Llama 3: each is the mean of what it makes first and what it makes last."""
    a = _scenario("llama3-405b")
    b = replace(a, restart=Restart(total_s=120.0), saves=(Save("quick", Mode.SHARDED, stall_s=2.0),))
    neither, both = _goodput(a), _goodput(b)
    restart, save = _goodput(replace(a, restart=b.restart)), _goodput(replace(a, saves=b.saves))
    made = compare(a, b)
    points = {cause.name: cause.goodput for cause in made.causes}
    assert points["restart"] == pytest.approx(((restart - neither) + (both - save)) / 2, abs=1e-15)
    assert points["save"] == pytest.approx(((save - neither) + (both - restart)) / 2, abs=1e-15)
    assert made.mixed == 2


def test_three_groups_against_every_order() -> None:
    """Plans made one by one along each of the six orders from A to B give the same means, least and most."""
    a, other = _scenario("llama3-405b"), _scenario("palm-540b")
    b = replace(a, failures=other.failures, restart=other.restart, cluster=other.cluster)
    groups = ("cluster", "failures", "restart")
    added: dict[str, list[float]] = {group: [] for group in groups}
    for order in permutations(groups):
        here = a
        for group in order:
            there = replace(here, **{group: getattr(b, group)})
            added[group].append(_goodput(there) - _goodput(here))
            here = there
    for cause in compare(a, b).causes:
        seen = added[cause.name]
        assert cause.goodput == pytest.approx(sum(seen) / 6, abs=1e-15)
        assert (cause.least, cause.most) == pytest.approx((min(seen), max(seen)), abs=1e-15)


@pytest.mark.parametrize("group", ["cluster", "failures", "save", "restart"])
def test_one_group_that_differs_makes_all_of_it(group: str) -> None:
    """Everything else equal, its part is the whole difference, wherever it stands in the order."""
    a, other = _scenario("llama3-405b"), _scenario("gpt3-10k")
    b = replace(a, **{field: getattr(other, field) for field in GROUPS[group]})
    made = compare(a, b)
    (cause,) = made.causes
    assert made.difference != 0.0
    assert cause.groups == (group,)
    assert cause.goodput == cause.least == cause.most == made.difference


def test_the_assumption_on_strikes_is_a_group() -> None:
    """Recoveries that no failure strikes are better; this is the cause ``assume``."""
    a = _scenario("llama3-405b")
    (cause,) = compare(a, replace(a, failures_strike=Strike.SAFE)).causes
    assert cause.groups == ("assume",)
    assert cause.goodput > 0.0


def test_equal_runs_have_no_cause() -> None:
    """Nothing differs, so nothing is planned in between; another name is no difference."""
    a = _scenario("llama3-405b")
    made = compare(a, replace(a, name="the same"))
    assert made.causes == ()
    assert made.difference == 0.0
    assert made.mixed == 0
    assert [note.partition(" are ")[0] for note in made.notes] == ["run time and GPU-hours"]


def test_a_save_that_needs_its_storage_is_one_cause_with_it() -> None:
    """A stall from the write bandwidth cannot be had without that storage: both together, and why, and no others."""
    a = replace(_scenario("rsc-1"), storage=Storage())
    b = replace(
        a,
        storage=Storage(write_bandwidth_bytes_per_s=200e9),
        saves=(Save("computed", Mode.SHARDED),),
        restart=Restart(total_s=60.0),
    )
    made = compare(a, b)
    _holds(made)
    assert {cause.groups for cause in made.causes} == {("storage", "save"), ("restart",)}
    (joined,) = [cause for cause in made.causes if len(cause.groups) > 1]
    assert joined.name == "storage and save"
    assert joined.why is not None
    assert "no write bandwidth gives it" in joined.why
    assert any("storage and save are one cause" in note for note in made.notes)


def test_needs_on_both_sides_join_what_they_name() -> None:
    """The load of A is read from its storage, and the save of B is written to its own: three groups, one cause."""
    a = replace(
        _scenario("rsc-1"),
        storage=Storage(read_bandwidth_bytes_per_s=100e9),
        restart=Restart(detect_s=60.0),
    )
    b = replace(
        a,
        storage=Storage(write_bandwidth_bytes_per_s=200e9),
        saves=(Save("computed", Mode.SHARDED),),
        restart=Restart(total_s=60.0),
        failures=_scenario("rsc-2").failures,
    )
    made = compare(a, b)
    _holds(made)
    assert {cause.groups for cause in made.causes} == {("storage", "save", "restart"), ("failures",)}


def test_too_many_mixes_are_sampled_and_still_add_up() -> None:
    """Orders are sampled where sets would be too many; the parts are near the exact ones, and it is said."""
    a, b = _scenario("llama3-405b"), _scenario("palm-540b")
    exact, sampled = compare(a, b), compare(a, b, most_mixes=100)
    _holds(sampled)
    assert exact.orders is None
    assert sampled.orders is not None
    assert sampled == compare(a, b, most_mixes=100)
    true = {cause.groups: cause for cause in exact.causes}
    for cause in sampled.causes:
        assert cause.standard_error is not None
        assert abs(cause.goodput - true[cause.groups].goodput) <= 4.0 * cause.standard_error + 1e-12
        assert true[cause.groups].least <= cause.least
        assert cause.most <= true[cause.groups].most
    assert any("sampled orders" in note for note in sampled.notes)


def test_costly_mixes_are_fewer() -> None:
    """The bound follows what a mix takes: classes, tiers, recorded gaps and how many of these there are."""
    a, b = _scenario("llama3-405b"), _scenario("palm-540b")
    gaps = tuple(float(gap) for gap in np.random.default_rng(2).exponential(1e4, 40_000))
    law = Law(LawName.RECORDED, 1.0, gaps)
    a, b = (replace(one, failures=replace(one.failures, law=law)) for one in (a, b))
    assert _most_mixes(a, b) == 12
    assert _most_mixes(_scenario("rsc-1"), _scenario("spectrum-16384")) == 256
    assert _most_mixes(_scenario("rsc-1"), _scenario("rsc-2")) == 1024


def test_without_work_no_hours_are_explained() -> None:
    """Nothing is said of hours that nobody knows."""
    a = replace(_scenario("llama3-405b"), training=Training(step_time_s=5.0))
    assert not any("GPU-hours" in note for note in compare(a, replace(a, name="the same")).notes)


def test_no_goodput_depends_on_what_is_left_out() -> None:
    """Retention and prediction differ without being causes, because plans do not differ by them; that is said."""
    for name in _COSTLY:
        a = _scenario(name)
        b = replace(a, retention=Retention(keep=2), prediction=Prediction(recall=0.5, precision=0.5))
        assert _goodput(a) == _goodput(b)
        made = compare(a, b)
        assert made.causes == ()
        assert made.silent == ("retention", "prediction")
        assert sum("differs too, and no goodput here depends on it" in note for note in made.notes) == 2


def test_every_field_of_a_scenario_belongs_to_a_group() -> None:
    """Nothing that could make a difference is forgotten: a new field must be put somewhere."""
    grouped = {field for fields in GROUPS.values() for field in fields}
    assert grouped | {"name", "retention", "prediction"} == set(Scenario.__dataclass_fields__)


def test_a_way_that_was_not_asked_for_does_not_count() -> None:
    """Without all tiers among the strategies asked for, their pattern is not planned in any mix either."""
    b = _scenario("spectrum-16384")
    single = replace(b, strategies=("file system alone",))
    mixes = Mixes(single, single, ())
    assert mixes.goodput(0) == _goodput(single) < _goodput(b)
    assert TIERS not in {record.strategy for record in plan(single, whole_run=False).records}


def test_a_way_without_an_interval_does_not_stop_the_others() -> None:
    """A flush of half a day under daily maintenance has no interval: the mix is as good as its other strategy."""
    mixes = Mixes(_scenario("lab-64"), _scenario("llama3-405b-causes"), ("model", "cluster", "failures", "save"))
    mix = mixes.scenario(mixes.everything)
    blocking = replace(mix, saves=tuple(save for save in mix.saves if save.mode is Mode.SHARDED))
    assert len(blocking.saves) == 1 < len(mix.saves)
    assert mixes.goodput(mixes.everything) == _goodput(blocking)


def test_sizes_are_spoken_of() -> None:
    """More GPUs fail more often although the failures are equal; useful GPUs say how much work is done."""
    a = _scenario("llama3-405b")
    b = load("llama3-405b", sets=["cluster.gpus=8192", "cluster.layout.data=64"]).scenario
    b = replace(b, failures=a.failures)
    made = compare(a, b)
    assert [cause.groups for cause in made.causes] == [("cluster",)]
    assert any("hold the MTBF per GPU" in note and "from 3.09 h to 6.19 h" in note for note in made.notes)
    assert any("useful GPUs" in note for note in made.notes)
    assert made.outcomes[1].useful_gpus == pytest.approx(8192 * made.second.best_goodput)


def test_the_same_mtbf_of_jobs_of_other_sizes_is_a_difference() -> None:
    """``failures: {mtbf: 3 h}`` in both, at other sizes, is another MTBF per GPU; the note says so."""
    sets = ["failures={mtbf: 3 h}"]
    a = load("rsc-1", sets=sets).scenario
    b = load("rsc-2", sets=sets).scenario
    made = compare(a, b)
    assert "failures" in {group for cause in made.causes for group in cause.groups}
    assert any("the MTBF of the job is the same in both" in note for note in made.notes)


def test_hours_and_money_follow_from_the_goodput() -> None:
    """Wall time is work over goodput; lost hours are the rest of it on all GPUs; unknown without a duration."""
    a = _scenario("rsc-1")
    b = replace(a, training=replace(a.training, duration_s=None))
    first, second = compare(a, b, gpu_hour_price=2.0).outcomes
    assert first.wall_s == pytest.approx(7 * 86400 / first.goodput)
    assert first.lost_gpu_hours == pytest.approx(12000 * 7 * 24 * (1 / first.goodput - 1))
    assert first.lost_money == pytest.approx(2.0 * (first.lost_gpu_hours or math.nan))
    assert (second.wall_s, second.gpu_hours, second.lost_gpu_hours, second.money) == (None, None, None, None)
