"""``ckptplan retain`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest

from ckptplan.plan.retention.rules import certainty
from ckptplan.render.schemas import output_schema
from tests.cli.harness import Tell, ckptplan
from tests.cli.test_startup import loaded

SILENT = """
name: late
model: {parameters: 1e9, state: adam-14}
cluster: {gpus: 64, gpus_per_node: 8}
failures:
  mtbf: 200 h
  classes:
    - {name: sdc, kind: silent corruption, share: 20 %, detect: 1 h}
    - {kind: loss spike, every: 2 d}
training: {step_time: 5 s}
restart: {total: 10 min}
save: [{name: blocking, mode: sharded, stall: 200 s}]
"""
TIERED = """
name: tiered
model: {parameters: 405e9, state: adam-14}
cluster: {gpus: 16384, gpus_per_node: 8}
failures:
  mtbf: 3.09 h
  classes:
    - {name: process, kind: crash, loses: process, share: 40 %}
    - {name: sdc, kind: silent corruption, share: 1.4 %}
training: {step_time: 5 s}
restart: {detect: 30 s, initialise: 3 min, load: 3 min}
retention: {keep_all: 6 h, then_every: 2 h, then_for: 7 d, archive_every: 1 d}
storage:
  tiers:
    - {kind: host memory, stall: 1 s, load: 5 s}
    - {kind: local ssd, write: background, bandwidth_per_node: 0.1 GB/s, endurance_per_node: 5.6 PB, load: 20 s}
    - {kind: file system, stall: 40 s, capacity: 5 PB, load: 3 min}
"""


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A spec with silent corruption and loss spikes, and one strategy."""
    path = tmp_path_factory.mktemp("late") / "late.yaml"
    path.write_text(SILENT, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def tiered(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A spec with tiers and a retention."""
    path = tmp_path_factory.mktemp("tiered") / "tiered.yaml"
    path.write_text(TIERED, encoding="utf-8")
    return str(path)


def test_the_number_to_keep_stands_first(silent: str) -> None:
    """After the name: how many, where, how sure, what each class needs; then thinner rules and the way of saving."""
    ran = ckptplan("retain", silent, "--interval", "1000s")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "late (64 GPUs)"
    assert lines[2].startswith(
        "keep the newest 22 saves in storage, all of the last 7.33 h: a clean one is left for 99.9"
    )
    assert "sdc needs 22, loss spike needs 2" in lines[2]
    assert lines[3].startswith("or keep all for 4,800 s, then one of every 4 up to 8 h (retention: {keep_all: 80 min")
    assert "blocking: save every 1,000 s = 200 steps to storage; goodput" in ran.out
    assert "1,000 s of work and 200 s of stalls" in ran.out


@pytest.mark.parametrize("which", ["silent", "tiered"])
def test_interval_and_goodput_are_those_of_optimize(tell: Tell, which: str, request: pytest.FixtureRequest) -> None:
    """Seconds, steps and goodput as ``optimize`` prints them for what it recommends."""
    spec = request.getfixturevalue(which)
    name = "blocking" if which == "silent" else "tiers"
    shown = re.search(rf"{name}: save every (\S+ s) = (\S+) steps?.*; goodput (\S+ %)", tell("retain", spec).out)
    best = re.search(rf"^{name}: save every .*; goodput \S+ %", tell("optimize", spec).out, re.MULTILINE)
    assert shown is not None
    assert best is not None
    for text in (shown[1], f"{shown[2]} step", f"goodput {shown[3]}"):
        assert text in best[0]
    assert which == "silent" or re.search(r"every \d+\w\w of those to file system", tell("retain", spec).out)


@pytest.mark.parametrize("which", ["silent", "tiered"])
def test_formats(tell: Tell, which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """JSON holds against its schema; CSV and Markdown have the same rules; -o writes the same."""
    spec = request.getfixturevalue(which)
    out = tell("retain", spec, "--format", "json").out
    document = json.loads(out)
    jsonschema.validate(document, output_schema("retention"))
    rules = ([document["given"]] if document["given"] else []) + document["rules"]
    rows = list(csv.DictReader(io.StringIO(tell("retain", spec, "-f", "csv").out)))
    assert [(row["rule"], int(row["saves"])) for row in rows] == [(rule["rule"], rule["saves"]) for rule in rules]
    markdown = tell("retain", spec, "-f", "markdown").out
    assert all(f"| {rule['rule']} |" in markdown for rule in rules)
    assert tell("retain", spec, "-f", "json", "-o", str(tmp_path / "out.json")).out == ""
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == out


def test_the_schema_is_printed(tell: Tell) -> None:
    """``spec schema retention`` is the schema that the output is tested against."""
    assert json.loads(tell("spec", "schema", "retention").out) == output_schema("retention")


def test_a_narrow_terminal_loses_no_number(tiered: str) -> None:
    """At 60 columns no line is longer, and every cell of the wide tables is still there."""
    wide, narrow = ckptplan("retain", tiered).out, ckptplan("retain", tiered, env={"COLUMNS": "60"}).out
    assert max(map(len, narrow.splitlines())) <= 60
    words = set(re.findall(r"\d[\d.,]*", narrow))
    assert set(re.findall(r"\d[\d.,]*", wide)) <= words
    assert "\x1b" not in wide + narrow


def test_the_retention_of_the_spec_is_judged_first(tell: Tell, silent: str, tiered: str) -> None:
    """A verdict in a sentence; what is not enough comes with what would be."""
    ran = tell("retain", tiered)
    assert (
        "retention of the spec (keep_all: 6 h, then_every: 2 h, then_for: 7 d, archive_every: 24 h) is enough"
        in ran.out
    )
    assert "archive: one of every" in ran.out
    ran = tell("retain", silent, "--interval", "1000s", "--set", "retention.keep=2")
    assert ran.code == 0
    assert "retention of the spec (keep: 2) is not enough: a clean save is left for 39.06 % of sdc" in ran.out
    assert "write {keep: 22}, 22 saves at most, or {keep_all: 80 min, then_every: 80 min, then_for: 8 h}" in ran.out


def test_strict_exits_three_if_the_spec_does_not_keep_enough(tell: Tell, silent: str) -> None:
    """The report is printed all the same; enough, or nothing to judge, exits 0."""
    arguments = ("retain", silent, "--interval", "1000s", "--strict")
    ran = tell(*arguments, "--set", "retention.keep=21")
    assert (ran.code, ran.err.count("asked by --strict")) == (3, 1)
    assert "is not enough" in ran.out
    assert tell(*arguments, "--set", "retention.keep=22").code == 0
    assert tell(*arguments).code == 0
    assert tell(*arguments, "--set", "retention.keep=21", "--probability", "99%").code == 0


def test_a_check_and_no_late_class_need_one_save(tell: Tell, silent: str) -> None:
    """It is said why one is enough, and what else saves are kept for."""
    checks = ("--set", "verification={time: 30 s}", "--set", "failures.classes=[{kind: silent corruption, share: 1 %}]")
    ran = tell("retain", silent, *checks)
    assert "1 save in storage is enough, 2 with the one under way: the check finds silent corruption before" in ran.out
    ran = tell("retain", "llama3-405b")
    assert ran.code == 0, ran.err
    assert "1 save in storage is enough, 2 with the one under way: restarts go back to the newest one" in ran.out
    assert "keep more for what the spec does not speak of" in ran.out
    for arguments in (("retain", silent, *checks), ("retain", "llama3-405b")):
        document = json.loads(tell(*arguments, "-f", "json").out)
        jsonschema.validate(document, output_schema("retention"))
        assert [rule["saves"] for rule in document["rules"]] == [1]


def test_what_does_not_fit_is_refused_with_nothing_printed(tell: Tell, silent: str) -> None:
    """One message with the number that fits and its worth, a hint, exit 1."""
    ran = tell("retain", silent, "--interval", "1000s", "--set", "retention.capacity=150 GB")
    assert (ran.code, ran.out) == (1, "")
    assert "error: retention.capacity: what is needed (keep: 22) holds 23 saves" in ran.err
    assert "the number that fits is 9 beside the one under way, which leaves a clean save for 94.09 % of sdc" in ran.err
    assert "hint: thin out: {keep_all: 80 min, then_every: 80 min, then_for: 8 h} holds 9 at most" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--probability", "100%"), 2, "not between 0 and 100 %"),
        (("--probability", "0"), 2, "not between 0 and 100 %"),
        (("--probability", "often"), 2, "not a fraction"),
        (("--probability", "99.9"), 2, "more than the whole"),
        (("--strategy", "blockin"), 2, "did you mean blocking?"),
        (("--strategy", "tiers"), 2, "not known"),
        (("--interval", "3"), 2, "no unit"),
        (("--interval", "1h", "--steps", "5"), 2, "exclude each other"),
        (("--steps", "0"), 2, "0"),
        (("--set", "retention.probability=100 %"), 1, "certainty would take infinitely many saves"),
        (("--set", "retention.keep_all=1 min"), 1, "no save would be kept"),
        (
            (
                "--steps",
                "5",
                "--set",
                "training={duration: 9 d}",
                "--set",
                "failures.classes=[{kind: hang, share: 1%}]",
            ),
            1,
            "the time of one step",
        ),
    ],
)
def test_wrong_options_are_refused(
    tell: Tell, silent: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    """One message and the documented exit code."""
    ran = tell("retain", silent, *arguments)
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert message in ran.err
    assert ran.err.count("error") + ran.err.count("Error") <= 1
    assert "Traceback" not in ran.err


def test_the_spec_is_not_overwritten(tell: Tell, silent: str) -> None:
    """-o with the spec itself is a mistake."""
    assert tell("retain", silent, "-o", silent).code == 2
    assert Path(silent).read_text(encoding="utf-8") == SILENT


def test_an_interval_below_the_drain_is_raised_and_said(tell: Tell, tiered: str) -> None:
    """The number in force is printed, and why it is another one."""
    ran = tell("retain", tiered, "--strategy", "tiers", "--interval", "1ms")
    assert ran.code == 0
    assert "warning: the interval is raised from 1 ms to" in ran.err


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        (0.0, "100 %"),
        (0.001, "99.90 %"),
        (0.00100001, "99.89 %"),
        (0.6093425746, "39.06 %"),
        (3.4e-7, "99.999966 %"),
        (1.0, "0.00 %"),
    ],
)
def test_a_probability_is_not_rounded_up(missing: float, text: str) -> None:
    """Two digits of what is missing, never more than it is."""
    assert certainty(missing) == text


def test_help_and_results_stay_light(silent: str) -> None:
    """Help loads no heavy library, and a result in JSON neither scipy nor rich."""
    assert loaded(["retain", "--help"], ("numpy", "scipy", "pydantic", "yaml", "rich")) == []
    assert loaded(["retain", silent, "-f", "json"], ("scipy", "matplotlib", "rich")) == []
