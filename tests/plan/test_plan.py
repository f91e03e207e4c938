"""The pipeline from scenario to plan, without a file in sight."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ckptplan.cost.scenario import (
    Cluster,
    Evidence,
    Failures,
    Layout,
    Mode,
    Model,
    Restart,
    Save,
    Scenario,
    Storage,
    Strike,
    Training,
)
from ckptplan.cost.state import ledger
from ckptplan.errors import InputError
from ckptplan.plan import METHOD_NAMES, Record, plan

CLOSED = tuple(name for name in METHOD_NAMES if name != "renewal")
_DAY = 86400.0


def scenario(**changes: object) -> Scenario:
    """Llama 3 405B on 16,384 GPUs with a 60 s blocking save, changed as asked."""
    base = Scenario(
        name="test",
        model=Model(405e9, ledger("adam-14")),
        cluster=Cluster(16384, 8, Layout(data=128, tensor=8, pipeline=16)),
        failures=Failures(54 * _DAY * 16384 / 419, "interruptions", Evidence(419, 54 * _DAY * 16384)),
        saves=(Save("blocking", Mode.SHARDED, stall_s=60.0),),
        storage=Storage(write_bandwidth_bytes_per_s=2e12),
        restart=Restart(total_s=600.0),
        training=Training(step_time_s=5.0, duration_s=54 * _DAY),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def only(records: tuple[Record, ...], **wanted: object) -> Record:
    """The one record with the wanted values."""
    (found,) = [r for r in records if all(getattr(r, key) == value for key, value in wanted.items())]
    return found


def exact_goodput(interval: float, stall: float, mtbf: float, recovery: float) -> mpmath.mpf:
    """The goodput formula again, in 40 digits: (W/M) / (e^(Q/M) (e^((W+d)/M) - 1))."""
    with mpmath.workdps(40):
        w, d, m, q = (mpmath.mpf(x) for x in (interval, stall, mtbf, recovery))
        return (w / m) / (mpmath.exp(q / m) * mpmath.expm1((w + d) / m))


def test_every_method_is_a_record_at_every_scale() -> None:
    """One record per strategy x method x scale, in a stable order, the planned scale first."""
    result = plan(scenario(), gpus=(1024, 16384))
    assert [(r.gpus, r.method) for r in result.records] == [(n, m) for n in (16384, 1024) for m in CLOSED]
    assert result.scales == (16384, 1024)
    assert result.best.method == "exact"


def test_exact_goodput_is_that_of_the_formula() -> None:
    """The exact goodput of every record, Young's and given ones too, is the 40-digit value of the formula."""
    for record in plan(scenario(), intervals_s=(300.0, 3600.0)).records:
        expected = exact_goodput(record.interval_s, 60.0, record.mtbf_s, 600.0)
        assert record.goodput_exact == pytest.approx(float(expected), rel=1e-12)


def test_downtime_and_restart_are_kept_apart() -> None:
    """Under R a failure strikes the restart but not the downtime: A = e^(R/M) (1 + D/M)."""
    phases = Restart(detect_s=300.0, replace_s=100.0, initialise_s=150.0, load_s=40.0, warm_up_s=10.0)
    result = plan(scenario(restart=phases, failures_strike=Strike.R))
    record = only(result.records, method="exact")
    m = record.mtbf_s
    factor = mpmath.exp(200 / m) * (1 + 400 / m)
    expected = exact_goodput(record.interval_s, 60.0, m, 0.0) / factor
    assert record.goodput == pytest.approx(float(expected), rel=1e-12)
    assert result.restart.downtime_s == 400.0


def test_whole_steps_beat_their_neighbours() -> None:
    """The whole number of steps has no better neighbour, also where steps are coarse."""
    for step_time in (5.0, 450.0, 760.0):
        result = plan(scenario(training=Training(step_time_s=step_time)), methods=("exact",))
        steps = result.best.interval_steps
        assert steps is not None
        around = [float(exact_goodput(n * step_time, 60.0, result.best.mtbf_s, 600.0)) for n in (steps, steps + 1)]
        assert around[0] >= around[1]
        if steps > 1:
            assert around[0] >= float(exact_goodput((steps - 1) * step_time, 60.0, result.best.mtbf_s, 600.0))


def test_coarse_steps_are_said() -> None:
    """Where a whole number of steps costs goodput, the status says how much."""
    record = only(plan(scenario(training=Training(step_time_s=4000.0))).records, method="exact")
    assert record.interval_steps == 1
    assert "coarse steps" in record.status
    assert record.goodput_steps is not None
    assert record.goodput_steps < record.goodput_exact


def test_steps_need_a_step_time() -> None:
    """An interval in steps without a step time is refused with the remedy."""
    with pytest.raises(InputError) as caught:
        plan(scenario(training=Training()), steps=(500,))
    assert "training.step_time" in caught.value.render()


def test_flush_sets_the_interval() -> None:
    """A flush longer than the best interval raises every method's interval to it, and says so with the remedy."""
    save = Save("background", Mode.ASYNCHRONOUS, stall_s=1.0, flush_s=3000.0, training_speed_while_flushing=0.9)
    result = plan(scenario(saves=(save,)))
    for record in result.records:
        assert record.interval_s == pytest.approx(2700.0)
        assert record.interval_s >= record.interval_floor_s
        assert "flush sets the interval" in record.status
        assert record.interval_steps is not None
        assert record.interval_steps * 5.0 >= 2700.0 * (1 - 1e-9)
    assert any("write bandwidth" in warning for warning in result.warnings)


def test_slow_down_is_part_of_the_stall() -> None:
    """A flush at reduced speed adds its lost training time to the stall."""
    save = Save("slow", Mode.ASYNCHRONOUS, stall_s=0.78, flush_s=437.0, training_speed_while_flushing=0.45)
    record = only(plan(scenario(saves=(save,))).records, method="exact")
    assert record.effective_stall_s == pytest.approx(0.78 + 437 * 0.55)
    assert record.save_fraction + record.rework_fraction + record.restart_fraction + record.goodput == pytest.approx(1)


def test_few_failures_are_said() -> None:
    """Three counted failures do not make an MTBF: the plan says how uncertain it is."""
    few = scenario(failures=Failures(1e9, "interruptions", Evidence(3, 3e9)))
    assert any("only 3 failures" in warning for warning in plan(few).warnings)
    assert not any("failures were counted" in warning for warning in plan(scenario()).warnings)


def test_safe_clock_is_said() -> None:
    """Under safe, an MTBF counted over wall time is too long, and the plan says so."""
    assert any("failure clock" in w for w in plan(scenario(failures_strike=Strike.SAFE)).warnings)
    assert not any("failure clock" in w for w in plan(scenario()).warnings)


def test_layout_that_does_not_divide_is_said() -> None:
    """At 100,000 GPUs a layout of 128 GPUs per replica leaves 32 idle, and a note counts them."""
    assert any("32 of 100,000 GPUs" in warning for warning in plan(scenario(), gpus=(100_000,)).warnings)


def test_assumed_free_flush_is_said() -> None:
    """A flush that is assumed not to slow training is named among the assumptions."""
    free = plan(scenario(saves=(Save("background", Mode.ASYNCHRONOUS, stall_s=1.0),)))
    assert any("training_speed_while_flushing" in text for text in free.assumptions)
    assert not any("training_speed_while_flushing" in text for text in plan(scenario()).assumptions)


def test_hopeless_jobs_are_said() -> None:
    """Where failures come faster than restarts end, goodput is tiny, finite, and called hopeless."""
    record = only(plan(scenario(), gpus=(10_000_000,)).records, gpus=10_000_000, method="exact")
    assert 0 <= record.goodput_exact < 1e-6
    assert "hardly any progress" in record.status


@settings(max_examples=60 if settings.default.max_examples <= 100 else 2000)
@given(
    stall=st.floats(1e-3, 1e5),
    flush=st.floats(0, 1e5),
    speed=st.floats(0.01, 1),
    mtbf=st.floats(1e2, 1e8),
    recovery=st.floats(0, 1e5),
    strike=st.sampled_from(list(Strike)),
)
@example(stall=1.0, flush=35490.0, speed=1.0, mtbf=100.0, recovery=34435.0, strike=Strike.SAFE)  # overhead overflows
def test_plans_add_up(stall: float, flush: float, speed: float, mtbf: float, recovery: float, strike: Strike) -> None:
    """For any process the exact shares sum to one, and no method or given interval beats the exact optimum."""
    save = Save("any", Mode.ASYNCHRONOUS, stall_s=stall, flush_s=flush, training_speed_while_flushing=speed)
    made = scenario(
        saves=(save,),
        failures=Failures(mtbf * 16384, "mtbf"),
        restart=Restart(total_s=recovery),
        failures_strike=strike,
    )
    result = plan(made, intervals_s=(10.0, 1000.0, 1e5))
    best = only(result.records, method="exact", given=False)
    assert best.goodput is not None
    total = best.goodput + best.save_fraction + best.rework_fraction + best.restart_fraction
    assert total == pytest.approx(1.0, abs=1e-9)
    for record in result.records:
        assert record.goodput_exact <= best.goodput_exact * (1 + 1e-12)
        assert record.goodput is None or 0.0 <= record.goodput <= 1.0
        assert record.interval_s >= record.interval_floor_s
