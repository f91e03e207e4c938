"""Hours that came twice, checked against every combination of readings tried one by one."""

from __future__ import annotations

import itertools
from zoneinfo import ZoneInfo

import numpy as np

from ckptplan.readers.records.slurm import repeated_hour, sacct
from ckptplan.readers.records.slurm.options import SlurmOptions
from ckptplan.readers.records.slurm.repeated_hour import read_twice
from ckptplan.readers.records.stamps import clock, parse_stamps
from tests.readers.records.slurm.plain import seconds

NEW_YORK = ZoneInfo("America/New_York")
EDT, EST = 4 * 3600, 5 * 3600


def _read(*rows, elapsed=None, jobs=None):
    """Attempts of one night as (start, end) of the wall clock -> starts and ends [min] in UTC, decided, undecided."""
    start, end = (
        parse_stamps([f"2026-11-01T{t}" if t else "Unknown" for t in column]) for column in zip(*rows, strict=True)
    )
    count = len(rows)
    job = np.array(jobs or [0] * count, np.int32)
    ran = np.array([np.nan] * count if elapsed is None else elapsed, float)
    found = read_twice(job, (start, end), ran, clock("America/New_York"), np.ones(count, bool))
    midnight = seconds("2026-11-01T00:00:00")
    return *(((t - midnight) / 60).tolist() for t in found[:2]), found.decided, found.undecided


def test_the_attempt_before_decides():
    """An attempt cannot begin before the one before has ended: two of 1 h and 2 h, not of 1 h and 3 h."""
    starts, ends, decided, undecided = _read(("00:30", "01:30"), ("01:20", "03:20"))
    assert [end - start for start, end in zip(starts, ends, strict=True)] == [60, 120]
    assert (decided, undecided) == (2, 0)


def test_the_attempt_after_decides():
    """An attempt must have ended when the next begins."""
    starts, ends, decided, undecided = _read(("00:10", "01:40"), ("01:50:00", "01:20"))
    assert starts == [4 * 60 + 10, 5 * 60 + 50]
    assert ends == [5 * 60 + 40, 6 * 60 + 20]
    assert (decided, undecided) == (2, 0)


def test_nothing_decides():
    """Without elapsed time and neighbours the first reading counts, and the row is counted."""
    starts, ends, decided, undecided = _read(("00:30", "01:30"))
    assert (ends[0] - starts[0], decided, undecided) == (60, 0, 1)
    apart = _read(("00:30", "01:30"), ("01:20", "03:20"), jobs=[0, 1])
    assert apart[2:] == (0, 2)


def test_elapsed_time_outranks_the_neighbours():
    """A time that Slurm measured is not changed to put attempts in order."""
    starts, ends, decided, undecided = _read(("00:30", "01:30"), ("01:20", "03:20"), elapsed=[3600, 10_800])
    assert [end - start for start, end in zip(starts, ends, strict=True)] == [60, 180]
    assert (decided, undecided) == (2, 0)


def test_elapsed_time_of_two_open_stamps():
    """Half an hour within the hour that came twice may be in either of them; only the attempt before can tell."""
    assert _read(("01:10", "01:40"), elapsed=[1800])[2:] == (0, 1)
    starts, _, decided, undecided = _read(("00:50", "01:20"), ("01:10", "01:40"), elapsed=[1800, 1800])
    assert (starts, decided, undecided) == ([4 * 60 + 50, 6 * 60 + 10], 2, 0)


def test_a_row_that_is_there_twice_is_one_attempt():
    """Rows of two reports that overlap are not attempts one after another."""
    once = _read(("00:50", "01:05"), ("01:10", "01:40"))
    twice = _read(("00:50", "01:05"), ("01:10", "01:40"), ("00:50", "01:05"), ("01:10", "01:40"), ("01:10", ""))
    assert once[0] * 2 == twice[0][:4]
    assert once[1] * 2 == twice[1][:4]
    assert twice[0][4] == twice[0][1]


def test_every_combination():
    """Of attempts with random gaps the readings found cost no more than any other combination of readings."""
    rng = np.random.default_rng(7)
    exact = 0
    for _ in range(150):
        times = np.cumsum(rng.integers(300, 2400, 6)) + seconds("2026-11-01T04:20:00")  # 00:20 EDT
        wall = [np.datetime64(int(t - (EDT if t < seconds("2026-11-01T06:00:00") else EST)), "s") for t in times]
        rows = [(str(a)[11:], str(b)[11:]) for a, b in zip(wall[::2], wall[1::2], strict=True)]
        starts, ends, _, undecided = _read(*rows)
        found = [seconds("2026-11-01T00:00:00") + 60 * t for pair in zip(starts, ends, strict=True) for t in pair]
        possible = [
            combination
            for combination in itertools.product(*(_both(str(t)) for t in wall))
            if all(np.diff(combination) >= 0)
        ]
        assert any(np.allclose(found, combination, atol=1e-3, rtol=0) for combination in possible)
        several = [len({round(c[k]) for c in possible}) > 1 for k in range(6)]
        assert undecided == sum(several[k] or several[k + 1] for k in (0, 2, 4))
        exact += undecided == 0
        assert undecided or np.allclose(found, times, atol=1e-3, rtol=0)
    assert exact > 20


def _both(text):
    """Both readings of a wall-clock time by the standard library."""
    return {np.datetime64(text).item().replace(tzinfo=NEW_YORK, fold=fold).timestamp() for fold in (0, 1)}


def test_very_many_rows_of_one_night(monkeypatch):
    """Neighbours of more rows than a night can have are not asked, and what is open is still counted."""
    monkeypatch.setattr(repeated_hour, "MOST_CHAINED", 1)
    assert _read(("00:30", "01:30"), ("01:20", "03:20"))[2:] == (0, 2)


def test_the_record_says_so(tmp_path):
    """The table of the two attempts holds 48 node-hours, and nothing is out of order."""
    path = tmp_path / "sacct.txt"
    rows = ("2026-11-01T00:30:00|2026-11-01T01:30:00|16", "2026-11-01T01:20:00|2026-11-01T03:20:00|16")
    path.write_text("JobID|JobName|State|Start|End|NNodes\n" + "".join(f"1|t|NODE_FAIL|{row}\n" for row in rows))
    record = sacct.read(path, SlurmOptions(zone="America/New_York"))
    run = record.content.end_s - record.content.start_s
    assert np.sum(run * record.content.nodes) / 3600 == 48
    assert not any("out of order" in warning for warning in record.warnings)
    assert any("2 rows in an hour that came twice, decided" in fact for fact in record.facts)
    path.write_text(f"JobID|State|Start|End|NNodes\n1|NODE_FAIL|{rows[0]}\n")
    alone = sacct.read(path, SlurmOptions(zone="America/New_York"))
    assert any("1 row in an hour that came twice" in warning for warning in alone.warnings)
