from __future__ import annotations

import os
import subprocess
import sys
import zoneinfo
from pathlib import Path

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Outcome
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.slurm import sacct
from ckptplan.readers.records.slurm.options import COMMAND, SlurmOptions, slurm_options
from tests.readers.records.slurm.plain import DATA, counts, rows_of, seconds

needs_data = pytest.mark.skipif(not DATA.exists(), reason="the failure data are not here")
NAMES = "JobID|JobName|State|ExitCode|Start|End|ElapsedRaw|NNodes"


@pytest.fixture
def read(tmp_path):
    """Write a table and read it."""

    def reader(content, **options):
        path = tmp_path / "sacct.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return sacct.read(path, SlurmOptions(**options))

    return reader


def _table(*rows, names=NAMES):
    return "\n".join([names, *rows, ""])


def _left(record):
    return {each.reason: each.rows for each in record.left_out}


def _kinds(record):
    return tuple(np.bincount(record.content.outcome, minlength=4)[:3].tolist())


def _whole(record):
    """Every row is used or left out."""
    return record.rows == len(record.content.start_s) + sum(each.rows for each in record.left_out)


@needs_data
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("gen_sacct_dup_parsable2.txt", (16, 4, 2)),
        ("gen_sacct_nodup_parsable2.txt", (15, 3, 0)),
        ("gen_sacct_dup_X_tz_UTC.txt", (16, 4, 2)),
        ("gen_sacct_dup_X_tz_Los_Angeles.txt", (16, 4, 2)),
        ("gcm_sample-sacct-output-midnight-edge-case.txt", None),
    ],
)
def test_real_records(file, expected):
    """Allocations, failures, preemptions, steps and rows left out are those that a plain loop counts."""
    record = sacct.read(DATA / file)
    kinds, steps, never, zero, parts = counts(DATA / file)
    assert _kinds(record) == kinds
    assert expected is None or kinds == expected
    left = _left(record)
    assert left.get("of job steps", 0) == steps
    assert left.get("never started (pending, or cancelled while pending)", 0) == never
    assert left.get("of no length, and not ended by a failure", 0) == zero
    assert left.get("joined to the first part of a heterogeneous job", 0) == parts
    assert _whole(record)


@needs_data
def test_missing_interruptions_are_warned_of():
    """A record without -D warns, one with it does not."""
    with_all = sacct.read(DATA / "gen_sacct_dup_parsable2.txt")
    last_only = sacct.read(DATA / "gen_sacct_nodup_parsable2.txt")
    assert not any("without -D" in each for each in with_all.warnings)
    assert any("without -D" in each and "sacct -a -D -X -P" in each for each in last_only.warnings)


@needs_data
def test_two_zones_give_one_record():
    """The same records printed in two zones are the same allocations, once the zone is named."""
    utc = sacct.read(DATA / "gen_sacct_dup_X_tz_UTC.txt", SlurmOptions(report_s=seconds("2026-11-30T02:45:06")))
    options = SlurmOptions(zone="America/Los_Angeles", report_s=seconds("2026-11-30T02:45:06"))
    west = sacct.read(DATA / "gen_sacct_dup_X_tz_Los_Angeles.txt", options)
    for column, other in zip(utc.content, west.content, strict=True):
        np.testing.assert_array_equal(column, other)
    np.testing.assert_array_equal(utc.recoveries.seconds, west.recoveries.seconds)
    assert west.zone == "America/Los_Angeles"


@needs_data
def test_requeues_of_the_real_record():
    """Waits from a failure or preemption to the next attempt are those between the printed times."""
    record = sacct.read(DATA / "gen_sacct_dup_parsable2.txt")
    runs: dict[str, list] = {}
    for row in rows_of(DATA / "gen_sacct_dup_parsable2.txt"):
        if "." not in row["JobID"] and row["Start"] != "None" and row["End"] != "Unknown":
            runs.setdefault(row["JobID"], []).append((seconds(row["Start"]), seconds(row["End"]), row["State"]))
    gaps = [
        later[0] - former[1]
        for each in runs.values()
        for former, later in zip(sorted(each), sorted(each)[1:], strict=False)
        if former[2] in ("NODE_FAIL", "PREEMPTED")
    ]
    found = record.recoveries.seconds
    assert sorted(found[np.isfinite(found)]) == sorted(gaps)
    assert len(found) == 6
    assert record.recoveries.phase == "requeue"


@needs_data
def test_a_line_break_in_a_field():
    """A field that holds a line break, between delimiters of two characters, is one row again."""
    record = sacct.read(DATA / "gcm_sample-sacct-fake-line-break.txt")
    assert (record.rows, _left(record), _kinds(record)) == (4, {"of job steps": 2}, (1, 1, 0))
    np.testing.assert_array_equal(record.content.gpus, [1024, 256])
    np.testing.assert_array_equal(record.content.nodes, [128, 32])
    np.testing.assert_array_equal(record.content.end_s - record.content.start_s, [79396, 87356])
    assert "1 row with a line break in a text: joined." in record.facts


@needs_data
@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("vcell_sacct-no-matching-jobs.txt", "no matching jobs"),
        ("vcell_sacct-cancelled-by-user.txt", "no column Start and no column End.*by state: 1 CANCELLED"),
        ("vcell_sacct-terminal-states.txt", "1 TIMEOUT, 1 OUT_OF_MEMORY, 1 NODE_FAIL, 1 FAILED"),
        ("gcm_sample-sacct-output.txt", "of 68 rows 68 are job steps"),
    ],
)
def test_records_that_say_too_little(file, message):
    """A table without times, without rows or with steps alone is refused with what it holds and what to run."""
    assert sacct.looks_like((DATA / file).read_bytes()[:65536])
    with pytest.raises(InputError, match=message) as error:
        sacct.read(DATA / file)
    assert "hint: " in error.value.render()


def test_recognition_of_real_files():
    """Of all files of Slurm only tables of sacct with delimiters are taken."""
    if not DATA.exists():
        pytest.skip("the failure data are not here")
    taken = {path.name for path in DATA.iterdir() if sacct.looks_like(path.read_bytes()[:65536])}
    known = {path.name for path in DATA.iterdir() if "sacct" in path.name and "sacctmgr" not in path.name}
    assert taken == known - {"gen_sacct_default_columns.txt"}


@pytest.mark.parametrize("delimiter", ["|", ",", ";", "\t", " ", "|#", "::", "^", "§", "~~~"])
@pytest.mark.parametrize("trailing", [False, True])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_delimiters(read, delimiter, trailing, ending):
    """Any delimiter, with or without one at the end of lines, is found in the header."""
    rows = [
        NAMES.split("|"),
        ["7", "train", "NODE_FAIL", "0:0", "2026-01-01T00:00:00", "2026-01-01T01:00:00", "3600", "4"],
        ["7.batch", "batch", "CANCELLED", "0:15", "2026-01-01T00:00:00", "2026-01-01T01:00:00", "3600", "1"],
        ["8", "train", "COMPLETED", "0:0", "2026-01-01T00:00:00", "2026-01-01T02:00:00", "7200", "2"],
    ]
    text = ending.join(delimiter.join(row) + delimiter * trailing for row in rows) + ending
    assert sacct.looks_like(text.encode())
    record = read(text)
    assert (record.rows, _left(record), _kinds(record)) == (3, {"of job steps": 1}, (1, 1, 0))
    np.testing.assert_array_equal(record.content.end_s - record.content.start_s, [3600, 7200])


def test_delimiters_within_texts(read):
    """Fields left of a free text are counted from the left, those right of it from the right."""
    names = "JobID|JobName|State|Start|End|Comment|NNodes|WorkDir"
    time = "2026-01-01T00:00:00|2026-01-01T01:00:00"
    record = read(
        _table(
            f"1|a|b|NODE_FAIL|{time}|none|4|/home",
            f"2|a|NODE_FAIL|{time}|a|comment|of|parts|8|/home/x|y",
            f"3|COMPLETED|b|NODE_FAIL|{time}|x|2|/",
            f"4|a|NODE_FAIL|{time}|1|2|3|4|/",  # the number of nodes could be any of these
            f"5|||||PREEMPTED|{time}||16|",
            names=names,
        )
    )
    assert record.content.nodes.tolist() == [4, 8, 2, 16]
    assert record.content.outcome.tolist() == [1, 1, 1, 2]
    assert _left(record) == {sacct.TORN: 1}


def test_torn_lines(read):
    """Lines that are cut off are counted, and never fatal; a line break in a name is mended."""
    full = "{0}|train|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4"
    record = read(
        _table(
            full.format(1),
            "2|train|NODE_F",
            full.format(3),
            "4|two\nlines|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4",
            "",
            "5|three\n\nof them\nhere|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4",
            full.format(6)[:-30],
        )
    )
    assert record.rows == 6
    assert _kinds(record) == (2, 2, 0)
    assert _left(record) == {sacct.TORN: 2}
    assert any("2 rows with a line break" in fact for fact in record.facts)
    assert any("2 torn lines" in warning for warning in record.warnings)


def test_rows_across_blocks(read, monkeypatch):
    """Where blocks of the file end makes no difference, within torn rows neither."""
    lines = []
    for job in range(300):
        name = ("a", "a|b", "a\nb", "a\n\nb")[job % 4]
        state = ("COMPLETED", "NODE_FAIL", "PREEMPTED")[job % 3]
        lines.append(
            f"{job}|{name}|{state}|0:0|2026-01-01T00:00:00|2026-01-01T01:00:0{job % 10}|{3600 + job % 10}|{job + 1}"
        )
        if job % 50 == 49:
            lines.append(lines[-1][:20])
    text = _table(*lines)
    whole = read(text)
    assert _kinds(whole) == (100, 100, 100)
    for size in (200, 333, 1000, 4096):
        monkeypatch.setattr("ckptplan.readers.records.slurm.blocks.BLOCK", size)
        again = read(text)
        assert again.left_out == whole.left_out
        for column, other in zip(again.content, whole.content, strict=True):
            np.testing.assert_array_equal(column, other)


def test_rows_torn_into_rows(read):
    """The end of a row that a line break and a delimiter in its name made look like one has no job id: no row."""
    record = read(
        _table(
            "1|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4",
            "2|a\nb|c|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4",
        )
    )
    assert (record.rows, _left(record), _kinds(record)) == (3, {sacct.TORN: 2}, (0, 1, 0))


def test_undecodable_bytes(read):
    """Bytes that are no UTF-8 and NUL bytes are counted or carried along, in torn lines too."""
    row = b"|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4\n"
    record = read(
        NAMES.encode() + b"\n1|\xff\xfe" + row + b"2|\xe9|t\xe9|x" + row + b"3|\0\0" + row + b"\xff|\n4|\xc3\xa9" + row
    )
    assert _kinds(record) == (0, 4, 0)
    assert any("3 lines with bytes that are not UTF-8" in warning for warning in record.warnings)
    assert _left(record) == {sacct.TORN: 1}


def test_the_key_is_job_and_start(read):
    """A requeued job has several allocations; the same job and start is one, and the state that ended it is kept."""
    record = read(
        _table(
            "1|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4",
            "1|a|COMPLETED|0:0|2026-01-01T01:10:00|2026-01-01T02:10:00|3600|4",
            "1|a|COMPLETED|0:0|2026-01-01T01:10:00|2026-01-01T02:10:00|3600|4",
            "2|a|RUNNING|0:0|2026-01-01T00:00:00|Unknown|600|4",
            "2|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T03:00:00|10800|4",
        )
    )
    assert _kinds(record) == (1, 2, 0)
    assert _left(record) == {
        "repeating another row (same job and start)": 1,
        "contradicting another row (same job and start)": 1,
    }
    assert record.content.job.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(record.recoveries.seconds, [600, np.nan])
    assert any("another state or end" in warning for warning in record.warnings)


def test_jobs_keep_their_ids(read):
    """The number of a job leads to its id as it is written, in every block and after rows are left out."""
    rows = ["9_[4-7]|a|PENDING|0:0|Unknown|Unknown|0|4"]
    rows += [f"{job}|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4" for job in ("8", "9_1", "7")]
    record = read(_table(*rows, rows[1].replace("T0", "T1")))
    assert [record.content.names[job] for job in record.content.job] == ["8", "9_1", "7", "8"]
    other = record.content.only(record.content.job == record.content.job[1])
    assert [other.names[job] for job in other.job] == ["9_1"]


def test_order_of_attempts(read):
    """Attempts that overlap, or are listed before an earlier one, are flagged."""
    record = read(
        _table(
            "1|a|COMPLETED|0:0|2026-01-01T05:00:00|2026-01-01T06:00:00|3600|4",
            "1|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4",
            "2|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4",
            "2|a|COMPLETED|0:0|2026-01-01T00:30:00|2026-01-01T01:30:00|3600|4",
            "3|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4",
            "3|a|COMPLETED|0:0|2026-01-01T01:00:00|2026-01-01T02:00:00|3600|4",
        )
    )
    assert any("2 attempts out of order" in warning for warning in record.warnings)
    assert _kinds(record) == (3, 3, 0)


def test_restarts_without_their_attempts(read):
    """Restarts that are counted but whose former attempts are absent prove that -D was not given."""
    names = NAMES + "|Restarts"
    rows = [f"{job}|a|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4|{job}" for job in range(3)]
    assert any("counts 3 restarts" in each for each in read(_table(*rows, names=names)).warnings)


def test_times_that_make_no_sense(read):
    """Rows whose times are none, or end before they start, are left out by reason; elapsed time is believed first."""
    record = read(
        _table(
            "1|a|FAILED|1:0|None|2026-01-01T01:00:00||4",
            "2|a|FAILED|1:0|2026-02-30T00:00:00|2026-01-01T01:00:00||4",
            "3|a|FAILED|1:0|2026-01-01T02:00:00|2026-01-01T01:00:00||4",
            "4|a|COMPLETED|0:0|2026-01-01T02:00:00|2026-01-01T02:00:00|0|4",
            "5|a|NODE_FAIL|0:0|2026-01-01T02:00:00|2026-01-01T02:00:00|0|4",
            "6|a|COMPLETED|0:0|2026-01-01T02:00:00|Unknown||4",
            "7|a|COMPLETED|0:0|2026-01-01T02:00:00|Unknown|60|4",
            "8|a|COMPLETED|0:0|2026-01-01T02:00:00|2026-01-01T12:00:00|3600|4",
            "9|a|PENDING|0:0|Unknown|Unknown|0|4",
            "10_[3-9]|a|PENDING|0:0|Unknown|Unknown|0|4",
            "11|a|WHATEVER|0:0|2026-01-01T02:00:00|2026-01-01T03:00:00|3600|4",
            "JobID|JobName|State|ExitCode|Start|End|ElapsedRaw|NNodes",
        )
    )
    assert _left(record) == {
        "with a state that is none of Slurm's": 1,
        "with the header once more": 1,
        "never started (pending, or cancelled while pending)": 3,
        "with a start that is no time": 1,
        "with an end before the start": 1,
        "ended without an end or an elapsed time": 1,
        "of no length, and not ended by a failure": 1,
    }
    assert _whole(record)
    np.testing.assert_array_equal(record.content.end_s - record.content.start_s, [1, 60, 3600])
    assert record.content.end_s[2] == seconds("2026-01-01T12:00:00")
    assert any("ran for less time" in fact for fact in record.facts)


def test_running_jobs(read):
    """Running jobs are censored at the report, which their own elapsed time shows where it is not given."""
    row = "{0}|a|RUNNING|0:0|2026-01-01T00:00:00|Unknown|{1}|4"
    table = _table(
        row.format(1, 5000), row.format(2, ""), "3|a|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:10:00|600|4"
    )
    record = read(table)
    assert _kinds(record) == (3, 0, 0)
    np.testing.assert_array_equal(record.content.end_s - record.content.start_s, [5000, 5000, 600])
    given = read(table, report_s=seconds("2026-01-02T00:00:00"))
    np.testing.assert_array_equal(given.content.end_s - given.content.start_s, [86400, 86400, 600])


def test_daylight_saving(read):
    """A stamp in the hour that came twice is the one that agrees with the elapsed time."""
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    table = _table(
        "1|a|NODE_FAIL|0:0|2026-10-25T01:30:00|2026-10-25T02:30:00|3600|4",  # ends in the first 02:30
        "2|a|NODE_FAIL|0:0|2026-10-25T01:30:00|2026-10-25T02:30:00|7200|4",  # in the second
        "3|a|NODE_FAIL|0:0|2026-10-25T02:45:00|2026-10-25T02:15:00|1800|4",  # from the first hour into the second
        "4|a|NODE_FAIL|0:0|2026-10-25T01:00:00|2026-10-25T04:00:00|14400|4",
        "5|a|NODE_FAIL|0:0|2026-03-29T01:00:00|2026-03-29T04:00:00|7200|4",
    )
    record = read(table, zone="Europe/Berlin")
    np.testing.assert_array_equal(record.content.end_s - record.content.start_s, [3600, 7200, 1800, 14400, 7200])
    assert record.content.end_s[0] == seconds("2026-10-25T02:30:00", berlin)
    assert record.content.end_s[1] == seconds("2026-10-25T02:30:00", berlin) + 3600
    assert not any("change of clocks" in warning for warning in record.warnings)
    wrong = read(table)
    np.testing.assert_array_equal(wrong.content.end_s - wrong.content.start_s, [3600, 7200, 1800, 14400, 7200])
    assert any(
        "in 4 rows elapsed time differs" in each.lower() and "a change of clocks" in each for each in wrong.warnings
    )


def test_heterogeneous_jobs(read):
    """Parts of a heterogeneous job that start together are one allocation on all nodes, failed if one part is."""
    row = "|a|{0}|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|{1}"
    record = read(
        _table(
            "19+0" + row.format("COMPLETED", 4), "19+1" + row.format("NODE_FAIL", 8), "20" + row.format("COMPLETED", 1)
        )
    )
    assert _kinds(record) == (1, 1, 0)
    assert record.content.nodes.tolist() == [12, 1]
    assert [record.content.names[job] for job in record.content.job] == ["19", "20"]
    assert _left(record) == {"joined to the first part of a heterogeneous job": 1}


def test_choosing_jobs(read):
    """Jobs are chosen by name, user, account, partition, id and size; the others are counted by reason."""
    names = NAMES + "|User|Account|Partition"
    row = "{0}|{1}|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|{2}|{3}|llm|train"
    table = _table(
        *(row.format(*c) for c in [("1", "pre-7b", 4, "ann"), ("2_1", "pre-70b", 64, "bob"), ("3", "eval", 1, "ann")]),
        names=names,
    )
    assert _left(read(table, job_name="pre-*")) == {"of another job name": 1}
    assert _kinds(read(table, user="ann")) == (0, 2, 0)
    assert _kinds(read(table, jobs=("2",))) == (0, 1, 0)
    assert _kinds(read(table, nodes_least=4)) == (0, 2, 0)
    other = read(table, account="other")
    assert len(other.content.start_s) == 0
    assert _left(other) == {"of another account (there are llm)": 3}
    with pytest.raises(InputError, match="no column Partition"):
        read(_table("1|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4"), partition="train")


def test_questions_and_counts_are_sentences(read):
    """A question ends with its mark alone, and one row is one row."""
    row = "1|a|COMPLETED|0:0|2026-03-08T02:30:00|2026-03-08T{0}:30:00|{1}|4"
    record = read(_table(row.format("05", 7200)), zone="America/New_York")
    assert (
        "The start of 1 row lies in an hour that clocks of America/New_York skipped: is it the right --tz?"
        in record.warnings
    )
    wrong = read(_table("1|a|COMPLETED|0:0|2026-03-08T01:30:00|2026-03-08T05:30:00|10800|4"), zone="UTC")
    assert any(
        each.startswith("In 1 row elapsed time differs from that between start and end") for each in wrong.warnings
    )


def test_the_names_that_there_are(read):
    """Where no job has the name that was asked for, the most frequent names are said, however they are spelt."""
    counts = {"pre-7b": 1, "pre-70b": 4, "eval": 2, "\x1b[31mred": 3, "a" * 100: 5, "b": 1, "": 6}
    row = "{0}|{1}|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4"
    names = [name for name, count in counts.items() for _ in range(count)]
    found = _left(read(_table(*(row.format(*pair) for pair in enumerate(names))), job_name="nojob"))
    ((reason, rows),) = found.items()
    assert rows == 22
    assert reason.startswith(f"of another job name (there are {'a' * 40}, pre-70b, ")
    assert reason.endswith(", eval, pre-7b, ...)")
    assert "\x1b" not in reason


def test_the_command_can_take_one_more_column(read):
    """The command that an error names has the missing column among its columns, not behind the date."""
    assert COMMAND.split(" -o ")[1].startswith("JobID,")
    assert " " not in COMMAND.split(" -o ")[1]
    with pytest.raises(InputError) as error:
        read(_table("1|a|NODE_FAIL|0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4"), account="llm")
    assert error.value.render().endswith("NodeList,Account")


def test_the_command_of_the_readme():
    """The README prints a record with the columns that errors ask for."""
    readme = (Path(__file__).parents[4] / "README.md").read_text()
    assert COMMAND in " ".join(readme.replace("\\\n", " ").split())


def test_gpus(read):
    """GPUs are counted once, whether by type or in total, and per node in old records."""
    time = "NODE_FAIL|2026-01-01T00:00:00|2026-01-01T01:00:00"
    record = read(
        _table(
            f"1|{time}|4|billing=8,cpu=8,gres/gpu:a100=24,gres/gpu:h100=8,gres/gpu=32,node=4",
            f"2|{time}|4|cpu=8,gres/gpu:a100=24,gres/gpu:h100=8,node=4",
            f"3|{time}|4|cpu=8,gres/gpu=16,node=4",
            f"4|{time}|4|cpu=8,node=4",
            f"5|{time}|4|",
            names="JobID|State|Start|End|NNodes|AllocTRES",
        )
    )
    np.testing.assert_array_equal(record.content.gpus, [32, 32, 16, 0, np.nan])
    old = read(_table(f"1|{time}|gpu[01-04]|gpu:8", names="JobID|State|Start|End|NodeList|AllocGRES"))
    assert (old.content.nodes.tolist(), old.content.gpus.tolist()) == ([4], [32])


def test_maintenance(read):
    """Jobs that an operator's comment says were ended for maintenance are a class of their own."""
    time = "2026-01-01T00:00:00|2026-01-01T01:00:00"
    record = read(
        _table(
            f"1|CANCELLED by 0|{time}|planned maintenance",
            f"2|NODE_FAIL|{time}|fan",
            names="JobID|State|Start|End|AdminComment",
        )
    )
    assert record.content.outcome.tolist() == [Outcome.MAINTENANCE, Outcome.FAILURE]


def test_hostile_tables(tmp_path):
    """Endless lines, millions of columns, a pipe and a folder end in one clear error, in bounded memory."""
    code = (
        "import resource, sys\n"
        "from ckptplan.errors import InputError\n"
        "from ckptplan.readers.records.slurm import sacct\n"
        "import pyarrow.csv\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n"
        "    sacct.read(sys.argv[1])\n"
        "except InputError as error:\n"
        "    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "    print(grown < 300_000, error.render())\n"
    )
    cases = {}
    endless = tmp_path / "endless"
    with endless.open("wb") as out:
        out.write(NAMES.encode() + b"\n1|")
        out.truncate(1_000_000_000)  # one line of NUL bytes
    cases[endless] = "endless:2: a line has more than"
    wide = tmp_path / "wide"
    wide.write_bytes(b"JobID|State|" + b"a|" * 10_000_000)
    cases[wide] = "the first line has more than"
    narrow = tmp_path / "narrow"
    narrow.write_bytes(b"JobID|State|" + b"a|" * 5_000 + b"\n")
    cases[narrow] = "5,003 columns"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    cases[pipe] = "is a pipe"
    cases[tmp_path] = "is a folder"
    for path, message in cases.items():
        command = [sys.executable, "-c", code, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.startswith("True"), done
        assert message in done.stdout


def test_rows_of_another_table(read, monkeypatch):
    """A header over rows that are not its own is refused, not gone through line by line to the end."""
    monkeypatch.setattr("ckptplan.readers.records.slurm.blocks.MOST_TORN", 1000)
    with pytest.raises(InputError, match="most lines have another number of fields than the 8"):
        read(_table(*["a"] * 2000))
    monkeypatch.setattr("ckptplan.readers.records.slurm.sacct.MOST_TORN", 500)
    with pytest.raises(InputError, match="most lines have another number of fields than the 8"):
        read(_table(*["a|b|c"] * 900))


def test_formulas_are_text(read):
    """Cells that a spreadsheet would run are names, and states that are none are counted."""
    time = "0:0|2026-01-01T00:00:00|2026-01-01T01:00:00|3600|4"
    record = read(_table(f"1|=cmd()|NODE_FAIL|{time}", f"2|@SUM(A1)|=NODE_FAIL|{time}", f"=3|a|NODE_FAIL|{time}"))
    assert _kinds(record) == (0, 1, 0)
    assert _left(record) == {"with a state that is none of Slurm's": 1, sacct.TORN: 1}


def test_short_runs_that_failed(read):
    """A run that failed by itself soon is the user's own; how soon can be said, and how many there were is."""
    time = "0:0|2026-01-01T00:00:00|2026-01-01T00:0{0}:00|{0}00|4"
    rows = ["1|a|FAILED|1:0|2026-01-01T00:00:00|2026-01-01T00:09:59|599|4"]
    rows += ["2|a|OUT_OF_MEMORY|0:125|2026-01-01T00:00:00|2026-01-01T00:10:00|600|4", "3|a|NODE_FAIL|" + time.format(1)]
    record = read(_table(*rows))
    assert record.content.outcome.tolist() == [0, 1, 1]
    assert "1 run of less than 600 s that FAILED or ran out of memory: censored." in record.facts
    assert _kinds(read(_table(*rows), minimum_run_s=0.0)) == (0, 3, 0)
    assert _kinds(read(_table(*rows), minimum_run_s=0.0, fail_exit_codes=(137,))) == (1, 2, 0)


def test_options_of_all_readers(read):
    """Options that all readers share are those of this one, and its own outrank them."""
    shared = RecordOptions(zone="Europe/Berlin", watched_from="2026-01-01", watched_until="3 d", units=7)
    expected = SlurmOptions(zone="Europe/Berlin", watched_from="2026-01-01", watched_until="3 d", nodes=7)
    assert slurm_options(shared) == expected
    own = SlurmOptions(zone="UTC", watched_from=1.0, watched_until=5.0, nodes=9, user="ann")
    assert slurm_options(shared._replace(slurm=own)) == own
    assert slurm_options(None) == SlurmOptions()


HOURS = "{0}|a|{1}|0:0|2026-01-01T{2:02}:00:00|2026-01-01T{3:02}:00:00||{4}"


def test_the_window_that_was_watched(read):
    """Runs are cut to the time between --since and --until: nodes, failures and causes are those a loop counts."""
    spans = [("NODE_FAIL", 0, 4, 2), ("NODE_FAIL", 4, 9, 3), ("NODE_FAIL", 10, 12, 5), ("COMPLETED", 8, 20, 7)]
    spans += [("NODE_FAIL", 15, 22, 11), ("NODE_FAIL", 20, 23, 13)]
    table = _table(*(HOURS.format(job, *span) for job, span in enumerate(spans)))
    record = read(table, watched_from="2026-01-01T06:00:00", watched_until="2026-01-01T18:00:00")
    found = record.content
    at_risk = sum(max(0, min(end, 18) - max(start, 6)) * nodes for _, start, end, nodes in spans)
    assert np.sum((found.end_s - found.start_s) * found.nodes) / 3600 == at_risk
    failed = [span for span in spans if span[0] == "NODE_FAIL" and 6 < span[2] <= 18]
    assert np.count_nonzero(found.outcome == Outcome.FAILURE) == len(failed) == 2
    assert _left(record) == {"outside of --since and --until": 2}
    assert [found.causes[code] for code in found.cause[found.outcome == Outcome.CENSORED]] == ["still running"] * 2
    assert any("1 run that began before --since" in fact for fact in record.facts)
    assert any("2 runs that went on after --until" in fact for fact in record.facts)
    assert _whole(record)


@pytest.mark.parametrize("until", ["2026-01-02", "2026-01-02 00:00", "1 d", 86_400.0, "2026-01-02T01:00:00+01:00"])
def test_watching_may_end_as_of_any_record(read, until):
    """A date, a stamp, and a time from the start of the record."""
    record = read(_table("1|a|RUNNING|0:0|2026-01-01T00:00:00|Unknown||4"), watched_until=until)
    assert record.content.end_s.tolist() == [seconds("2026-01-02T00:00:00")]


def test_nothing_is_known_of_a_job_after_its_elapsed_time(read):
    """A job that ran for an hour when the record was printed is not at risk until a later end of watching."""
    record = read(_table("1|a|RUNNING|0:0|2026-01-01T00:00:00|Unknown|3600|4"), watched_until="2026-06-01")
    assert (record.content.end_s - record.content.start_s).tolist() == [3600]


def test_requeues_of_a_window(read):
    """Waits are those of failures within the window."""
    rows = [
        HOURS.format(1, "NODE_FAIL", 0, 4, 2),
        HOURS.format(1, "NODE_FAIL", 5, 9, 2),
        HOURS.format(1, "FAILED", 11, 20, 2),
    ]
    assert read(_table(*rows)).recoveries.seconds[:2].tolist() == [3600, 7200]
    within = read(_table(*rows), watched_from="2026-01-01T04:30:00", watched_until="2026-01-01T10:00:00")
    assert within.recoveries.seconds.tolist() == [7200]


def test_short_runs_are_judged_before_they_are_cut(read):
    """A run that failed after four hours is a failure, also where only its last minutes were watched."""
    record = read(_table(HOURS.format(1, "FAILED", 0, 4, 2)), watched_from="2026-01-01T03:55:00")
    assert _kinds(record) == (0, 1, 0)


def test_a_table_without_states(read):
    """A table of sacct that does not say how jobs ended is taken by this reader and refused with what to run."""
    head = b"JobID|JobName|ExitCode|Start|End|ElapsedRaw|NNodes|AllocTRES|NodeList\n"
    assert sacct.looks_like(head)
    with pytest.raises(InputError) as error:
        read(head + b"9|a|1:0|2026-01-05T00:00:00|2026-01-06T00:22:53|87773|16||n1\n")
    assert "sacct.txt:1: a table of sacct without a column State" in error.value.render()
    assert f"hint: run {COMMAND}" in error.value.render()
    assert not sacct.looks_like(b"JobID,Start,End,Reason\n")  # somebody's own table of outages


def test_unknown_exit_codes(read):
    """Without ExitCode the record says how FAILED counts, how many did, and what would tell them apart."""
    time = "2026-01-01T00:00:00|2026-01-01T01:00:00|4"
    table = _table(f"1|FAILED|{time}", f"2|NODE_FAIL|{time}", names="JobID|State|Start|End|NNodes")
    record = read(table)
    assert _kinds(record) == (0, 2, 0)
    assert any(
        "1 run that FAILED with an exit code that is not known: counted as failures. Add ExitCode" in each
        for each in record.warnings
    )
    assert not any("any exit code but" in fact for fact in record.facts)
    assert any(fact.startswith("Exit codes are not known: FAILED and OUT_OF_MEMORY are") for fact in record.facts)
    chosen = read(table, fail_exit_codes=(1,))
    assert _kinds(chosen) == (1, 1, 0)
    assert any("not counted as failures" in each for each in chosen.warnings)
    known = read(_table(f"1|FAILED|1:0|{time}", names="JobID|State|ExitCode|Start|End|NNodes"))
    assert not any("Add ExitCode" in each for each in known.warnings)
    assert any("any exit code but 2" in fact for fact in known.facts)


def test_an_unknown_zone_is_refused_first(read):
    """A zone that does not exist is said before the file is read."""
    with pytest.raises(InputError, match="no time zone"):
        read("", zone="Mars/Olympus")
