from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.interval.asynchronous import asynchronous_interval
from ckptplan.interval.breakdown import exact_goodput
from ckptplan.interval.exact import exact_work_fraction
from ckptplan.interval.scale import gpus_at_peak

M_GPU = 50677 * 3600.0


@pytest.mark.parametrize(
    ("restart", "mtbf", "gpus", "goodput"),
    [(600, 774.5440337, 235541.418, 0.3024416123), (0, 75.30005849, 2422802.899, 0.20318787)],
)
def test_reference_peaks(restart, mtbf, gpus, goodput):
    """MTBF, GPUs and goodput at the peak equal the reference."""
    np.testing.assert_allclose(gpus_at_peak(60, restart, M_GPU), (mtbf, gpus, goodput), rtol=1e-9)


def test_limits():
    """Free restarts: M = 1.2550 d at the peak; free saves: M = R and a goodput of 1/e."""
    assert gpus_at_peak(1, 0, 1e9).mtbf_s == pytest.approx(1.2550, abs=5e-5)
    peak = gpus_at_peak(0, 600, M_GPU)
    assert peak.mtbf_s == pytest.approx(600, rel=1e-12)
    assert peak.goodput == pytest.approx(np.exp(-1), rel=1e-12)


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("exponent", [1.0, 0.8])
@pytest.mark.parametrize(("flush", "speed"), [(0, 1), (120, 0.9), (3000, 1.0)])
def test_no_other_size_does_more(strike, exponent, flush, speed):
    """Throughput times goodput is least reduced at the peak, with floors that bind and that do not."""
    peak = gpus_at_peak(
        60, 600, M_GPU, downtime=200, strike=strike, scaling_exponent=exponent, flush=flush, speed=speed
    )
    N = peak.gpus * np.concatenate([np.geomspace(0.01, 100, 401), 1 + np.linspace(-0.01, 0.01, 21)])
    W = asynchronous_interval(60, flush, speed, M_GPU / N)
    g = exact_goodput(W, 60, M_GPU / N, downtime=200, restart=600, strike=strike, flush=flush, speed=speed)
    assert (N**exponent * g).max() <= peak.gpus**exponent * peak.goodput * (1 + 1e-12)
    # The optimum is flat: a step of 1 % costs 1e-5 and more, so it is located to far better than that.
    side = [g_ * n**exponent for g_, n in zip(g, N, strict=True) if abs(n / peak.gpus - 1) > 0.0099]
    assert max(side) < peak.gpus**exponent * peak.goodput * (1 - 1e-6)


@pytest.mark.parametrize("strike", list(Strike))
def test_closed_condition(strike):
    """At the peak gamma M = d/u(d/M) plus the recovery as far as failures may strike it."""
    M = float(gpus_at_peak(60, 600, M_GPU, downtime=100, strike=strike, scaling_exponent=0.9).mtbf_s)
    recovery = {
        Strike.SAFE: 700 * M / (M + 700),
        Strike.R: 600 + 100 * M / (M + 100),
        Strike.DR: 700.0,
    }[strike]
    assert pytest.approx(60 / float(exact_work_fraction(60 / M)) + recovery, rel=1e-11) == 0.9 * M


def test_without_a_peak_is_nan():
    """Free saves and restarts that no failure strikes: more is always more; so is a run that never loses anything."""
    assert np.isnan(gpus_at_peak(0, 600, M_GPU, strike=Strike.SAFE)).all()
    assert np.isnan(gpus_at_peak(0, 0, M_GPU)).all()


def test_broadcast_and_invalid():
    """Arrays broadcast; input outside the domain is nan beside valid neighbours."""
    peak = gpus_at_peak([60, -60, 60, 60], 600, [M_GPU, M_GPU, 0, M_GPU], scaling_exponent=[1, 1, 1, 0])
    np.testing.assert_array_equal(np.isnan(peak.gpus), [False, True, True, True])
    assert peak.mtbf_s[0] == gpus_at_peak(60, 600, M_GPU).mtbf_s
