"""Energy beside time: the gross ledger, closed forms, simulated gaps, and what is of first order only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckptplan.cost.scenario import Power, Strike, Training
from ckptplan.errors import InputError
from ckptplan.interval.energy import energy_optimum, energy_per_useful_second
from ckptplan.load import load
from ckptplan.plan.scale.curve import Curve
from ckptplan.plan.scale.energy import useful_power
from ckptplan.plan.scale.scaling import scaling
from tests.plan.test_scaling import background, scenario

POWER = Power(1100.0, 600.0, 300.0)
_DAY = 86400.0


def test_synchronous_energy_is_that_of_the_gross_ledger() -> None:
    """Interval and energy of a blocking save are those of the closed form; the run's energy follows from its work."""
    given = scenario(cluster=replace(scenario().cluster, power=POWER), training=Training(duration_s=54 * _DAY))
    (here,) = scaling(given, gpus=[16384], energy=True).records
    powers = {"power_compute": 1100.0, "power_save": 600.0, "power_restart": 300.0, "restart": 600.0}
    best = energy_optimum(60.0, here.mtbf_s, **powers)
    assert here.energy_interval_s == float(best.interval_s)
    assert here.least_useful_gpu_power_w == pytest.approx(float(best.energy_per_useful_s), rel=1e-12)
    now = float(energy_per_useful_second(here.interval_s or 0.0, 60.0, here.mtbf_s, **powers))
    assert here.useful_gpu_power_w == pytest.approx(now, rel=1e-12)
    assert here.energy_saved_fraction == pytest.approx(1 - float(best.energy_per_useful_s) / now, rel=1e-9)
    assert here.run_energy_mwh == pytest.approx(now * 16384 * 54 * 24 / 1e6, rel=1e-12)
    assert here.energy_accounting == "exact"


@pytest.mark.parametrize(("flush_s", "speed"), [(0.0, 1.0), (200.0, 0.8), (900.0, 1.0)])
def test_energy_of_background_saves_is_simulated(flush_s: float, speed: float) -> None:
    """Energy per useful second of gaps played out, flushes that are lost and aborted stalls included: 4 errors."""
    given = scenario(saves=background(flush_s, speed), failures_strike=Strike.SAFE)
    case = Curve(given).cases(16384)["background"]
    work, d, M = 1000.0, 20.0, case.mtbf_s
    period = work + d + (1 - speed) * flush_s
    gaps = np.random.default_rng(5).exponential(M, 400_000)
    # A stall begins when its work is done, before the slow part of its own flush.
    begun = np.floor((gaps - work) / period + 1).clip(0)
    stalls = begun * d - np.where(begun > 0, (d - (gaps - work - (begun - 1) * period)).clip(0), 0.0)
    useful = work * np.floor((gaps - speed * flush_s) / period).clip(0)
    energy = 1100.0 * (gaps - stalls) + 600.0 * stalls + 300.0 * 600.0
    ratio = energy.sum() / useful.sum()
    error = np.std(energy - ratio * useful) / useful.mean() / np.sqrt(gaps.size)
    assert abs(float(useful_power(case, POWER, work)) - ratio) < 4 * error


@pytest.mark.parametrize(("flush_s", "speed"), [(200.0, 0.8), (900.0, 1.0), (60.0, 0.95)])
def test_no_interval_of_a_background_save_takes_less_energy(flush_s: float, speed: float) -> None:
    """The interval found is not above the floor of its flush for nothing: a fine grid has no lower energy."""
    given = scenario(saves=background(flush_s, speed), cluster=replace(scenario().cluster, power=POWER))
    (here,) = scaling(given, gpus=[16384], energy=True).records
    case = Curve(given).cases(16384)["background"]
    assert here.energy_interval_s is not None
    assert here.energy_interval_s >= case.floor_s
    grid = np.geomspace(max(case.floor_s, 50.0), 5000.0, 4001)
    least = float(useful_power(case, POWER, grid).min())
    assert here.least_useful_gpu_power_w == pytest.approx(least, rel=1e-7)
    assert here.least_useful_gpu_power_w <= least * (1 + 1e-12)


def test_one_class_of_crashes_takes_the_energy_of_none() -> None:
    """Where only the kept saves are known, their time is raised to that of all: exact where failures stop the run."""
    power = "cluster.power={compute: 1.1 kW, save: 600 W, restart: 300 W}"
    alike = Curve(load("llama3-405b", sets=[power]).scenario).cases(16384)
    classed = Curve(load("llama3-405b", sets=[power, "failures.classes=[{name: crashes, share: 1}]"]).scenario).cases(
        16384
    )
    for name in ("synchronous", "asynchronous"):
        intervals = np.array([100.0, 300.0, 1000.0, 5000.0])
        expected = useful_power(alike[name], POWER, intervals)
        np.testing.assert_allclose(useful_power(classed[name], POWER, intervals), expected, rtol=1e-12)


def test_equal_powers_make_time_and_energy_one() -> None:
    """If everything draws the same, least energy is least time, and its power that over the goodput."""
    same = Power(700.0, 700.0, 700.0)
    classes = ["failures.classes=[{kind: hang, share: 0.2}, {kind: slow node, every: 2 d}]", "restart.total=300 s"]
    for given in (load("llama3-405b", sets=classes).scenario, scenario(training=Training(step_time_s=5.0))):
        cluster = replace(given.cluster, power=same)
        for record in scaling(replace(given, cluster=cluster), gpus=[16384], energy=True).records:
            assert record.energy_interval_steps == record.interval_steps
            assert record.useful_gpu_power_w == pytest.approx(700.0 / record.goodput, rel=1e-12)


def test_energy_needs_the_power_of_a_gpu() -> None:
    """Without cluster.power there is no energy, and the message says what to write."""
    with pytest.raises(InputError, match="power of a GPU") as caught:
        scaling(scenario(), energy=True)
    assert "cluster.power" in (caught.value.problems[0].hint or "")
