from __future__ import annotations

import csv
import math
import tracemalloc
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from ckptplan.errors import InputError
from ckptplan.fit.record import Lifetimes, Outages
from ckptplan.readers.records import delimited, events_csv
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from tests.readers.records.recorded import COLLECTION, left, needs_collection, outcomes

HOUR = 3600.0
NOON = datetime(2024, 7, 1, 12, tzinfo=UTC).timestamp()


@pytest.fixture
def read(tmp_path):
    """Write a table and read it."""

    def reading(content, **options):
        path = tmp_path / "failures.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return events_csv.read(str(path), RecordOptions(**options))

    return reading


@needs_collection
def test_air_conditioning_failures_have_the_published_mean():
    """Davison and Hinkley, example 1.1: twelve times to failure with mean 108.083 h, sorted, so without a trend."""
    record = read_record(COLLECTION / "textbook" / "boot_aircondit.csv")
    assert isinstance(record.content, Lifetimes)
    assert (record.rows, record.left_out, record.content.in_order) == (12, (), False)
    assert record.content.failed.all()
    assert record.content.time_s.mean() / HOUR == pytest.approx(108.083, abs=5e-4)


@needs_collection
def test_ball_bearings_have_the_known_weibull_shape():
    """Lieblein and Zelen 1956: most likely shape 2.10 and scale 81.9 of 23 bearings; megacycles are no time."""
    record = read_record(COLLECTION / "textbook" / "lieblein_zelen_1956_bearings.csv")
    shape, _, scale = stats.weibull_min.fit(record.content.time_s, floc=0, optimizer=optimize.fmin)
    assert (record.rows, record.left_out, record.content.in_order) == (23, (), False)
    assert shape == pytest.approx(2.10, abs=0.005)
    assert scale == pytest.approx(81.9, abs=0.05)
    assert any("megacycles are no time" in said for said in record.warnings)


@needs_collection
def test_repairs_of_the_nist_system_give_the_published_power_law():
    """NIST 8.4.5.2: ten repairs in 1500 h; b = 0.483506 and MTBF at the end 310.234 h, by its formulas."""
    path = COLLECTION / "textbook" / "nist_8223_case1_repair_times.csv"
    record = read_record(path, RecordOptions(watched_until="1500 h"))
    content = record.content
    assert isinstance(content, Outages)
    assert (record.rows, record.left_out, content.units, content.ends_at_last) == (10, (), 1, False)
    assert (content.from_s.tolist(), content.until_s.tolist()) == ([0.0], [1500 * HOUR])
    shape = 9 / np.sum(np.log(1500 * HOUR / content.start_s))
    assert shape == pytest.approx(0.483506, abs=5e-7)
    assert 1500 / (10 * shape) == pytest.approx(310.234, abs=5e-4)
    assert read_record(path).content.ends_at_last


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("failed_at,reason\n2024-07-01T12:00:00Z,GPU\n2024-07-01T15:00:00Z,net\n", {}),
        ("when;cause\n2024-07-01 12:00:00+00:00;GPU\n2024-07-01T17:00:00+02:00;net\n", {}),
        ("\ufeffTimestamp\tRoot Cause\r\n2024-07-01T12:00Z\tGPU\r\n2024-07-01T15:00Z\tnet\r\n", {}),
        (
            '"failure time","cause"\n"2024-07-01 08:00:00","GPU"\n"2024-07-01 11:00:00","net"\n',
            {"zone": "America/New_York"},
        ),
        ("time,cause\n1719835200,GPU\n1719846000,net\n", {}),
        ("time_ms|cause\n1719835200000|GPU\n1719846000000|net\n", {}),
        ("time,cause\n1719835200000000,GPU\n1719846000000000,net\n", {}),
        ("date,cause\n7/1/2024 12:00,GPU\n7/1/2024 3:00 PM,net\n", {"date_order": "mdy"}),
        ("date,cause\n1/7/2024 12:00,GPU\n01.07.2024 15:00:00,net\n", {"date_order": "dmy"}),
        ("x,why\n2024/07/01 12:00,GPU\n2024/07/01 15:00,net\n", {"columns": {"time": "x", "cause": "why"}}),
        ("at,cause\nMon Jul  1 12:00:00 2024,GPU\nMon Jul  1 15:00:00 2024,net\n", {}),
        ("node,time,n,cause\n7,2024-07-01T12:00:00Z,a,GPU\n# a comment\n\n8,2024-07-01T15:00:00Z,b,net,,\n", {}),
    ],
)
def test_times_in_every_form_are_the_same_failures(read, content, options):
    """Whatever the separator, the names of the columns, the zone and the form of the times: noon and three o'clock."""
    record = read(content, **options)
    assert record.content.start_s.tolist() == [NOON, NOON + 3 * HOUR]
    assert [record.content.causes[code] for code in record.content.cause] == ["GPU", "net"]
    assert (record.rows, record.left_out, record.on_calendar) == (2, (), True)
    assert "Columns" in record.facts[0]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("gap_s\n7200\n600\n86400\n", {}),
        ("ttf_h,cause\n2,a\n0.16666666666666666,b\n24,c\n", {}),
        ("hours\n2\n0.16666666666666666\n24\n", {}),
        ("gap\n2 h\n10 min\n1 d\n", {}),
        ("2 h\n10 min\n1 d\n", {}),
        ("Time to failure (min);node\n120;a\n10;b\n1440;c\n", {}),
        ("ttf\n120\n10\n1440\n", {"unit": "min"}),
        ("weird\n120\n10\n1440\n", {"unit": "min", "columns": {"gap": "weird"}}),
    ],
)
def test_gaps_in_every_form_are_the_same_times(read, content, options):
    """Gaps by the unit of their column, their own, or the one that the user names."""
    record = read(content, **options)
    assert record.content.time_s.tolist() == pytest.approx([7200.0, 600.0, 86_400.0], rel=1e-15)
    assert record.content.in_order
    assert not record.warnings


def test_gaps_that_no_failure_ended(read):
    """A column that says whether a failure was seen makes the others censored."""
    assert read("gap_s,failed\n5,1\n3,0\n9,yes\n").content.failed.tolist() == [True, False, True]
    assert read("gap_s,censored\n5,1\n3,0\n9,true\n").content.failed.tolist() == [False, True, False]


def test_gaps_without_a_unit_are_questioned(read):
    """Plain numbers in a column that names no unit are seconds, with a warning."""
    assert any("--unit" in said for said in read("gap\n5\n3\n").warnings)


def test_rows_are_judged_by_their_words(read):
    """Maintenance and preemption are kinds of their own; a completed run is no failure; unplanned work is one."""
    record = read(
        "time_h,category,reason\n1,hardware,GPU\n2,planned maintenance,\n3,,preempted by another job\n4,completed,\n"
        "5,unplanned maintenance,host\n6,,scheduled reboot\n"
    )
    assert outcomes(record.content) == {"FAILURE": 2, "PREEMPTED": 1, "MAINTENANCE": 2}
    assert left(record) == {"rows that no failure made: completed, cancelled, running": 1}


def test_rows_that_cannot_be_read_are_counted_by_reason(read):
    """Torn, empty and unreadable rows are left out; every row is used or has a reason."""
    record = read(
        b"time,host\n2024-07-01T12:00:00Z,a\nsoon,a\n,a\n2024-07-01T13:00:00Z\n2024-07-01T14:00:00Z,a,b\n"
        b'2024-07-01T15:00:00Z,"never closed\n2024-07-01T16:00:00Z,\xff\xfe\0b\n'
    )
    assert record.rows == 7
    assert left(record) == {
        "rows without a time": 1,
        "rows with a time that cannot be read": 1,
        "rows with fewer cells than the header": 1,
        "rows with more cells than the header": 1,
        "rows with a quote that does not close": 1,
    }
    assert len(record.content.start_s) + sum(one.rows for one in record.left_out) == record.rows
    assert any("not UTF-8 (first: line 8)" in said for said in record.warnings)
    assert any("NUL bytes" in said for said in record.warnings)
    assert any("'soon'" in said for said in record.warnings)


def test_a_quoted_cell_may_hold_separators_quotes_and_line_breaks(read):
    """The csv module and the reader see the same cells."""
    text = 'time,reason\n2024-07-01T12:00:00Z,"a, ""b""\nand c"\n2024-07-01T13:00:00Z,plain\n'
    record = read(text)
    by_csv = [row["reason"] for row in csv.DictReader(text.splitlines(keepends=True))]
    assert [record.content.causes[code] for code in record.content.cause] == [by_csv[0].replace("\n", "?"), "plain"]


def test_formulas_and_control_characters_stay_text(read):
    """A cell is a name and nothing else: nothing is run, and nothing in it steers a terminal."""
    record = read("time,reason,host\n2024-07-01T12:00:00Z,=cmd|'/c calc'!A1,\x1b[31mred\n")
    assert record.content.causes == ("=cmd|'/c calc'!A1",)
    assert record.content.unit_names == ("?[31mred",)


def test_rows_out_of_order_are_flagged_and_newest_first_is_no_fault(read):
    """One inversion is a warning; a table that begins with the newest row is none."""
    rows = [f"2024-07-01T{hour:02d}:00:00Z\n" for hour in range(10, 20)]
    assert not any("out of order" in said for said in read("time\n" + "".join(rows)).warnings)
    turned = read("time\n" + "".join(reversed(rows)))
    assert not any("out of order" in said for said in turned.warnings)
    assert any("newest row stands first" in said for said in turned.facts)
    swapped = read("time\n" + "".join([rows[1], rows[0], *rows[2:]]))
    assert any("1 row out of order" in said for said in swapped.warnings)


@pytest.mark.parametrize("column", ["duration_min", "downtime (minutes)"])
def test_elapsed_time_gives_the_end_and_decides_an_hour_that_came_twice(read, column):
    """In the night in which clocks are put back, 01:30 is the first or the second by how long the outage took."""
    record = read(
        f"start,end,{column}\n2024-11-03 01:30,2024-11-03 03:00,90\n2024-11-03 01:30,2024-11-03 03:00,150\n"
        "2024-11-04 01:30,,30\n",
        zone="America/New_York",
    )
    first, second = record.content.start_s[1], record.content.start_s[0]
    assert second - first == 3600.0
    assert (record.content.end_s - record.content.start_s).tolist() == [5400.0, 9000.0, 1800.0]
    assert any("2 rows in an hour that came twice, decided by the time that elapsed" in said for said in record.facts)


def test_the_unit_of_a_duration_is_found_by_starts_and_ends(read):
    """Durations without a unit are in the one in which they are the times between stamps; else they are questioned."""
    text = "start,end,downtime\n2024-07-01 08:00,2024-07-01 09:30,90\n2024-07-02 08:00,,30\n"
    record = read(text, zone="UTC")
    assert record.content.end_s[1] - record.content.start_s[1] == 1800.0
    assert any("downtime: in min" in said for said in record.facts)
    record = read("start,downtime\n2024-07-01 08:00,90\n2024-07-02 08:00,30\n", zone="UTC")
    assert (record.content.end_s - record.content.start_s).tolist() == [90.0, 30.0]
    assert any("downtime names no unit" in said for said in record.warnings)


def test_changes_of_clocks_that_nothing_decides_are_said(read):
    """A stamp in an hour that came twice, and one in an hour that was skipped, are warnings; the first is taken."""
    record = read("time\n2024-11-03 01:30\n2024-03-10 02:30\n2024-07-01 08:00\n", zone="America/New_York")
    assert record.content.start_s[0] == datetime(2024, 11, 3, 5, 30, tzinfo=UTC).timestamp()
    assert any("1 row in an hour that came twice" in said for said in record.warnings)
    assert any("1 row in an hour that clocks skipped" in said for said in record.warnings)


def test_stamps_without_a_zone_are_said(read):
    """Without --tz they are UTC, and the report says how to name the zone; with it nothing is said."""
    text = "time\n2024-07-01 12:00\n2024-07-01 13:00\n"
    assert any("--tz" in said for said in read(text).warnings)
    assert read(text).zone == "UTC"
    assert not any("--tz" in said for said in read(text, zone="Europe/Paris").warnings)


def test_the_time_that_was_watched_can_be_said(read):
    """--since and --until bound what counts; what lies outside is left out."""
    text = "time\n2024-07-01 12:00\n2024-07-02 12:00\n2024-07-03 12:00\n"
    record = read(text, watched_from="2024-07-02T00:00:00", watched_until="2024-07-10")
    assert record.content.start_s.tolist() == [NOON + 24 * HOUR, NOON + 48 * HOUR]
    assert record.content.from_s.tolist() == [NOON + 12 * HOUR]
    assert record.content.until_s.tolist() == [datetime(2024, 7, 10, tzinfo=UTC).timestamp()]
    assert left(record) == {"rows outside the time that was watched": 1}
    assert not record.content.ends_at_last
    for since in (None, "2024-07-02T00:00:00", "1 d"):
        record = read(text, watched_from=since, watched_until="54 d")
        assert record.content.until_s.tolist() == [NOON + 54 * 24 * HOUR]
    assert read(text).content.ends_at_last


def test_a_time_in_which_nothing_failed_is_a_record_too(read):
    """When all rows lie outside the time that was watched, there are no failures in it, and the time still counts."""
    record = read("time\n2024-07-01 12:00\n", watched_from="2024-08-01", watched_until="2024-09-01")
    assert record.content.start_s.size == 0
    assert record.content.until_s[0] - record.content.from_s[0] == 31 * 86_400
    assert left(record) == {"rows outside the time that was watched": 1}


def test_nodes_count_when_their_number_is_said(read):
    """Names alone do not say how many nodes were watched; with --nodes they do, and fewer than names are refused."""
    text = "time_h,host\n1,a\n2,b\n3,a\n"
    assert (read(text).content.units, read(text).content.unit_names) == (1, ("a", "b"))
    assert read(text, units=100).content.units == 100
    with pytest.raises(InputError, match="more than the 1 given"):
        read(text, units=1)


@pytest.mark.parametrize(
    ("content", "options", "message", "hint"),
    [
        ("", {}, "holds no line of a table", "right file"),
        ("# nothing\n\n", {}, "holds no line of a table", "right file"),
        ("a,b\n1,2\n", {}, "no column is known to hold times; there are a, b", "--column"),
        ("time\n", {}, "no row has a time", "role"),
        ("time\nsoon\nlater\n", {}, "holds no times: 'soon'", "ISO 8601"),
        ("time\n3/4/2024 5:00\n5/6/2024 7:00\n", {}, "can be read in two ways", "--date-order mdy"),
        ("time\n13/4/2024 5:00\n5/16/2024 7:00\n", {}, "day first and with the month first", "--date-order"),
        ("time\n3/4/2024 5:00\n", {"date_order": "ymd"}, "is no order", "mdy or dmy"),
        ("time\n5\n", {"unit": "fortnight"}, "no unit of time", "ms"),
        ("time\n5\n", {"columns": {"time": "tim"}}, "no column is called tim", "did you mean time"),
        ("time\n5\n", {"columns": {"date": "time"}}, "date is no role", "roles are"),
        ("time\n2024-07-01T12:00:00Z\n", {"zone": "Mars/Base"}, "no time zone", "IANA"),
        ("time_h\n5\n", {"watched_until": "soon"}, "the end of watching", "1500 h"),
        (
            "time_h\n5\n",
            {"watched_from": "10 h", "watched_until": "2 h"},
            "watching ends before it begins",
            "--since",
        ),
        ("time,category\n2024-07-01T12:00:00Z,completed\n", {}, "no row is a failure", "columns"),
        (",".join(["time"] * 5000) + "\n", {}, "5,000 columns", "right file"),
    ],
)
def test_faults_say_what_was_seen_and_what_to_write(read, content, options, message, hint):
    """Every kind of fault of a whole table is one message with the file and a hint."""
    with pytest.raises(InputError, match=message) as caught:
        read(content, **options)
    assert hint in caught.value.problems[0].hint
    assert caught.value.render().isprintable() or "\n" in caught.value.render()


def test_a_table_of_runs_can_name_the_end_of_a_run_as_the_failure(read):
    """The column that the user names as time counts, though others look like a start and an end."""
    text = "start,end,reason\n2024-07-01T08:00Z,2024-07-01T12:00Z,GPU\n2024-07-01T12:10Z,2024-07-01T15:00Z,net\n"
    assert read(text, columns={"time": "end"}).content.start_s.tolist() == [NOON, NOON + 3 * HOUR]
    text = "seen,start,end\n2024-07-01T12:00Z,2024-07-01T11:00Z,2024-07-01T13:00Z\n"
    assert read(text, columns={"time": "seen"}).content.start_s.tolist() == [NOON]
    assert read(text).content.start_s.tolist() == [NOON - HOUR]


def test_chunks_do_not_change_what_is_read(read, monkeypatch):
    """Rows by twos give the same record as all at once, names and kinds too."""
    text = "time_h,host,reason\n" + "".join(f"{n},h{n % 5},{'GPU' if n % 3 else 'maintenance'}\n" for n in range(1, 40))
    whole = read(text)
    monkeypatch.setattr(delimited, "CHUNK_ROWS", 2)
    parts = read(text)
    for one, other in zip(whole.content, parts.content, strict=True):
        np.testing.assert_array_equal(one, other)
    assert whole[:4] == parts[:4]


def test_names_without_end_take_bounded_memory(read, monkeypatch):
    """Past a great many different causes, all others are one."""
    monkeypatch.setattr("ckptplan.readers.records.event_rows.MOST_CAUSES", 3)
    record = read("time_h,reason\n" + "".join(f"{n},c{n}\n" for n in range(1, 9)))
    content = record.content
    assert any("More than 3 different causes" in said for said in record.facts)
    assert content.causes == ("c1", "c2", "c3", "(others)")
    assert content.cause.tolist() == [0, 1, 2, 3, 3, 3, 3, 3]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from([b"", b"time,host\n", b"gap\n", b"start;end;reason\n"]),
    st.binary(max_size=200) | st.text(alphabet='0123456789 hs-:TZ.,;#\n"eé', max_size=80).map(str.encode),
)
def test_any_bytes_are_a_record_or_one_error(read, header, content):
    """No content ends in anything but finite times, each row used or left out, or an explained error."""
    try:
        record = read(header + content)
    except InputError:
        return
    times = record.content.time_s if isinstance(record.content, Lifetimes) else record.content.start_s
    assert all(math.isfinite(time) for time in times)
    assert len(times) + sum(one.rows for one in record.left_out) == record.rows


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("gap (days)\n1.5\n2.5\n0.3\n4\n", [1.5, 2.5, 0.3, 4.0]),
        ("Time to failure (days)\n1.5\n2.5\n0.3\n4\n", [1.5, 2.5, 0.3, 4.0]),
        ("time between failures\n36 h\n60 h\n7.2 h\n96 h\n", [1.5, 2.5, 0.3, 4.0]),
        ("ttf\n1-12:00:00\n60:00:00\n7 h 12 min\n4 d\n", [1.5, 2.5, 0.3, 4.0]),
    ],
)
def test_a_name_of_several_words_is_one_column(tmp_path, content, expected):
    """Blanks in a header separate nothing where the lines below have one cell, also when the column is named."""
    path = tmp_path / "gaps"
    path.write_text(content)
    name = content.split("\n", 1)[0]
    for options in (RecordOptions(), RecordOptions(format="csv", columns={"gap": name})):
        record = read_record(path, options)
        assert (record.content.time_s / 86_400.0).tolist() == pytest.approx(expected, rel=1e-12)


def test_a_column_of_stamps_with_blanks_is_one_column(tmp_path):
    """The name Failed At over a date and a time of day is a column of stamps."""
    path = tmp_path / "stamps"
    path.write_text("Failed At\n2024-07-01 12:00\n2024-07-01 15:00\n")
    record = read_record(path)
    assert record.content.start_s.tolist() == [NOON, NOON + 3 * HOUR]
    assert "Failed At as time" in record.facts[0]


def test_bare_numbers_are_gaps_once_their_unit_is_said(tmp_path):
    """Numbers alone name no unit: the error asks for it, and with it they are read without more."""
    path = tmp_path / "numbers"
    path.write_text("79.33\n58.22\n141.28\n")
    with pytest.raises(InputError, match="numbers that name no unit") as caught:
        read_record(path)
    assert "--unit h" in caught.value.problems[0].hint
    found = read_record(path, RecordOptions(unit="h")).content.time_s / HOUR
    assert found.tolist() == pytest.approx([79.33, 58.22, 141.28])
    path.write_text("1719835200\n1719846000\n")
    assert read_record(path, RecordOptions(unit="s")).content.start_s.tolist() == [NOON, NOON + 3 * HOUR]


BAD = "time\n2026-01-05T00:00:00\n2026-13-01T00:00:00\n# a comment\n2026-02-30T00:00:00\n"


def test_times_that_cannot_be_read_are_counted_with_the_first_line(read):
    """How many, the first of them and its line, in a warning where others can be read and in the error where not."""
    said = "2 rows have times that cannot be read, the first is '2026-13-01T00:00:00' in line 3"
    assert any(said in one.lower().replace("t00", "T00") for one in read(BAD + "2026-03-01T00:00:00\n").warnings)
    with pytest.raises(InputError, match="no time passes between the times that can be read: " + said) as caught:
        read(BAD)
    assert "a day that exists" in caught.value.problems[0].hint
    with pytest.raises(InputError, match="1 row has a time that cannot be read, the first is '0001-01-01' in line 2"):
        read("time\n0001-01-01\n")
    assert read("time\n2026-02-28T24:00:00\n2026-03-01T00:00:01\n").left_out == ()


def test_rows_before_since_are_not_called_an_end_of_watching(read):
    """Where nobody gave an end, the error says that all rows lie before --since, and when the last one was."""
    with pytest.raises(InputError, match="all rows lie before --since: the last is of 2024-07-02T00:00:00 UTC"):
        read("time\n2024-07-01 00:00\n2024-07-02 00:00\n", watched_from="2025-01-01")


@pytest.mark.parametrize(("number", "plain", "point"), [("7,338", "7338", "7.338"), ("19,20", "1920", "19.20")])
def test_commas_in_numbers_are_explained(read, number, plain, point):
    """Separated thousands and decimal commas are not read, and the hint says what to write."""
    with pytest.raises(InputError, match=f"the first is '{number}' in line 2") as caught:
        read(f'gap_h\n"{number}"\n')
    assert caught.value.problems[0].hint == f"commas in numbers are not read, write {plain} or {point}"


def test_ten_thousand_causes_have_names(read):
    """Of more the later ones are one cause, which is said, and which makes no two rows the same."""
    rows = [f"{n // 2 + 1},c{n}\n" for n in range(10_010)]
    record = read("time_h,reason\n" + "".join(rows))
    assert len(record.content.causes) == 10_001
    assert int(np.sum(record.content.cause == 10_000)) == 10
    assert any("More than 10,000 different causes" in said for said in record.facts)
    assert not any("another row" in said for said in record.warnings)


def test_a_large_table_is_kept_as_numbers(read, monkeypatch):
    """Of 400,000 rows with as many causes no text is kept: 50 MB are held at the most; too many rows are refused."""
    stamps = np.datetime_as_string(np.datetime64("2024-01-01T00:00:00") + np.arange(400_000))
    text = "ts,node,cause\n" + "".join(f"{at},n{n % 500},cause {n}\n" for n, at in enumerate(stamps))
    content = text.encode()
    monkeypatch.setattr("ckptplan.readers.records.growing._PIECE", 100_000)
    tracemalloc.start()
    record = read(content, zone="UTC")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(record.content.start_s) == 400_000
    assert peak < 50_000_000, peak
    monkeypatch.setattr("ckptplan.readers.records.event_rows.MOST_ROWS", 399_999)
    with pytest.raises(InputError, match="more than 399,999 rows"):
        read(content, zone="UTC")
