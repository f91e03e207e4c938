from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Allocations, Outcome
from ckptplan.readers.records.stamps import clock
from ckptplan.readers.records.windows import Window, asked_window, clipped

MAY = 1_777_593_600.0  # 2026-05-01T00:00:00Z


def _runs(*spans, outcome=Outcome.FAILURE):
    start, end = (np.array(column, float) for column in zip(*spans, strict=True))
    count = len(start)
    codes = np.arange(count, dtype=np.int32)
    outcomes = np.full(count, outcome, np.int32)
    names = tuple(f"job {n}" for n in range(count))
    zeros = np.zeros(count, np.int32)
    return Allocations(start, end, outcomes, 4 * np.ones(count), np.ones(count), codes, zeros, ("broken",), names)


def test_runs_are_cut_to_the_window():
    """A run that began before is at risk from the begin on, one that goes on is censored at the end."""
    found = clipped(_runs((0, 10), (5, 30), (12, 18), (15, 40), (0, 50), (50, 60)), 10, 20)
    assert found.runs.start_s.tolist() == [10, 12, 15, 10]
    assert found.runs.end_s.tolist() == [20, 18, 20, 20]
    assert found.runs.outcome.tolist() == [Outcome.CENSORED, Outcome.FAILURE, Outcome.CENSORED, Outcome.CENSORED]
    assert [found.runs.causes[code] for code in found.runs.cause] == [
        "still running", "broken", "still running", "still running",
    ]  # fmt: skip
    assert [found.runs.names[job] for job in found.runs.job] == ["job 1", "job 2", "job 3", "job 4"]
    assert (found.kept.tolist(), found.outside) == ([False, True, True, True, True, False], 2)
    assert found.facts == (
        "2 runs that began before --since: at risk from then on.",
        "3 runs that went on after --until: censored there.",
    )


def test_windows_that_follow_each_other_add_up():
    """Time at risk and failures of the parts are those of the whole, also where runs start and end at the edges."""
    rng = np.random.default_rng(5)
    start = rng.integers(0, 50, 200).astype(float)
    runs = _runs(*zip(start, start + rng.integers(1, 30, 200), strict=True))
    edges = [-np.inf, 10, 20, 33, np.inf]
    parts = [clipped(runs, a, b).runs for a, b in pairwise(edges)]
    assert sum(np.sum(part.end_s - part.start_s) for part in parts) == np.sum(runs.end_s - runs.start_s)
    assert sum(np.count_nonzero(part.outcome == Outcome.FAILURE) for part in parts) == 200


def test_no_window_changes_nothing():
    """Without a window every row stays as it is, also one of no length."""
    runs = _runs((0, 10), (7, 7))
    found = clipped(runs, *Window())
    assert found.outside == 0
    assert found.facts == ()
    for before, after in zip(runs, found.runs, strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        (None, None, (-np.inf, np.inf)),
        ("2026-05-01", "2026-05-02", (MAY, MAY + 86_400)),
        ("2026-05-01T00:00:00Z", "2 d", (MAY, MAY + 86_400)),
        ("6h", "12h", (MAY - 86_400 + 21_600, MAY - 86_400 + 43_200)),
        (None, 7200.0, (-np.inf, MAY - 86_400 + 7200)),
    ],
)
def test_windows_are_asked_for_as_of_any_record(since, until, expected):
    """A date, a stamp, and a time that counts from the start of the record, of the end as of the begin."""
    assert asked_window(since, until, MAY - 86_400, clock(None), "a") == expected


def test_a_record_without_a_calendar_counts_from_its_start():
    """Between 6 and 12 hours of a trace are six hours."""
    assert asked_window("6h", "12h", 0.0, clock(None), "a") == (21_600, 43_200)


def test_impossible_windows_are_refused():
    """An end before the begin, and what is no time, end in an error that names the file."""
    for since, until, message in (
        ("2026-05-02", "2026-05-01", "watching ends before it begins"),
        ("2026-05-02", "12 h", "watching ends before it begins"),
        (None, "soon", "the end of watching: "),
    ):
        with pytest.raises(InputError) as caught:
            asked_window(since, until, MAY, clock(None), "sacct.txt")
        assert caught.value.render().startswith(f"sacct.txt: {message}")
