from __future__ import annotations

import json
from datetime import datetime

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Allocations
from ckptplan.readers.records import restart_cycles
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.restart_cycles import members
from ckptplan.readers.records.windows import OUTSIDE
from tests.readers.records.recorded import left, outcomes


def _cycle(number, start, end, attempt=0, job="4711", **more):
    """A file as the extension's writer makes it."""
    return {
        "job_id": job,
        "attempt_index": attempt,
        "cycle_number": number,
        "cycle_start_time": start and f"2026-07-30T{start}.000000Z",
        "cycle_end_time": end and f"2026-07-30T{end}.000000Z",
        "cycle_log_file": "/logs/c.log",
        "active_nodes": "node[001-004]",
        "standby_nodes": "node005",
        "generation": 1,
        "active_ranks": "0-31",
    } | more


def _read(tmp_path, cycles, **options):
    path = tmp_path / "cycles.json"
    path.write_text("\n".join(json.dumps(cycle, indent=2) for cycle in cycles))
    assert restart_cycles.looks_like(path.read_bytes())
    return restart_cycles.read(str(path), RecordOptions(**options))


def _at(text):
    return datetime.fromisoformat(f"2026-07-30T{text}Z").timestamp()


def test_a_cycle_that_another_one_follows_failed(tmp_path):
    """Files put together by cat: two failures in the job, one start of the whole job, a last cycle that is censored."""
    record = _read(
        tmp_path,
        [
            _cycle(0, "11:00:00", "11:30:00"),
            _cycle(2, "13:00:00", "14:00:00"),
            _cycle(1, "11:32:00", "12:58:30", active_nodes="node[001-003]", active_ranks="0-7,16-31"),
            _cycle(0, "14:10:00", "15:00:00", attempt=1),
        ],
    )
    content = record.content
    assert isinstance(content, Allocations)
    assert (record.rows, record.left_out, record.on_calendar) == (4, (), True)
    assert content.start_s.tolist() == [_at(text) for text in ("11:00:00", "11:32:00", "13:00:00", "14:10:00")]
    assert content.end_s.tolist() == [_at(text) for text in ("11:30:00", "12:58:30", "14:00:00", "15:00:00")]
    assert outcomes(content) == {"CENSORED": 1, "FAILURE": 3}
    assert content.outcome.tolist() == [1, 1, 1, 0]
    assert content.nodes.tolist() == [4, 3, 4, 4]
    assert content.gpus.tolist() == [32, 24, 32, 32]
    assert set(content.job) == {0}
    assert [content.causes[code] for code in content.cause[:3]] == [
        *["restart in the job"] * 2,
        "the job was started again",
    ]
    assert record.recoveries.seconds.tolist() == [120.0, 90.0, 600.0]
    assert any("1 end of a cycle is that of a whole job" in said for said in record.warnings)


def test_ends_that_were_never_written(tmp_path):
    """The next start stands for an end in between; a last cycle without an end is left out unless --until gives one."""
    cycles = [_cycle(0, "11:00:00", ""), _cycle(1, "11:40:00", "")]
    record = _read(tmp_path, cycles)
    assert record.content.end_s.tolist() == [_at("11:40:00")]
    assert left(record) == {"last cycles without an end: still running, or ended without a word": 1}
    assert np.isnan(record.recoveries.seconds).all()
    until = _read(tmp_path, cycles, watched_until="2026-07-30T12:00:00Z")
    assert until.content.end_s.tolist() == [_at("11:40:00"), _at("12:00:00")]
    assert outcomes(until.content) == {"CENSORED": 1, "FAILURE": 1}


def test_jobs_do_not_follow_each_other(tmp_path):
    """The last cycle of each job is censored, whichever file comes first."""
    content = _read(tmp_path, [_cycle(0, "11:00:00", "12:00:00", job=job) for job in ("a", "b")]).content
    assert outcomes(content) == {"CENSORED": 2}
    assert content.job.tolist() == [0, 1]


def test_what_is_no_cycle_is_counted(tmp_path):
    """A cycle written twice counts once, by its newest writing; other objects and torn files are left out."""
    cycles = [
        _cycle(0, "11:00:00", "12:00:00", generation=1),
        _cycle(0, "11:00:00", "", generation=0),
        {"other": 1},
        _cycle(1, "12:10:00", "12:00:00"),
        _cycle(2, "", "13:00:00"),
        _cycle("many", "13:00:00", "14:00:00"),
    ]
    record = _read(tmp_path, cycles)
    assert record.rows == 6
    assert left(record) == {
        "objects that are no cycle": 2,
        "cycles written twice: the newest counts": 1,
        "cycles that end before they start": 1,
        "cycles without a start that can be read": 1,
    }
    assert record.content.end_s.tolist() == [_at("12:00:00")]


def test_one_file_alone_is_recognised_and_says_what_to_do(tmp_path):
    """One cycle shows no failure: the warning has the command that puts the files together."""
    path = tmp_path / "cycle_info.4711.0.0"
    path.write_text(json.dumps(_cycle(0, "11:00:00", "12:00:00"), indent=2))
    record = read_record(path)
    assert record.format == restart_cycles.NAME
    assert any("cat cycle_info.JOB.*.*" in said for said in record.warnings)
    path.write_text(json.dumps(_cycle(0, "11:00:00", ""), indent=2))
    with pytest.raises(InputError, match="no cycle has a start and an end"):
        read_record(path)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("node[001-004]", 4),
        ("node[001-004,007],login1", 6),
        ("a,b,c", 3),
        ("0-1023", 1024),
        ("0,2,4-7", 6),
        ("gpu-01", 1),
        ("rack1-n[1-2],rack2-n[1-3,9]", 6),
        ("x[5-1]", 0),
        ("x[0-99999999999]", 1),
        ("a[1-2]-ib[0-3],b", 5),
        ("[" * 100_000, 0),
        ("a" * 1_000_000 + "[", 1),
    ],
)
def test_members_of_lists_of_nodes_and_ranks(text, count):
    """Ranges in brackets and of plain numbers are counted without being written out."""
    assert members(text) == count
    assert np.isnan(members(""))


def test_cycles_are_cut_to_the_time_that_was_watched(tmp_path):
    """--since and --until bound what counts, and how long restarts took is told of the failures within."""
    cycles = [_cycle(0, "11:00:00", "11:30:00"), _cycle(1, "11:32:00", "12:30:00"), _cycle(2, "12:33:00", "14:00:00")]
    record = _read(tmp_path, cycles, watched_from="2026-07-30T11:31:00Z", watched_until="2026-07-30T13:00:00Z")
    assert record.content.start_s.tolist() == [_at("11:32:00"), _at("12:33:00")]
    assert record.content.end_s.tolist() == [_at("12:30:00"), _at("13:00:00")]
    assert outcomes(record.content) == {"CENSORED": 1, "FAILURE": 1}
    assert left(record) == {OUTSIDE: 1}
    assert record.recoveries.seconds.tolist() == [180.0]
