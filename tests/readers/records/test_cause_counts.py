from __future__ import annotations

import csv

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Counts
from ckptplan.readers.records import cause_counts
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from tests.readers.records.recorded import COLLECTION, left, needs_collection


def _read(tmp_path, text, **options):
    path = tmp_path / "table.csv"
    path.write_text(text)
    return cause_counts.read(str(path), RecordOptions(**options))


@needs_collection
def test_the_table_of_llama_3_counts_419_failures():
    """Table 5 of Llama 3: 419 unexpected interruptions in 54 days of 16,384 GPUs, one in 3.09 h."""
    path = COLLECTION / "published" / "llama3_405b_table5.csv"
    record = read_record(path, RecordOptions(watched_until="54 d"))
    content = record.content
    assert isinstance(content, Counts)
    table = list(csv.DictReader(path.read_text().splitlines()))
    assert content.failures.tolist() == [float(row["interruption_count"]) for row in table]
    assert content.failures.sum() == 419
    assert [content.causes[code] for code in content.cause] == [row["component"] for row in table]
    assert set(content.outcome) == {1}
    assert content.watched_s / content.failures.sum() / 3600 == pytest.approx(3.09, abs=0.005)
    assert (record.rows, record.left_out) == (18, ())


def test_without_a_time_of_counting_there_is_no_rate(tmp_path):
    """The time in which failures were counted is said by the user; until then it is not known, and that is said."""
    record = _read(tmp_path, "cause,count\nGPU,3\n")
    assert np.isnan(record.content.watched_s)
    assert any("--until" in said for said in record.warnings)


def test_planned_work_and_preemption_are_kinds_of_their_own(tmp_path):
    """The words of the group and of the cause decide; unplanned maintenance is a failure."""
    record = _read(
        tmp_path,
        "category;cause;failures\nplanned maintenance;host;4\nUnplanned Maintenance;host;2\nother;preempted;1\n"
        "gpu;HBM;many\ngpu;HBM;-1\ngpu;HBM;1.5\n",
    )
    assert record.content.outcome.tolist() == [3, 1, 2]
    assert record.content.failures.tolist() == [4, 2, 1]
    assert left(record) == {"rows whose count is no whole number": 3}
    assert record.rows == 6


def test_tables_without_counts_end_in_an_error(tmp_path):
    """A table needs a column of counts, one of causes, and a number in it."""
    with pytest.raises(InputError, match="no column of counts and causes"):
        _read(tmp_path, "cause,share\nGPU,3\n")
    with pytest.raises(InputError, match="no row has a count"):
        _read(tmp_path, "cause,count\nGPU,many\n")
    assert not cause_counts.looks_like(b"time,cause\n1,GPU\n")
