from __future__ import annotations

import csv

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.readers.records import spot
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.windows import OUTSIDE
from tests.readers.records.recorded import COLLECTION, left, needs_collection, outcomes


def _read(tmp_path, text, **options):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    return spot.read(str(path), RecordOptions(**options))


@needs_collection
def test_the_bamboo_trace_is_one_stretch_for_each_node():
    """Every node of the trace runs from its arrival to its removal, or to the last row; a dictionary agrees."""
    path = COLLECTION / "spot" / "bamboo_p3_trace.csv"
    assert spot.looks_like(path.read_bytes())
    record = spot.read(str(path), RecordOptions())
    since, lived, last = {}, {}, 0.0
    for at, what, node in csv.reader(path.read_text().splitlines()):
        last = float(at) / 1e3
        if what == "add":
            since[node] = last
        else:
            lived[node] = last - since.pop(node)
    content = record.content
    assert (record.rows, record.left_out) == (344, ())
    assert outcomes(content) == {"CENSORED": len(since), "PREEMPTED": len(lived)} == {"CENSORED": 10, "PREEMPTED": 167}
    total = sum(lived.values()) + sum(last - start for start in since.values())
    assert np.sum(content.end_s - content.start_s) == pytest.approx(total, rel=1e-12)
    assert sorted((content.end_s - content.start_s)[content.outcome == 2]) == pytest.approx(sorted(lived.values()))
    assert set(content.nodes) == {1.0}
    assert len(set(content.job)) == 177


def test_a_node_that_comes_back_is_the_same_node_again(tmp_path):
    """Two stays of one node are two rows of one job; times are in milliseconds."""
    content = _read(tmp_path, "0,add,a\n1000,remove,a\n5000,add,a\n9000,remove,a\n").content
    assert content.start_s.tolist() == [0.0, 5.0]
    assert content.end_s.tolist() == [1.0, 9.0]
    assert content.job.tolist() == [0, 0]


def test_what_makes_no_sense_is_left_out_by_reason(tmp_path):
    """A node added twice, removed unseen, and a line of something else are counted; all other rows count."""
    record = _read(tmp_path, "0,add,a\n1000,add,a\n2000,remove,b\ntorn\n3000,remove,a\n\n4000,add,c")
    assert record.rows == 6
    assert left(record) == {
        "lines that are not a time, add or remove, and a node": 1,
        "nodes added that were there already": 1,
        "nodes removed that were not there": 1,
    }
    assert record.content.start_s.tolist() == [0.0, 4.0]
    assert record.content.end_s.tolist() == [3.0, 4.0]


def test_the_end_of_the_trace_and_the_unit_can_be_said(tmp_path):
    """A node that is still there runs until --until; --unit s reads seconds."""
    content = _read(tmp_path, "0,add,a\n10,add,b\n", watched_until="1 h", unit="s").content
    assert content.end_s.tolist() == [3600.0, 3600.0]
    assert content.start_s.tolist() == [0.0, 10.0]


def test_rows_out_of_order_are_said(tmp_path):
    """A row earlier than one before is flagged, and no stretch is negative."""
    record = _read(tmp_path, "5000,add,a\n1000,remove,a\n")
    assert any("1 row earlier than a row before" in said for said in record.warnings)
    assert (record.content.end_s - record.content.start_s).tolist() == [4.0]


def test_a_file_of_something_else_ends_in_an_error(tmp_path):
    """Without one row of a trace there is no record."""
    with pytest.raises(InputError, match="no line is a time, add or remove"):
        _read(tmp_path, "time,event,node\n")


def test_stays_are_cut_to_the_time_that_was_watched(tmp_path):
    """Between --since and --until a stay counts from the one on, and is there still at the other."""
    text = "0,add,a\n100000,remove,a\n50000,add,b\n400000,remove,b\n300000,add,c\n900000,add,d\n"
    record = _read(tmp_path, text, watched_from="2 min", watched_until="6 min")
    assert record.content.start_s.tolist() == [120.0, 300.0]
    assert record.content.end_s.tolist() == [360.0, 360.0]
    assert outcomes(record.content) == {"CENSORED": 2}
    assert {record.content.causes[code] for code in record.content.cause} == {"still there"}
    assert left(record) == {OUTSIDE: 2}
    with pytest.raises(InputError, match="no run lies between"):
        _read(tmp_path, "0,add,a\n1000,remove,a\n", watched_from="1 h", watched_until="2 h")
