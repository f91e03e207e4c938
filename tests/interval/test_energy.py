from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from ckptplan.cost.scenario import Strike
from ckptplan.interval.breakdown import exact_goodput, gross_shares
from ckptplan.interval.energy import energy_optimum, energy_per_useful_second

POWERS = {"power_compute": 1.0, "power_save": 0.6, "power_restart": 0.3}


def test_reference_optimum():
    """The four figures of the reference: saves that draw 60 % shorten the interval from 1,116 to 876 s."""
    optimum = energy_optimum(60, 11135, **POWERS, restart=600, strike=Strike.SAFE)
    expected = (895.388184, 875.5821146, 1.105234713, 1116.292033)
    np.testing.assert_allclose(optimum, expected, rtol=1e-9)


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize(("stall", "mtbf", "interval"), [(60, 11135, 900), (1500, 4000, 2000), (1e-3, 1e6, 40)])
def test_energy_is_that_of_the_gross_shares(strike, stall, mtbf, interval):
    """The closed form equals the powers weighted by the shares that book aborted saves as saves."""
    times = {"downtime": 120, "restart": 600, "strike": strike}
    s = gross_shares(interval, stall, mtbf, **times)
    weighted = (1.0 * (s.useful + s.rework) + 0.6 * s.save + 0.3 * s.restart) / s.useful
    assert energy_per_useful_second(interval, stall, mtbf, **POWERS, **times) == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize("powers", [(1, 0.6, 0.3), (1, 1.5, 0), (1, 0.05, 2), (3, 9, 1)])
@pytest.mark.parametrize(("stall", "mtbf"), [(60, 11135), (1500, 1000), (0.1, 1e5), (9000, 1000)])
def test_against_a_numerical_minimum(powers, stall, mtbf):
    """The closed form is where a numerical minimiser ends, saves of any power and of any length."""
    named = dict(zip(POWERS, powers, strict=True))
    optimum = energy_optimum(stall, mtbf, **named, downtime=60, restart=300)

    def energy(log_interval):
        return float(energy_per_useful_second(np.exp(log_interval), stall, mtbf, **named, downtime=60, restart=300))

    found = optimize.minimize_scalar(
        energy, bounds=(np.log(1e-3), np.log(1e6)), method="bounded", options={"xatol": 1e-9}
    )
    # A flat minimum is located to the root of the rounding error only; its value to the rounding error.
    assert optimum.interval_s == pytest.approx(np.exp(found.x), rel=1e-5)
    assert optimum.energy_per_useful_s == pytest.approx(found.fun, rel=1e-11)


def test_equal_powers_and_free_restarts_mean_least_time():
    """With one power everywhere energy is time: the interval is the exact one, the energy the power over goodput."""
    same = {"power_compute": 700.0, "power_save": 700.0, "power_restart": 700.0}
    for restart in (0, 600):
        optimum = energy_optimum(60, 11135, **same, restart=restart)
        assert optimum.interval_s == pytest.approx(float(optimum.time_interval_s), rel=1e-12)
        g = exact_goodput(optimum.interval_s, 60, 11135, restart=restart)
        assert optimum.energy_per_useful_s == pytest.approx(700 / g, rel=1e-12)


def test_first_order_is_the_limit():
    """For a stall far below the MTBF the exact interval is sqrt(2 d M ps/pc)."""
    optimum = energy_optimum(1e-8, 1.0, power_compute=1.0, power_save=0.25, power_restart=0.0)
    assert optimum.interval_s == pytest.approx(float(optimum.interval_first_order_s), rel=1e-4)


@pytest.mark.parametrize(
    "bad", [{"stall": -1}, {"mtbf": 0}, {"power_compute": 0}, {"power_save": -1}, {"mtbf": np.nan}]
)
def test_invalid_is_nan(bad):
    """Input outside the domain is nan in every figure."""
    arguments = {"stall": 60, "mtbf": 11135, **POWERS} | bad
    assert np.isnan(energy_optimum(**arguments)).all()
    assert np.isnan(energy_per_useful_second(900, **arguments))
