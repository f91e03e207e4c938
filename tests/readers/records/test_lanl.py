from __future__ import annotations

import csv
from collections import Counter
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Outages, Outcome
from ckptplan.readers.records import lanl
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.stamps import clock
from tests.readers.records.recorded import COLLECTION, left, needs_collection, outcomes

DENVER = ZoneInfo("America/Denver")
HEADER = (
    "System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,node prod,node decom,fru type,mem,"
    "cputype,memtype,num intercon,purpose,Prob Started,Prob Fixed,Down Time,Facilities,Hardware,Human Error,Network,"
    "Undetermined,Software,Same Event\n"
)


def _row(node, start, end, minutes, hardware="CPU", life="3-Aug,3-Sep,current", nodes=4):
    return (
        f"7,cluster,{nodes},8,2,{node},{node},{life},part,4,1,1,1,compute,{start},{end},{minutes},,{hardware},,,,,No\n"
    )


def _read(tmp_path, *rows, **options):
    path = tmp_path / "lanl.csv"
    path.write_text(HEADER + "".join(rows))
    assert lanl.looks_like(path.read_bytes())
    return lanl.read(str(path), RecordOptions(**options))


def _denver(text, fold=0):
    return datetime.strptime(text, "%m/%d/%Y %H:%M").replace(tzinfo=DENVER, fold=fold).timestamp()


@needs_collection
@pytest.mark.parametrize(
    ("system", "counts", "units"),
    [
        (8, {"FAILURE": 470, "MAINTENANCE": 5}, 164),
        (13, {"FAILURE": 201}, 256),
        (19, {"FAILURE": 3284}, 1024),
        (23, {"FAILURE": 446, "MAINTENANCE": 118}, 5),
    ],
)
def test_every_system_counts_as_its_file_does(system, counts, units):
    """All rows are read; starts, causes and elapsed times are those that the csv module and zoneinfo give."""
    path = COLLECTION / "lanl" / f"lanl_system{system}.csv"
    record = lanl.read(str(path), RecordOptions())
    content = record.content
    assert isinstance(content, Outages)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert (record.rows, record.left_out, content.units) == (len(rows), (), units)
    assert outcomes(content) == counts
    assert outcomes(content).get("MAINTENANCE", 0) == sum(row["Hardware"] == "Maintenance" for row in rows)
    assert np.max(np.abs(content.end_s - content.start_s - [60.0 * float(row["Down Time"]) for row in rows])) <= 60.0
    plain = np.array([_denver(row["Prob Started"]) for row in rows])
    moved = content.start_s != plain
    assert {row["Prob Started"] for row, other in zip(rows, moved, strict=True) if other} <= {"10/27/2002 1:36"}
    assert content.unit.tolist() == [int(row["nodenumz"]) for row in rows]
    hardware = Counter(row["Hardware"] for row in rows if row["Hardware"])
    named = Counter(content.causes[code] for code in content.cause)
    assert {name: named[f"Hardware: {name}"] for name in hardware} == hardware
    assert (record.zone, record.on_calendar) == ("America/Denver", True)


@needs_collection
def test_nodes_of_system_23_came_and_went_one_by_one():
    """Each node is in service from its own month of production to its own month of retirement."""
    content = lanl.read(str(COLLECTION / "lanl" / "lanl_system23.csv"), RecordOptions()).content
    begins = [datetime(*start, 1, tzinfo=DENVER).timestamp() for start in ((1998, 1), (1998, 10), *[(2002, 11)] * 3)]
    retired = datetime(2004, 12, 1, tzinfo=DENVER).timestamp()
    assert content.from_s.tolist() == begins
    assert content.until_s.tolist() == [*[retired] * 4, _denver("9/7/2005 23:30")]


@needs_collection
def test_nodes_of_system_8_without_rows_take_the_time_in_service_of_a_neighbour():
    """The first 80 nodes were in production from April 2001, nodes 83 and up from December 2002."""
    content = lanl.read(str(COLLECTION / "lanl" / "lanl_system8.csv"), RecordOptions()).content
    first, second = (datetime(*month, 1, tzinfo=DENVER).timestamp() for month in ((2001, 4), (2002, 12)))
    assert set(content.from_s[:83]) == {first}
    assert set(content.from_s[83:]) == {second}
    assert len(content.from_s) == 164


@needs_collection
def test_the_interval_of_system_19_is_that_of_its_rows_over_node_time():
    """MTBF of a node: its time in service, outages taken off, over its failures; reckoned from the rows alone."""
    path = COLLECTION / "lanl" / "lanl_system19.csv"
    content = lanl.read(str(path), RecordOptions()).content
    watched = float(np.sum(content.until_s - content.from_s))
    rows = list(csv.DictReader(path.read_text().splitlines()))
    last = max(_denver(row["Prob Started"]) for row in rows)
    by_hand = 1024 * (last - datetime(2002, 10, 1, tzinfo=DENVER).timestamp())
    assert watched == pytest.approx(by_hand, rel=1e-12)
    assert watched / len(content.start_s) / 86_400 == pytest.approx(by_hand / 3284 / 86_400)


@pytest.mark.parametrize(
    ("start", "end", "minutes", "folds"),
    [
        ("10/27/2002 1:36", "10/27/2002 5:27", 231, (1, 0)),
        ("10/27/2002 1:36", "10/27/2002 5:27", 291, (0, 0)),
        ("10/27/2002 1:50", "10/27/2002 1:10", 20, (0, 1)),
        ("10/26/2002 23:00", "10/27/2002 1:30", 210, (0, 1)),
        ("10/27/2002 1:10", "10/27/2002 1:20", 10, (0, 0)),
    ],
)
def test_down_time_decides_an_hour_that_came_twice(tmp_path, start, end, minutes, folds):
    """Of an hour between one and two in October 2002, the reading that fits the minutes counts."""
    content = _read(tmp_path, _row(0, start, end, minutes, life="2-Jan,2-Jan,current")).content
    assert content.start_s.tolist() == [_denver(start, folds[0])]
    assert content.end_s.tolist() == [_denver(end, folds[1])]


def test_rows_that_cannot_count_are_left_out_by_reason(tmp_path):
    """A row without a time, of a node that the system has not, or before its node was in service is left out."""
    record = _read(
        tmp_path,
        _row(0, "2/1/2004 11:57", "2/6/2004 1:50", 6593),
        _row(1, "2/30/2004 11:57", "2/6/2004 1:50", 6593),
        _row(2, "", "", ""),
        _row(4, "2/1/2004 11:57", "2/6/2004 1:50", 6593),
        _row(3, "8/31/2003 11:57", "9/1/2003 1:50", 833),
        _row(3, "2/2/2004 11:57", "2/2/2004 12:57", 10, "Maintenance"),
        "7,cluster,4,8\n",
    )
    assert record.rows == 7
    assert left(record) == {
        "rows without a time of failure that can be read": 2,
        "rows whose node is not one of the system": 1,
        "rows outside the time in which their node was in service": 1,
        "rows with fewer cells than the header": 1,
    }
    assert outcomes(record.content) == {"FAILURE": 1, "MAINTENANCE": 1}
    assert any("1 row with a Down Time that is not" in said for said in record.warnings)


def test_the_end_of_watching_and_the_number_of_nodes_can_be_said(tmp_path):
    """--until ends the time in service of the nodes that are current; --nodes outranks the file."""
    rows = (_row(0, "2/1/2004 11:57", "2/6/2004 1:50", 6593), _row(1, "6/1/2004 12:00", "6/1/2004 13:00", 60))
    record = _read(tmp_path, *rows, watched_until="2004-03-01T00:00:00", units=2)
    until = datetime(2004, 3, 1, tzinfo=DENVER).timestamp()
    assert record.content.until_s.tolist() == [until, until]
    assert (record.content.units, record.content.ends_at_last, outcomes(record.content)) == (2, False, {"FAILURE": 1})


def test_months_as_a_spreadsheet_left_them():
    """3-Sep is September 2003, Jan-98 January 1998, and "current" no month."""
    by = clock("UTC")
    assert lanl.month_s("3-Sep", by) == datetime(2003, 9, 1, tzinfo=UTC).timestamp()
    assert lanl.month_s("Jan-98", by) == datetime(1998, 1, 1, tzinfo=UTC).timestamp()
    assert lanl.month_s("12-Oct", by) == datetime(2012, 10, 1, tzinfo=UTC).timestamp()
    assert [lanl.month_s(text, by) for text in ("current", "", "3-Foo", "before tracking")] == [None] * 4


def test_a_file_without_rows_or_columns_ends_in_an_error(tmp_path):
    """A header alone, and a header with a column missing, are one clear error each."""
    with pytest.raises(InputError, match="a header and no rows"):
        _read(tmp_path)
    path = tmp_path / "short.csv"
    path.write_text("nodenumz,Prob Started,Prob Fixed,Down Time\n1,2/1/2004 11:57,2/6/2004 1:50,6593\n")
    with pytest.raises(InputError, match="has no column System"):
        lanl.read(str(path), RecordOptions())


def test_maintenance_is_its_own_kind(tmp_path):
    """Hardware = Maintenance is planned; a human error during maintenance is not."""
    content = _read(
        tmp_path, _row(0, "2/1/2004 1:00", "2/1/2004 2:00", 60, "Maintenance"), _row(0, "3/1/2004 1:00", "", "", "Disk")
    ).content
    assert content.outcome.tolist() == [Outcome.MAINTENANCE, Outcome.FAILURE]
    assert np.isnan(content.end_s[1])
