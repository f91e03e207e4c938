"""Checks before saves to the last tier only: the tiers below hold what has not been checked, and serve no error."""

from __future__ import annotations

import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.errors import InputError
from ckptplan.interval.verified import verified_shares
from ckptplan.simulate.spectrum.causes import FailStop, Silent
from ckptplan.simulate.spectrum.long_run import simulate_spectrum
from ckptplan.simulate.spectrum.process import SpectrumProcess

LF, LS = 8e-5, 3e-5


def process(n: int, *, level: int, verify_level: int = 2) -> SpectrumProcess:
    """Slots every 200 s, every n-th of which goes to the last tier; free ones below, which no failure leaves."""
    causes = (FailStop("crash", 1 / LF, 2), Silent("error", 1 / LS, level=level))
    return SpectrumProcess(
        interval_s=200.0,
        slot_stall_s=(0.0, 60.0),
        restart_s=(0.0, 400.0),
        causes=causes,
        every=(1, n),
        strike=Strike.SAFE,
        verifications=1,
        verify_s=15.0,
        verify_level=verify_level,
        keep=(1, 1000),
    )


@pytest.mark.parametrize("n", [2, 5, 12])
def test_a_check_per_dear_save_is_verified_saves_of_that_interval(n: int) -> None:
    """Where only the last tier survives anything, the goodput is that of verified saves n times apart."""
    made = simulate_spectrum(process(n, level=2), failures=60_000, seed=n)
    exact = verified_shares(200.0 * n, 15.0, 60.0, LF, LS, restart=400.0, strike=Strike.SAFE)
    assert abs(made.goodput - float(exact.useful)) < 4.0 * made.goodput_error
    assert abs(made.kept.verify.value - float(exact.verify)) < 4.0 * max(made.kept.verify.error, 1e-6)
    assert all(cause.unkept == 0 for cause in made.causes)


def test_going_back_to_what_was_not_checked_would_look_better() -> None:
    """A rollback that may use the newest lower save that happens to be clean loses less: it is not what is planned."""
    honest, lucky = (simulate_spectrum(process(5, level=level), failures=60_000, seed=1) for level in (2, 1))
    error = (honest.goodput_error**2 + lucky.goodput_error**2) ** 0.5
    assert lucky.goodput - honest.goodput > 4.0 * error


def test_several_checks_are_for_every_save_only() -> None:
    """More than one check per segment, or a level that there is not, is refused."""
    with pytest.raises(InputError, match="verifications must be 1"):
        simulate_spectrum(process(5, level=2)._replace(verifications=2), failures=100)
    with pytest.raises(InputError, match="verify_level must be from 1 to 2"):
        simulate_spectrum(process(5, level=2, verify_level=3), failures=100)
