"""Records of one thing in several files, and other logs that say why."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.combining import JOIN_AFTER_S, JOIN_BEFORE_S, combined
from ckptplan.fit.record import Allocations, FailureRecord, LeftOut, Lifetimes, Marks, Outages, Outcome, Recoveries

_F = int(Outcome.FAILURE)


def _runs(file, *rows, causes=("node failure",), **more):
    job, start, end, outcome = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    ones, codes = np.ones(len(rows)), np.zeros(len(rows), dtype=np.int32)
    content = Allocations(start, end, outcome.astype(np.int32), ones, ones, job.astype(np.int32), codes, causes)
    return FailureRecord(file, "sacct", len(rows) + 1, (LeftOut("steps", 1),), content, on_calendar=True, **more)


def _outages(file, *rows, names=("n1", "n2"), reason="PSU"):
    start, end, unit = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    codes = np.zeros(len(rows), dtype=np.int32)
    kinds = np.full(len(rows), _F, dtype=np.int32)
    content = Outages(
        start,
        end,
        kinds,
        unit.astype(np.int32),
        codes,
        (reason,),
        len(names),
        np.array([0.0]),
        np.array([1e4]),
        False,
        names,
    )
    return FailureRecord(file, "events", len(rows), (), content, on_calendar=True)


def _marks(file, *rows, on_calendar=True):
    at_s = np.array([at for at, _ in rows])
    causes = tuple(text for _, text in rows)
    content = Marks(at_s, np.arange(len(rows), dtype=np.int32), causes, ("",) * len(rows))
    return FailureRecord(file, "kernel log", len(rows), (), content, on_calendar=on_calendar)


def test_parts_of_a_record_are_one_and_what_both_hold_counts_once():
    """Months that overlap: equal runs of another file are left out, jobs stay apart, causes are shared."""
    one = _runs("a", (0, 0.0, 10.0, _F), (1, 0.0, 20.0, 0), causes=("x",))
    two = _runs("b", (0, 0.0, 20.0, 0), (0, 30.0, 40.0, _F), causes=("y", "x"))
    found = combined([one, two]).record
    assert found.content.start_s.tolist() == [0.0, 0.0, 30.0]
    assert found.content.job.tolist() == [0, 1, 2]
    assert [found.content.causes[c] for c in found.content.cause] == ["x", "x", "y"]
    assert (found.rows, found.file) == (6, "a, b")
    assert found.left_out == (LeftOut("steps", 2), LeftOut("also in another of the files", 1))


def test_dumps_that_overlap_are_joined_by_job_and_start():
    """An older dump shows a run still going, another one has no GPUs: job and start say that it is the same run."""

    def part(file, *rows, gpus=8.0):
        record = _runs(file, *((0, start, end, outcome) for start, end, outcome in rows))
        content = record.content._replace(names=("4711",), gpus=np.full(len(rows), gpus))
        return record._replace(content=content)

    older = part("a", (0.0, 10.0, _F), (15.0, 20.0, 0))  # the second run goes on at the time of the dump
    newer = part("b", (15.0, 40.0, _F), (45.0, 50.0, 0))
    without = part("c", (0.0, 10.0, _F), (15.0, 40.0, _F), gpus=np.nan)
    found = combined([older, newer, without]).record
    content = found.content
    assert sorted(content.start_s.tolist()) == [0.0, 15.0, 45.0]
    assert sorted(content.end_s.tolist()) == [10.0, 40.0, 50.0]
    assert np.count_nonzero(content.outcome == _F) == 2
    assert content.gpus.tolist() == [8.0, 8.0, 8.0]
    assert content.names == ("4711",)
    assert found.left_out[-1] == LeftOut("also in another of the files", 3)


def test_equal_rows_of_one_file_stay():
    """Two jobs of one file that began and ended together are two."""
    one = _runs("a", (0, 0.0, 10.0, _F), (1, 0.0, 10.0, _F))
    two = _runs("b", (0, 50.0, 60.0, _F))
    assert combined([one, two]).record.content.start_s.size == 3


def test_outages_of_two_files_go_together_by_the_name_of_the_node():
    """Numbers are of one file; names are of the cluster."""
    found = combined([_outages("a", (1.0, 2.0, 1)), _outages("b", (5.0, 6.0, 0), names=("n2", "n3"))]).record.content
    assert found.unit_names == ("n1", "n2", "n3")
    assert found.unit.tolist() == [1, 1]
    assert found.units == 3


def test_a_failure_takes_the_cause_that_was_noted_shortly_before_it():
    """The newest line within ten minutes before, or a minute after; none from further away."""
    runs = _runs("a", (0, 0.0, 5000.0, _F), (1, 0.0, 9000.0, _F), (2, 0.0, 20_000.0, _F), (3, 0.0, 5001.0, 0))
    marks = _marks(
        "dmesg",
        (5000.0 - JOIN_BEFORE_S, "Xid 48"),
        (4990.0, "Xid 79"),
        (9000.0 + JOIN_AFTER_S, "Xid 119"),
        (20_000.0 - JOIN_BEFORE_S - 1.0, "Xid 31"),
    )
    found = combined([runs, marks])
    content = found.record.content
    assert [content.causes[c] for c in content.cause] == [
        "node failure: Xid 79",
        "node failure: Xid 119",
        "node failure",
        "node failure",
    ]
    assert "dmesg: 2 of 3 failures have a cause" in found.facts[0]


def test_outages_beside_runs_only_say_why():
    """The runs are counted; an outage of a node is not counted once more."""
    found = combined([_runs("a", (0, 0.0, 100.0, _F)), _outages("b", (95.0, 200.0, 0))]).record
    assert isinstance(found.content, Allocations)
    assert found.content.causes[found.content.cause[0]] == "node failure: PSU"


def test_causes_without_a_date_are_said_not_to_be_joined():
    """Microseconds since boot join nothing."""
    found = combined([_runs("a", (0, 0.0, 100.0, _F)), _marks("kmsg", (1.0, "Xid 79"), on_calendar=False)])
    assert found.record.content.causes == ("node failure",)
    assert "kmsg: holds no cause with a date" in found.facts[0]


def test_causes_alone_are_no_record():
    """Kernel lines are never the list of events."""
    with pytest.raises(InputError, match="holds causes, not failures"):
        combined([_marks("dmesg", (1.0, "Xid 79"))])


def test_times_without_a_calendar_stand_alone():
    """A sample of lifetimes cannot be added to runs."""
    times = FailureRecord("t", "CSV", 1, (), Lifetimes(np.array([1.0]), np.array([True])))
    with pytest.raises(InputError, match="cannot be counted together with a"):
        combined([times, _runs("a", (0, 0.0, 1.0, _F))])
    assert combined([times]).record is times


def test_recoveries_of_all_parts_are_kept():
    """Requeue gaps of two months are one distribution."""
    gaps = [Recoveries("requeue", np.zeros(1, dtype=np.int32), np.array([s])) for s in (10.0, 30.0)]
    one, two = (_runs(str(n), (0, n * 50.0, n * 50.0 + 1.0, _F), recoveries=gaps[n]) for n in (0, 1))
    assert combined([one, two]).record.recoveries.seconds.tolist() == [10.0, 30.0]


def test_events_of_one_system_in_two_files_stay_those_of_one_system():
    """Nodes that are named but not counted are no number of nodes, in two files as in one."""
    parts = []
    for number, row in enumerate(((100.0, np.nan, 0), (900.0, np.nan, 1))):
        record = _outages(str(number), row)
        parts.append(record._replace(content=record.content._replace(units=1, ends_at_last=number == 0)))
    content = combined(parts).record.content
    assert content.units == 1
    assert content.start_s.tolist() == [100.0, 900.0]


def test_outages_beside_runs_are_said_not_to_be_counted():
    """A second record of failures must not vanish in silence."""
    found = combined([_runs("a", (0, 0.0, 100.0, _F)), _outages("b", (95.0, 200.0, 0), (300.0, 400.0, 0))]).record
    assert any("b: its 2 events only say why" in warning for warning in found.warnings)
