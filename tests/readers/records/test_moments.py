from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.errors import InputError
from ckptplan.readers.records.moments import Style, numbers, read_times, spans, style_of, watched
from ckptplan.readers.records.stamps import Stamps, clock

BERLIN = ZoneInfo("Europe/Berlin")


def _style(*texts, unit=None, order=None):
    return style_of(texts, "time", "file", unit, order)


def test_numbers_are_finite_or_nothing():
    """A column with words, infinities and numbers too large keeps what is a finite number."""
    found = numbers(["1", "2.5e3", "nan", "inf", "1e999", "1e308", "", "x", "1_000", "-4"])
    np.testing.assert_array_equal(found, [1, 2500, *[np.nan] * 6, 1000, -4])
    assert numbers([]).size == 0


@pytest.mark.parametrize(
    ("texts", "factor", "calendar"),
    [
        (["1719835200", "1719838800"], 1.0, True),
        (["1719835200123", "1719838800123"], 1e-3, True),
        (["1719835200123456", "1719838800123456"], 1e-6, True),
        (["1719835200123456789", "1719838800123456789"], 1e-9, True),
        (["0", "139720005"], 1.0, False),
        (["0", "7927346", "3139720005"], 1.0, False),
        (["400000000", "4000000000"], 1.0, False),
    ],
)
def test_epochs_are_large_and_close_to_each_other(texts, factor, calendar):
    """Numbers since 1970 are told from seconds of a record by their size and their spread."""
    style = _style(*texts)
    assert (style.kind, style.factor_s, style.calendar) == ("number", factor, calendar)


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0)])
def test_a_unit_of_the_column_is_believed(unit, factor):
    """With a unit, small numbers count from the start and large ones from 1970."""
    assert _style("5", "7", unit=unit)[:3] == ("number", factor, False)
    large = str(1719835200 / factor)
    assert _style(large, large, unit=unit).calendar


def test_the_order_of_day_and_month_is_found_or_asked_for():
    """A value above 12 decides; without one the user is asked; the same number twice needs no answer."""
    assert not _style("7/13/2024 1:00", "7/2/2024 1:00").day_first
    assert _style("13.7.2024 1:00", "2.7.2024 1:00").day_first
    assert _style("2/7/2024 1:00", order="dmy").day_first
    assert _style("7/7/2024 1:00").kind == "slashed"
    with pytest.raises(InputError, match="two ways"):
        _style("2/7/2024 1:00")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7/1/2024 12:30", datetime(2024, 7, 1, 12, 30)),
        ("7/1/2024", datetime(2024, 7, 1)),
        ("7/1/24 12:30:45.5", datetime(2024, 7, 1, 12, 30, 45)),
        ("7/1/2024 12:30 AM", datetime(2024, 7, 1, 0, 30)),
        ("7/1/2024, 12:30 p.m.", datetime(2024, 7, 1, 12, 30)),
        ("07/01/2024T23:59", datetime(2024, 7, 1, 23, 59)),
        ("2/30/2024 1:00", None),
        ("7/1/2024 25:00", None),
        ("7/1/2024 13:00 PM", None),
        ("7/1.2024 1:00", None),
        ("7/1/2024 1:00 \u0661", None),
    ],
)
def test_dates_with_slashes(text, expected):
    """Month first, with or without a time of day, seconds or AM and PM; a date that is none is nothing."""
    seconds = read_times([text], Style("slashed")).seconds[0]
    if expected is None:
        assert np.isnan(seconds)
    else:
        assert seconds == expected.replace(tzinfo=UTC).timestamp()


@given(st.datetimes(datetime(1971, 1, 1), datetime(2099, 12, 31)))
def test_every_date_reads_as_the_datetime_module_writes_it(at):
    """Slashed, ISO with slashes, and dmesg -T give the same second as the datetime module."""
    at = at.replace(microsecond=0)
    seconds = at.replace(tzinfo=UTC).timestamp()
    written = {
        Style("slashed"): f"{at.month}/{at.day}/{at.year:04d} {at.hour}:{at.minute:02d}:{at.second:02d}",
        Style("slashed", day_first=True): f"{at.day:02d}.{at.month:02d}.{at.year:04d} {at:%I:%M:%S %p}",
        Style("ctime"): at.strftime("%a %b %d %H:%M:%S %Y"),
        Style("iso"): at.strftime("%Y/%m/%d %H:%M:%S"),
    }
    for style, text in written.items():
        assert read_times([text], style).seconds.tolist() == [seconds], text


@given(
    st.datetimes(datetime(2024, 10, 26), datetime(2024, 10, 28), timezones=st.just(UTC)),
    st.integers(0, 6 * 60),
)
def test_elapsed_minutes_find_the_true_times_in_the_night_of_the_change(at, minutes):
    """Start and end written on a wall clock that is put back, with the minutes between them, give back the truth."""
    start = at.replace(second=0, microsecond=0)
    end = start + timedelta(minutes=minutes)
    local = [
        Stamps(np.array([moment.astimezone(BERLIN).replace(tzinfo=UTC).timestamp()]), np.array([False]))
        for moment in (start, end)
    ]
    found = spans(*local, np.array([60.0 * minutes]), clock("Europe/Berlin"))
    assert found.end_s[0] - found.start_s[0] == 60.0 * minutes
    both_twice = start.astimezone(BERLIN).utcoffset() == end.astimezone(BERLIN).utcoffset()
    if not both_twice or found.twice + found.decided == 0:
        assert found.start_s[0] == start.timestamp()
    assert abs(found.start_s[0] - start.timestamp()) in (0.0, 3600.0)


def test_watching_is_said_by_stamp_seconds_or_a_length_of_time():
    """All ways of --since and --until; anything else is an error that says which option."""
    by = clock("America/Denver")
    noon = datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("America/Denver")).timestamp()
    assert watched("2024-07-01T12:00:00", "x", 5.0, by, "f") == noon
    assert watched("2024-07-01T18:00:00Z", "x", 5.0, by, "f") == noon
    assert watched("2024-07-01", "x", 5.0, by, "f") == noon - 12 * 3600
    assert watched(noon, "x", 5.0, by, "f") == noon
    assert watched("60", "x", 5.0, by, "f") == 65.0
    assert watched("54 d", "x", 5.0, by, "f") == 5.0 + 54 * 86_400
    assert watched(None, "x", 5.0, by, "f") is None
    for text in ("soon", "5 m", "nan", "2024-02-30", ""):
        with pytest.raises(InputError, match="the end"):
            watched(text, "the end", 5.0, by, "f")
