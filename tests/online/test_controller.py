from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.errors import InputError
from ckptplan.interval.online import online_interval
from ckptplan.interval.steps import whole_steps_first_order
from ckptplan.online import IntervalController

M = 11135.0


def controller(**changes) -> IntervalController:
    """Steps of 6 s, saves of 60 s, an MTBF of 11,135 s believed like one failure seen."""
    return IntervalController(**{"step_time": 6.0, "stall": 60.0, "prior": M} | changes)


def test_only_the_standard_library_is_loaded():
    """A training process that imports the controller does not load numpy or any other library for it."""
    program = (
        "import sys; before = set(sys.modules); from ckptplan.online import IntervalController;"
        "new = {m.partition('.')[0] for m in set(sys.modules) - before};"
        "print(*sorted(new - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ckptplan"]


def test_saves_every_interval():
    """The first save is due after the whole steps of the prior, and not one step earlier."""
    c = controller()
    assert c.interval_steps == 193
    assert [step for step in range(1, 194) if c.should_save(step)] == [193]
    assert c.should_save(194)  # still due until it is reported
    c.observe_save(60.0)
    assert not c.should_save(194)


def test_a_decision_does_not_change_by_asking_again():
    """Asking twice at one step, or only at every tenth step, counts every step once."""
    often, seldom = controller(), controller()
    for step in range(1, 191):
        often.should_save(step)
        often.should_save(step)
        if step % 10 == 0:
            seldom.should_save(step)
    assert often.state_dict() == seldom.state_dict()
    assert often.exposure == 190 * 6


events = st.lists(
    st.one_of(
        st.tuples(st.just("steps"), st.integers(1, 500)),
        st.tuples(st.just("save"), st.floats(0, 300)),
        st.tuples(st.just("failure"), st.integers(0, 300)),
    ),
    max_size=30,
)


@given(events, st.floats(0.5, 20), st.floats(0, 500), st.floats(0, 1))
def test_follows_the_posterior_rule(sequence, prior_shape, flush, speed):
    """After any events the interval is that of `online_interval` for the counts and the mean stall so far."""
    c = controller(prior_shape=prior_shape, flush=flush, speed=speed)
    step, k, t, stalls = 0, 0, 0.0, [60.0]
    for kind, value in sequence:
        if kind == "steps":
            step += value
            t += 6.0 * value
            c.should_save(step)
        elif kind == "save":
            t += value + (1 - speed) * flush
            stalls.append(value)
            c.observe_save(value)
        else:  # this process lives through the failure and goes back some steps
            k += 1
            step = max(0, step - value)
            c.observe_failure(resume_step=step)
    assert c.failures == k
    assert c.exposure == pytest.approx(t, rel=1e-12)
    expected = online_interval(np.mean(stalls), k, t, prior_shape, prior_shape * M, flush=flush, speed=speed)
    assert c.interval == pytest.approx(float(expected), rel=1e-12)


@given(st.floats(1e-3, 1e4), st.floats(0, 1e4), st.floats(1, 1e7))
def test_whole_steps_are_the_first_order_ones(step_time, stall, mtbf):
    """Before any event the number of steps is the first-order optimum in whole steps."""
    n = IntervalController(step_time, stall, mtbf).interval_steps
    # n and n + 1 tie where n (n + 1) equals the square of the interval: rounding may fall on either side.
    low, high = (whole_steps_first_order(step_time, stall * f, mtbf) for f in (1 - 1e-12, 1 + 1e-12))
    assert low <= n <= high


@pytest.mark.parametrize(("flush", "step_time", "steps"), [(900, 6, 150), (900.1, 6, 151), (0.3, 0.1, 3)])
def test_no_save_starts_before_the_last_is_durable(flush, step_time, steps):
    """The flush sets a least number of steps, free of rounding."""
    assert IntervalController(step_time, 1e-6, M, flush=flush).interval_steps == steps


def test_state_survives_json():
    """A controller restored from the JSON of its state goes on as the one that was not stopped."""
    first = controller()
    first.should_save(193)
    first.observe_save(80.0)
    first.should_save(400)
    state = json.loads(json.dumps(first.state_dict()))
    second = controller()
    second.load_state_dict(state)
    assert state["in_save"]  # the stall of this save is not in the counts yet, and that of a resumed run never will be
    assert second.state_dict() == state | {"in_save": False}
    assert (second.failures, second.exposure, second.mean_stall) == (0, 400 * 6 + 80, 70)
    assert not second.should_save(400)
    assert second.should_save(400 + second.interval_steps)


def checkpoint(step: int = 193) -> dict:
    """The state as written into the first checkpoint."""
    c = controller()
    c.should_save(step)
    return c.state_dict()


def test_failure_with_a_known_step():
    """The steps that were lost, and the stall of the save that was restored, belong to the exposure."""
    c = controller()
    c.load_state_dict(checkpoint(193))
    c.observe_failure(at_step=250)
    assert (c.failures, c.exposure) == (1, 250 * 6 + 60)
    assert c.interval_steps == whole_steps_first_order(6, 60, (1560 + M) / 2)
    assert not c.should_save(194)  # training goes on at 193
    assert c.exposure == 251 * 6 + 60


@pytest.mark.parametrize(("flush", "speed"), [(0.0, 1.0), (300.0, 0.9)])
def test_failure_at_an_unknown_step(flush, speed):
    """Without the step the mean is added: half a period, the stall, and the flush."""
    c = controller(flush=flush, speed=speed)
    c.load_state_dict(checkpoint(193))
    period = c.interval_steps * 6 + 60 + (1 - speed) * flush
    c.observe_failure()
    assert c.exposure == pytest.approx(193 * 6 + period / 2 + 60 + flush)


def test_failure_again_before_the_first_save():
    """The counts kept after the resume know of the first failure; half the time to a durable save is added."""
    for flush, speed in ((0.0, 1.0), (300.0, 0.9)):
        first, second = (controller(flush=flush, speed=speed) for _ in range(2))
        first.load_state_dict(checkpoint(193))
        first.observe_failure()
        second.load_state_dict(first.state_dict())
        second.observe_failure()
        assert second.failures == 2
        assert second.exposure - first.exposure == pytest.approx((first.interval_steps * 6 + 60 + flush) / 2)


def test_failure_again_at_a_known_step():
    """After a resume only the steps are missing from the counts, no stall."""
    first, second = controller(), controller()
    first.load_state_dict(checkpoint(193))
    first.observe_failure(at_step=250)
    second.load_state_dict(first.state_dict())
    second.observe_failure(at_step=203)
    assert second.exposure - first.exposure == 60


def test_several_failures_since_the_checkpoint():
    """A job that fails again before its first save reports both at once, with half the time to a durable save more."""
    one, two = controller(), controller()
    for c, count in ((one, 1), (two, 2)):
        c.load_state_dict(checkpoint(193))
        steps = c.interval_steps
        c.observe_failure(count=count)
    assert two.failures == 2
    assert two.exposure - one.exposure == pytest.approx((steps * 6 + 60) / 2)


def test_planned_restart():
    """A restart without a failure adds nothing, and a later failure in the same process adds no guess."""
    c = controller()
    c.load_state_dict(checkpoint(193))
    c.should_save(300)
    c.observe_failure(resume_step=193)
    assert (c.failures, c.exposure) == (1, 300 * 6)


def test_other_settings_apply_from_now_on():
    """A new step time holds for the steps to come; the time counted stays."""
    c = controller(step_time=3.0)
    c.load_state_dict(checkpoint(193))
    c.should_save(203)
    assert c.exposure == 193 * 6 + 10 * 3


def test_step_that_goes_back_is_refused():
    """A step number that goes back without a failure is an error that says what to do."""
    c = controller()
    c.should_save(10)
    with pytest.raises(InputError, match="step: 9 is before the newest step counted, 10") as caught:
        c.should_save(9)
    assert "observe_failure" in caught.value.render()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step_time": 0}, "step_time: 0 is not finite and positive"),
        ({"step_time": "6 s"}, "step_time: expected a number, got str"),
        ({"stall": -1}, "stall: -1 is not finite and not negative"),
        ({"stall": float("nan")}, "stall: nan is not finite"),
        ({"prior": float("inf")}, "prior: inf is not finite and positive"),
        ({"prior_shape": 0}, "prior_shape: 0 is not finite and positive"),
        ({"flush": -2.0}, "flush: -2"),
        ({"speed": 1.5}, "speed: 1.5 is above 1"),
        ({"step": 1.5}, "step: expected a whole number that is not negative, got 1.5"),
        ({"stall": True}, "stall: expected a number, got bool"),
        ({"stall": 10**400}, "is not one number in range"),
    ],
)
def test_bad_settings(changes, message):
    """A setting that makes no sense is refused by name."""
    with pytest.raises(InputError, match=message):
        controller(**changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s | {"version": 2}, "version 2 is not 1"),
        (lambda s: {k: v for k, v in s.items() if k != "failures"}, "missing failures"),
        (lambda s: s | {"gpus": 8}, "unknown gpus"),
        (lambda s: s | {"exposure_s": float("nan")}, "exposure_s: nan"),
        (lambda s: s | {"exposure_s": None}, "exposure_s: expected a number, got NoneType"),
        (lambda s: s | {"saves": -1}, "saves: expected a whole number that is not negative, got -1"),
        (lambda s: s | {"step": 12.5}, "step: expected a whole number"),
        (lambda s: s | {"in_save": 1}, "in_save: expected true or false, got 1"),
        (lambda s: [s], "expected a dictionary, got list"),
        (lambda s: {}, "version None is not 1"),
    ],
)
def test_bad_state(change, message):
    """A state that is not one of ours is refused, and the controller keeps what it had."""
    c = controller()
    before = c.state_dict()
    with pytest.raises(InputError, match=message):
        c.load_state_dict(change(checkpoint()))
    assert c.state_dict() == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.observe_save(-1.0), "seconds: -1"),
        (lambda c: c.observe_failure(count=0), "no failure"),
        (lambda c: c.observe_failure(at_step=5), "at_step: 5 is before the newest step counted, 10"),
        (lambda c: c.observe_failure(resume_step=11), "resume_step: 11 is after the step of the failure, 10"),
        (lambda c: c.should_save(True), "step: expected a whole number"),
    ],
)
def test_bad_events(call, message):
    """An event that cannot be is refused and not counted."""
    c = controller()
    c.should_save(10)
    before = c.state_dict()
    with pytest.raises(InputError, match=message):
        call(c)
    assert c.state_dict() == before


@pytest.mark.parametrize("extreme", [{"step_time": 1e-300}, {"step_time": 1e300}, {"stall": 0.0}, {"prior": 1e300}])
def test_extreme_settings_still_give_a_whole_number(extreme):
    """No setting within the range of floats overflows."""
    assert controller(**extreme).interval_steps >= 1


def test_numbers_of_other_libraries_are_accepted():
    """Scalars of numpy are numbers, and do not end up in the state."""
    c = controller(step_time=np.float32(6), step=np.int64(5))
    c.should_save(np.int64(9))
    c.observe_save(np.float64(55))
    assert {type(value) for value in c.state_dict().values()} == {int, float, bool}
