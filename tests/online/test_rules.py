from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.online.rules import checkfreq_steps, overhead_budget_interval, scr_should_save


def test_reference_budget():
    """Saves of 60 s within 5 % of wall time lie 1,140 s apart."""
    assert overhead_budget_interval(60, 0.05) == pytest.approx(1140, rel=1e-12)


@given(st.floats(1e-3, 1e4), st.floats(1e-3, 0.999))
def test_interval_is_where_scr_begins_to_save(cost, budget):
    """Just before that time SCR does not ask for a save, just after it does."""
    W = overhead_budget_interval(cost, budget)
    assert not scr_should_save(W * (1 - 1e-9) - 1e-9 * cost, cost, budget)
    assert scr_should_save(W * (1 + 1e-9) + 1e-9 * cost, cost, budget)


def test_whole_budget():
    """A budget of all wall time allows saving without pause."""
    assert overhead_budget_interval(60, 1.0) == 0


@pytest.mark.parametrize(
    ("step", "stall", "persist", "budget", "steps"),
    [
        (6, 60, 60, 0.05, 200),  # 60 s of 1,200 s
        (6, 1, 121, 0.05, 20),  # one save must be on storage before the next
        (6, 6, 121, 0.05, 20),  # both bind
        (100, 1, 20, 0.05, 1),
        (0.7, 0.3, 10, 0.035, 14),
    ],
)
def test_checkfreq(step, stall, persist, budget, steps):
    """The budget or the time to persist sets the number of steps, whichever is longer."""
    assert checkfreq_steps(step, stall, persist, budget) == steps


@given(st.floats(0.1, 100), st.floats(0, 100), st.floats(0, 1000), st.floats(0.01, 0.5))
def test_checkfreq_is_the_least_that_meets_both(step, stall, more, budget):
    """It keeps both limits, and one step less would break one of them."""
    n = float(checkfreq_steps(step, stall, stall + more, budget))

    def holds(steps, slack):
        return stall <= budget * steps * step * slack and more <= steps * step * slack

    assert holds(n, 1 + 1e-9)
    assert n == 1 or not holds(n - 1, 1 - 1e-9)


def test_invalid_is_nan():
    """Input outside the domain is nan."""
    assert np.isnan(overhead_budget_interval([-1, 60, 60, np.nan], [0.1, 0, 1.1, 0.1])).all()
    assert np.isnan(checkfreq_steps([0, 6, 6], [1, -1, 1], 10, [0.1, 0.1, 0])).all()
