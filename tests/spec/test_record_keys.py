"""A record of failures and a measurement of storage that a spec names, by what their files say."""

from __future__ import annotations

import pytest

from ckptplan.cost.scenario import EXPONENTIAL, Law, LawName
from ckptplan.errors import InputError, Place, Problem
from ckptplan.fit.counting import Counting, Per
from ckptplan.fit.ends import Recovery
from ckptplan.fit.planning import OtherClass, RecordedFailures
from ckptplan.fit.record import Outcome
from ckptplan.readers.records.column_roles import ROLES as ROLES_OF_READERS
from ckptplan.spec.named_files import StorageRates
from ckptplan.spec.reading import read_spec
from ckptplan.spec.schema_record import ROLES
from tests.spec.broken import GOOD

_HOUR_S = 3600.0
FOUND = RecordedFailures(
    failures=20,
    until_failure=False,
    over_s=1000 * _HOUR_S,
    gpus=256.0,
    law=EXPONENTIAL,
    law_reason="",
    others=(),
    recovery=None,
    warnings=("the rate changes",),
    text="20 failures in 100 rows",
)


class _Files:
    """Says what it was made with, and keeps what it was asked."""

    def __init__(self, found=FOUND, rates=None):
        self.found, self.rates, self.asked = found, rates, []

    def failures(self, names, keys, counting):
        self.asked.append((" ".join(names), dict(keys), counting))
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    def storage(self, name):
        return self.rates


def _spec(failures="{record: sacct.txt}", files=None, **changes):
    text = GOOD.replace("{mtbf_per_gpu: 50_000 h}", failures)
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    return read_spec(text.encode(), "run.yaml", files=files or _Files())


def test_a_record_is_a_count_over_the_gpu_hours_that_it_saw():
    """20 failures in 1,000 h of 256 GPUs, scaled to the 512 of the spec, with their evidence."""
    spec = _spec()
    failures = spec.scenario.failures
    assert failures.source == "record"
    assert failures.mtbf_per_gpu_s == pytest.approx(1000 * _HOUR_S * 256 / 20)
    assert (failures.evidence.failures, failures.evidence.exposure_gpu_s) == (20, 1000 * _HOUR_S * 256)
    assert "the rate changes" in [warning.message for warning in spec.warnings]
    assert any(v.key == "failures.record" and v.text == FOUND.text and v.origin == "run.yaml:4" for v in spec.values)


def test_the_name_alone_and_the_group_say_the_same():
    """A value in place of the group is the file."""
    alone, group = _Files(), _Files()
    assert _spec(files=alone).scenario == _spec("{record: {file: sacct.txt}}", group).scenario
    assert alone.asked == group.asked == [("sacct.txt", {}, Counting(gpus_per_node=8))]


def test_a_record_may_have_several_files():
    """A list in place of the name, alone or in the group."""
    alone, group = _Files(), _Files()
    _spec("{record: [jan.txt, feb.txt]}", alone)
    _spec("{record: {file: [jan.txt, feb.txt], per: job}}", group)
    assert [asked[0] for asked in alone.asked + group.asked] == ["jan.txt feb.txt"] * 2


def test_every_key_reaches_the_reader_or_the_counting():
    """What is written is what is asked: names as written, times in seconds."""
    files = _Files()
    keys = (
        "file: a.csv, format: csv, zone: Europe/Paris, unit: h, date_order: dmy, since: 2026-01-01, until: 2026-02-01, "
        "minimum_run: 30 min, exit_codes: [1, 137], job_name: pre*, user: u, account: a, partition: p, "
        "columns: {time: failed_at}, per: gpu, count: [failures, preemptions], merge: 2 min, part: recent, gpus: 64, "
        "gpus_per_node: 4, nodes: 16"
    )
    _spec(f"{{record: {{{keys}}}}}", files)
    ((name, asked, counting),) = files.asked
    assert name == "a.csv"
    assert asked == {
        "format": "csv",
        "zone": "Europe/Paris",
        "unit": "h",
        "date_order": "dmy",
        "since": "2026-01-01",
        "until": "2026-02-01",
        "nodes": 16,
        "minimum_run": 1800.0,
        "exit_codes": ("1", "137"),
        "job_name": "pre*",
        "user": "u",
        "account": "a",
        "partition": "p",
        "columns": (("time", "failed_at"),),
    }
    outcomes = frozenset({Outcome.FAILURE, Outcome.PREEMPTED})
    assert counting == Counting(Per.GPU, outcomes, 120.0, 64, 4, 16, recent=True)


def test_roles_of_columns_are_those_of_the_readers():
    """The spec names no role that a reader does not know, and leaves none out."""
    assert set(ROLES) == set(ROLES_OF_READERS)


def test_a_record_of_unknown_size_is_taken_for_the_planned_job_and_says_so():
    """Without GPUs in the record the count is of a job of the planned size."""
    spec = _spec(files=_Files(FOUND._replace(gpus=None)))
    assert spec.scenario.failures.mtbf_per_gpu_s == pytest.approx(1000 * _HOUR_S * 512 / 20)
    assert any("does not say how many GPUs" in warning.message for warning in spec.warnings)


def test_a_record_without_a_failure_is_planned_by_the_prior_of_jeffreys():
    """Half a failure in what was seen, as for interruptions with a count of 0."""
    failures = _spec(files=_Files(FOUND._replace(failures=0))).scenario.failures
    assert failures.mtbf_per_gpu_s == pytest.approx(1000 * _HOUR_S * 256 / 0.5)
    assert failures.evidence.failures == 0


def test_warnings_of_a_record_speak_of_keys_of_the_spec():
    """--tz of the command line is zone here, --recent is part: recent."""
    text = "say --until or --tz; --recent counts these alone, --recorded-gpus N says the GPUs; sacct --starttime X"
    spec = _spec(files=_Files(FOUND._replace(warnings=(text,))))
    said = "say until or zone; part: recent counts these alone, gpus N says the GPUs; sacct --starttime X"
    assert said in [warning.message for warning in spec.warnings]


def test_preemptions_of_a_record_are_a_class_unless_the_spec_has_its_own():
    """They interrupt too; classes of the spec are the word of the user."""
    files = _Files(FOUND._replace(others=(OtherClass("preemption", 5, 200 * _HOUR_S),)))
    (found,) = _spec(files=files).scenario.failures.classes
    assert (found.name, found.mtbf_per_gpu_s) == ("preemption", 200 * _HOUR_S * 256)
    own = _spec("{record: a.txt, classes: [{kind: hang, share: 10 %}]}", files)
    assert [one.name for one in own.scenario.failures.classes] == ["hang"]
    assert any("5 of preemption in the record are not counted" in warning.message for warning in own.warnings)


@pytest.mark.parametrize(("gpus", "taken"), [(512.0, True), (256.0, False), (None, True)])
def test_the_law_of_a_record_holds_for_a_job_of_its_size_only(gpus, taken):
    """Laws do not scale with the number of nodes as means do."""
    law = Law(LawName.WEIBULL, 0.6)
    spec = _spec(files=_Files(FOUND._replace(law=law, law_reason="weibull fits best", gpus=gpus)))
    assert spec.scenario.failures.law == (law if taken else EXPONENTIAL)
    assert any("of a job of another size" in warning.message for warning in spec.warnings) is not taken


def test_a_law_of_the_spec_wins_over_that_of_the_record():
    """The user knows better."""
    files = _Files(FOUND._replace(law=Law(LawName.WEIBULL, 0.6), gpus=512.0))
    assert _spec("{record: a.txt, law: {name: gamma, shape: 2}}", files).scenario.failures.law.name is LawName.GAMMA


@pytest.mark.parametrize(("phase", "total_s"), [("outage", 900.0), ("requeue", 600.0)])
def test_a_restart_that_is_left_out_is_read_from_the_record_where_it_shows_all_of_it(phase, total_s):
    """Outages last until the job runs again; a requeue is a part, and 10 min stay assumed with a warning."""
    files = _Files(FOUND._replace(recovery=Recovery(phase, 12, 900.0, 800.0, 1500.0, 0.4)))
    spec = _spec(files=files, restart=("restart: {total: 10 min}\n", ""))
    assert spec.scenario.restart.total_s == total_s
    assert any("record shows a requeue of 900 s" in warning.message for warning in spec.warnings) is (phase != "outage")


def test_faults_of_the_record_stand_where_the_record_has_them():
    """A bad line of the record is reported in the record, and the file itself at the key that names it."""
    inside = InputError(Problem("no time", Place("sacct.txt", 7), hint="write one"))
    with pytest.raises(InputError) as caught:
        _spec(files=_Files(inside))
    (problem,) = caught.value.problems
    assert (str(problem.place), problem.message) == ("sacct.txt:7", "no time")
    with pytest.raises(InputError) as caught:
        _spec(files=_Files(InputError("is empty", hint="name another")))
    assert (caught.value.problems[0].key, caught.value.problems[0].place.line) == ("failures.record.file", 4)


def test_a_prior_is_weighed_against_the_count_of_a_record():
    """(t + b0)/(k + a0) as for interruptions."""
    spec = _spec("{record: a.txt, prior: {shape: 4, mtbf_per_gpu: 30_000 h}}")
    weighed_s = (1000 * 256 + 4 * 30_000) * _HOUR_S / (20 + 4)
    assert spec.scenario.failures.mtbf_per_gpu_s == pytest.approx(weighed_s)


def test_flags_set_the_record_or_one_of_its_keys():
    """--set failures.record=FILE replaces another source; a key below it is added to a file written alone."""
    files = _Files()
    read_spec(GOOD.encode(), "run.yaml", sets=["failures.record=b.txt"], files=files)
    text = GOOD.replace("{mtbf_per_gpu: 50_000 h}", "{record: a.txt}").encode()
    read_spec(text, "run.yaml", sets=["failures.record.per=job"], files=files)
    assert [(name, counting.per) for name, _, counting in files.asked] == [("b.txt", None), ("a.txt", Per.JOB)]


_RATES = StorageRates(
    {"write_bandwidth_per_node": 12e9, "write_bandwidth_per_writer": 1.5e9},
    {"write_bandwidth_per_node": 0.1},
    ("too short a run",),
)
_MEASURED = ("storage: {write_bandwidth: 10 GB/s,", "storage: {measured: fio.json, write_bandwidth: 10 GB/s,")


def test_a_measurement_gives_the_rates_that_the_spec_does_not():
    """Bandwidths per node and writer from the file, the aggregate one from the spec, scatter as a spread."""
    spec = _spec("{mtbf: 3 h}", _Files(rates=_RATES), measured=_MEASURED)
    storage = spec.scenario.storage
    assert storage.write_bandwidth_bytes_per_s == 10e9
    assert storage.write_bandwidth_per_node_bytes_per_s == 12e9
    assert storage.write_bandwidth_per_writer_bytes_per_s == 1.5e9
    assert spec.spreads["storage.write_bandwidth_per_node"].cv == 0.1
    assert [warning.message for warning in spec.warnings] == ["too short a run"]
    shown = {value.key: value.origin for value in spec.values}
    assert shown["storage.write_bandwidth_per_writer"] == "fio.json (run.yaml:5)"


def test_a_rate_that_is_also_written_leaves_that_of_the_measurement_without_effect():
    """That is said: one of the two is superfluous."""
    files = _Files(rates=StorageRates({"write_bandwidth": 1e9}, {}))
    spec = _spec("{mtbf: 3 h}", files, measured=_MEASURED)
    assert spec.scenario.storage.write_bandwidth_bytes_per_s == 10e9
    assert any("write_bandwidth in it is not used" in warning.message for warning in spec.warnings)


def test_a_measurement_is_stronger_than_a_preset_and_a_flag_than_the_file():
    """Flag > environment > spec > preset, for the rates of a measurement as for any other value."""
    files = _Files(rates=StorageRates({"write_bandwidth": 1e9}, {}))
    preset = ("storage: {write_bandwidth: 10 GB/s,", "storage: {preset: lustre-large, measured: fio.json,")
    assert _spec("{mtbf: 3 h}", files, measured=preset).scenario.storage.write_bandwidth_bytes_per_s == 1e9
    by_flag = read_spec(GOOD.encode(), "run.yaml", sets=["storage.measured=fio.json"], files=files)
    assert by_flag.scenario.storage.write_bandwidth_bytes_per_s == 1e9
    environment = {"CKPTPLAN_SPEC__STORAGE__WRITE_BANDWIDTH": "7 GB/s"}
    over_file = read_spec(GOOD.replace(*_MEASURED).encode(), "run.yaml", environment=environment, files=files)
    assert over_file.scenario.storage.write_bandwidth_bytes_per_s == 7e9
