from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Outages
from ckptplan.readers.records import run_log
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from tests.readers.records.recorded import COLLECTION, left, needs_collection

ET, PT = ZoneInfo("America/New_York"), ZoneInfo("America/Los_Angeles")


def _read(tmp_path, text, **options):
    path = tmp_path / "log.txt"
    path.write_text(text)
    return run_log.read(str(path), RecordOptions(**options))


@needs_collection
def test_the_log_book_of_opt_175b():
    """Of 37 lines 32 start a run; three stamps are out of order, as a reader of the page finds them."""
    record = read_record(COLLECTION / "human" / "opt175b_logbook_index.txt")
    content = record.content
    assert isinstance(content, Outages)
    assert (record.format, record.rows, record.on_calendar) == (run_log.NAME, 37, True)
    assert left(record) == {"lines that start no run": 3, "lines without a time of day": 2}
    assert content.start_s[0] == datetime(2021, 12, 1, 8, 39, tzinfo=ET).timestamp()
    assert content.start_s[3] == datetime(2021, 11, 30, 10, 10, tzinfo=PT).timestamp()
    assert content.from_s.tolist() == [datetime(2021, 11, 19, 9, 30, tzinfo=ET).timestamp()]
    # 11-30 7:43pm PT under 11-29; 11-27 11:39 over 6:10pm; 11-25 8:53am over 11:35am.
    assert any("3 rows out of order" in said for said in record.warnings)
    assert any("on purpose count as failures" in said for said in record.warnings)
    counts = {name: int((content.cause == code).sum()) for code, name in enumerate(content.causes)}
    assert counts == {"requeue": 4, "restart": 5, "run started": 23}


def test_times_of_day_as_people_write_them(tmp_path):
    """12-hour and 24-hour clocks, with minutes or without, each line by its own zone or by that of the others."""
    record = _read(
        tmp_path,
        "2021-11-20 12:05am ET: run 1\n2021-11-20 12pm PT [B]: run 2 requeue\n2021-11-20 17:16 ET restart of run 3\n"
        "2021-11-21 3pm: run 4\n2021-11-21 13pm: run 5\n2021-11-22 7 : run 6\n2021-02-30 7:00am: run 7\nhello run\n",
    )
    expected = [
        datetime(2021, 11, 20, 0, 5, tzinfo=ET),
        datetime(2021, 11, 20, 12, 0, tzinfo=PT),
        datetime(2021, 11, 20, 17, 16, tzinfo=ET),
        datetime(2021, 11, 21, 15, 0, tzinfo=ET),
    ]
    assert record.content.start_s.tolist() == [at.timestamp() for at in expected]
    assert left(record) == {
        "lines without a time of day": 2,
        "lines without a date": 1,
        "lines whose time makes no sense": 1,
    }
    assert any("read as America/New_York" in said for said in record.facts)


def test_the_zone_of_lines_without_one_can_be_said(tmp_path):
    """--tz outranks the zone of the other lines for lines that name none."""
    content = _read(tmp_path, "2021-11-20 1pm ET: run 1\n2021-11-20 2pm: run 2\n", zone="America/Los_Angeles").content
    assert content.start_s[1] == datetime(2021, 11, 20, 14, 0, tzinfo=PT).timestamp()


def test_a_file_of_other_lines_is_no_log_book(tmp_path):
    """Dated lines of a program are not taken for a log book, and one run shows nothing."""
    assert not run_log.looks_like(b"2021-11-20 13:00:01 INFO run 12\n2021-11-20 13:00:02 INFO step\n")
    assert not run_log.looks_like(b"")
    with pytest.raises(InputError, match="fewer than two lines start a run"):
        _read(tmp_path, "2021-11-20 1pm ET: run 1\n")
