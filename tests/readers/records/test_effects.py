from __future__ import annotations

import pytest

from ckptplan.readers.records.asked import record_options
from ckptplan.readers.records.effects import without_effect
from ckptplan.readers.records.failures import FORMATS, read_record
from tests.readers.records.recorded import COLLECTION, needs_collection

OF_SLURM = {
    "job_name": "x",
    "user": "bob",
    "account": "a",
    "partition": "p",
    "minimum_run": 3600.0,
    "exit_codes": ("1",),
}
CSV = "time,cause\n2026-01-01T00:00:00Z,a\n2026-01-02T00:00:00Z,b\n2026-01-04T00:00:00Z,c\n"
SACCT = (
    "JobID|State|ExitCode|Start|End|NNodes\n"
    "1|FAILED|1:0|2026-01-01T00:00:00|2026-01-02T00:00:00|4\n"
    "2|COMPLETED|0:0|2026-01-02T00:00:00|2026-01-05T00:00:00|4\n"
)


def _idle(tmp_path, text, **keys):
    path = tmp_path / "record"
    path.write_text(text)
    return [said for said in read_record(str(path), record_options(keys)).warnings if "no effect" in said]


def test_choices_of_jobs_are_said_of_a_table_that_has_none(tmp_path):
    """Options of Slurm on CSV are named as the spec and as the command line call them; one by one as well."""
    (said,) = _idle(tmp_path, CSV, **OF_SLURM)
    assert said.endswith("have no effect on CSV, which is no record of Slurm's jobs.")
    for key in OF_SLURM:
        assert f"{key} (--{key.replace('_codes', '_code').replace('_', '-')})" in said
    assert "user (--user) has no effect on CSV" in _idle(tmp_path, CSV, user="bob")[0]


def test_options_that_are_obeyed_are_not_said(tmp_path):
    """What counts for a file, and what was not given, makes no warning."""
    assert not _idle(tmp_path, CSV)
    assert not _idle(tmp_path, CSV, zone="Europe/Paris", since="2026-01-01", until="2026-02-01", nodes=5)
    assert not _idle(tmp_path, CSV, columns=(("time", "time"),))
    assert not _idle(tmp_path, "time\n1\n5\n9\n", unit="h")
    assert not _idle(tmp_path, "time\n2/1/2026\n3/1/2026\n", date_order="dmy")
    assert not _idle(tmp_path, "gap\n5\n3\n", unit="h")


@pytest.mark.parametrize(
    ("text", "keys", "named"),
    [
        (CSV, {"unit": "h"}, "unit (--unit)"),
        (CSV, {"date_order": "mdy"}, "date_order (--date-order)"),
        ("time_h\n1\n5\n", {"unit": "d"}, "unit (--unit)"),
        ("gap_h\n1\n5\n", {"since": "2026-01-01"}, "since (--since)"),
        ("gap_h\n1\n5\n", {"zone": "Europe/Paris", "until": "9 h"}, "zone (--tz), until (--until)"),
        ("0,add,a\n9,remove,a\n", {"zone": "Europe/Paris"}, "zone (--tz)"),
        ("0,add,a\n9,remove,a\n", {"user": "bob"}, "user (--user)"),
        ("component,count\nGPU,5\n", {"since": "2026-01-01"}, "since (--since)"),
        (SACCT, {"columns": (("time", "End"),)}, "columns (--column)"),
        (SACCT, {"unit": "h", "date_order": "mdy"}, "unit (--unit), date_order (--date-order)"),
        ('{"time": 5}\n{"time": 9}\n', {"partition": "x"}, "partition (--partition)"),
    ],
)
def test_every_format_says_what_it_cannot_obey(tmp_path, text, keys, named):
    """An option that changes nothing is a warning, whatever the format."""
    (said,) = _idle(tmp_path, text, **keys)
    assert said.startswith(f"{named} ha")


def test_slurm_obeys_its_own(tmp_path):
    """Options of Slurm's jobs make no warning on a table of jobs."""
    assert not _idle(tmp_path, SACCT, minimum_run=60.0, exit_codes=("1",), zone="Europe/Paris")


@needs_collection
def test_the_published_outages_obey_their_zone():
    """LANL's stamps have none."""
    path = COLLECTION / "lanl" / "lanl_system8.csv"
    assert not any("no effect" in said for said in read_record(path, record_options({"zone": "UTC"})).warnings)
    assert any("unit (--unit)" in said for said in read_record(path, record_options({"unit": "h"})).warnings)


def test_every_name_that_a_format_obeys_is_known():
    """An option that is misspelt in the list of formats would be said to have no effect."""
    options = record_options(
        {**OF_SLURM, "zone": "UTC", "since": "1 h", "until": "2 h", "unit": "h", "date_order": "mdy"}
    )
    for name, form in FORMATS.items():
        if form.obeys is not None:
            idle = "".join(without_effect(options, form.obeys, name))
            assert idle.count("(--") == 11 - len(form.obeys)
