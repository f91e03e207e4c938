from __future__ import annotations

import json

import numpy as np
import pytest

from ckptplan.errors import InputError
from ckptplan.readers.records.failures import read_record
from ckptplan.readers.records.slurm import json_jobs, sacct, sacct_json
from ckptplan.readers.records.slurm.options import SlurmOptions
from tests.readers.records.slurm.plain import DATA, elapsed, rows_of, seconds

META = {"meta": {"plugin": {"type": "openapi/dbv0.0.37"}, "Slurm": {"release": "21.08.8"}}, "errors": []}


def _unset(number):
    return {"set": number is not None, "infinite": False, "number": number or 0}


def _job(row, newer):
    """One row of sacct as an object of its JSON, in the shape of old or of new Slurm."""
    code, signal = (int(part) for part in row["ExitCode"].split(":"))
    base, _, part = row["JobID"].partition("+")
    base, _, task = base.partition("_")
    state, _, by = row["State"].partition(" by ")
    start, end = (None if row[name] in ("None", "Unknown") else int(seconds(row[name])) for name in ("Start", "End"))
    number = _unset if newer else (lambda value: value)
    signals = {"signal": {"id": _unset(signal or None), "name": ""}} if newer else {"signal": {"signal_id": signal}}
    return {
        "account": row["Account"],
        "allocation_nodes": int(row["NNodes"]),
        "array": {"job_id": int(base) if task else 0, "task_id": number(int(task) if task else None)},
        "het": {"job_id": int(base) if part else 0, "job_offset": number(int(part) if part else None)},
        "exit_code": {"status": "X", "return_code": number(code), **(signals if signal or newer else {})},
        "job_id": int(row["JobIDRaw"]),
        "kill_request_user": {"0": "root", "": None}.get(by, by),
        "name": row["JobName"],
        "nodes": row["NodeList"],
        "partition": row["Partition"],
        "state": {"current": [state] if newer else state, "reason": "None"},
        "steps": [],
        "time": {"elapsed": elapsed(row["Elapsed"]), "start": start or 0, "end": end or 0, "submission": 1},
        "tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 8}, {"type": "node", "name": "", "count": 2}]},
        "user": row["User"],
    }


def _same(one, other):
    """Two records of the same allocations in the same order."""
    for name in ("start_s", "end_s", "outcome", "nodes", "job"):
        np.testing.assert_array_equal(getattr(one.content, name), getattr(other.content, name))
    causes = [[record.content.causes[code] for code in record.content.cause] for record in (one, other)]
    assert causes[0] == causes[1]


@pytest.mark.skipif(not DATA.exists(), reason="the failure data are not here")
@pytest.mark.parametrize("newer", [False, True])
@pytest.mark.parametrize("indent", [None, 3])
@pytest.mark.parametrize("chunk", [50, 4_000_000])
def test_json_and_table_agree(tmp_path, monkeypatch, newer, indent, chunk):
    """The real record as JSON of old and of new Slurm gives the allocations of its table, in pieces of any size."""
    monkeypatch.setattr(json_jobs, "CHUNK", chunk)
    jobs: list[dict] = []
    for row in rows_of(DATA / "gen_sacct_dup_parsable2.txt"):
        if "." in row["JobID"]:
            jobs[-1]["steps"].append({"step": {"id": row["JobID"]}, "nodes": {"list": ["gpu[1]"]}})
        else:
            jobs.append(_job(row, newer))
    path = tmp_path / "sacct.json"
    path.write_text(json.dumps({**META, "jobs": jobs, "warnings": []}, indent=indent))
    assert sacct_json.looks_like(path.read_bytes()[:65536])
    record = sacct_json.read(path)
    table = sacct.read(DATA / "gen_sacct_dup_parsable2.txt")
    _same(record, table)
    assert record.rows == table.rows
    assert {each for each in record.left_out if "heterogeneous" in each.reason or "steps" in each.reason} == {
        each for each in table.left_out if "heterogeneous" in each.reason or "steps" in each.reason
    }
    assert record.zone is None  # seconds since 1970 need none
    assert set(record.content.gpus.tolist()) <= {8.0, 16.0}
    assert ("unset" in record.format) == newer


@pytest.fixture
def read(tmp_path):
    """Write a document and read it."""

    def reader(content, **options):
        path = tmp_path / "sacct.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return sacct_json.read(path, SlurmOptions(**options))

    return reader


GOOD = {
    "job_id": 1, "state": {"current": ["NODE_FAIL", "REQUEUED"]}, "allocation_nodes": 4, "name": "a", "account": "b",
    "time": {"start": 1_700_000_000, "end": 1_700_003_600, "elapsed": 3600},
}  # fmt: skip


def test_strange_jobs(read):
    """Entries that are no jobs are counted and never fatal; numbers that are not set are none."""
    odd = [None, 3, "x", [], {}, {"job_id": {"set": False, "infinite": False, "number": 0}, "state": "X"}]
    odd += [{**GOOD, "job_id": True}, {**GOOD, "state": {"current": []}}, {**GOOD, "job_id": 1e400}]
    infinite = {
        **GOOD,
        "job_id": 2,
        "time": {"start": {"set": True, "infinite": True, "number": 9}, "end": 5, "elapsed": 1},
    }
    record = read(json.dumps({"jobs": [GOOD, *odd, infinite]}))
    assert len(record.content.start_s) == 1
    assert {each.reason: each.rows for each in record.left_out} == {
        "without an id or a state": len(odd),
        "never started (pending, or cancelled while pending)": 1,
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no JSON object"), ("[1]", "no JSON object"), ("{", "no JSON"), ('{"jobs": [}', "is no JSON"),
        ('{"meta": {}, "errors": [{"description": "no database"}]}', "no list of jobs.*no database"),
        ('{"jobs": []}', "no matching jobs"), ('{"jobs": {}}', "no list of jobs"), ('{"jobs" 3}', "without a value"),
        ('{"jobs": [' + "[" * 100_000, "nested too deeply"), ('{"jobs": [{"job_id"', "cut off within its first job"),
        ('{"meta": ' + '{"a":' * 100_000, "nested too deeply"),
        ('{"jobs": [{"job_id": 1, "job_state": "RUNNING", "state": "RUNNING"}]}', "no job has an id"),
        ('{"a": nope, "jobs": []}', "is no JSON"), (b'{"jobs": [\xff]}', "is no JSON"), ('{1: 2}', "without a value"),
    ],
)  # fmt: skip
def test_documents_that_cannot_be_used(read, content, message):
    """Every fault of a document is one clear error."""
    with pytest.raises(InputError, match=message):
        read(content)


def test_the_window_that_was_watched(read):
    """Runs are cut to the time between --since and --until, as those of a table are."""
    later = {**GOOD, "job_id": 2, "time": {"start": 1_700_003_000, "end": 1_700_009_000, "elapsed": 6000}}
    after = {**GOOD, "job_id": 3, "time": {"start": 1_700_010_000, "end": 1_700_019_000, "elapsed": 9000}}
    document = json.dumps({"jobs": [GOOD, later, after]})
    record = read(document, watched_from="2023-11-14T22:30:00", watched_until=1_700_006_000)
    assert record.content.start_s.tolist() == [1_700_001_000, 1_700_003_000]
    assert record.content.end_s.tolist() == [1_700_003_600, 1_700_006_000]
    assert record.content.outcome.tolist() == [1, 0]
    assert record.content.names[:2] == ("1", "2")
    assert [(each.reason, each.rows) for each in record.left_out] == [("outside of --since and --until", 1)]


def test_huge_numbers(read):
    """A number of many digits is no time and no error."""
    text = json.dumps({"jobs": [GOOD, {**GOOD, "job_id": 2, "allocation_nodes": 0}]})
    record = read(text.replace('"allocation_nodes": 0', '"allocation_nodes": ' + "9" * 10_000))
    np.testing.assert_array_equal(record.content.nodes, [4, np.nan])


def test_a_document_that_is_cut_off(read):
    """The whole jobs of a document that is cut off are used, and a warning says so."""
    text = json.dumps({"jobs": [GOOD, {**GOOD, "job_id": 2}, {**GOOD, "job_id": 3}]})
    record = read(text[: text.rindex('"job_id": 3') + 20])
    assert len(record.content.start_s) == 2
    assert any("cut off" in warning for warning in record.warnings)


def test_a_job_without_end(read, monkeypatch):
    """One value that never ends is refused once it takes more than a job can."""
    monkeypatch.setattr(json_jobs, "CHUNK", 1000)
    monkeypatch.setattr(json_jobs, "LARGEST_JOB", 10_000)
    with pytest.raises(InputError, match="one value takes more than"):
        read('{"jobs": [{"name": "' + "x" * 100_000)


@pytest.mark.parametrize(
    ("start", "taken"),
    [
        (b'{"meta": {"Slurm": {}}, "jobs": [', True), (b'\xef\xbb\xbf\n{"jobs": [{"account": "a"', True),
        (b'{"jobs": []}', True), (b'{"jobs": [{"job_state": "R", "account": "a"}]}', False), (b'{"time": 3}', False),
        (b'[{"jobs": []}]', False), (b"", False), (b"jobs", False),
        (b'{"jobs": [{"job_id": 7, "state": {"current": ["NODE_FAIL"]}, "time": {', True),
        (b'{"jobs": [{"time": {}, "state": {"current": ["NODE_FAIL"]}, "job_id": 7', True),
        (b'{"jobs": [{"job_id": 7, "job_state": ["RUNNING"], "state": {', False),
        (b'{"jobs": [{"job_id": 7, "status": "ok"', False), (b'{"jobs": [{"id": 7, "state": "ok"', False),
    ],
)  # fmt: skip
def test_recognition(start, taken):
    """JSON is taken where it lists jobs as accounting does."""
    assert sacct_json.looks_like(start) is taken


def test_what_jq_leaves_of_jobs(tmp_path):
    """Jobs with an id, a state, times and resources, and no account, are recognised and read."""
    tres = {"allocated": [{"type": "node", "name": "", "count": 2}, {"type": "gres", "name": "gpu", "count": 16}]}
    job = {name: GOOD[name] for name in ("job_id", "state", "time")}
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"jobs": [{**job, "tres": tres}, {**job, "tres": tres, "job_id": 2}]}))
    content = read_record(path).content
    assert (content.nodes.tolist(), content.gpus.tolist()) == ([2, 2], [16, 16])
    assert content.outcome.tolist() == [1, 1]
