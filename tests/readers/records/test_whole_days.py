from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.readers.records import events_csv
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.stamps import clock
from ckptplan.readers.records.whole_days import move, spread

DAY = 86_400.0
FIRST = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def _read(tmp_path, text, **options):
    path = tmp_path / "days.csv"
    path.write_text(text)
    return events_csv.read(str(path), RecordOptions(**options))


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=30))
def test_the_events_of_a_day_lie_evenly_in_it(rows):
    """The k-th of n is at (k - 1/2) / n of its day, in the order of the rows; counted by hand, day by day."""
    day, there = (np.array(column) for column in zip(*rows, strict=True))
    found = spread(FIRST + DAY * day, there, clock(None))
    for number in set(day.tolist()):
        own = [row for row in range(len(day)) if day[row] == number and there[row]]
        for k, row in enumerate(own):
            assert found[row] == pytest.approx(FIRST + DAY * (number + (k + 0.5) / len(own)), abs=1e-3)
    assert np.isnan(found[~there]).all()


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-03-30", 24), ("2026-10-25", 25)])
def test_a_day_is_as_long_as_its_zone_says(day, hours):
    """On days on which clocks change, two events are half of 23 or 25 hours apart."""
    zone = ZoneInfo("Europe/Berlin")
    midnight = datetime.fromisoformat(day)
    local = np.full(2, midnight.replace(tzinfo=UTC).timestamp())
    found = spread(local, np.ones(2, bool), clock("Europe/Berlin"))
    begin = midnight.replace(tzinfo=zone).timestamp()
    end = (midnight + timedelta(days=1)).replace(tzinfo=zone).timestamp()
    assert end - begin == hours * 3600.0
    assert found.tolist() == [begin + 0.25 * (end - begin), begin + 0.75 * (end - begin)]


def test_an_end_moves_along_unless_it_has_a_time_of_day():
    """A length in days stays what it is; an end with a time of day stays, and its start is not after it."""
    start, end, to = np.array([0.0, 0.0, 5.0]), np.array([2 * DAY, 100.0, 9.0]), np.array([1000.0, 1000.0, np.nan])
    move(start, end, to, np.array([True, False, True]))
    assert start.tolist() == [1000.0, 100.0, 5.0]
    assert end.tolist() == [2 * DAY + 1000.0, 100.0, 9.0]


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d-%b-%Y", "%B %d %Y", "%d %b %Y"],
)
def test_failures_of_one_day_are_all_counted(tmp_path, form):
    """Three causes on one date are three failures in that day, whatever the form of the date; none is doubted."""
    days = [datetime(2026, 1, number) for number in (13, 14, 14, 14, 17)]
    rows = [f"{day.strftime(form)},{cause}\n" for day, cause in zip(days, "abcda", strict=True)]
    record = _read(tmp_path, "date,cause\n" + "".join(rows))
    expected = [12.5, 13 + 1 / 6, 13.5, 13 + 5 / 6, 16.5]
    assert ((record.content.start_s - FIRST) / DAY).tolist() == pytest.approx(expected, abs=1e-9)
    assert any("5 rows have dates without a time of day: the events of one day are spread" in s for s in record.facts)
    assert not any("another row" in said for said in record.warnings)


def test_stamps_with_a_time_of_day_stay_where_they_are(tmp_path):
    """Equal stamps stay equal, midnight too, beside a date that is spread; only rows of one cause are doubted."""
    text = "date,cause\n2026-01-02 00:00:00,a\n2026-01-02 00:00:00,b\n2026-01-02,c\n" + 2 * "2026-01-03T05:00,d\n"
    record = _read(tmp_path, text)
    assert (record.content.start_s - FIRST - DAY).tolist() == [0.0, 0.0, DAY / 2, DAY + 18_000, DAY + 18_000]
    assert any("1 row has a date without a time of day" in said for said in record.facts)
    assert any("1 row with the times, the node and the cause of another row" in said for said in record.warnings)


def test_what_no_failure_made_takes_no_place_in_a_day(tmp_path):
    """A completed run of the same day does not shift the failure in it."""
    record = _read(tmp_path, "date,status\n2026-01-01,completed\n2026-01-01,failed\n")
    assert (record.content.start_s - FIRST).tolist() == [DAY / 2]


def test_outages_by_dates_keep_their_length(tmp_path):
    """An outage from the 2nd to the 5th takes three days, one of a single day none, and none ends before it starts."""
    record = _read(tmp_path, "start,end\n2026-01-02,2026-01-05\n2026-01-07,2026-01-07\n2026-01-09,2026-01-09 06:00\n")
    assert (record.content.end_s - record.content.start_s).tolist() == [3 * DAY, 0.0, 0.0]
    assert not any("before the start" in said for said in record.warnings)
