from __future__ import annotations

import re

import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Outcome
from ckptplan.readers.records.slurm import job_output, other_tables
from ckptplan.readers.records.slurm.options import SlurmOptions
from tests.readers.records.slurm.plain import DATA, seconds

needs_data = pytest.mark.skipif(not DATA.exists(), reason="the failure data are not here")


@needs_data
def test_the_real_output():
    """Node failures are those lines of jobs that say so; a time limit and a user's cancellation are left out."""
    text = (DATA / "gen_job_stdout.txt").read_text()
    struck = re.findall(r"JOB (\d+) ON \S+ CANCELLED AT (\S+) DUE TO NODE FAILURE", text)
    record = job_output.read(DATA / "gen_job_stdout.txt")
    assert record.content.start_s.tolist() == [seconds(at) for _, at in struck]
    assert record.content.outcome.tolist() == [Outcome.FAILURE] * len(struck)
    assert (record.content.units, record.content.ends_at_last) == (1, True)
    left = {each.reason: each.rows for each in record.left_out}
    assert left["ended by a time limit, which is no failure"] == 1
    assert left["cancelled by a user or by root"] == 1
    assert left["of job steps"] == text.count("*** STEP")
    assert record.rows == text.count("\n") == len(struck) + sum(left.values())


def test_several_nodes_and_preemption(tmp_path):
    """An end that several nodes report is one; preemption is a class of its own."""
    path = tmp_path / "slurm-1.out"
    line = "slurmstepd: error: *** JOB {} ON {} CANCELLED AT 2026-11-30T02:43:28 DUE TO {} ***\n"
    path.write_text(
        line.format(1, "a", "NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS") + line.format(1, "b", "NODE FAILURE")
        + line.format("5_1", "c", "PREEMPTION") + "step 17\n"
    )  # fmt: skip
    record = job_output.read(path, SlurmOptions(zone="America/New_York"))
    assert record.content.outcome.tolist() == [Outcome.FAILURE, Outcome.PREEMPTED]
    assert record.content.start_s[0] == seconds("2026-11-30T07:43:28")
    assert {each.reason: each.rows for each in record.left_out} == {
        "repeating an end from another node": 1,
        "saying nothing of the end of a job": 1,
    }


def test_the_window_that_was_watched(tmp_path):
    """Ends outside of --since and --until are left out, and watching lasts as long as was said."""
    path = tmp_path / "slurm-1.out"
    line = "*** JOB {0} ON a CANCELLED AT 2026-11-0{0}T00:00:00 DUE TO NODE FAILURE ***\n"
    path.write_text("".join(line.format(day) for day in (1, 3, 5, 7)))
    record = job_output.read(path, SlurmOptions(watched_from="2026-11-02", watched_until="2026-11-06"))
    assert record.content.start_s.tolist() == [seconds("2026-11-03T00:00:00"), seconds("2026-11-05T00:00:00")]
    assert [each for each in record.left_out if each.rows == 2] == [("outside of --since and --until", 2)]
    window = (record.content.from_s[0], record.content.until_s[0], record.content.ends_at_last)
    assert window == (seconds("2026-11-02T00:00:00"), seconds("2026-11-06T00:00:00"), False)
    assert not any("begin with the first end" in warning for warning in record.warnings)


def test_an_hour_that_came_twice(tmp_path):
    """Nothing decides which of the two a line means, so it is said."""
    path = tmp_path / "slurm-1.out"
    path.write_text("*** JOB 1 ON a CANCELLED AT 2026-11-01T01:30:00 DUE TO NODE FAILURE ***\n")
    record = job_output.read(path, SlurmOptions(zone="America/New_York"))
    assert record.content.start_s.tolist() == [seconds("2026-11-01T05:30:00")]
    assert any("1 line in an hour that came twice" in warning for warning in record.warnings)


def test_output_without_an_end(tmp_path):
    """The output of a job that ended by itself says nothing of failures."""
    path = tmp_path / "out"
    path.write_text("loss 2.3\n*** JOB\n")
    assert not job_output.looks_like(path.read_bytes())
    with pytest.raises(InputError, match="no line of Slurm"):
        job_output.read(path)


@needs_data
@pytest.mark.parametrize(
    ("file", "message"),
    [("gen_sacct_default_columns.txt", "cut to the width.*where a state or a name was cut"),
     ("gcm_sample-sinfo-output.txt", "output of sinfo")],
)  # fmt: skip
def test_other_tables_of_slurm(file, message):
    """What is no failure record is refused by name, with the command that prints one."""
    start = (DATA / file).read_bytes()[:65536]
    assert other_tables.looks_like(start)
    with pytest.raises(InputError, match=message) as error:
        other_tables.read(DATA / file)
    assert "hint: run sacct -a -D -X -P --starttime 2026-01-01 -o JobID" in error.value.render()


@needs_data
def test_records_are_not_refused():
    """Only those two of the files are no records."""
    refused = {path.name for path in DATA.iterdir() if other_tables.looks_like(path.read_bytes()[:65536])}
    assert refused == {"gen_sacct_default_columns.txt", "gcm_sample-sinfo-output.txt"}


def test_squeue_is_refused_by_name():
    """A list of waiting jobs is no record."""
    assert "squeue" in other_tables.name_of(b"  JOBID PARTITION  NAME  USER ST  TIME  NODES NODELIST(REASON)\n")
