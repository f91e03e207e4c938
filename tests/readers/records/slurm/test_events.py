from __future__ import annotations

import csv

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.fit.combining import combined
from ckptplan.fit.counting import Counting
from ckptplan.fit.fitting import fit_record
from ckptplan.fit.record import Outcome
from ckptplan.readers.records.slurm import events
from ckptplan.readers.records.slurm.options import SlurmOptions
from tests.readers.records.slurm.plain import DATA, seconds

HEADER = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"


@pytest.fixture
def read(tmp_path):
    """Write a table of events and read it."""

    def reader(*rows, header=HEADER, **options):
        path = tmp_path / "events.txt"
        path.write_text("\n".join([header, *rows, ""]))
        return events.read(path, SlurmOptions(**options))

    return reader


def _left(record):
    return {each.reason: each.rows for each in record.left_out}


@pytest.mark.skipif(not DATA.exists(), reason="the failure data are not here")
def test_the_real_record():
    """Outages of the real cluster are those of a plain loop over its rows, with the two rows of one repair as one."""
    path = DATA / "gen_sacctmgr_event.txt"
    with path.open() as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="|") if row["NodeName"]]
    record = events.read(path, SlurmOptions(nodes=8))
    down = [row for row in rows if row["State"].startswith(("DOWN", "FAIL"))]
    failures = record.content.only(record.content.outcome == Outcome.FAILURE)
    assert sorted(failures.start_s) == sorted(seconds(row["TimeStart"]) for row in down)
    assert {failures.causes[code] for code in failures.cause} == {row["Reason"] for row in down}
    aside = record.content.only(record.content.outcome == Outcome.MAINTENANCE)
    assert (aside.end_s - aside.start_s).tolist() == [90.0]
    assert (record.rows, len(record.content.start_s), record.content.units) == (8, 6, 8)
    assert _left(record) == {
        "of the whole cluster, not of a node": 1,
        "continuing an outage of the row before": 1,
    }
    assert record.content.until_s[0] == seconds("2026-11-30T02:43:43")
    assert record.content.from_s[0] == seconds("2026-11-30T02:37:10")
    lasting = [row for row in down if row["TimeEnd"] == "Unknown"]
    assert int((failures.end_s == record.content.until_s[0]).sum()) == len(lasting) == 2
    assert int(np.isnan(record.recoveries.seconds).sum()) == 2


def test_outages_in_pieces(read):
    """Rows of a node that follow each other are one outage, a failure where one of them is one."""
    record = read(
        "c|n1|2026-01-01T00:00:00|2026-01-01T01:00:00|DRAIN|check|root",
        "c|n1|2026-01-01T01:00:00|2026-01-01T02:00:00|DOWN*|Not responding|root",
        "c|n1|2026-01-01T02:00:00|2026-01-01T03:00:00|DRAIN|repair|root",
        "c|n1|2026-01-01T05:00:00|2026-01-01T06:00:00|DOWN|fan|root",
        "c|n2|2026-01-01T01:00:00|2026-01-01T02:00:00|DOWN+DRAIN|scheduled maintenance|root",
        nodes=10,
    )
    hours = (record.content.start_s - seconds("2026-01-01T00:00:00")) / 3600
    assert hours.tolist() == [0, 5, 1]
    assert ((record.content.end_s - record.content.start_s) / 3600).tolist() == [3, 1, 1]
    assert record.content.outcome.tolist() == [Outcome.FAILURE, Outcome.FAILURE, Outcome.MAINTENANCE]
    assert [record.content.causes[code] for code in record.content.cause] == [
        "Not responding",
        "fan",
        "scheduled maintenance",
    ]
    np.testing.assert_array_equal(record.recoveries.seconds, [10800, 3600])


def test_the_number_of_nodes(read):
    """Without the number of all nodes only those that failed are known, and the record says so."""
    row = "c|n1|2026-01-01T00:00:00|2026-01-01T01:00:00|DOWN|x|root"
    assert read(row, nodes=100).content.units == 100
    seen = read(row)
    assert seen.content.units == 1
    assert any("--nodes" in warning for warning in seen.warnings)


def test_rows_that_cannot_be_used(read):
    """Torn rows and times that are none are counted; a reason may hold the delimiter."""
    record = read(
        "c|n1|2026-01-01T00:00:00|2026-01-01T01:00:00|DOWN|a|b|root",
        "c|n2|2026-01-01T00:0",
        "c|n3|yesterday|Unknown|DOWN|x|root",
        "c|n4|2026-01-01T02:00:00|2026-01-01T01:00:00|DOWN|x|root",
        nodes=10,
    )
    assert record.content.causes == ("a|b",)
    assert record.rows == 4 == len(record.content.start_s) + sum(_left(record).values())
    assert set(_left(record).values()) == {1}


def test_tables_of_events_are_known_by_their_header():
    """A table of sacct is none of events."""
    assert events.looks_like(HEADER.encode() + b"\n")
    assert not events.looks_like(b"JobID|State|Start|End|NodeList\n")


def test_a_header_alone(read):
    """A table without rows is an error that says so."""
    with pytest.raises(InputError, match="header alone"):
        read()


THREE = [f"c|n{day}|2026-06-0{day}T00:00:00|2026-06-0{day}T01:00:00|DOWN|x|root" for day in (1, 3, 5)]


def test_the_window_that_was_watched(read):
    """Nodes are watched from --since to --until, and outages outside are left out."""
    whole = read(*THREE, nodes=100, watched_from="2026-01-01", watched_until="2026-07-01T00:00:00")
    found = fit_record(combined([whole]), Counting())
    assert found.exposure.failures == 3
    assert found.exposure.exposure_s / 3600 == pytest.approx(100 * 24 * 181 - 3, rel=1e-12)
    part = read(*THREE, nodes=100, watched_from="2026-06-02", watched_until="3 d")
    assert part.content.start_s.tolist() == [seconds("2026-06-03T00:00:00")]
    assert _left(part) == {"outside of --since and --until": 2}
    assert fit_record(combined([part]), Counting()).exposure.exposure_s / 3600 == pytest.approx(100 * 48 - 1, rel=1e-12)


def test_a_node_that_was_away_when_watching_began(read):
    """Its outage began before and does not count; the node is at risk from its end on."""
    record = read(*THREE, nodes=4, watched_from="2026-06-01T00:15:00", watched_until="2026-06-01T01:15:00")
    assert len(record.content.start_s) == 0
    assert any("1 node already away" in warning for warning in record.warnings)
    assert fit_record(combined([record]), Counting()).exposure.exposure_s / 60 == pytest.approx(3 * 60 + 15, rel=1e-12)


def test_hours_that_came_twice(read):
    """An end before its start lies in the second hour; where nothing decides, it is said."""
    record = read(
        "c|n1|2026-11-01T01:50:00|2026-11-01T01:10:00|DOWN|x|root",
        "c|n2|2026-11-01T00:30:00|2026-11-01T01:10:00|DOWN|x|root",
        nodes=9,
        zone="America/New_York",
    )
    assert (record.content.end_s - record.content.start_s).tolist() == [1200, 2400]
    assert any("1 row in an hour that came twice" in warning for warning in record.warnings)
    assert any("1 row in an hour that came twice, decided by the end" in fact for fact in record.facts)


WINTER = {"nodes": 4, "watched_from": "2026-01-01", "watched_until": "2026-03-01"}


def _node_hours(record):
    return fit_record(combined([record]), Counting()).exposure.exposure_s / 3600


@pytest.mark.parametrize("end", ["Unknown", "None", "", "N/A", "unknown"])
@pytest.mark.parametrize("state", ["DOWN", "DRAIN"])
def test_outages_that_last(read, end, state):
    """An outage without an end takes the rest of the window from the time at risk, and is no repair time."""
    rows = [f"c|n{node}|2026-01-12T00:00:00|{{}}|{state}|gpu|root" for node in (1, 2)]
    rows.append("c|n3|2026-01-20T00:00:00|2026-01-21T00:00:00|DOWN|gpu|root")
    record = read(*(row.format(end) for row in rows), **WINTER)
    noted = read(*(row.format("2026-03-01T00:00:00") for row in rows), **WINTER)
    assert _node_hours(record) == _node_hours(noted) == 24 * (4 * 59 - 2 * 48 - 1)
    assert record.content.end_s.tolist() == noted.content.end_s.tolist()
    assert [one for one in record.recoveries.seconds if np.isfinite(one)] == [86_400]
    assert any("2 outages without an end: away until 2026-03-01" in fact for fact in record.facts)


def test_an_outage_that_lasts_since_before_the_window(read):
    """A node that went away before --since and did not come back is at risk at no time."""
    record = read(
        "c|n1|2025-12-12T00:00:00|Unknown|DOWN|gpu|root",
        "c|n2|2026-01-05T00:00:00|2026-01-05T01:00:00|DOWN|gpu|root",
        **WINTER,
    )
    assert _node_hours(record) == 24 * 3 * 59 - 1
    assert record.content.units == 4


def test_an_end_that_was_not_noted(read):
    """Where another outage of the node follows, also one behind the window, the node was up again at once."""
    for later, hours in (("02", 1), ("05", 0)):
        after = f"c|n1|2026-{later}-02T00:00:00|2026-{later}-02T01:00:00|DOWN|gpu|root"
        record = read("c|n1|2026-01-12T00:00:00|Unknown|DOWN|gpu|root", after, **WINTER)
        assert _node_hours(record) == 24 * 4 * 59 - hours
        assert any("1 outage without an end, followed by another" in fact for fact in record.facts)
