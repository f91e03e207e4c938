from __future__ import annotations

import numpy as np
import pytest

from ckptplan.interval.daly import daly_interval
from ckptplan.interval.exact import exact_interval


@pytest.mark.parametrize(
    ("stall", "mtbf", "interval"),
    [(60, 11135.0835322, 1116.291548), (300, 86400, 7001.388889), (2000, 1000, 1000)],
)
def test_reference_values(stall, mtbf, interval):
    """Equation 37 and its branch equal the reference."""
    assert daly_interval(stall, mtbf) == pytest.approx(interval, rel=1e-9)


@pytest.mark.parametrize(("hours", "minutes"), [(24, "116.69"), (6, "56.71"), (0.25, "9.14")])
def test_values_that_daly_printed(hours, minutes):
    """Daly's own table for a stall of 5 min: 117, 57 and 9.1 min for an MTBF of 24 h, 6 h and 15 min."""
    assert f"{daly_interval(300, hours * 3600) / 60:.2f}" == minutes


def test_is_equation_37_as_printed():
    """The factored polynomial equals the printed series with its branch."""
    mtbf = 1000.0
    stall = mtbf * np.geomspace(1e-6, 10, 400)
    h = np.sqrt(stall / (2 * mtbf))
    printed = np.sqrt(2 * stall * mtbf) * (1 + h / 3 + h**2 / 9) - stall
    np.testing.assert_allclose(daly_interval(stall, mtbf), np.where(stall < 2 * mtbf, printed, mtbf), rtol=1e-14)


def test_branch_jumps_at_twice_the_mtbf():
    """Just below d = 2 M the rule gives 8/9 M, at it M."""
    assert daly_interval(np.nextafter(2.0, 0.0), 1.0) == pytest.approx(8 / 9, rel=1e-12)
    assert daly_interval(2.0, 1.0) == 1.0


@pytest.mark.parametrize(("ratio", "error"), [(0.02, 4e-5), (0.1, 4e-4), (0.5, 5.5e-3), (1.999999, 6.2e-2)])
def test_stated_validity(ratio, error):
    """The error against the exact optimum is what the validity text says, and not much smaller."""
    off = abs(daly_interval(ratio, 1.0) / exact_interval(ratio, 1.0) - 1)
    assert error / 2 < off < 1.02 * error
