"""Failure classes: how often each comes, how it is noticed, and what its recovery takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.cost.classes import (
    BUILT_IN,
    OTHER,
    ClassCost,
    FailureClass,
    FailureKind,
    Loss,
    class_costs,
    is_noticed,
    unnamed,
)
from ckptplan.cost.detection import mean_detection_delay
from ckptplan.cost.failures import mtbf_of_job
from ckptplan.cost.restart import restart_cost
from ckptplan.cost.scenario import Failures, Restart, Scenario, Training
from tests.cost.test_restart import LLAMA_70B

PHASES = Restart(detect_s=60.0, replace_s=120.0, initialise_s=180.0, load_s=50.0, warm_up_s=70.0)
TOTAL = Restart(total_s=500.0)


def _scenario(*classes: FailureClass, restart: Restart = PHASES, step_time_s: float | None = 5.0) -> Scenario:
    failures = Failures(1.8e8, "mtbf_per_gpu", classes=classes)
    return replace(LLAMA_70B, failures=failures, restart=restart, training=Training(step_time_s=step_time_s))


def _costs(*classes: FailureClass, restart: Restart = PHASES) -> tuple[ClassCost, ...]:
    scenario = _scenario(*classes, restart=restart)
    return class_costs(scenario, restart_cost(scenario))


def _of(kind: FailureKind, restart: Restart = PHASES, **more: object) -> ClassCost:
    return _costs(FailureClass("it", kind, every_s=1e6, **more), restart=restart)[0]  # type: ignore[arg-type]


K = FailureKind


@pytest.mark.parametrize(
    ("kind", "downtime_s", "delay_s"),
    [
        (K.CRASH, 60 + 120, 0),  # the detection of the restart
        (K.HANG, 600 + 120, 0),  # the timeout of a watchdog
        (K.SLOW, 120, 3600),  # training goes on until it is found
        (K.SILENT, 120, 28_800),
        (K.SPIKE, 120, 0),  # found after steps, not after a time
        (K.PREEMPTION, 120, 0),  # announced
        (K.MAINTENANCE, 120, 0),
    ],
)
def test_recovery_of_each_kind_by_phases(kind: FailureKind, downtime_s: float, delay_s: float) -> None:
    """Detection and replacement are downtime, the rest restart; what is found while training goes on is no downtime."""
    cost = _of(kind)
    assert (cost.downtime_s, cost.restart_s, cost.delay_s) == (downtime_s, 180 + 50 + 70, delay_s)
    assert cost.recovery_s == downtime_s + 300
    assert cost.load_s == 50


@pytest.mark.parametrize(
    ("kind", "downtime_s", "delay_s"),
    [
        (K.CRASH, 60, 0),
        (K.HANG, 600, 0),
        (K.SLOW, 0, 3600),
        (K.SILENT, 0, 28_800),
        (K.SPIKE, 0, 0),
        (K.PREEMPTION, 0, 0),
        (K.MAINTENANCE, 0, 0),
    ],
)
def test_a_total_of_a_class_follows_its_detection(kind: FailureKind, downtime_s: float, delay_s: float) -> None:
    """A total is all of the recovery after detection: a crash is still detected as the restart says."""
    cost = _of(kind, total_s=400.0)
    assert (cost.downtime_s, cost.restart_s, cost.delay_s) == (downtime_s, 400, delay_s)
    assert cost.load_s is None


@pytest.mark.parametrize("kind", list(FailureKind))
def test_a_detection_that_is_given_goes_before_the_one_of_its_kind(kind: FailureKind) -> None:
    """A given time is downtime, or a delay where training goes on; a loss spike has no such time."""
    cost = _of(kind, detect_s=7.0, total_s=400.0)
    goes_on = kind in {K.SLOW, K.SILENT, K.SPIKE}
    assert cost.downtime_s == (0 if goes_on else 7)
    assert cost.delay_s == (7 if kind in {K.SLOW, K.SILENT} else 0)


@pytest.mark.parametrize(
    ("kind", "downtime_s"), [(K.CRASH, 0), (K.HANG, 600), (K.SLOW, 0), (K.SILENT, 0), (K.SPIKE, 0), (K.PREEMPTION, 0)]
)
def test_under_a_total_of_the_spec_a_class_adds_its_own_detection(kind: FailureKind, downtime_s: float) -> None:
    """The total of the spec holds the detection of a crash; that of a hang comes on top of it."""
    cost = _of(kind, TOTAL)
    assert (cost.downtime_s, cost.restart_s, cost.load_s) == (downtime_s, 500, None)


def test_phases_of_a_class_replace_those_of_the_restart() -> None:
    """Each phase that is given replaces one; the others stay."""
    cost = _of(K.CRASH, phases_s={"replace": 1.0, "load": 2.0})
    assert (cost.downtime_s, cost.restart_s, cost.load_s) == (60 + 1, 180 + 2 + 70, 2)
    alone = _of(K.HANG, TOTAL, phases_s={"replace": 1.0, "initialise": 2.0, "load": 3.0, "warm_up": 4.0})
    assert (alone.downtime_s, alone.restart_s, alone.load_s) == (600 + 1, 9, 3)


def test_detection_enters_the_recovery_as_its_mean_delay() -> None:
    """Nine crashes noticed after 30 s and one hang after half an hour: 207 s of downtime on average (reference)."""
    classes = (
        FailureClass("crash", K.CRASH, share=0.9, detect_s=30.0),
        FailureClass("hang", K.HANG, share=0.1, detect_s=1800.0),
    )
    costs = _costs(*classes, restart=replace(PHASES, replace_s=0.0))
    mean = sum(one.share * one.downtime_s for one in costs)
    assert mean == pytest.approx(207, rel=1e-12)
    delays = [one.detect_s or 0.0 for one in classes]
    assert mean == pytest.approx(float(mean_detection_delay([0.9, 0.1], delays)), rel=1e-12)


def test_what_no_class_claims_is_a_crash_named_other() -> None:
    """The rest of the interruptions has the recovery of the spec; without classes there is nothing to say."""
    hang, silent, other = _costs(
        FailureClass("hang", K.HANG, share=0.1), FailureClass("silent", K.SILENT, share=0.05), restart=PHASES
    )
    assert (other.name, other.kind, other.loses) == (OTHER, K.CRASH, Loss.NODE)
    assert other.share == pytest.approx(0.85, rel=1e-12)
    assert (other.downtime_s, other.restart_s, other.load_s) == (180, 300, 50)
    assert other == unnamed(other.share, restart_cost(_scenario()))
    assert sum(one.share for one in (hang, silent, other)) == pytest.approx(1, rel=1e-12)
    assert _costs() == ()


def test_nothing_is_left_over_of_all_interruptions() -> None:
    """Counts that sum to all leave no other, in spite of their rounding; own rates leave all of it."""
    thirds = [FailureClass(str(n), K.CRASH, share=1 / 3) for n in range(3)]
    assert [one.name for one in _costs(*thirds)] == ["0", "1", "2"]
    assert [one.share for one in _costs(FailureClass("it", K.HANG, every_s=1e6))] == [0, 1]


def test_a_class_that_never_comes_is_left_out() -> None:
    """None counted, or a share of nothing: no rate to divide by, and all failures belong to the others."""
    costs = _costs(FailureClass("hang", K.HANG, share=0.0), FailureClass("silent", K.SILENT, share=0.25))
    assert [(one.name, one.share) for one in costs] == [("silent", 0.25), (OTHER, 0.75)]
    assert _costs(FailureClass("hang", K.HANG, share=0.0)) == ()


@pytest.mark.parametrize("gpus", [512, 1024, 4096])
def test_rates_at_any_scale(gpus: int) -> None:
    """A share grows with the failures, an MTBF per GPU with the GPUs, and a mean time of the whole job not at all."""
    layout = replace(LLAMA_70B.cluster.layout, data=gpus)
    scenario = replace(
        _scenario(
            FailureClass("shared", K.CRASH, share=0.25),
            FailureClass("of each GPU", K.SILENT, mtbf_per_gpu_s=1e9),
            FailureClass("of the job", K.MAINTENANCE, every_s=2e6),
        ),
        cluster=replace(LLAMA_70B.cluster, gpus=gpus, layout=layout),
    )
    mtbf_s = float(mtbf_of_job(scenario.failures.mtbf_per_gpu_s, gpus))
    rates = [one.rate_per_s(mtbf_s) for one in class_costs(scenario, restart_cost(scenario))]
    failures = gpus / 1.8e8
    assert rates == pytest.approx([0.25 * failures, gpus / 1e9, 1 / 2e6, 0.75 * failures], rel=1e-12)


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=6), st.floats(1e3, 1e7))
def test_classes_make_up_all_failures(weights: list[float], mtbf_s: float) -> None:
    """The rates of classes with shares, and of other, sum to that of the source, for any shares."""
    shares = [weight / (sum(weights) + 0.5) for weight in weights]
    costs = _costs(*(FailureClass(str(n), K.CRASH, share=share) for n, share in enumerate(shares)))
    assert sum(one.rate_per_s(mtbf_s) for one in costs) == pytest.approx(1 / mtbf_s, rel=1e-12)


def test_a_loss_spike_goes_back_by_steps() -> None:
    """A hundred steps of 5 s back, ten until it is noticed, and what it skips."""
    cost = _of(K.SPIKE, back_steps=100, lag_steps=10, skipped_batches=350)
    assert (cost.back_s, cost.lag_s, cost.skipped_batches) == (500, 50, 350)


def test_what_a_class_says_of_itself_is_kept() -> None:
    """Slow-down, law of the delay, loss and notice reach the cost as they were given."""
    slow = _of(K.SLOW, slowdown=0.1, detect_is_fixed=True, loses=Loss.MEMORY)
    assert (slow.slowdown, slow.delay_is_fixed, slow.loses, slow.name, slow.kind) == (0.1, True, "memory", "it", K.SLOW)
    assert _of(K.PREEMPTION, notice_s=30.0).notice_s == 30


@pytest.mark.parametrize(
    ("kind", "notice_s", "save_s", "noticed"),
    [
        (K.PREEMPTION, 120.0, 60.0, True),
        (K.PREEMPTION, 120.0, 120.0, True),
        (K.PREEMPTION, 120.0, 120.1, False),
        (K.MAINTENANCE, float("inf"), 1e9, True),
        (K.MAINTENANCE, 0.0, 1.0, False),
        (K.CRASH, 1e9, 1.0, False),
    ],
)
def test_a_notice_is_one_if_a_save_fits_into_it(
    kind: FailureKind, notice_s: float, save_s: float, noticed: bool
) -> None:
    """The save must be durable when the nodes go; a kind without announcements has none."""
    assert is_noticed(_of(kind, notice_s=notice_s), save_s) is noticed


def test_every_kind_is_built_in_with_a_source() -> None:
    """No default without where it comes from: a year, or that it is assumed or documented by whom."""
    assert set(BUILT_IN) == set(FailureKind)
    for one in BUILT_IN.values():
        assert len(one.about) > 10
        assert any(word in one.source for word in ("20", "default of", "Amazon"))


def test_built_in_numbers_are_those_of_their_sources() -> None:
    """NCCL's 10 min, eight hours by hand, PaLM's 100 steps and 200 to 500 batches, two minutes of notice."""
    assert BUILT_IN[K.HANG].detect_s == 10 * 60
    assert BUILT_IN[K.SILENT].detect_s == 8 * 3600
    assert BUILT_IN[K.SPIKE].back_steps == 100
    assert BUILT_IN[K.SPIKE].skipped_batches == (200 + 500) / 2
    assert BUILT_IN[K.PREEMPTION].notice_s == 2 * 60
    assert BUILT_IN[K.MAINTENANCE].notice_s == float("inf")
    assert [kind for kind, one in BUILT_IN.items() if one.loses is Loss.NODE] == [K.CRASH, K.SLOW]
