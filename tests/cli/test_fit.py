"""``ckptplan fit`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
import os
import re

import jsonschema
import numpy as np
import pytest
import yaml

from ckptplan.cli.edge import run
from ckptplan.render.schemas import output_schema
from ckptplan.spec.reading import read_spec
from tests.cli.harness import ckptplan

_ROWS = 60
EVENTS = "failed_at,reason\n" + "".join(
    f"2026-0{1 + n // 28}-{1 + n % 28:02d}T{(7 * n) % 24:02d}:{(13 * n) % 60:02d}:00Z,{'Xid 79' if n % 3 else 'hang'}\n"
    for n in range(_ROWS)
)
_SPEC = """\
name: pasted
model: {{parameters: 70e9}}
cluster: {{gpus: 512, gpus_per_node: 8}}
{block}
save: [{{mode: sharded, stall: 60 s}}]
restart: {{total: 10 min}}
"""


@pytest.fixture(autouse=True)
def _no_width(monkeypatch):
    """A parallel test run sets a width."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def events(tmp_path):
    """A record of 60 stamps with their causes."""
    path = tmp_path / "events.csv"
    path.write_text(EVENTS, encoding="utf-8")
    return path


def _fit(*arguments, capsys):
    code = run(["fit", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def _document(*arguments, capsys):
    code, out, err = _fit(*arguments, "--format", "json", capsys=capsys)
    assert code == 0, err
    document = json.loads(out)
    jsonschema.validate(document, output_schema("fit"))
    return document


def test_the_rate_comes_first(events, capsys):
    """The first line names the file, the count, the rate and its interval; then the planned job."""
    code, out, _ = _fit(events, "--recorded-gpus", 256, "--gpus", 1024, capsys=capsys)
    lines = out.splitlines()
    assert code == 0
    assert re.fullmatch(r".*events.csv: 59 failures; one job has one every .* \(95 %: .* to .*, exact .*\)", lines[0])
    assert lines[1].startswith("per GPU: one every ")
    assert lines[2].startswith("a job of 1,024 GPUs has one every ")


def test_the_count_is_that_of_the_rows(events, capsys):
    """60 stamps are 59 gaps, over the time from the first to the last; shares are those of a plain count."""
    document = _document(events, capsys=capsys)
    stamps = sorted(row["failed_at"] for row in csv.DictReader(io.StringIO(EVENTS)))
    days = np.diff(np.array([stamp.removesuffix("Z") for stamp in stamps], dtype="datetime64[s]")[[0, -1]])[0]
    assert document["rate"]["exposure_s"] == days.astype(int)
    assert document["rate"]["mtbf_s"] == pytest.approx(days.astype(int) / 59)
    assert {end["cause"]: end["ends"] for end in document["ends"]} == {"Xid 79": 40, "hang": 20}


def test_the_block_pastes_into_a_spec_and_says_what_the_record_says(events, capsys):
    """The YAML of the report is read by the spec, and its MTBF is that of the fit to ten digits."""
    document = _document(events, "--recorded-gpus", 256, capsys=capsys)
    scenario = read_spec(_SPEC.format(block=document["block"]).encode(), "pasted.yaml").scenario
    assert scenario.failures.mtbf_per_gpu_s == pytest.approx(document["rate"]["mtbf_per_gpu_s"], rel=1e-9)
    assert scenario.failures.evidence.failures == 59
    assert "failures" in yaml.safe_load(document["block"])


def test_a_spec_that_names_the_record_plans_as_one_with_the_block_pasted(events, tmp_path, capsys):
    """In place or pasted: the same plan."""
    document = _document(events, "--recorded-gpus", 256, capsys=capsys)
    named = f"failures: {{record: {{file: {events.name}, gpus: 256}}}}"
    plans = []
    for name, block in (("named.yaml", named), ("pasted.yaml", document["block"])):
        path = tmp_path / name
        path.write_text(_SPEC.format(block=block), encoding="utf-8")
        done = ckptplan("optimize", str(path), "--format", "json")
        assert done.code == 0, done.err
        plans.append(json.loads(done.out))
    by_record, by_block = ([row["interval_s"] for row in plan["plans"]] for plan in plans)
    assert by_record == pytest.approx(by_block, rel=1e-9)
    assert plans[0]["failures"]["source"] == "record"


@pytest.mark.parametrize("width", [60, 100])
def test_no_line_is_wider_than_the_screen_and_no_digit_is_lost(events, width):
    """On a narrow terminal tables become lists; piped, nothing is wrapped."""
    narrow = ckptplan("fit", str(events), env={"COLUMNS": str(width), "NO_COLOR": "1"})
    piped = ckptplan("fit", str(events))
    assert narrow.code == piped.code == 0
    table = narrow.out.partition("To paste")[0]
    assert all(len(line) <= max(width, len(str(events)) + 20) for line in table.splitlines())
    assert "\x1b" not in narrow.out + piped.out
    numbers = re.findall(r"\d[\d,.]*\d", piped.out.partition("To paste")[0])
    assert set(numbers) <= set(re.findall(r"\d[\d,.]*\d", narrow.out))


def test_csv_and_markdown_hold_the_rate(events, capsys):
    """One flat row per part of the record; the same headings in Markdown."""
    document = _document(events, capsys=capsys)
    _, text, _ = _fit(events, "--format", "csv", capsys=capsys)
    (row,) = csv.DictReader(io.StringIO(text))
    assert float(row["mtbf_s"]) == document["rate"]["mtbf_s"]
    _, text, _ = _fit(events, "--format", "markdown", capsys=capsys)
    assert text.startswith("## ")
    assert "```yaml\nfailures:" in text


def test_warnings_go_to_standard_error(tmp_path, capsys):
    """Three failures are few, which is no part of the result."""
    path = tmp_path / "few.csv"
    path.write_text("gap\n3 h\n4 h\n5 h\n", encoding="utf-8")
    _, out, err = _fit(path, capsys=capsys)
    assert "warning: only 3 failures" in err
    assert "only 3" not in out


@pytest.mark.parametrize(
    ("options", "code", "message", "hint"),
    [
        (["--as", "sacctt"], 1, "no format of failure records", "did you mean sacct"),
        (["--tz", "Europe/Pariss"], 1, "no time zone", "did you mean Europe/Paris"),
        (["--per", "rack"], 2, "--per rack", "one of job, node, gpu"),
        (["--count", "failure"], 2, "--count failure", "did you mean failures"),
        (["--merge", "60"], 2, "--merge 60", "unit"),
        (["--merge", "-1s"], 2, "--merge -1s", ""),
        (["--level", "0"], 2, "--level 0", "95%"),
        (["--level", "95 h"], 2, "--level 95 h", ""),
        (["--gpus", "0"], 2, "--gpus 0: less than 1", "whole number"),
        (["--nodes", "none"], 2, "--nodes none: not a whole number", "from 1 to"),
        (["--column", "failed_at"], 2, "--column failed_at", "time=failed_at"),
        (["--column", "when=failed_at"], 2, "--column when", "one of time"),
        (["--column", "time=missing"], 1, "missing", ""),
        (["--minimum-run", "-1s"], 2, "--minimum-run -1s", ""),
        (["--exit-code", "300"], 1, "300 is no exit code", "0 to 255"),
        (["--per", "gpu"], 1, "does not say how many gpus", "--recorded-gpus"),
        (["--per", "node"], 1, "does not say how many nodes", "--nodes N"),
        (["--since", "yesterday"], 1, "yesterday", ""),
        (["--date-order", "ymd"], 2, "--date-order ymd", "mdy"),
        (["--format", "yaml"], 2, "--format yaml: not known", "one of table, json"),
        (["--unit", "parsec"], 2, "--unit parsec: no unit of time", "one of ns, us, ms, s, min, h, d"),
        (["--unit", "GB"], 2, "--unit GB: no unit of time", "one of ns, us, ms, s, min, h, d"),
    ],
)
def test_a_wrong_option_ends_in_one_message(events, capsys, options, code, message, hint):
    """Value, remedy and exit code, without a traceback; nothing on standard output."""
    found, out, err = _fit(events, *options, capsys=capsys)
    assert (found, out) == (code, "")
    assert message in err
    assert hint in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("empty", b"", "empty"),
        ("nul", b"\0" * 1000, "blanks"),
        ("text", b"It was a dark night.\n" * 9, "no known record"),
        ("utf16", "time\n2026-01-01\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_a_file_that_is_no_record_is_refused_by_name(tmp_path, capsys, name, data, message):
    """What it is, and what would be accepted."""
    path = tmp_path / name
    path.write_bytes(data)
    code, out, err = _fit(path, capsys=capsys)
    assert (code, out) == (1, "")
    assert str(path) in err
    assert message in err
    assert "hint: " in err


def test_pipes_folders_and_missing_files_are_refused_without_waiting(tmp_path, capsys):
    """A FIFO that nobody writes to must not hang."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, message in ((pipe, "pipe"), (tmp_path, "folder"), (tmp_path / "none", "no such file")):
        code, _, err = _fit(path, capsys=capsys)
        assert code == 1
        assert message in err


def test_a_result_does_not_replace_a_record(events, capsys):
    """-o with the name of the input is a slip."""
    code, _, err = _fit(events, "-o", events, capsys=capsys)
    assert code == 2
    assert "overwrite" in err
    assert events.read_text(encoding="utf-8") == EVENTS


def test_causes_of_a_kernel_log_are_joined(tmp_path, capsys):
    """An Xid shortly before a failure is its cause; the log by itself is refused."""
    record, log = tmp_path / "failures.csv", tmp_path / "dmesg.log"
    record.write_text("time\n2026-02-01T00:00:00Z\n2026-02-03T00:00:00Z\n2026-02-06T00:00:00Z\n", encoding="utf-8")
    log.write_text(
        "[Tue Feb  3 00:00:00 2026] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.\n", encoding="utf-8"
    )
    document = _document(record, log, capsys=capsys)
    assert sum("Xid 79" in end["cause"] for end in document["ends"]) == 1
    assert document["rate"]["failures"] == 2
    code, _, err = _fit(log, capsys=capsys)
    assert code == 1
    assert "causes, not failures" in err


@pytest.mark.parametrize("command", ["optimize SPEC", "size SPEC", "simulate SPEC --runs 2", "spec show SPEC"])
def test_no_result_replaces_a_file_that_the_spec_names(events, tmp_path, capsys, command):
    """The record beside the spec is an input too."""
    spec = tmp_path / "run.yaml"
    spec.write_text(_SPEC.format(block=f"failures: {{record: {events.name}}}"), encoding="utf-8")
    code = run([*command.replace("SPEC", str(spec)).split(), "-o", str(events)])
    assert code == 2
    assert "would overwrite an input" in capsys.readouterr().err
    assert events.read_text(encoding="utf-8") == EVENTS
