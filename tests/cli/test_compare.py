"""``ckptplan compare`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import pytest

from ckptplan.render.schemas import output_schema
from tests.cli.harness import Tell, ckptplan
from tests.cli.test_startup import loaded

_PAIR = ("compare", "rsc-1", "rsc-2")
_SPEC = """
name: {name}
model: {{parameters: 7e9, state: adam-14}}
cluster: {{gpus: 1024, gpus_per_node: 8}}
failures: {{mtbf: 10 h}}
save: [{{name: {save}, mode: sharded, stall: {stall}}}]
restart: {{total: 5 min}}
"""


def _write(path: Path, name: str = "a run", save: str = "blocking", stall: str = "60 s", more: str = "") -> str:
    path.write_text(_SPEC.format(name=json.dumps(name), save=json.dumps(save), stall=stall) + more, encoding="utf-8")
    return str(path)


def test_the_answer_comes_first(tell: Tell) -> None:
    """Who is A and B, which loses less, the causes, useful GPUs, hours; then the tables; no colour where piped."""
    told = tell(*_PAIR, "--gpu-hour-price", "2.5")
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    assert lines[0] == "A: RSC-1, a 12,000-GPU job (rsc-1.yaml, 12,000 GPUs)"
    assert lines[1] == "B: RSC-2, a 4,096-GPU job (rsc-2.yaml, 4,096 GPUs)"
    assert lines[3] == "B loses less: goodput 97.94 % against 92.15 %, 5.78 points more"
    assert lines[4].startswith("largest cause: cluster, +2.96 points for B; then failures +2.83")
    assert lines[5].endswith("that of 4,011; A does more, although it loses a larger part")
    assert lines[6].endswith("; their work differs, so compare the shares, not the hours")
    titles = [line for line in lines if line.endswith(":")]
    assert [title.split()[0] for title in titles] == ["What", "What", "Why:"]
    assert "\x1b" not in told.out


def test_hours_of_the_same_work_are_compared(tell: Tell) -> None:
    """Where both runs are so many useful GPU-hours, what one loses less is said, in money where there is a price."""
    arguments = ("compare", "rsc-1", "rsc-2", "--set", "cluster.gpus=4096")
    told = tell(*arguments, "--gpu-hour-price", "2")
    (line,) = [line for line in told.out.splitlines() if line.startswith("over the run")]
    first, second = (json.loads(tell(*arguments, "-f", "json").out)[side] for side in ("first", "second"))
    saved = first["lost_gpu_hours"] - second["lost_gpu_hours"]
    assert line.endswith(f": {saved:,.0f} fewer with B, worth {2 * saved:,.0f}")


def test_json_holds_against_its_schema(tell: Tell) -> None:
    """Both runs, causes and losses that sum to the difference, inputs with their origins, the count of equal ones."""
    told = tell(*_PAIR, "--gpu-hour-price", "2.5", "-f", "json")
    document = json.loads(told.out)
    jsonschema.validate(document, output_schema("comparison"))
    goodputs = [document[side]["goodput"] for side in ("first", "second")]
    for side, spec in zip(("first", "second"), ("rsc-1", "rsc-2"), strict=True):
        best = json.loads(tell("optimize", spec, "-f", "json").out)["best"]
        assert (best["goodput"], best["strategy"]) == (document[side]["goodput"], document[side]["strategy"])
    assert document["difference"] == goodputs[1] - goodputs[0]
    assert sum(one["goodput"] for one in document["causes"]) == pytest.approx(document["difference"], abs=1e-12)
    assert sum(one["goodput"] for one in document["losses"]) == pytest.approx(document["difference"], abs=1e-12)
    gpus = next(one for one in document["inputs"] if one["key"] == "cluster.gpus")
    assert (gpus["first"]["si"], gpus["second"]["si"], gpus["second"]["origin"]) == (12000, 4096, "rsc-2.yaml:9")
    shown = json.loads(tell("spec", "show", "rsc-1", "-f", "json").out)["values"]
    equal = [one for one in document["inputs"] if one["first"] is not None]
    assert document["equal_inputs"] + len(equal) == len(shown) - 1  # all but the name


@pytest.mark.parametrize("pair", [("llama3-405b", "spectrum-16384"), ("llama3-405b", "llama3-405b")])
def test_the_schema_holds_for_tiers_and_for_equal_runs(tell: Tell, pair: tuple[str, str]) -> None:
    """Merged causes say why; equal runs have none, and every number that is unknown is null."""
    document = json.loads(tell("compare", *pair, "-f", "json").out)
    jsonschema.validate(document, output_schema("comparison"))
    merged = [one["cause"] for one in document["causes"] if one["why"] is not None]
    assert merged == (["storage and save"] if pair[0] != pair[1] else [])


def test_csv_has_every_part_in_one_table(tell: Tell) -> None:
    """One header; inputs, results, losses and causes by their first column, numbers as in JSON."""
    document = json.loads(tell(*_PAIR, "-f", "json").out)
    rows = list(csv.DictReader(io.StringIO(tell(*_PAIR, "-f", "csv").out)))
    parts = {part: [row for row in rows if row["part"] == part] for part in ("input", "result", "loss", "cause")}
    assert sum(map(len, parts.values())) == len(rows)
    assert [row["key"] for row in parts["input"]] == [one["key"] for one in document["inputs"]]
    assert [float(row["goodput"]) for row in parts["cause"]] == [one["goodput"] for one in document["causes"]]
    results = {row["key"]: row for row in parts["result"]}
    for row in parts["loss"]:
        assert float(row["difference"]) == float(row["second"]) - float(row["first"])
        assert row["difference"] == results[f"{row['key']}_fraction"]["difference"]
        assert float(row["goodput"]) == -float(row["difference"])
    (goodput,) = [row for row in parts["result"] if row["key"] == "goodput"]
    assert float(goodput["difference"]) == document["difference"]


def test_markdown_has_the_same_tables(tell: Tell) -> None:
    """Answers as a list, a table each for inputs, results and causes, then how to read them."""
    told = tell(*_PAIR, "-f", "markdown")
    assert told.out.startswith("- A: RSC-1")
    assert told.out.count("\n| ---") == 3
    assert "How to read this:" in told.out


@pytest.mark.parametrize(
    ("columns", "arguments"),
    [
        ("60", ("compare", "llama3-405b", "spectrum-16384", "--strategy", "asynchronous", "--strategy", "tiers")),
        ("40", ("compare", "llama3-405b", "palm-540b")),
    ],
)
def test_a_narrow_terminal_loses_nothing(columns: str, arguments: tuple[str, ...]) -> None:
    """At 60 and at 40 columns no line is longer, and every number of the tables is still there."""
    narrow, wide = ckptplan(*arguments, env={"COLUMNS": columns}), ckptplan(*arguments)
    assert narrow.code == wide.code == 0, narrow.err
    assert max(map(len, narrow.out.splitlines())) <= int(columns)
    numbers = {word for word in wide.out.split() if word.lstrip("+-")[:1].isdigit()}
    assert len(numbers) > 60
    assert numbers <= set(narrow.out.split())


def test_money_and_hours_say_what_they_are(tell: Tell) -> None:
    """Lost hours are worth something, and their hours are not those of optimize to the end of the run."""
    told = tell("compare", "llama3-405b", "rsc-1", "--gpu-hour-price", "2.5")
    assert "A loses 1,866,607 of 23,100,271 GPU-hours worth 4,666,517 and B" in told.out
    assert "  - run time and GPU-hours are the work over this goodput, which is that of a long run" in told.out
    assert "23,100,263 GPU-hours" in tell("optimize", "llama3-405b").out


def test_places_read_as_sentences_in_a_list() -> None:
    """At 60 columns each stands behind ``from``; a value that is not given is said not to be."""
    narrow = ckptplan("compare", "llama3-405b", "rsc-1", env={"COLUMNS": "60"}).out
    assert "from follows" not in narrow
    assert "B from cluster.gpus" in narrow
    assert "failures.interruptions.until\n  A a fixed time  B not given  A from default\n" in narrow


def test_equal_runs_are_said_to_be_equal(tell: Tell, tmp_path: Path) -> None:
    """The count of values, the goodput, no causes and no inputs; also for a copy with another name."""
    told = tell("compare", "llama3-405b", "llama3-405b")
    assert "both are the same: none of 48 values in force differs; goodput 91.92 %" in told.out
    assert "Why:" not in told.out
    assert "What differs" not in told.out
    pair = _write(tmp_path / "a.yaml", "one"), _write(tmp_path / "b.yaml", "two")
    assert "both are the same" in tell("compare", *pair).out


def test_a_difference_that_changes_nothing_is_said_to_change_nothing(tell: Tell, tmp_path: Path) -> None:
    """Another name of the strategy is a difference of the input, and neither run loses less."""
    pair = _write(tmp_path / "a.yaml", save="old"), _write(tmp_path / "b.yaml", save="new")
    told = tell("compare", *pair)
    assert "neither loses less: goodput" in told.out
    assert "nothing that differs changes the goodput" in told.out
    assert "save[0].name" in told.out


def test_set_overrides_keys_of_both(tell: Tell) -> None:
    """The values set are equal in both and leave the table; their part goes to nothing."""
    told = tell(*_PAIR, "--set", "cluster.gpus=1024", "--set", "training.step_time=10 s", "-f", "json")
    document = json.loads(told.out)
    assert {one["key"] for one in document["inputs"]} == {"model.parameters", "failures.rate_per_node_day"}
    assert {one["cause"] for one in document["causes"]} == {"model", "failures"}
    assert "sizes differ" not in " ".join(document["notes"])


def test_strategies_are_taken_from_whichever_has_them(tell: Tell, tmp_path: Path) -> None:
    """One name of each spec holds two strategies against each other, though they are called differently."""
    a, b = _write(tmp_path / "a.yaml", save="slow"), _write(tmp_path / "b.yaml", save="fast", stall="5 s")
    document = json.loads(tell("compare", a, b, "--strategy", "slow", "--strategy", "fast", "-f", "json").out)
    assert (document["first"]["strategy"], document["second"]["strategy"]) == ("slow", "fast")
    assert [one["cause"] for one in document["causes"]] == ["save"]
    inputs = json.loads(tell(*_PAIR, "--strategy", "blocking 5 min", "-f", "json").out)["equal_inputs"]
    assert inputs == json.loads(tell(*_PAIR, "-f", "json").out)["equal_inputs"] - 4  # those of the other strategy


def test_standard_input_is_one_of_the_two(tmp_path: Path) -> None:
    """- stands for either of them, once."""
    text = Path(_write(tmp_path / "a.yaml", "piped", stall="5 s")).read_bytes()
    other = _write(tmp_path / "b.yaml", "of a file")
    for pair, first in ((("-", other), "A: piped (standard input"), ((other, "-"), "A: of a file")):
        ran = ckptplan("compare", *pair, stdin=text)
        assert ran.code == 0, ran.err
        assert ran.out.startswith(first)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("compare", "-", "-"), 2, "standard input can be read once"),
        (("compare", "rsc-1"), 2, "Missing argument"),
        (("compare", "rsc-1", "nothing-here"), 1, "neither a file nor a shipped config"),
        ((*_PAIR, "--strategy", "nobody"), 2, "neither A (rsc-1.yaml) nor B (rsc-2.yaml) has it"),
        ((*_PAIR, "--strategy", "nobody"), 2, "; B (rsc-2.yaml) has blocking 5 min, blocking 10 s"),
        ((*_PAIR, "--gpu-hour-price", "1e308"), 2, "more than a billion for one GPU-hour"),
        (("compare", "rsc-1", "llama3-405b", "--strategy", "synchronous"), 2, "A (rsc-1.yaml) has none of those"),
        ((*_PAIR, "--gpu-hour-price", "nan"), 2, "nan"),
        ((*_PAIR, "--gpu-hour-price", "-1"), 2, "-1"),
        ((*_PAIR, "--set", "cluster.gpu=3"), 1, "did you mean gpus?"),
        ((*_PAIR, "--set", "nonsense"), 1, "nonsense"),
        ((*_PAIR, "-f", "xml"), 2, "xml"),
        ((*_PAIR, "-o", "/nowhere/at/all"), 2, "there is no folder /nowhere/at"),
    ],
)
def test_wrong_arguments_are_refused(tell: Tell, arguments: tuple[str, ...], code: int, message: str) -> None:
    """One message, the documented exit code, and nothing on standard output."""
    told = tell(*arguments)
    assert told.code == code, told.err
    assert told.out == ""
    assert message in told.err
    assert "hint" in told.err


def test_faults_of_the_second_spec_are_placed(tell: Tell, tmp_path: Path) -> None:
    """File and line of the fault, as ``optimize`` gives them."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("model: {parameters: many}\n")
    told = tell("compare", "rsc-1", str(broken))
    assert told.code == 1
    assert f"{broken}:1:" in told.err


def test_neither_spec_is_overwritten(tell: Tell, tmp_path: Path) -> None:
    """-o with one of the specs is refused; another file holds the whole report."""
    a, b, result = _write(tmp_path / "a.yaml"), _write(tmp_path / "b.yaml", stall="5 s"), tmp_path / "out.txt"
    for spec in (a, b):
        assert tell("compare", a, b, "-o", spec).code == 2
    assert tell("compare", a, b, "-o", str(result)).code == 0
    assert "B loses less" in result.read_text()


def test_a_price_without_a_duration_is_answered(tell: Tell, tmp_path: Path) -> None:
    """Which of the two gives no duration is said on standard error, and in the answer if the other one does."""
    a = _write(tmp_path / "a.yaml", more="training: {duration: 10 d}\n")
    b = _write(tmp_path / "b.yaml", stall="5 s")
    told = tell("compare", a, b, "--gpu-hour-price", "2")
    assert "B an unknown number (no training.duration)" in told.out
    assert "B: no training.duration" in told.err
    assert "A: no training.duration" not in told.err


def test_uncertain_values_count_with_their_middle(tell: Tell, tmp_path: Path) -> None:
    """A range is shown as it is written, and that its central value counts is said."""
    a, b = _write(tmp_path / "a.yaml", stall="30 s .. 90 s"), _write(tmp_path / "b.yaml")
    told = tell("compare", a, b)
    assert told.code == 0, told.err
    assert "save[0].stall of A is not known exactly: its central value counts" in told.out


@pytest.mark.parametrize("format_", ["table", "markdown", "csv"])
def test_hostile_names_stay_text(tell: Tell, tmp_path: Path, format_: str) -> None:
    """Markup of rich and of HTML stays as it is written, and does not steer the table."""
    a = _write(tmp_path / "a.yaml", "<script>A", save="[red]one")
    b = _write(tmp_path / "b.yaml", "[bold]B", save="|two", stall="5 s")
    told = tell("compare", a, b, "-f", format_)
    assert told.code == 0, told.err
    if format_ == "markdown":
        assert "<script>" not in told.out
        assert all(text in told.out for text in (r"\[red\]one", r"\|two", "A: &lt;script&gt;A", r"B: \[bold\]B"))
        return
    assert "[red]one" in told.out
    assert "|two" in told.out
    if format_ == "table":
        assert "A: <script>A" in told.out
        assert "B: [bold]B" in told.out


def test_it_starts_light() -> None:
    """A comparison of closed forms loads no scipy, and rich for the table only; help loads next to nothing."""
    assert loaded([*_PAIR, "-f", "json"], ("scipy", "rich", "matplotlib")) == []
    assert loaded(["compare", "--help"], ("numpy", "scipy", "pydantic", "yaml", "rich")) == []
