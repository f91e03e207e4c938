"""One stretch of training, with and without a copy that may survive."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.simulate.process import Process, recovery_of
from ckptplan.simulate.stretch import End, play, play_hard
from ckptplan.simulate.timeline import timeline_of


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize(("flush_s", "speed"), [(0.0, 1.0), (200.0, 0.7)])
def test_the_short_form_for_hard_failures_is_the_general_one(strike: Strike, flush_s: float, speed: float) -> None:
    """Where no copy survives, both forms give the same stretch, to the last digit."""
    process = Process(1000.0, 30.0, flush_s, speed, 50.0, 400.0, strike)
    gap = np.random.default_rng(1).exponential(3000.0, 10_000)
    saves = np.random.default_rng(2).integers(0, 6, gap.size).astype(float)
    timeline, recovery = timeline_of(process), recovery_of(process)
    end = End(saves, saves * timeline.period_s + 700.0)
    never = np.zeros(gap.size, dtype=np.bool_)
    general = play(timeline, recovery, gap, never, never, end=end)
    short = play_hard(timeline, recovery, gap, end)
    for name, value in general._asdict().items():
        np.testing.assert_array_equal(value, np.broadcast_to(getattr(short, name), value.shape), err_msg=name)
