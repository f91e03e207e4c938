from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Allocations
from ckptplan.readers.records import scr
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.windows import OUTSIDE
from tests.readers.records.recorded import left, outcomes


def _line(time, event, rest="", job="99"):
    """A line as SCR's logger prints it."""
    return f"2026-03-01T{time}: host=n1, jobid={job}, event={event}{rest}\n"


def _read(tmp_path, *lines, **options):
    path = tmp_path / "log"
    path.write_text("".join(lines))
    assert scr.looks_like(path.read_bytes())
    return scr.read(str(path), RecordOptions(**options))


def _at(time):
    return datetime.fromisoformat(f"2026-03-01T{time}+00:00").timestamp()


def test_runs_under_the_script(tmp_path):
    """scr_run notes the start and the end of each run: one lost a node, one crashed, the last was finished."""
    record = _read(
        tmp_path,
        _line("10:00:00", "RUN_START", ', note="run=1"'),
        _line("10:00:20", "START", ", procs=32, nodes=4"),
        _line("10:30:00", "CHECKPOINT_START", ', note="ckpt", dset=1, name="ckpt.1"'),
        "2026-03-01T10:30:00: host=n1, jobid=99, xfer=FLUSH, from=/tmp, to=/p, dset=1, secs=2.000000, bytes=1.0\n",
        _line("11:00:00", "RUN_END", ', note="run=1", secs=3600.000000'),
        _line("11:00:05", "NODE_FAIL", ', note="n3: failed to ping", secs=3600.000000'),
        _line("11:01:05", "RUN_START", ', note="run=2"'),
        _line("11:01:30", "START", ", procs=32, nodes=3"),
        _line("12:00:00", "RUN_END", ', note="run=2", secs=3535.000000'),
        _line("12:01:00", "RUN_START", ', note="run=3"'),
        _line("12:01:10", "START", ", procs=32, nodes=3"),
        _line("12:59:59", "HALT", ', note="SCR_FINALIZE_CALLED"'),
        _line("13:00:00", "RUN_END", ', note="run=3", secs=3540.000000'),
    )
    content = record.content
    assert isinstance(content, Allocations)
    assert (record.rows, record.left_out) == (13, ())
    assert content.start_s.tolist() == [_at(time) for time in ("10:00:00", "11:01:05", "12:01:00")]
    assert content.end_s.tolist() == [_at(time) for time in ("11:00:00", "12:00:00", "13:00:00")]
    assert [content.causes[code] for code in content.cause] == [
        "node failed: failed to ping", "ended without a HALT", "finished",
    ]  # fmt: skip
    assert outcomes(content) == {"CENSORED": 1, "FAILURE": 2}
    assert content.nodes.tolist() == [4, 3, 3]
    assert record.recoveries.seconds.tolist() == [65.0, 60.0]


def test_runs_without_the_script(tmp_path):
    """START after START of one job is a failure at the last event before it; a HALT on purpose is none."""
    record = _read(
        tmp_path,
        _line("10:00:00", "START", ", procs=8, nodes=1"),
        _line("10:50:00", "CHECKPOINT_END", ", dset=7"),
        _line("11:00:00", "START", ", procs=8, nodes=1"),
        _line("11:30:00", "HALT", ', note="Reached time limit."'),
        _line("11:40:00", "START", ", procs=8, nodes=1", job="100"),
        _line("11:45:00", "COMPUTE_START", job="100"),
    )
    content = record.content
    assert content.end_s.tolist() == [_at(time) for time in ("10:50:00", "11:30:00", "11:45:00")]
    assert content.outcome.tolist() == [1, 0, 0]
    assert [content.causes[code] for code in content.cause] == [
        "ended without a HALT", "halted: Reached time limit.", "end not in the log",
    ]  # fmt: skip
    assert content.job.tolist() == [0, 0, 1]
    assert record.recoveries.seconds.tolist() == [600.0]
    assert any("1 row at which a run ends without a word" in said for said in record.warnings)


def test_a_node_that_fails_after_the_end_changes_nothing(tmp_path):
    """A run that was finished is no failure because a node is found down afterwards."""
    content = _read(
        tmp_path,
        _line("10:00:00", "START", ", procs=8, nodes=1"),
        _line("11:00:00", "HALT", ', note="SCR_FINALIZE_CALLED"'),
        _line("11:05:00", "NODE_FAIL", ', note="n1: down"'),
    ).content
    assert outcomes(content) == {"CENSORED": 1}
    assert content.end_s.tolist() == [_at("11:00:00")]


def test_stamps_are_local_and_the_zone_can_be_said(tmp_path):
    """Without a zone the report warns; with one the stamps move."""
    lines = (_line("10:00:00", "START"), _line("10:30:00", "START"), _line("10:40:00", "HALT"))
    assert any("--tz" in said for said in _read(tmp_path, *lines).warnings)
    record = _read(tmp_path, *lines, zone="America/Los_Angeles")
    assert record.zone == "America/Los_Angeles"
    assert record.content.start_s[0] == datetime(2026, 3, 1, 18, tzinfo=UTC).timestamp()


def test_torn_lines_are_counted(tmp_path):
    """A line that was cut off, or is no event, is left out; RUN_END of no run changes nothing."""
    record = _read(
        tmp_path,
        _line("09:00:00", "RUN_END"),
        "hello\n",
        _line("10:00:00", "START"),
        _line("11:00:00", "HALT"),
        "2026-03-01T",
    )
    assert left(record) == {"lines that are no event of SCR, or torn ones": 2}
    assert record.rows == 5
    assert np.diff(record.content.start_s).size == 0


def test_a_log_without_a_start_ends_in_an_error(tmp_path):
    """There is no run without a start; the registry finds the format all the same."""
    path = tmp_path / "log"
    path.write_text(_line("09:00:00", "RUN_END"))
    with pytest.raises(InputError, match="no event of the log starts a run"):
        read_record(path)


def test_runs_are_cut_to_the_time_that_was_watched(tmp_path):
    """--since and --until bound what counts: a run that goes on is censored, one outside is left out by its reason."""
    lines = [
        line
        for hour in (10, 11, 12)
        for line in (_line(f"{hour}:00:00", "RUN_START"), _line(f"{hour}:30:00", "RUN_END"))
    ]
    record = _read(tmp_path, *lines, watched_from="2026-03-01T10:45:00", watched_until="2026-03-01T12:10:00")
    assert record.content.start_s.tolist() == [_at("11:00:00"), _at("12:00:00")]
    assert record.content.end_s.tolist() == [_at("11:30:00"), _at("12:10:00")]
    assert outcomes(record.content) == {"CENSORED": 1, "FAILURE": 1}
    assert left(record) == {OUTSIDE: 1}
    assert record.recoveries.seconds.tolist() == [1800.0]
