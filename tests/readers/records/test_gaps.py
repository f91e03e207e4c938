from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckptplan.errors import InputError
from ckptplan.readers.records import gaps
from ckptplan.readers.records.gaps import EntryKind, read_gaps


@pytest.fixture
def record(tmp_path):
    """Write a record and read it."""

    def read(content):
        path = tmp_path / "record.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_gaps(path)

    return read


@pytest.mark.parametrize(
    "content",
    [
        "3.2 h\n90 min\n1 d\n",
        "gap\n3.2 h\n90 min\n1 d\n",
        "gap_s\n11520\n5400\n86400.0",
        "# failures\n\n  3.2 h  # a node\n\t\n90 min\r\n1 d\r\n",
        "\ufeffGap_S\n1.152e4\n5_400\n86400\n",
        'node,gap_s,cause\n7,11520,GPU\n8,5400,"host, memory"\n9,86400,\n',
        "cause;gap\nGPU;3.2 h\nGPU;90 min\nGPU;1 d\n",
        "cause\tgap\nGPU\t3.2 h\nGPU\t90 min\nGPU\t1 d\n",
        '"gap_s","cause"\n"11520","a"\n"5400","b"\n"86400","c"\n',
        "3.2 h\r90 min\r1 d\r",
    ],
)
def test_gaps(record, content):
    """Gaps with units, or in seconds under a header, are read whatever stands around them."""
    found = record(content)
    assert found.gaps_s == (11520.0, 5400.0, 86400.0)
    assert (found.kind, found.entries, found.first) == (EntryKind.GAPS, 3, None)
    assert found.span_s == 103320.0


@pytest.mark.parametrize(
    "content",
    [
        "2024-07-01T12:00:00Z\n2024-07-01T13:30:00Z\n2024-07-02T13:30:00Z\n",
        "2024-07-01T12:00:00+00:00\n2024-07-01T15:30:00+02:00\n2024-07-02T13:30Z\n",
        "timestamp\n2024-07-01 12:00Z\n2024-07-01 13:30:00.000Z\n2024-07-02 13:30:00+0000\n",
        "node,time,gap\n3,2024-07-01T12:00:00Z,\n4,2024-07-01T13:30:00Z,\n5,2024-07-02T13:30:00Z,\n",
    ],
)
def test_time_stamps(record, content):
    """The gaps of time stamps are one fewer than the stamps, whatever their zones."""
    found = record(content)
    assert found.gaps_s == (5400.0, 86400.0)
    assert (found.kind, found.entries, found.span_s) == (EntryKind.TIMES, 3, 91800.0)
    assert found.first == datetime(2024, 7, 1, 12, tzinfo=UTC)
    assert found.last == datetime(2024, 7, 2, 13, 30, tzinfo=UTC)


def test_time_stamps_without_zone(record):
    """Stamps without a zone are taken as they are."""
    assert record("2024-07-01 12:00\n2024-07-01 13:00\n").gaps_s == (3600.0,)


@pytest.mark.parametrize(
    ("content", "line", "message", "hint"),
    [
        ("", None, "no entry", "one entry a line"),
        ("# nothing\n\n", None, "no entry", "one entry a line"),
        ("3 h\n", None, "one entry only", "one entry a line"),
        ("gap_s\n", None, "no entry", "one entry a line"),
        ("3\n4\n", 1, "has no unit", "gap_s"),
        ("3 h\n4\n", 2, "has no unit", "gap_s"),
        ("3 h\n0 s\n", 2, "a gap of 0", "delete one"),
        ("3 h\n-1 h\n", 2, "negative", "a time"),
        ("3 h\nnan\n", 2, "not a finite number", "a time"),
        ("3 h\ninf\n", 2, "not a finite number", "a time"),
        ("3 h\n1e999 h\n", 2, "not a finite number", "a time"),
        ("3 h\n5 m\n", 2, "minutes, months or milli", "5 min"),
        ("3 h\n1 h 30 min\n", 2, "several parts", "5400 s"),
        ("3 h\n50,000 s\n", 2, "comma", "50_000 s"),
        ("3 h\n4 h, node 7\n", 2, "comma", "point"),
        ("3 h\nyesterday\n", 2, "not a time", "a time"),
        ("3 h\n2024-07-01T12:00:00Z\n", 2, "", "not both"),
        ("gap_s\n3\n4 h\n", 3, "no unit", "call the column gap"),
        ("gap_s\n3\n-4\n", 3, "negative", "seconds"),
        ("gap_s\n3\n0\n", 3, "a gap of 0", "delete one"),
        ("gap_s\n3\nnan\n", 3, "not a finite number", "seconds"),
        ("gap_s\n1e308\n1e308\n", None, "add up", "one entry a line"),
        ("gap_s\n5,000\n60\n", 2, "2 fields where the header has 1", "write 5_000"),
        ("gap_s,node\n3,a\n,b\n4,c\n", 3, "column 1 is empty", "one entry a line"),
        ("node,gap_s\na,3\nb\nc,4\n", 3, "column 2 is empty", "one entry a line"),
        ('gap_s,node\n3,"a\n4,b\n', 2, "not a line of CSV", "quote"),
        ("when,node\n3,a\n", 1, "no column", "gap_s (seconds)"),
        ("2024-07-01T12:00:00Z\n2024-07-01T11:00:00Z\n", 2, "earlier than the time in line 1", "oldest first"),
        ("2024-07-01T12:00:00Z\n\n2024-07-01T12:00:00Z\n", 3, "the same time as in line 1", "delete one line"),
        ("2024-07-01T12:00:00Z\n2024-07-01T13:00:00\n", 2, "no zone", "all with a zone"),
        ("2024-07-01T12:00:00\n2024-07-01T13:00:00Z\n", 2, "a zone", "all with a zone"),
        ("2024-07-01T12:00:00Z\n2024-02-30T13:00:00Z\n", 2, "is no time", "one entry a line"),
        ("2024-07-01T12:00:00Z\n2024-07-01T25:00:00Z\n", 2, "is no time", "one entry a line"),
        ("2024-07-01T12:00:00Z\n2024-07-02\n", 2, "not a time stamp", "2024-07-02T12:00:00"),
        ("2024-07-01T12:00:00Z\n3 h\n", 2, "not a time stamp", "ISO 8601"),
        ("07/01/2024 12:00\n07/02/2024 12:00\n", 1, "not a time stamp", "ISO 8601"),
        ("time\n1719835200\n1719838800\n", 2, "not a time stamp", "ISO 8601"),
        (b"3 h\n4 h \xe9\n", 2, "byte 0xE9 is not UTF-8", "UTF-8"),
        (b"3 h\n4\0 h\n", 2, "a NUL byte", "one entry a line"),
        ("3 h\n".encode("utf-16"), None, "UTF-16", "UTF-8"),
        (b"3 h\n\x1b[31m4 h\n", 2, "not a time", "a time"),
    ],
)
def test_faults_name_the_line_and_what_to_write(record, content, line, message, hint):
    """Every kind of fault is one message with file, line and hint, in printable ASCII."""
    with pytest.raises(InputError) as caught:
        record(content)
    problem = caught.value.problems[0]
    assert problem.place is not None
    assert problem.place.file.endswith("record.txt")
    assert problem.place.line == line
    assert message in problem.message
    assert hint in problem.hint
    assert caught.value.render().isascii()
    assert "\x1b" not in caught.value.render()


def test_all_faults_at_once(record):
    """Every faulty line is reported, twenty at most, and how many more there are."""
    with pytest.raises(InputError) as caught:
        record("3 h\n" + "0 s\n" * 3)
    assert [problem.place.line for problem in caught.value.problems] == [2, 3, 4]
    with pytest.raises(InputError) as caught:
        record("3 h\n" + "0 s\n" * 80)
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1].message == "and 60 more faults"


def test_not_a_file(tmp_path):
    """A missing file, a folder, a device and an impossible name are refused without reading."""
    for path, message in (
        (tmp_path / "none.txt", "no such file"),
        (tmp_path, "a folder"),
        ("/dev/zero", "not a regular file"),
        ("a\0b", "cannot be a file"),
    ):
        with pytest.raises(InputError, match=message):
            read_gaps(path)


def test_limits(record, monkeypatch):
    """A file too large, or with too many entries, is refused."""
    monkeypatch.setattr(gaps, "MOST_ENTRIES", 3)
    assert record("1 h\n" * 3).entries == 3
    with pytest.raises(InputError, match="more than 3 entries"):
        record("1 h\n" * 4)
    monkeypatch.setattr(gaps, "LARGEST_FILE", 10)
    with pytest.raises(InputError, match="is larger than"):
        record("1 h\n" * 3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200) | st.text(alphabet='0123456789 hs-:TZ.,#\n"eé', max_size=80).map(str.encode))
def test_any_bytes_are_gaps_or_one_error(record, content):
    """No content ends in anything but positive gaps or an explained error."""
    try:
        found = record(content)
    except InputError:
        return
    assert found.gaps_s
    assert all(0 < gap < float("inf") for gap in found.gaps_s)
