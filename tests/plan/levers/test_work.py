"""The same work under a change: one rule for other GPUs, other batches and other steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckptplan.cost.scenario import Scenario, Training
from ckptplan.plan.levers.own import Own
from ckptplan.plan.levers.ranking import levers
from ckptplan.plan.levers.work import Told, other_work, told_by, with_its_steps, words_of, work_of
from ckptplan.plan.scale.curve import Curve
from tests.plan.levers.shipped import scenario_of

_STEP = Told(step=True)


def _run(*, gpus: int = 16384, **training: object) -> Scenario:
    """The shipped run of 16,384 GPUs, steps of 5 s, on other GPUs or with other training."""
    before = scenario_of("llama3-405b")
    layout = replace(before.cluster.layout, data=gpus // 128)
    cluster = replace(before.cluster, gpus=gpus, layout=layout)
    return replace(before, cluster=cluster, training=replace(before.training, **training))  # type: ignore[arg-type]


def test_other_gpus_do_the_same_work_in_another_time() -> None:
    """Twice the GPUs take half the time, less where the throughput does not scale."""
    assert work_of(_run(), _run(gpus=32768)).ratio == 0.5
    sub: dict[str, Any] = {"scaling_exponent": 0.9}
    assert work_of(_run(**sub), _run(gpus=32768, **sub)).ratio == pytest.approx(2.0**-0.9)
    assert work_of(_run(), _run()) == (1.0, 1.0)


@pytest.mark.parametrize("batch", [None, 2048])
def test_the_work_follows_the_time_of_a_step_without_a_jump(batch: int | None) -> None:
    """A step time that the change gives, a hair off the one that follows, changes the work by no more than that."""
    before, after = _run(global_batch=batch), _run(gpus=32768, global_batch=batch)
    follows = with_its_steps(before, after, Told())
    step_s = follows.training.step_time_s
    assert step_s == (5.0 if batch is None else 2.5)
    given = _run(gpus=32768, global_batch=batch, step_time_s=step_s * 1.0001)
    assert work_of(before, given, _STEP).ratio == pytest.approx(1.0001 * work_of(before, after).ratio, rel=1e-12)
    assert with_its_steps(before, given, _STEP) == given


@pytest.mark.parametrize("batch", [None, 2048])
@pytest.mark.parametrize("exponent", [1.0, 0.9])
def test_it_is_the_rule_of_scale(batch: int | None, exponent: float) -> None:
    """Step time and time at full speed are those of ``ckptplan scale`` at the other size."""
    fields: dict[str, Any] = {"global_batch": batch, "scaling_exponent": exponent, "forward_backward_s": 3.0}
    before, after = _run(**fields), _run(gpus=32768, **fields)
    there = Curve(before).at(32768).scenario.training
    here = with_its_steps(before, after, Told()).training
    assert here.step_time_s == pytest.approx(there.step_time_s)
    assert here.forward_backward_s == pytest.approx(there.forward_backward_s)
    assert before.training.work_s is not None
    assert work_of(before, after).ratio * before.training.work_s == pytest.approx(there.work_s)


def test_a_batch_that_is_given_is_kept_and_another_one_takes_fewer_steps() -> None:
    """All steps are done; with twice the batch half of them."""
    before = _run(global_batch=2048)
    assert work_of(before, _run(gpus=32768, global_batch=2048)) == (1.0, 0.5)
    assert work_of(before, _run(gpus=32768, global_batch=4096)) == (0.5, 1.0)
    assert work_of(before, _run(gpus=32768, global_batch=2048, step_time_s=3.0), _STEP).ratio == pytest.approx(0.6)
    assert work_of(_run(), _run(gpus=32768), Told()) == (0.5, 1.0)


def test_work_that_the_change_gives_is_taken_as_it_is() -> None:
    """A duration, or steps of the other time, beside other GPUs."""
    before = _run()
    assert before.training.duration_s is not None
    after = _run(gpus=32768, duration_s=0.6 * before.training.duration_s)
    assert work_of(before, after, Told(work=True)).ratio == pytest.approx(0.6)
    steps = replace(before, training=Training(step_time_s=5.0, steps=1000))
    fewer = replace(steps, training=Training(step_time_s=8.0, steps=500))
    assert work_of(steps, fewer, Told(step=True, work=True)) == pytest.approx((0.5, 1.6))


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        (("training.duration",), "training.duration"),
        (("training.duration", "training.step_time"), "training.duration"),
        (("training.duration", "cluster.gpus"), None),
        (("training.steps",), "training.steps"),
        (("training.steps", "training.step_time"), None),
        (("training.tokens_per_step", "restart.total"), "training.tokens_per_step"),
        (("training.tokens_per_step", "cluster.gpus"), None),
        (("training.tokens", "cluster.gpus", "training.step_time"), "training.tokens"),
        (("training.step_time",), None),
    ],
)
def test_other_work_is_told_from_the_same_work_in_another_form(changed: tuple[str, ...], key: str | None) -> None:
    """Duration needs other GPUs beside it, steps other GPUs or another step; other tokens are always other work."""
    found = other_work(changed)
    assert (found and found[0]) == key


def test_a_step_that_is_written_is_told_though_it_stays_the_same() -> None:
    """By the keys of the change, a whole group included."""
    assert told_by([Own("k", "t", "", ("training.step_time",))]) == _STEP
    assert told_by([Own("k", "t", "", ("training",), ("training.steps",))]) == Told(step=True, work=True)
    assert told_by([Own("k", "t", "", ("cluster.gpus",), ("cluster.gpus",))]) == Told()


def test_the_note_says_by_which_rule() -> None:
    """Which of the two holds, with both factors."""
    kept = words_of(_run(global_batch=2048), _run(gpus=32768, global_batch=2048), Told())
    assert kept == "just as many steps, each 0.5 times as long (training.global_batch is kept)"
    parts = words_of(_run(), _run(gpus=32768), Told())
    assert parts == (
        "0.5 times as many steps, each just as long (each GPU keeps its part of a step: no training.global_batch is "
        "given)"
    )


def test_a_faster_step_saves_its_part_of_the_run() -> None:
    """As many steps of 4 s instead of 5 s take four fifths of the GPU-hours, whatever gives the work."""
    own = [Own("change 1", "faster", "", ("training.step_time",), ("training.step_time",))]
    made = levers(_run(), own=own, build=lambda _: _run(step_time_s=4.0))
    (one,) = [one for one in made.levers if one.own]
    assert made.work_s is not None
    before = made.work_s / made.goodput
    assert one.wall_s_saved == pytest.approx(before - 0.8 * made.work_s / one.goodput)
    assert any(note.startswith("ranked by GPU-hours for the same work") for note in one.notes)
    assert "change 1" in made.together or one.gained <= 0.0
