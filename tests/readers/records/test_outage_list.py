from __future__ import annotations

import csv
from datetime import UTC, datetime

import numpy as np
import pytest

from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.exposure_of_nodes import exposure_of_nodes
from ckptplan.readers.records import outage_list
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from tests.readers.records.recorded import COLLECTION, needs_collection, outcomes


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


def test_an_outage_without_an_end_lasts(tmp_path):
    """The last one of a node lasts until the end of watching; one that another follows was over at once."""
    text = "down_since,up_since,host\n0,,a\n1000,1010,a\n2000,,a\n500,ongoing,b\n600,650,c\n"
    record = _read(tmp_path, text, watched_until="5000 s", units=3)
    ends = record.content.end_s
    assert ends[[1, 2, 3, 4]].tolist() == [1010.0, 5000.0, 5000.0, 650.0]
    assert np.isnan(ends[0])
    assert any("2 outages without an end last until the end of watching" in said for said in record.facts)
    assert any("1 outage without an end is followed by another of the same node" in said for said in record.facts)
    assert sorted(record.recoveries.seconds[np.isfinite(record.recoveries.seconds)]) == [10.0, 50.0]


def test_a_node_that_is_down_is_not_at_risk(tmp_path):
    """Of two nodes watched for 1,000 s, one is down from 100 s on: 1,100 node-seconds, less the minute of the other."""
    record = _read(tmp_path, "start,end,node\n100,,a\n500,560,b\n", watched_until="1000 s", units=2)
    exposure = exposure_of_nodes(record, record.content, Counting(per=Per.NODE), Per.NODE, 2)
    assert exposure.exposure_s == 100.0 + 1000.0 - 60.0


@pytest.mark.parametrize(("end", "expected"), [("", 9000.0), ("none", 9000.0), ("N/A", 9000.0), ("soon", None)])
def test_words_for_no_end_and_ends_that_cannot_be_read(tmp_path, end, expected):
    """A word that says there is none yet lasts; a text that is no time is a warning, and the outage is over at once."""
    record = _read(tmp_path, f"start,end\n0,60\n70,80\n100,{end}\n", watched_until="9000 s")
    last = record.content.end_s[2]
    assert np.isnan(last) if expected is None else last == expected
    assert any("1 row with an end that cannot be read, the first is 'soon'" in said for said in record.warnings) == (
        expected is None
    )


def test_a_duration_ends_an_outage_that_names_no_end(tmp_path):
    """What elapsed says the end; where neither is there the outage lasts."""
    record = _read(tmp_path, "start,end,duration_s,node\n0,,60,a\n100,,,b\n", watched_until="9000 s")
    assert record.content.end_s.tolist() == [60.0, 9000.0]
