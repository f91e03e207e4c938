from __future__ import annotations

import csv
from datetime import UTC, datetime

import numpy as np
import pytest

from ckptplan.readers import outage_list
from ckptplan.readers.failures import read_record
from ckptplan.readers.options import RecordOptions
from tests.readers.recorded import COLLECTION, needs_collection, outcomes


def _read(tmp_path, text, **options):
    path = tmp_path / "outages.csv"
    path.write_text(text)
    assert outage_list.looks_like(path.read_bytes())
    return outage_list.read(str(path), RecordOptions(**options))


@needs_collection
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("cua_atlassian_developers_operator_reported.csv", 136),
        ("cua_github-status_global-status_operator_reported.csv", 230),
    ],
)
def test_public_outage_lists_count_as_their_rows_do(name, rows):
    """Every row is a failure with its start and end in seconds; the mean gap is that of the csv module."""
    path = COLLECTION / "outages" / name
    record = read_record(path)
    table = list(csv.DictReader(path.read_text().splitlines()))
    content = record.content
    assert (record.format, record.rows, record.left_out, record.on_calendar) == (outage_list.NAME, rows, (), False)
    assert outcomes(content) == {"FAILURE": rows}
    assert content.start_s.tolist() == [float(row["start_time"]) for row in table]
    assert content.end_s.tolist() == [float(row["end_time"]) for row in table]
    starts = [float(row["start_time"]) for row in table]
    gap = (starts[-1] - starts[0]) / (rows - 1)
    assert (content.until_s[0] - content.from_s[0]) / (rows - 1) == pytest.approx(gap, rel=1e-12)
    assert (content.units, len(content.unit_names), content.ends_at_last) == (1, 1, True)
    assert np.nansum(record.recoveries.seconds) == pytest.approx(sum(content.end_s - content.start_s))


@pytest.mark.parametrize(
    "text",
    [
        "start,end\n0,10\n1000,1030\n",
        "begin;resolved\n0;10\n1000;1030\n",
        "start end\n0 10\n1000 1030\n",
        "0,10\n1000,1030\n",
        "0\t10\n1000\t1030\n",
        "# planned by nobody\nDown since,Up since\n0,10\n1000,1030\n",
        "start_s,end_s,service\n0,10,api\n1000,1030,api\n",
    ],
)
def test_lists_of_many_shapes(tmp_path, text):
    """With a header or without one, by any separator, the start and the end of each outage are read."""
    content = _read(tmp_path, text).content
    assert content.start_s.tolist() == [0.0, 1000.0]
    assert content.end_s.tolist() == [10.0, 1030.0]


def test_outages_of_several_services_and_some_at_one_time(tmp_path):
    """The service is the unit; outages that begin while another one lasts are said."""
    record = _read(tmp_path, "start,end,service\n0,100,a\n50,60,b\n900,910,a\n", units=3)
    assert record.content.unit.tolist() == [0, 1, 0]
    assert (record.content.unit_names, record.content.units) == (("a", "b"), 3)
    assert "1 outage begins while another one lasts." in record.facts


def test_a_list_that_covers_most_of_the_time_may_be_one_of_runs(tmp_path):
    """Rows that leave hardly a gap are questioned, with what to say if they are runs."""
    record = _read(tmp_path, "start,end\n0,90\n100,190\n200,290\n")
    assert any("are they runs" in said for said in record.warnings)
    record = _read(tmp_path, "start,end\n0,1\n100,101\n200,201\n")
    assert not any("are they runs" in said for said in record.warnings)


def test_stamps_of_a_zone_and_an_hour_that_came_twice(tmp_path):
    """An end that would lie before its start is read as the second of two equal hours."""
    text = "start,end\n2024-11-03T01:50:00,2024-11-03T01:10:00\n2024-11-05T00:00:00,2024-11-05T01:00:00\n"
    record = _read(tmp_path, text, zone="America/New_York")
    assert (record.content.end_s - record.content.start_s).tolist() == [1200.0, 3600.0]
    assert record.content.start_s[0] == datetime(2024, 11, 3, 5, 50, tzinfo=UTC).timestamp()
    assert record.zone == "America/New_York"


def test_a_table_of_numbers_is_no_list_of_outages():
    """Two numbers of which the second is smaller, or words, are no start and end."""
    for text in (b"10 5\n7 3\n", b"hello world\n", b"", b"a,b\n1,2\n", b"1\n2\n"):
        assert not outage_list.looks_like(text)
