from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckptplan.errors import InputError
from ckptplan.readers.records import json_lines, json_values
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from tests.readers.records.recorded import left, outcomes

ROWS = [
    {"time": "2024-07-01T12:00:00Z", "node": "a", "cause": "GPU", "gpus": 8},
    {"time": "2024-07-01T13:00:00Z", "node": "b", "cause": None},
    {"time": "2024-07-01T15:00:00Z", "node": "a", "cause": "preempted"},
]


@pytest.fixture
def read(tmp_path):
    """Write objects and read them."""

    def reading(content, **options):
        path = tmp_path / "failures.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return json_lines.read(str(path), RecordOptions(**options))

    return reading


@pytest.mark.parametrize(
    "content",
    [
        "\n".join(map(json.dumps, ROWS)),
        "\r\n\r\n".join(map(json.dumps, ROWS)) + "\r\n",
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "\n".join(json.dumps(row, indent=1) for row in ROWS),
        ",\n".join(map(json.dumps, ROWS)).join("[]"),
    ],
)
def test_objects_on_lines_in_a_list_or_one_after_another(read, tmp_path, content):
    """All three shapes give the same three events."""
    record = read(content)
    assert (record.rows, record.left_out) == (3, ())
    assert (record.content.start_s - record.content.start_s[0]).tolist() == [0.0, 3600.0, 10_800.0]
    assert record.content.unit.tolist() == [0, 1, 0]
    assert outcomes(record.content) == {"FAILURE": 2, "PREEMPTED": 1}
    assert read_record(tmp_path / "failures.json").format == "JSON lines"


def test_torn_lines_are_counted(read):
    """A line that was cut off, a number, a list and deep nesting are left out; the rest counts."""
    lines = [
        json.dumps(ROWS[0]),
        '{"time": "2024-07',
        "17",
        "[1]",
        '{"a":' * 100_000,
        json.dumps(ROWS[1]),
        '{"time": 1e999}',
    ]
    record = read("\n".join(lines))
    assert left(record) == {"torn: no JSON object": 4, "rows with a time that cannot be read": 1}
    assert record.rows == 7
    assert any("line 2" in said for said in record.warnings)


def test_a_list_that_was_cut_off_gives_what_it_holds(read):
    """Objects before the end are read, the last half one is counted."""
    record = read(json.dumps(ROWS, indent=1)[:-40])
    assert len(record.content.start_s) == 2
    assert left(record) == {"torn: no JSON object": 1}


def test_nesting_without_end_in_one_piece_is_refused(read):
    """A document in which object after object is torn is given up, not searched for ever."""
    with pytest.raises(InputError, match="more than 100 objects that are torn"):
        read('{"a":\n' * 200_000)


def test_a_first_line_that_is_torn_does_not_hide_the_others(read):
    """The tail of a rotated log begins in the middle of an object."""
    record = read('{"time": "2024\n' + "\n".join(map(json.dumps, ROWS)))
    assert len(record.content.start_s) == 3


def test_keys_in_an_inner_object_have_a_point(read):
    """Columns can be named as outer.inner."""
    text = "\n".join(json.dumps({"failure": {"at": row["time"], "why": row["cause"]}}) for row in ROWS)
    record = read(text, columns={"time": "failure.at", "cause": "failure.why"})
    assert len(record.content.start_s) == 3
    assert "GPU" in record.content.causes


def test_epochs_and_gaps_in_numbers(read):
    """Numbers are seconds since 1970 when they are as large, and gaps when their key says so."""
    assert read('{"ts": 1719835200.5}\n{"ts": 1719838800}').content.start_s.tolist() == [1719835200.5, 1719838800.0]
    assert read('{"gap_h": 2}\n{"gap_h": 1.5}').content.time_s.tolist() == [7200.0, 5400.0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no JSON object"),
        ("hello\n", "holds no JSON object"),
        ('{"a": 1}\n', "no key is known to hold times; there are a"),
        (json.dumps({f"k{n}": 1 for n in range(5000)}), "more than 4,096 keys"),
        ('{"time": ""}\n', "no row has a time"),
    ],
)
def test_faults_say_what_was_seen(read, content, message):
    """A file without objects, without times or with endless keys is one clear error."""
    with pytest.raises(InputError, match=message):
        read(content)


def test_a_document_too_large_to_hold_is_refused(read, monkeypatch):
    """One object a line has no limit; one piece of JSON has."""
    monkeypatch.setattr(json_values, "LARGEST_DOCUMENT", 100)
    with pytest.raises(InputError, match="in one piece"):
        read(json.dumps(ROWS, indent=2))
    assert read("\n".join(map(json.dumps, ROWS * 3))).rows == 9


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(alphabet='{}[]":,time0123456789 \n\\', max_size=80) | st.binary(max_size=80))
def test_any_bytes_are_a_record_or_one_error(read, content):
    """No content ends in anything but a record or an explained error."""
    try:
        record = read(content)
    except InputError:
        return
    assert record.rows > 0


def test_an_outage_whose_end_is_null_lasts(read):
    """A null and a key that is not there are no end yet; half a character in a text harms nothing."""
    rows = ['{"start": 0, "end": null, "node": "a\\ud800"}', '{"start": 5, "node": "b"}', '{"start": 6, "end": 7}']
    record = read("\n".join(rows), watched_until="60 s")
    assert record.content.end_s.tolist() == [60.0, 60.0, 7.0]
