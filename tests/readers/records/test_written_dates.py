from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.readers.records.moments import read_times, style_of
from ckptplan.readers.records.written_dates import as_iso, c_time, named, slashed

MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2099, 12, 31)).map(lambda at: at.replace(microsecond=0))
FORMS = [
    "%d-%b-%Y %H:%M:%S",
    "%b %d, %Y %H:%M:%S",
    "%d %B %Y %H:%M:%S",
    "%A, %d %b %Y %I:%M:%S %p",
    "%B %d %Y at %H:%M:%S",
    "%Y%m%dT%H%M%S",
    "%Y%m%d %H%M%S",
]


@pytest.mark.parametrize("form", FORMS)
@given(at=MOMENTS)
def test_every_date_reads_as_the_datetime_module_writes_it(form, at):
    """Months by name and ISO 8601 without signs give the second that was written, by the style that is recognised."""
    text = at.strftime(form)
    style = style_of([text], "time", "file", None, None)
    found = read_times([text], style)
    assert found.seconds.tolist() == [at.replace(tzinfo=UTC).timestamp()], text
    assert not found.zoned.any()


@given(at=MOMENTS, minutes=st.integers(-14 * 60, 14 * 60))
def test_mail_headers_read_as_the_email_module_writes_them(at, minutes):
    """RFC 2822 names its offset: the same moment whatever the zone of the writer."""
    moment = at.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    found = named(format_datetime(moment))
    assert (found.seconds, found.zoned) == (moment.timestamp(), True)
    compact = moment.strftime("%Y%m%dT%H%M%S%z")
    read = read_times([compact], style_of([compact], "time", "file", None, None))
    assert (read.seconds.tolist(), read.zoned.tolist()) == ([moment.timestamp()], [True])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-02-28T24:00:00", datetime(2026, 3, 1)),
        ("2026-12-31 24:00", datetime(2027, 1, 1)),
        ("2026-02-28T24:00:00Z", datetime(2026, 3, 1)),
        ("2026-02-28T23:59:60", datetime(2026, 3, 1)),
        ("20260228T240000", datetime(2026, 3, 1)),
        ("2026-02-28T24:00:01", None),
        ("2026-02-28T24:30", None),
        ("2026-02-30T00:00:00", None),
        ("2026-13-01T00:00:00", None),
    ],
)
def test_the_end_of_a_day_and_leap_seconds(text, expected):
    """24:00:00 and 23:59:60 are the first second of the next day; what no calendar has is none."""
    seconds = read_times(["2026-01-01T00:00:00", text], style_of([text], "t", "f", None, None)).seconds[1]
    assert np.isnan(seconds) if expected is None else seconds == expected.replace(tzinfo=UTC).timestamp()
    assert as_iso("soon") == "soon"


@pytest.mark.parametrize(
    "text", ["31-Jun-2026", "Foo 01, 2026 08:00", "1-Jan-26", "Jan 01 08:00", "", "Jan 01, 2026 25:00", "Jun 31 2026"]
)
def test_what_is_no_date_is_none(text):
    """Days that no month has, unknown months and years of two digits by name are nothing."""
    assert np.isnan(named(text).seconds)
    assert np.isnan(c_time(text).seconds)
    assert np.isnan(slashed(text, False).seconds)
