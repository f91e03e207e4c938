"""``ckptplan levers`` as its users see it, and the line with which ``optimize`` ends."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest

from ckptplan.render.schemas import output_schema
from tests.cli.harness import Tell, ckptplan
from tests.cli.test_startup import loaded

_OWN = (
    "--change",
    "restart.total=5 min",
    "--change",
    "both: storage.write_bandwidth=4 TB/s; save[synchronous].stall=20 s",
)
_HOSTILE = "<script>alert(1)</script>[red]"


def test_the_answer_comes_first(tell: Tell) -> None:
    """What to do first, the run as it is, the ranking, then why; piped, no line is broken."""
    ran = tell("levers", "llama3-405b")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "Llama 3 405B pre-training on 16,384 H100 (16,384 GPUs)"
    assert lines[2] == (
        "Do first: halve the restart: +2.5 points, 614,000 GPU-hours, over 54 d of work (600 s to 300 s; goodput "
        "91.92 % to 94.43 %); halving the failure rate would gain more, 3.4 points"
    )
    assert lines[3] == "As it is: asynchronous, save every 330 s = 66 steps; goodput 91.92 %"
    assert lines[5].split()[:2] == ["lever", "points"]
    assert lines[7].split()[:5] == ["halve", "the", "failure", "rate", "+3.36"]
    headings = [lines.index(title) for title in ("What changes, and what must be true", "What is assumed")]
    assert headings == sorted(headings)
    assert "\x1b" not in ran.out


def test_a_price_makes_money(tell: Tell) -> None:
    """GPU-hours at the price stand in the sentence and in the table; without one there is no such column."""
    priced, plain = tell("levers", "llama3-405b", "--gpu-hour-price", "2.5"), tell("levers", "llama3-405b")
    assert "614,000 GPU-hours worth 1.535 million" in priced.out
    assert "money" in priced.out
    assert "money" not in plain.out


def test_the_price_may_come_from_the_environment() -> None:
    """CKPTPLAN_GPU_HOUR_PRICE as in optimize."""
    ran = ckptplan("levers", "rsc-1", env={"CKPTPLAN_GPU_HOUR_PRICE": "2"})
    assert "GPU-hours worth" in ran.out


def test_own_changes_stand_among_the_others(tell: Tell) -> None:
    """By their name, or by themselves; what they set is named before and after."""
    ran = tell("levers", "llama3-405b", *_OWN)
    assert ran.code == 0, ran.err
    assert "  - restart.total=5 min: restart.total 600 s to 300 s\n" in ran.out
    assert "  - both: storage.write_bandwidth 2 TB/s to 4 TB/s, save[0].stall 60 s to 20 s\n" in ran.out


def test_an_own_change_is_optimize_with_set(tell: Tell) -> None:
    """The goodput, strategy and interval of a change are those of a plan of the spec with it written in."""
    document = json.loads(tell("levers", "llama3-405b", *_OWN, "-f", "json").out)
    sets = ("--set", "storage.write_bandwidth=4 TB/s", "--set", "save[synchronous].stall=20 s")
    best = json.loads(tell("optimize", "llama3-405b", *sets, "-f", "json").out)["best"]
    (own,) = [one for one in document["levers"] if one["title"] == "both"]
    for key in ("strategy", "interval_steps", "goodput"):
        assert own[key] == best[key]
    assert own["interval_s"] == best["interval_steps"] * 5.0  # the one to type
    (five,) = [one for one in document["levers"] if one["key"] == "change 1"]
    (half,) = [one for one in document["levers"] if one["key"] == "restart"]
    assert five["goodput"] == half["goodput"]


@pytest.mark.parametrize("strike", ["safe", "R", "DR"])
def test_a_change_of_what_failures_strike_is_a_change_like_others(tell: Tell, strike: str) -> None:
    """It is ranked and paired with the other levers, which strike as the spec has it."""
    ran = tell("levers", "lab-64", "--change", f"assume.failures_strike={strike}", "-f", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    best = json.loads(tell("optimize", "lab-64", "--set", f"assume.failures_strike={strike}", "-f", "json").out)["best"]
    known = [one for one in document["levers"] if one["key"] == "change 1"]
    assert [one["goodput"] for one in known] == [best["goodput"]]
    pairs = [one for one in document["overlaps"] if "change 1" in (one["first"], one["second"])]
    assert len(pairs) == len(document["levers"]) - 1


def test_the_interval_is_the_one_to_type(tell: Tell) -> None:
    """Seconds beside steps are those steps, in the first sentences and in each row."""
    ran = tell("levers", "llama3-405b")
    assert "save every 330 s = 66 steps" in " ".join(ran.out.split())
    document = json.loads(tell("levers", "llama3-405b", "-f", "json").out)
    assert all(one["interval_s"] == 5.0 * one["interval_steps"] for one in document["levers"])


@pytest.mark.parametrize("spec", ["llama3-405b", "rsc-1", "spectrum-16384", "llama3-405b-causes"])
def test_json_holds_against_its_schema(tell: Tell, spec: str) -> None:
    """Levers, pairs, elasticities and what is left, with the spec in force."""
    ran = tell("levers", spec, "-f", "json", "--gpu-hour-price", "2")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    jsonschema.validate(document, output_schema("levers"))
    assert document["schema"] == "ckptplan.levers/1"
    assert document["levers"]
    assert document["overlaps"]
    assert document["elasticities"]
    assert document["left"]
    for one in document["levers"]:
        assert one["money_saved"] == pytest.approx(2 * one["gpu_hours_saved"])


def test_csv_has_the_levers_of_json(tell: Tell) -> None:
    """One row per lever under the same names, numbers to the last digit."""
    document = json.loads(tell("levers", "opt-175b", "-f", "json").out)
    rows = list(csv.DictReader(io.StringIO(tell("levers", "opt-175b", "-f", "csv").out)))
    assert list(rows[0]) == ["spec", *document["levers"][0]]
    assert [float(row["gained"]) for row in rows] == [one["gained"] for one in document["levers"]]
    assert rows[0]["money_saved"] == ""


def test_markdown_has_the_same_tables(tell: Tell) -> None:
    """Ranking, pairs and elasticities as tables, the rest as lists."""
    ran = tell("levers", "opt-175b", "-f", "markdown")
    assert ran.out.startswith("## OPT-175B on 992 A100 (992 GPUs)\n\n- Do first: keep nodes standing by: +9.7 points")
    assert ran.out.count("\n| ---") == 3
    assert "Levers that this run does not have:\n\n- double the read bandwidth: " in ran.out


@pytest.mark.parametrize("columns", ["60", "40"])
def test_a_narrow_terminal_loses_nothing(columns: str) -> None:
    """At 60 and at 40 columns no line is longer, and every number of the ranking is still there."""
    arguments = ("levers", "opt-175b", "--gpu-hour-price", "2")
    narrow, wide = ckptplan(*arguments, env={"COLUMNS": columns}), ckptplan(*arguments)
    assert max(map(len, narrow.out.splitlines())) <= int(columns)
    (row,) = [line for line in wide.out.splitlines() if line.startswith(" halve the failure rate") and "%" not in line][
        :1
    ]
    numbers = [cell for cell in row.split() if cell[-1].isdigit()]
    assert len(numbers) >= 5
    assert all(cell in narrow.out for cell in numbers)


def test_strategies_can_be_chosen(tell: Tell) -> None:
    """Only the strategy asked for is compared; what was left out is not a reason to save asynchronously again."""
    document = json.loads(tell("levers", "llama3-405b", "--strategy", "synchronous", "-f", "json").out)
    assert document["strategy"] == "synchronous"
    assert {one["strategy"] for one in document["levers"]} <= {"synchronous", "asynchronous"}


def test_a_spec_from_standard_input_is_read_once(tell: Tell) -> None:
    """Changes need it several times."""
    text = (Path(__file__).parents[2] / "configs" / "rsc-1.yaml").read_bytes()
    ran = ckptplan("levers", "-", "--change", "restart.total=2 min", stdin=text)
    assert ran.code == 0, ran.err
    assert "restart.total 300 s to 120 s" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--change", ""), 2, "KEY=VALUE is wanted"),
        (("--change", ";"), 2, "KEY=VALUE is wanted"),
        (("--change", "faster"), 2, "KEY=VALUE is wanted"),
        (("--change", "name: restart.total"), 2, "KEY=VALUE is wanted"),
        (("--change", f"{'x' * 101}: restart.total=5 min"), 2, "a name of 101 characters"),
        (("--change", ": restart.total=5 min"), 2, "the name before the colon is empty"),
        (("--change", "restart.total=5 min; restart.total=6 min"), 2, "one key is set twice"),
        (
            ("--change", "a: restart.total=5 min", "--change", "a: restart.total=6 min"),
            2,
            "another change has this name",
        ),
        (("--change", "Halve the restart: restart.total=5 min"), 2, "the name of a lever that is tried anyway"),
        (("--change", "restart.total=5 m"), 1, "--change restart.total=5 m: restart.total: m can mean minutes"),
        (("--change", "restart.totl=5 min"), 1, "--change restart.totl=5 min"),
        (("--change", "save[nobody].stall=5 s"), 1, "--change save[nobody].stall=5 s"),
        (("--change", "x: cluster.gpus=10"), 1, "10 GPUs do not divide"),
        (("--change", "restart.total=[1"), 1, "--change restart.total=[1"),
        (("--gpu-hour-price", "nan"), 2, "nan"),
        (("--gpu-hour-price", "-1"), 2, "-1"),
        (("--gpu-hour-price", "1e308"), 2, "more than a billion for one GPU-hour"),
        (("--strategy", "nobody"), 2, "not known"),
        (("--set", "restart.total=5 m"), 1, "--set restart.total=5 m"),
        (("--format", "yaml"), 2, "yaml"),
        (("-o", "/nowhere/result.txt"), 2, "there is no folder /nowhere"),
        (tuple(["--change", "restart.total=5 min"] * 51), 2, "at most 50"),
    ],
)
def test_wrong_options_are_refused(tell: Tell, arguments: tuple[str, ...], code: int, message: str) -> None:
    """One message and the documented exit code."""
    ran = tell("levers", "llama3-405b", *arguments)
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_all_faults_of_all_changes_are_said_at_once(tell: Tell) -> None:
    """Not one after another."""
    ran = tell("levers", "llama3-405b", "--change", "restart.total=5 m", "--change", "cluster.gpus=many")
    assert ran.code == 1
    assert "--change restart.total=5 m: " in ran.err
    assert "--change cluster.gpus=many: " in ran.err


def test_several_keys_with_brackets_quotes_and_apostrophes(tell: Tell) -> None:
    """A semicolon or a colon within brackets or quotes belongs to the value; an apostrophe in a name quotes nothing."""
    change = "Ann's: the \"new\" one: name='a; b: c'; save=[{name: x, mode: sharded, stall: 30 s}]"
    ran = tell("levers", "llama3-405b", "--change", change, "-f", "json")
    assert ran.code == 0, ran.err
    (own,) = [one for one in json.loads(ran.out)["levers"] if one["own"]]
    assert own["title"] == 'Ann\'s: the "new" one'


@pytest.mark.parametrize(
    ("change", "title", "text"),
    [
        ("x|[b] =2: restart.total=5 min", "x|[b] =2", "restart.total 600 s to 300 s"),
        ("a=1: b: restart.total=5 min", "a=1: b", "restart.total 600 s to 300 s"),
        ("training.step_time=5.0001 s", "training.step_time=5.0001 s", "training.step_time 5.0 s to 5.0001 s"),
        (
            "restart={detect: 1 min, load: 30 s}",
            "restart={detect: 1 min, load: 30 s}",
            "restart.total 600 s to phases of the restart of 90 s in all (detect 60 s, load 30 s)",
        ),
        (
            "one: save=[{name: x, mode: sharded, stall: 30 s}]",
            "one",
            "save replaced: 2 (synchronous, asynchronous) by 1 (x)",
        ),
        ("sweep.runs=3", "sweep.runs=3", "no goodput depends on sweep.runs"),
        (
            "name=zzz",
            "name=zzz",
            "name Llama 3 405B pre-training on 16,384 H100 to zzz; no goodput depends on name",
        ),
        ("restart.total=10 min", "restart.total=10 min", "no change: restart.total is so already"),
        (
            "restart=",
            "restart=",
            "no change: restart.total is so already; mind that then restart: left out: 10 min are assumed",
        ),
        (
            "save[1].training_speed_while_flushing=100 %",
            "save[1].training_speed_while_flushing=100 %",
            "no change: save[1].training_speed_while_flushing is so already",
        ),
    ],
)
def test_every_value_is_said_before_and_after(tell: Tell, change: str, title: str, text: str) -> None:
    """Also where a total stands in for phases, a list for another one, or where nothing comes of it."""
    ran = tell("levers", "llama3-405b", "--change", change, "-f", "json")
    assert ran.code == 0, ran.err
    (own,) = [one for one in json.loads(ran.out)["levers"] if one["own"]]
    assert (own["title"], own["change"]) == (title, text)


def test_phases_that_a_total_replaces_are_said(tell: Tell) -> None:
    """Their sum, and each of them."""
    ran = tell("levers", "opt-175b", "--change", "restart.total=5 min")
    assert (
        "  - restart.total=5 min: phases of the restart of 7,200 s in all (detect 600 s, replace 5,400 s, initialise "
        "300 s, load 600 s, warm_up 300 s) to restart.total 300 s\n"
    ) in ran.out


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("training.duration=10 d", "training.duration"),
        ("training={step_time: 5 s, duration: 10 d}", "training.duration"),
        ("less: training.duration=10 d; restart.total=5 min", "training.duration"),
    ],
)
def test_less_work_is_no_lever(tell: Tell, change: str, key: str) -> None:
    """It is refused under its option; beside other GPUs a duration is the same work in another time."""
    ran = tell("levers", "llama3-405b", "--change", change)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"--change {change.partition(':')[0] if change.startswith('less') else change}: {key}: ")
    assert "gives the amount of work" in ran.err
    both = tell("levers", "llama3-405b", "--change", "cluster.gpus=32768; training.duration=30 d")
    assert both.code == 0, both.err
    assert "(as the change gives the work)" in both.out


def test_the_step_of_other_gpus_makes_no_jump(tmp_path: Path, tell: Tell) -> None:
    """With tokens given, twice the GPUs with the same step time and a hair more end the run as much sooner."""
    spec = tmp_path / "run.yaml"
    spec.write_text(
        "name: r\nmodel: {parameters: 7e9, state: adam-14}\ncluster: {gpus: 2048, gpus_per_node: 8}\n"
        "failures: {mtbf_per_gpu: 5 years}\nsave: [{name: s, mode: sharded, stall: 10 s}]\n"
        "restart: {total: 10 min}\ntraining: {step_time: 3 s, tokens: 2e12, tokens_per_step: 4e6}\n"
    )
    changes = ("k: cluster.gpus=4096", "l: cluster.gpus=4096; training.step_time=3.0001 s")
    ran = tell("levers", str(spec), *(word for one in changes for word in ("--change", one)), "-f", "json")
    assert ran.code == 0, ran.err
    own = {one["title"]: one for one in json.loads(ran.out)["levers"] if one["own"]}
    assert own["k"]["gpu_hours_saved"] < 0.0 < own["k"]["wall_s_saved"]
    assert own["l"]["gpu_hours_saved"] == pytest.approx(own["k"]["gpu_hours_saved"], rel=0.01)
    assert own["l"]["wall_s_saved"] == pytest.approx(own["k"]["wall_s_saved"], rel=0.001)
    assert "training.step_time 3.0 s to 3.0001 s" in own["l"]["change"]
    assert any("each GPU keeps its part of a step" in note for note in own["l"]["notes"])


def test_a_fault_that_a_change_makes_elsewhere_stands_under_the_change(tell: Tell) -> None:
    """The layout of the file no longer divides: the option is the place, the line of the file is named."""
    ran = tell("levers", "llama3-405b", "--change", "more: cluster.gpus=2047")
    assert ran.code == 1
    assert ran.err.startswith("--change more: cluster.layout: 2,047 GPUs do not divide by")
    assert "(with llama3-405b.yaml:18:" in ran.err


@pytest.mark.parametrize("columns", ["60", "200"])
@pytest.mark.parametrize("command", ["levers rsc-1", "compare rsc-1 rsc-2"])
def test_no_colour_on_a_terminal_leaves_no_codes(command: str, columns: str) -> None:
    """With NO_COLOR not even the stressed row has an escape code; without it, it has."""
    plain, coloured = (_on_a_terminal(command, {"COLUMNS": columns, **more}) for more in ({"NO_COLOR": "1"}, {}))
    assert "goodput" in plain
    assert "\x1b" not in plain
    assert "\x1b" in coloured


def _on_a_terminal(command: str, more: dict[str, str]) -> str:
    """What a command writes where standard output and standard error are a terminal."""
    import os
    import pty
    import subprocess
    import sys

    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    main, side = pty.openpty()
    words = [sys.executable, "-m", "ckptplan", *command.split()]
    running = subprocess.Popen(words, stdout=side, stderr=side, env={**environment, "TERM": "xterm", **more})
    os.close(side)
    found = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        found += part
    os.close(main)
    assert running.wait() == 0
    return found.decode()


def test_hostile_names_are_harmless(tmp_path: Path, tell: Tell) -> None:
    """Control characters become ?, markup stays text; JSON has the name as it is."""
    spec = tmp_path / "run.yaml"
    name = json.dumps(f"run {_HOSTILE}")
    save = json.dumps(f"save {_HOSTILE}")
    spec.write_text(
        f"name: {name}\nmodel: {{parameters: 7e9, state: adam-14}}\ncluster: {{gpus: 64, gpus_per_node: 8}}\n"
        f"failures: {{mtbf: 10 h}}\nsave: [{{name: {save}, mode: sharded, stall: 60 s}}]\nrestart: {{total: 10 min}}\n"
    )
    change = f"\x1b[31m{_HOSTILE}: restart.total=5 min"
    for format_ in ("table", "markdown", "csv"):
        ran = tell("levers", str(spec), "--change", change, "-f", format_)
        assert ran.code == 0, ran.err
        assert "\x1b" not in ran.out + ran.err
        read = html.unescape(re.sub(r"\\(?=\W)|<!-- -->", "", ran.out)) if format_ == "markdown" else ran.out
        assert f"?[31m{_HOSTILE}" in read
    document = json.loads(tell("levers", str(spec), "--change", change, "-f", "json").out)
    assert document["name"] == f"run {_HOSTILE}"


def test_without_work_there_are_no_savings(tmp_path: Path, tell: Tell) -> None:
    """No training.duration: goodput and interval alone, in seconds."""
    spec = tmp_path / "run.yaml"
    spec.write_text(
        "name: short\nmodel: {parameters: 7e9, state: adam-14}\ncluster: {gpus: 64, gpus_per_node: 8}\n"
        "failures: {mtbf: 10 h}\nsave: [{name: s, mode: sharded, stall: 60 s}]\nrestart: {total: 10 min}\n"
    )
    ran = tell("levers", str(spec), "--gpu-hour-price", "2")
    assert ran.code == 0, ran.err
    assert "GPU-hours" not in ran.out.split("What is assumed")[0]
    assert "Do first: save asynchronously: +" in ran.out


def test_the_spec_is_not_overwritten(tmp_path: Path) -> None:
    """-o with the spec itself is refused; another file holds the whole report."""
    spec, result = tmp_path / "run.yaml", tmp_path / "levers.txt"
    assert ckptplan("spec", "init", "-o", str(spec)).code == 0
    assert ckptplan("levers", str(spec), "-o", str(spec)).code == 2
    assert ckptplan("levers", str(spec), "-o", str(result)).code == 0
    assert "Do first: " in result.read_text()


def test_optimize_ends_with_the_first_lever(tell: Tell) -> None:
    """The last line of the table and of Markdown; in JSON the lever itself; none where only the number is asked for."""
    line = "Do first: halve the restart: +2.5 points, 614,000 GPU-hours; halving the failure rate would gain more, "
    line += "3.4 points"
    assert tell("optimize", "llama3-405b").out.endswith(f"\n\n{line}\n")
    assert tell("optimize", "llama3-405b", "-f", "markdown").out.endswith(f"\n\n{line}\n")
    document = json.loads(tell("optimize", "llama3-405b", "-f", "json").out)
    jsonschema.validate(document, output_schema("plan"))
    of_levers = json.loads(tell("levers", "llama3-405b", "-f", "json").out)
    first = next(one for one in of_levers["levers"] if one["in_hand"])
    assert of_levers["levers"][0]["key"] == "failures"
    assert document["lever"]["behind"] == "halving the failure rate would gain more, 3.4 points"
    assert document["lever"]["key"] == first["key"]
    assert document["lever"]["goodput"] == first["goodput"]
    assert "Do first" not in tell("optimize", "llama3-405b", "--quiet").out


def test_the_published_schema_is_that_of_the_command(tell: Tell) -> None:
    """``spec schema levers`` prints the schema that the documents are held against."""
    assert json.loads(tell("spec", "schema", "levers").out) == output_schema("levers")


def test_it_starts_light() -> None:
    """Closed forms load no scipy, and rich for the table only; help loads nothing heavy."""
    assert loaded(["levers", "llama3-405b", "-f", "json"], ("scipy", "rich", "matplotlib")) == []
    assert loaded(["levers", "--help"], ("numpy", "scipy", "pydantic", "yaml", "rich")) == []


def test_gpus_that_do_not_fill_the_layout_are_refused_with_those_that_do(tell: Tell) -> None:
    """The sizes next to it are named, and where any size can be asked for."""
    ran = tell("levers", "llama3-405b", "--change", "cluster.gpus=1000")
    assert ran.code == 1
    assert "write gpus: 896 or 1024 (multiples of 128)" in ran.err
    assert "ckptplan scale --gpus 1000" in ran.err


def test_sizes_that_do_not_fill_the_layout_are_named_with_set_too(tell: Tell) -> None:
    """``optimize --set`` names the same sizes and ``scale``; a spec that has such a size itself cannot be scaled."""
    ran = tell("optimize", "llama3-405b", "--set", "cluster.gpus=1000")
    assert "write gpus: 896 or 1024 (multiples of 128)" in ran.err
    assert "ckptplan scale --gpus 1000" in ran.err
    assert tell("scale", "llama3-405b", "--gpus", "1000").code == 0
    given = Path("configs/llama3-405b.yaml").read_text(encoding="utf-8").replace("gpus: 16384 ", "gpus: 1000 ")
    own = ckptplan("optimize", "-", stdin=given.encode())
    assert "write gpus: 896 or 1024 (multiples of 128)" in own.err
    assert "ckptplan scale" not in own.err


def test_the_hint_beside_quiet_holds_for_every_size(tell: Tell) -> None:
    """``--gpus`` beside ``--quiet`` is refused with a hint that a size which fills no whole replica can follow too."""
    ran = tell("optimize", "llama3-405b", "--gpus", "1000", "-q")
    assert (ran.code, ran.out) == (2, "")
    assert "ckptplan scale --gpus N" in ran.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("save=", "save: the value '' where a list belongs"),
        ("failures=", "failures: no source of the failure rate"),
        ("training=", "training.duration: gives the amount of work"),
        ("cluster=", "cluster.gpus: missing"),
        ("model=", "model.parameters: missing"),
        ("storage=", "flush is not given, and no write bandwidth gives it"),
        ("prediction=", "prediction.recall: missing"),
        ("spares=", "spares.nodes: missing"),
    ],
)
def test_a_group_that_cannot_be_left_out_is_refused(tell: Tell, change: str, said: str) -> None:
    """Under the name of its option, with what is missing."""
    ran = tell("levers", "llama3-405b", "--change", change)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"--change {change}: ")
    assert said in ran.err


@pytest.mark.parametrize(
    ("spec", "change", "text"),
    [
        ("spectrum-16384", "retention=", "no change: retention is so already"),
        ("rsc-1", "storage=", "no change: storage is so already"),
        (
            "rsc-1",
            "restart=",
            "restart.total 300 s to 10 min, assumed; mind that then restart: left out: 10 min are assumed",
        ),
    ],
)
def test_a_group_of_defaults_says_what_it_changes(tell: Tell, spec: str, change: str, text: str) -> None:
    """A default that is in force already is no change, whatever its last bit; one that is assumed then is warned of."""
    ran = tell("levers", spec, "--change", change, "-f", "json")
    (own,) = [one for one in json.loads(ran.out)["levers"] if one["own"]]
    assert own["change"] == text


def test_warnings_are_those_of_the_run_as_it_is(tell: Tell) -> None:
    """What a lever that is pulled makes worth a warning stands with it; stderr has nothing of it."""
    for spec in ("tinyllama-16", "palm-540b", "gpt3-10k"):
        ran = tell("levers", spec)
        assert ran.err == ""
    ran = tell("levers", "palm-540b", "-f", "json")
    document = json.loads(ran.out)
    assert document["warnings"] == []
    minded = {
        one["key"]: [note for note in one["notes"] if note.startswith("mind that then ")] for one in document["levers"]
    }
    assert len(minded["asynchronous"]) == 1
    assert "the flush of" in minded["asynchronous"][0]


def test_one_gpu_is_one_in_every_sentence(tell: Tell) -> None:
    """A lever, a size and a layout of a single GPU."""
    made = tell("levers", "lab-64", "--change", "cluster.gpus=1")
    assert made.code == 0, made.err
    assert "; 1 GPU: ranked by GPU-hours" in " ".join(made.out.split())
    refused = tell("optimize", "llama3-405b", "--set", "cluster.gpus=1")
    assert "1 GPU does not divide by tensor 8" in refused.err
    sizes = tell("optimize", "lab-64", "--gpus", "1")
    assert "at 1 GPU: " in sizes.err
    for told in (made, refused, sizes):
        assert not re.search("(?<![0-9,.])1 GPUs", told.out + told.err)


def test_a_price_of_work_that_is_not_known_and_ranges_are_said(tell: Tell) -> None:
    """Without the work there are no GPU-hours to price; ranges count by their central value."""
    ran = tell("levers", "llama3-405b", "--set", "training={step_time: 5 s}", "--gpu-hour-price", "2")
    assert "warning: no training.duration is given, so GPU-hours have no number and no price" in ran.err
    ran = tell("levers", "llama3-405b", "--set", "save[0].stall=50..70 s", "--gpu-hour-price", "2")
    assert "warning: save[0].stall is not known exactly: its central value counts" in ran.err
    assert "no training.duration" not in ran.err


def test_a_change_that_leaves_nothing_leaves_the_others(tell: Tell) -> None:
    """It stands among what the run does not have, and the others are ranked."""
    ran = tell("levers", "llama3-405b", "--change", "forever: restart.total=90 y", "--change", "restart.total=5 min")
    assert ran.code == 0, ran.err
    assert "\n  - forever: no progress would be possible then\n" in ran.out
    assert "\n restart.total=5 min " in ran.out


def test_the_amount_of_work_is_refused_by_the_key_that_was_written(tell: Tell) -> None:
    """Steps give the duration too, and the fault is that of the steps."""
    ran = tell("levers", "lab-64", "--change", "training.steps=5000")
    assert ran.code == 1
    assert ran.err.startswith("--change training.steps=5000: training.steps: gives the amount of work")
    assert "training.duration" not in ran.err


def test_no_warning_speaks_of_rows_that_are_not_there(tell: Tell) -> None:
    """Where there is no table of methods nothing is said of its rows; optimize has them."""
    assert "use the exact rows" in tell("optimize", "opt-175b").err
    for command in (("levers", "opt-175b"), ("compare", "opt-175b", "lab-64")):
        ran = tell(*command)
        assert "a restart of 7,200 s is 14.58 % of the MTBF; shorten the restart first" in ran.err
        assert "rows" not in ran.err
