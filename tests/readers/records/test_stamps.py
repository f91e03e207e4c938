from __future__ import annotations

import math
import zoneinfo
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from ckptplan.errors import InputError
from ckptplan.readers.records.stamps import as_text, clock, is_repeated, is_skipped, local_to_utc, parse_stamps, to_utc

ZONES = ("America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kolkata")


def _wall(count, seed):
    """Wall-clock times of 1975 to 2095, as numbers and as datetimes."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(5 * 365 * 86400, 125 * 365 * 86400, count)
    return seconds.astype(float), [datetime(1970, 1, 1) + timedelta(seconds=int(s)) for s in seconds]


def _near_changes(zone):
    """Wall-clock times of every quarter of an hour within two hours of each change of a zone in 2020 to 2030."""
    known = zoneinfo.ZoneInfo(zone)
    at, times = datetime(2020, 1, 1, tzinfo=UTC), []
    while at.year < 2030:
        after = at + timedelta(hours=1)
        if at.astimezone(known).utcoffset() != after.astimezone(known).utcoffset():
            base = at.astimezone(known).replace(tzinfo=None, minute=0)
            times += [base + timedelta(minutes=15 * k) for k in range(-8, 13)]
        at = after
    return np.array([(t - datetime(1970, 1, 1)).total_seconds() for t in times]), times


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("fold", [0, 1])
def test_zones_agree_with_datetime(zone, fold):
    """Wall-clock times go to UTC as Python's own datetime takes them, in repeated and skipped hours too."""
    known, by = zoneinfo.ZoneInfo(zone), clock(zone)
    for seconds, times in (_wall(3000, 7), _near_changes(zone)):
        found = local_to_utc(seconds, by, later=bool(fold))
        expected = [t.replace(tzinfo=known, fold=fold).timestamp() for t in times]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("zone", ZONES[:4])
def test_hours_that_came_twice_or_never(zone):
    """A wall-clock time is repeated or skipped where its two readings differ, as PEP 495 says."""
    known, by = zoneinfo.ZoneInfo(zone), clock(zone)
    seconds, times = _near_changes(zone)
    folds = [[t.replace(tzinfo=known, fold=f).utcoffset() for f in (0, 1)] for t in times]
    np.testing.assert_array_equal(is_repeated(seconds, by), [a > b for a, b in folds])
    np.testing.assert_array_equal(is_skipped(seconds, by), [a < b for a, b in folds])
    assert is_repeated(seconds, by).any()
    assert is_skipped(seconds, by).any()


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T02:43:28", "2026-11-30 02:43:28", "2026-11-30T02:43", "2024-02-29T23:59:59", "1969-12-31T23:59:59",
        "2026-11-30T02:43:28.5", "2026-11-30T02:43:28.123456", "2026-11-30T02:43:28Z", "2026-11-30T02:43:28+00:00",
        "2026-11-30T02:43:28-0800", "2026-11-30T02:43:28.25+05:30", "2000-03-01T00:00:00", "2100-02-28T12:00:00",
    ],
)  # fmt: skip
def test_stamps_agree_with_datetime(text):
    """A stamp means what ``datetime.fromisoformat`` reads; one without a zone is given as though it were UTC."""
    known = datetime.fromisoformat(text)
    found = parse_stamps([text])
    assert bool(found.zoned[0]) == (known.tzinfo is not None)
    assert found.seconds[0] == (known if known.tzinfo else known.replace(tzinfo=UTC)).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "", "Unknown", "None", "None assigned", "2026-02-29T00:00:00", "2026-13-01T00:00:00", "2026-00-10T00:00:00",
        "2026-11-31T00:00:00", "2026-11-30T24:00:00", "2026-11-30T02:60:28", "2026-11-30X02:43:28", "2026-11-30",
        "2026-11-30T02:43:28+99:99", "2026-11-30T02:43:28junk", "0000-01-01T00:00:00", "9999-01-01T00:00:00",
        "2026-11-30T02:43:2\x00", "17000000x0", "12345678", "1234567890123", "=cmd|' /C calc'!A0", "x" * 1000,
        "\uff12026-11-30T02:4",
    ],
)  # fmt: skip
def test_what_is_no_time(text):
    """Anything else is nan, never an error and never a guess."""
    found = parse_stamps([text, "2026-11-30T02:43:28"])
    assert math.isnan(found.seconds[0])
    assert found.seconds[1] == datetime(2026, 11, 30, 2, 43, 28, tzinfo=UTC).timestamp()


def test_seconds_since_1970():
    """Plain digits are seconds since 1970 and need no zone."""
    found = parse_stamps([b"1700000000", "999999999", None])
    np.testing.assert_array_equal(found.seconds, [1.7e9, 999999999.0, math.nan])
    assert found.zoned.tolist() == [True, True, False]
    assert to_utc(found, clock("Asia/Tokyo"))[0] == 1.7e9


def test_columns_of_arrow():
    """Sliced, chunked and dictionary-free columns with missing cells are read by position."""
    texts = ["2026-11-30T02:43:28", None, "Unknown", "2026-11-30T02:43:29Z", "2026-11-30T02:43:30"]
    expected = parse_stamps(texts)
    whole = pa.array(texts)
    for column in (whole.cast(pa.binary()), pa.chunked_array([whole[:2], whole[2:]])):
        np.testing.assert_array_equal(parse_stamps(column).seconds, expected.seconds)
    np.testing.assert_array_equal(parse_stamps(whole[3:]).seconds, expected.seconds[3:])
    assert len(parse_stamps(pa.chunked_array([], pa.binary())).seconds) == 0


@pytest.mark.parametrize(
    ("zone", "offset_s"), [("+02:00", 7200), ("-0330", -12600), ("UTC+9", 32400), ("Z", 0), (None, 0)]
)
def test_fixed_offsets(zone, offset_s):
    """An offset is a zone, and no zone is UTC."""
    assert local_to_utc(np.array([0.0]), clock(zone))[0] == -offset_s


@pytest.mark.parametrize(
    ("zone", "hint"),
    [("Europe/Berln", "Europe/Berlin"), ("Berlin", "Europe/Berlin"), ("+15:00", "+02:00"), ("../../etc", "IANA"),
     ("\0", "IANA"), ("\x1b[31mred" * 50, "IANA"), ("America", "")],
)  # fmt: skip
def test_unknown_zones(zone, hint):
    """A zone that does not exist is refused with the nearest that does, and cannot steer the terminal."""
    with pytest.raises(InputError, match="no time zone") as error:
        clock(zone)
    assert hint in error.value.render()
    assert "\x1b" not in error.value.render()


def test_text_of_a_time():
    """A time is printed in its zone."""
    at = datetime(2026, 11, 30, 2, 43, 28, tzinfo=UTC).timestamp()
    assert as_text(at) == "2026-11-30T02:43:28"
    assert as_text(at, clock("America/Los_Angeles")) == "2026-11-29T18:43:28"
    assert as_text(math.nan) == "unknown"


@pytest.mark.parametrize("name", ["CEST", "pst", "PDT", "EDT", "CST", "JST", "IST", "MSK", "BST"])
def test_abbreviations_of_zones_are_explained(name):
    """An abbreviation is ambiguous: the hint is a zone of that region, never one that is only spelt alike."""
    with pytest.raises(InputError, match="is an abbreviation") as caught:
        clock(name)
    hint = caught.value.problems[0].hint
    assert "did you mean" not in hint
    example = next(word.strip(",") for word in hint.split() if "/" in word)
    moments = [datetime(2026, month, 15, tzinfo=UTC).astimezone(ZoneInfo(example)) for month in (1, 7)]
    assert name.upper() in {moment.tzname() for moment in moments}
