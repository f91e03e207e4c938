from __future__ import annotations

import pytest

from ckptplan.fit.record import Outcome
from ckptplan.readers.records.kinds_of_rows import outcome_of


@pytest.mark.parametrize(
    ("category", "cause", "expected"),
    [
        ("", "", Outcome.FAILURE),
        ("hardware", "GPU fell off the bus", Outcome.FAILURE),
        ("Maintenance", "", Outcome.MAINTENANCE),
        ("planned_reboot", "", Outcome.MAINTENANCE),
        ("", "Scheduled upgrade", Outcome.MAINTENANCE),
        ("Unplanned Maintenance", "host", Outcome.FAILURE),
        ("unscheduled", "maintenance", Outcome.FAILURE),
        ("PREEMPTED", "", Outcome.PREEMPTED),
        ("", "pre-emption by job 7", Outcome.PREEMPTED),
        ("", "spot_interruption", Outcome.PREEMPTED),
        ("", "instance reclaimed", Outcome.PREEMPTED),
        ("COMPLETED", "", Outcome.CENSORED),
        ("cancelled", "by user", Outcome.CENSORED),
        ("", "completed", Outcome.FAILURE),
        ("explanned", "", Outcome.FAILURE),
    ],
)
def test_words_decide_what_a_row_is(category, cause, expected):
    """Planned work, preemption and what no failure ended are told by whole words; all else is a failure."""
    assert outcome_of(category, cause) is expected
