"""``ckptplan optimize`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from ckptplan.load import shipped_configs
from ckptplan.render.schemas import output_schema, record_schema
from tests.cli.harness import ckptplan, environment


def document(*arguments: str) -> dict:
    """The JSON document of a command that succeeds."""
    ran = ckptplan("optimize", *arguments, "--format", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def rows(doc: dict, **wanted: object) -> list[dict]:
    """Records with the wanted values."""
    return [row for row in doc["plans"] if all(row[key] == value for key, value in wanted.items())]


def test_answer_comes_first_and_names_the_number_to_type() -> None:
    """The first lines say what to type, in seconds and steps."""
    ran = ckptplan("optimize", "llama3-405b")
    head = ran.out.splitlines()[:5]
    assert any("save every 1,116 s = 223 steps of 5 s" in line for line in head)
    assert any("save every 330 s = 66 steps of 5 s" in line for line in head)


def test_quiet_prints_only_the_number() -> None:
    """-q prints whole steps; seconds where no step time is known."""
    assert ckptplan("optimize", "llama3-405b", "-q").out == "66\n"
    assert ckptplan("optimize", "llama3-405b", "--strategy", "synchronous", "-q").out == "223\n"


def test_first_order_rows_reproduce_the_published_table() -> None:
    """Llama 3 405B to first order: 1,156 s, 5.2 + 5.2 + 5.4 %; 334 s, 1.5 + 1.5 %, goodput 91.6 %."""
    doc = document("llama3-405b", "--set", "save[asynchronous].flush=0 s")
    assert doc["failures"]["mtbf_s"] == pytest.approx(11135.08353, rel=1e-9)
    assert doc["failures"]["mtbf_per_gpu_s"] / 3600 == pytest.approx(50677.0, abs=0.5)
    (slow,) = rows(doc, strategy="synchronous", method="young")
    assert round(slow["interval_s"]) == 1156
    assert [round(100 * slow[k], 1) for k in ("save_fraction", "rework_fraction", "restart_fraction")] == [
        5.2,
        5.2,
        5.4,
    ]
    (fast,) = rows(doc, strategy="asynchronous", method="young")
    assert round(fast["interval_s"]) == 334
    assert [round(100 * fast[k], 1) for k in ("save_fraction", "rework_fraction")] == [1.5, 1.5]
    assert round(100 * fast["goodput"], 1) == 91.6


def test_exact_rows_sum_to_one() -> None:
    """Save, rework, restart, slow, waiting and goodput of each exact row sum to one, for every shipped config."""
    for config in shipped_configs():
        for row in rows(document(config.name), method="exact"):
            parts = ("save", "rework", "restart", "slow", "waiting")
            total = row["goodput"] + sum(row[f"{part}_fraction"] for part in parts)
            assert total == pytest.approx(1.0, abs=1e-12)
            assert row["overhead"] == pytest.approx(1 / row["goodput"] - 1, rel=1e-9)


def test_given_intervals_cost() -> None:
    """One hour and five minutes with a 60 s stall: 17.8 and 21.3 % to first order, 6.5 and 7.6 points lost exactly."""
    doc = document("llama3-405b", "--strategy", "synchronous", "--interval", "1h", "--steps", "60")
    hour, five = rows(doc, given=True, method="young")
    assert hour["interval_steps"] == 720
    assert round(100 * (hour["save_fraction"] + hour["rework_fraction"]), 1) == 17.8
    assert round(100 * (five["save_fraction"] + five["rework_fraction"]), 1) == 21.3
    hour, five = rows(doc, given=True, method="exact")
    assert hour["lost_goodput"] == pytest.approx(0.85255 - 0.78721, abs=1e-5)
    assert five["lost_goodput"] == pytest.approx(0.85255 - 0.77692, abs=1e-5)
    work = 16384 * 54 * 24
    best = hour["goodput_exact"] + hour["lost_goodput"]
    assert hour["lost_gpu_hours"] == pytest.approx(work / hour["goodput_exact"] - work / best, rel=1e-3)


def test_lost_hours_are_those_of_the_same_work() -> None:
    """At half of the GPUs the work takes twice as long; lost hours are what the run takes longer, of all its GPUs."""
    doc = document("llama3-405b", "--strategy", "synchronous", "--interval", "1h", "--gpus", "8192")
    (row,) = (row for row in rows(doc, given=True, method="exact") if row["gpus"] == 8192)
    work = 16384 * 54 * 24
    best = row["goodput_exact"] + row["lost_goodput"]
    assert row["lost_gpu_hours"] == pytest.approx(work / row["goodput_exact"] - work / best, rel=1e-3)
    sentence = "points below its optimum; 54 d of work take 2,066,954 GPU-hours more"
    assert sentence in " ".join(
        ckptplan("optimize", "llama3-405b", "--strategy", "synchronous", "--interval", "1h").out.split()
    )


def test_money() -> None:
    """A price turns lost GPU-hours into money, in the sentence too."""
    arguments = ("llama3-405b", "--strategy", "synchronous", "--interval", "1h", "--gpu-hour-price", "2.5")
    (row,) = rows(document(*arguments), given=True, method="exact")
    assert row["lost_money"] == pytest.approx(2.5 * row["lost_gpu_hours"], rel=1e-12)
    assert f"{row['lost_money']:,.0f}" in ckptplan("optimize", *arguments).out


def test_scales() -> None:
    """1,024 GPUs: 49.5 h, 77 min, 2.6 %; 100,000 GPUs: about 30 min, out of the first-order regime and said so."""
    doc = document("llama3-405b", "--strategy", "synchronous", "--gpus", "1024,100000")
    (small,) = rows(doc, gpus=1024, method="young")
    assert small["mtbf_s"] / 3600 == pytest.approx(49.489, abs=1e-3)
    assert round(small["interval_s"] / 60) == 77
    assert 100 * (small["save_fraction"] + small["rework_fraction"]) == pytest.approx(2.595, abs=5e-4)
    (large,) = rows(doc, gpus=100000, method="young")
    assert large["mtbf_s"] / 60 == pytest.approx(30.4, abs=0.05)
    assert "first order is" in large["status"]
    assert any("MTBF" in warning and "100,000" in warning for warning in doc["warnings"])
    (exact,) = rows(doc, gpus=100000, method="exact")
    assert exact["goodput"] == pytest.approx(0.55057, abs=1e-5)


@pytest.mark.parametrize("gpus", [1, 8, 1000, 10**6, 10**7])
@pytest.mark.parametrize("parameters", ["1e3", "1e15"])
@pytest.mark.parametrize("restart", ["0 s", "100 d"])
def test_extremes_are_finite_and_ordered(gpus: int, parameters: str, restart: str) -> None:
    """From one GPU to ten million, tiny to absurd models, no restart to hopeless ones: goodput stays in [0, 1]."""
    doc = document(
        "llama3-70b",
        "--gpus",
        str(gpus),
        "--set",
        f"model.parameters={parameters}",
        "--set",
        f"restart={{total: {restart}}}",
    )
    for row in doc["plans"]:
        assert 0 <= row["goodput_exact"] <= 1
        assert row["goodput"] is None or 0 <= row["goodput"] <= 1
        assert row["interval_s"] >= row["interval_floor_s"]
        assert row["interval_s"] > 0
        assert row["status"]
    for row in rows(doc, method="exact"):
        same = [r for r in doc["plans"] if (r["strategy"], r["gpus"]) == (row["strategy"], row["gpus"])]
        assert all(row["goodput_exact"] >= other["goodput_exact"] * (1 - 1e-12) for other in same)


def test_first_order_beyond_one_is_null() -> None:
    """Where the first-order sum passes one, goodput is null and the exact value stands beside it."""
    doc = document("llama3-405b", "--gpus", "1000000", "--strategy", "synchronous")
    (row,) = rows(doc, gpus=1000000, method="young")
    assert row["overhead"] > 1
    assert row["goodput"] is None
    assert 0 < row["goodput_exact"] < 1
    assert "not valid here" in row["status"]


def test_json_validates_against_the_published_schema() -> None:
    """The documents of one and of several specs hold their schemas."""
    jsonschema.validate(document("llama3-405b", "--interval", "1h"), output_schema("plan"))
    both = document("llama3-405b", "opt-175b")
    assert both["schema"] == "ckptplan.plans/1"
    jsonschema.validate(both, output_schema("plans"))


def test_csv_has_the_columns_of_the_json_records() -> None:
    """The CSV re-reads to the very numbers of the JSON document."""
    doc = document("llama3-405b", "--interval", "1h")
    ran = ckptplan("optimize", "llama3-405b", "--interval", "1h", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(ran.out)))
    assert list(table[0]) == list(record_schema()["properties"])
    for read, row in zip(table, doc["plans"], strict=True):
        for key, value in row.items():
            if isinstance(value, bool):
                assert read[key] == str(value).lower()
            elif isinstance(value, float | int):
                assert float(read[key]) == value
            else:
                assert read[key] == (value or "")


def test_fail_under() -> None:
    """--fail-under exits 3 when the plan, or the given interval, is below; the report is printed all the same."""
    assert ckptplan("optimize", "llama3-405b", "--fail-under", "0.9").code == 0
    ran = ckptplan("optimize", "llama3-405b", "--fail-under", "0.93")
    assert ran.code == 3
    assert "save every" in ran.out
    assert "0.93" in ran.err
    assert ckptplan("optimize", "llama3-405b", "--interval", "1h", "--fail-under", "0.9").code == 3


def test_asynchronous_interval_below_the_floor_is_raised_and_said() -> None:
    """An interval of whole steps shorter than the flush of 742.5 s is raised to the next whole steps, and said."""
    doc = document("lab-64", "--strategy", "asynchronous", "--interval", "1min")
    (row,) = rows(doc, given=True, method="exact")
    assert row["asked_interval_s"] == 60.0
    assert row["interval_floor_s"] == pytest.approx(0.98 * 757.7, rel=1e-3)
    assert row["interval_s"] == 186 * 4.0
    assert row["interval_steps"] == 186
    assert "raised" in row["status"]


def test_specs_from_standard_input() -> None:
    """A dash reads the spec from standard input."""
    starter = ckptplan("spec", "init").out
    ran = ckptplan("optimize", "-", stdin=starter.encode())
    assert ran.code == 0
    assert "save every" in ran.out


def test_set_and_environment_override_the_spec_in_order() -> None:
    """Flag > environment > spec."""
    name = {"CKPTPLAN_SPEC__TRAINING__STEP_TIME": "10 s"}
    assert ckptplan("optimize", "llama3-405b", "-q", env=name).out == "33\n"
    assert ckptplan("optimize", "llama3-405b", "-q", "--set", "training.step_time=20 s", env=name).out == "17\n"
    assert ckptplan("optimize", "llama3-405b", env={"CKPTPLAN_FORMAT": "csv"}).out.startswith("spec,strategy,")


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_width(columns: int) -> None:
    """At any width no line is longer than it, and no number is cut."""
    ran = ckptplan("optimize", "llama3-405b", "--interval", "1h", env={"COLUMNS": str(columns)})
    assert max(map(len, ran.out.splitlines())) <= columns
    for number in ("1,116 s", "3,600 s", "85.26 %", "78.72 %"):
        assert number in ran.out.replace("\n", " ")
    assert "..." not in ran.out


def test_pipe_has_no_escape_codes_and_no_width() -> None:
    """Piped output is plain text with whole lines."""
    ran = ckptplan("optimize", "llama3-405b")
    assert "\x1b" not in ran.out
    assert "..." not in ran.out


def _on_terminal(env: dict[str, str]) -> str:
    """What the command writes to a real pseudo-terminal of 120 columns."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "ckptplan", "optimize", "llama3-405b"]
    process = subprocess.Popen(
        command,
        stdin=follower,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env=environment({"COLUMNS": "120", **env}),
    )
    os.close(follower)
    found = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        found += part
    os.close(leader)
    assert process.wait() == 0
    return found.decode()


def test_terminal_colours() -> None:
    """A terminal gets emphasis, NO_COLOR and TERM=dumb take it away."""
    assert "\x1b[1m" in _on_terminal({"TERM": "xterm"})
    assert "\x1b" not in _on_terminal({"TERM": "xterm", "NO_COLOR": "1"})
    assert "\x1b" not in _on_terminal({"TERM": "dumb"})


_MANY = ",".join(map(str, range(1, 1501)))  # sizes, whose CSV is far longer than a pipe holds
_ASCII_ONLY = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def _named(name: str) -> bytes:
    """The starter spec under another name."""
    lines = ckptplan("spec", "init").out.splitlines()
    return "\n".join(f"name: {name}" if line.startswith("name:") else line for line in lines).encode()


@pytest.mark.parametrize("format_", ["table", "json", "csv", "markdown"])
def test_ascii_locale(format_: str) -> None:
    """An ASCII locale gets ASCII, also for a name that it cannot show."""
    ran = ckptplan("optimize", "-", "--format", format_, stdin=_named('"caf\\xe9"'), env=_ASCII_ONLY)
    assert ran.code == 0, ran.err
    assert "caf" in ran.out
    assert ran.out.isascii()
    assert ran.err.isascii()


@pytest.mark.parametrize("format_", ["table", "json", "csv", "markdown"])
def test_a_name_cannot_steer_the_terminal(format_: str) -> None:
    """Markup and backslashes in a name are text; an escape code in it never reaches the terminal."""
    ran = ckptplan("optimize", "-", "--format", format_, stdin=_named('"[bold]run[/] \\\\n"'))
    assert ran.code == 0, ran.err
    assert (r"\[bold\]run\[/\]" if format_ == "markdown" else "[bold]run[/]") in ran.out
    ran = ckptplan("optimize", "-", "--format", format_, stdin=_named('"\\e[31mred"'))
    assert ran.code == 1
    assert "\x1b" not in ran.out + ran.err


def test_markdown() -> None:
    """Markdown holds the answers and a table of equal width."""
    ran = ckptplan("optimize", "llama3-405b", "--format", "markdown")
    table = [line for line in ran.out.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert "save every 1,116 s" in ran.out


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["optimize"],
        ["size"],
        ["methods"],
        ["configs"],
        ["spec", "show"],
        ["spec", "init"],
        ["spec", "check"],
        ["spec", "schema"],
    ],
)
def test_help_fits_80_columns_and_opens_with_an_example(command: list[str]) -> None:
    """Every help page is at most 80 columns wide and shows a command that runs before anything else."""
    ran = ckptplan(*command, "--help", env={"COLUMNS": "80"})
    assert ran.code == 0
    lines = [line.strip() for line in ran.out.splitlines() if line.strip()]
    assert max(map(len, ran.out.splitlines())) <= 80
    assert lines[1].startswith("ckptplan ")


def test_exit_codes_are_in_the_help() -> None:
    """The table of exit codes stands in --help."""
    text = " ".join(ckptplan("--help").out.split())
    for code in ("0 ok", "1 the input", "2 usage", "3 a requested", "70 a bug", "130 interrupted"):
        assert code in text


def test_reader_that_goes_away_is_no_error() -> None:
    """``| head -1`` ends quietly with code 0, also where a pipe does not hold all that was to be said."""
    for arguments in ("optimize llama3-405b", f"optimize llama3-405b --gpus {_MANY} --format csv"):
        for merged in ("", "2>&1"):
            command = f"({sys.executable} -m ckptplan {arguments} {merged}; echo code $? >&2) | head -1"
            done = subprocess.run(command, shell=True, env=environment(), capture_output=True, text=True, check=True)
            assert done.stderr.splitlines()[-1] == "code 0"
            assert "Traceback" not in done.stderr
            assert "BrokenPipe" not in done.stderr
            assert done.stdout.count("\n") == 1


def test_a_hyphen_is_standard_output_and_no_name_is_refused(tell, tmp_path, monkeypatch) -> None:
    """For every command: -o - writes no file of that name, and an empty name is a fault of the command line."""
    monkeypatch.chdir(tmp_path)
    plain = tell("optimize", "llama3-405b", "--format", "csv")
    assert tell("optimize", "llama3-405b", "--format", "csv", "-o", "-") == plain
    told = tell("sweep", "llama3-405b", "--over", "interval=1h", "--format", "csv", "--output", "-")
    assert told.out.startswith("given_interval_s,")
    for command in (("optimize", "llama3-405b"), ("sweep", "llama3-405b", "--over", "interval=1h"), ("spec", "init")):
        told = tell(*command, "-o", "")
        assert (told.code, told.out) == (2, "")
        assert "-o is given no file" in told.err
    for name in ("-", ""):
        told = tell("average", "a", "b", "-o", name)
        assert (told.code, told.out) == (2, "")
        assert "-o wants a name for the weights" in told.err
    assert list(tmp_path.iterdir()) == []


def test_coarse_steps_are_judged_as_typed() -> None:
    """With steps of an hour one step is the answer: its own goodput is printed, compared and checked."""
    arguments = ("llama3-405b", "--strategy", "synchronous", "--set", "training.step_time=1 h")
    ran = ckptplan("optimize", *arguments, "--fail-under", "0.8")
    assert ran.code == 3
    assert "1 step of 3,600 s" in ran.out
    assert "goodput 78.72 %" in ran.out
    assert document(*arguments)["best"]["goodput"] == pytest.approx(0.78721, abs=1e-5)


def test_best_is_the_best_that_can_be_typed(tmp_path: Path) -> None:
    """A strategy whose whole steps are worse than another's is not called best for its continuous optimum."""
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: {parameters: 7e9}\ncluster: {gpus: 64, gpus_per_node: 8}\nfailures: {mtbf: 10 h}\nsave:\n"
        "  - {name: sync, mode: sharded, stall: 45 s}\n"
        "  - {name: async, mode: asynchronous, stall: 1 s, flush: 1005 s}\n"
        "restart: {total: 5 min}\ntraining: {step_time: 1000 s}\n",
        encoding="utf-8",
    )
    assert document(str(path))["best"]["strategy"] == "sync"


def test_two_specs_of_one_name_can_be_told_apart(tmp_path: Path) -> None:
    """Rows of specs with equal names carry the file."""
    names = []
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_bytes(_named("same"))
        names.append(str(tmp_path / name))
    table = list(csv.DictReader(io.StringIO(ckptplan("optimize", *names, "--format", "csv").out)))
    assert len({row["spec"] for row in table}) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["-q", "--format", "json"],
        ["--for", "megatron", "--format", "json"],
        ["--keep", "5"],
        ["-q", "--gpus", "1024"],
        ["-q", "--interval", "1h"],
        ["-q", "--gpu-hour-price", "2"],
        ["--for", "megatron", "--gpu-hour-price", "2"],
        ["--gpu-hour-price", "nan", "--interval", "1h"],
        ["--fail-under", "nan"],
        ["--interval", "1e300 d"],
        ["--steps", "9" * 400],
    ],
    ids=" ".join,
)
def test_options_that_would_do_nothing_are_refused(arguments: list[str]) -> None:
    """An option without effect, or without a finite value, is a usage error."""
    ran = ckptplan("optimize", "llama3-405b", *arguments)
    assert ran.code == 2, ran.err
    assert ran.out == ""


def test_a_price_needs_a_duration() -> None:
    """Without training.duration lost GPU-hours have no number, and that is said."""
    ran = ckptplan(
        "optimize", "-", "--interval", "1h", "--gpu-hour-price", "2", stdin=_named("x").replace(b"duration:", b"# ")
    )
    assert ran.code == 0
    assert "training.duration" in ran.err


def test_a_price_alone_prices_what_to_do_first(tell, monkeypatch) -> None:
    """Typed or of the environment it says the same, in every format; without a duration it is said what is missing."""
    for format_ in ("table", "json", "csv", "markdown"):
        typed = tell("optimize", "rsc-1", "-f", format_, "--gpu-hour-price", "3")
        monkeypatch.setenv("CKPTPLAN_GPU_HOUR_PRICE", "3")
        assert tell("optimize", "rsc-1", "-f", format_) == typed
        monkeypatch.delenv("CKPTPLAN_GPU_HOUR_PRICE")
        assert typed.code == 0
    assert " GPU-hours worth " in tell("optimize", "rsc-1", "--gpu-hour-price", "3").out
    told = tell("optimize", "rsc-1", "--gpu-hour-price", "3", "--set", "training={step_time: 5 s}")
    assert (told.code, "no training.duration" in told.err) == (0, True)


def test_quiet_without_a_step_time_says_its_unit() -> None:
    """The number is then in seconds, and standard error says so."""
    ran = ckptplan("optimize", "-", "-q", stdin=_named("x").replace(b"step_time:", b"# "))
    assert float(ran.out) > 100
    assert "in seconds" in ran.err


def test_a_trainer_that_only_blocks_gets_a_blocking_strategy() -> None:
    """Hugging Face saves synchronously: the interval is that of the best blocking strategy, and that is said."""
    ran = ckptplan("optimize", "llama3-405b", "--for", "huggingface")
    assert "save_steps=223" in ran.out
    assert "synchronous" in ran.err


def test_a_full_disk_and_a_closed_output_are_said() -> None:
    """What cannot be written ends in exit code 1 and one line, whatever the command."""
    run = f"{sys.executable} -m ckptplan"
    for command in (f"{run} optimize rsc-2 > /dev/full", f"{run} --version > /dev/full", f"{run} configs >&-"):
        done = subprocess.run(command, shell=True, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
    command = f"{run} optimize absent.yaml 2>&-"
    done = subprocess.run(command, shell=True, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_warnings_come_after_the_answer() -> None:
    """Where both go to one place, the first line is the answer's."""
    command = f"{sys.executable} -m ckptplan optimize opt-175b 2>&1"
    done = subprocess.run(command, shell=True, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.index("save every") < done.stdout.index("warning: ")


def test_a_result_does_not_replace_its_spec(tmp_path: Path) -> None:
    """-o onto the spec itself is refused by every command that reads one."""
    path = tmp_path / "run.yaml"
    path.write_bytes(_named("x"))
    for command in (["optimize"], ["size"], ["spec", "show"]):
        assert ckptplan(*command, str(path), "-o", str(path)).code == 2
    assert path.read_bytes() == _named("x")


def test_a_flush_longer_than_a_step_is_no_background_save_for_deepspeed() -> None:
    """DeepSpeed hides one step of a flush: a longer one gets the interval of the blocking strategy, with a word."""
    short = ckptplan("optimize", "llama3-405b", "--for", "deepspeed")
    assert "SAVE_EVERY = 66" in short.out
    assert "decoupled" in short.out
    long = ckptplan("optimize", "llama3-405b", "--for", "deepspeed", "--set", "save[asynchronous].flush=60 s")
    assert "SAVE_EVERY = 223" in long.out
    assert "decoupled" not in long.out
    assert "hides no more than one step of a flush" in long.err


@pytest.mark.parametrize(
    "more",
    [(), ("training.global_batch=2048",), ("training.scaling_exponent=0.8",), ("training.step_noise=0.05",)],
)
def test_other_sizes_have_the_steps_of_scale(more: tuple[str, ...]) -> None:
    """With a global batch, or other noise, a step takes another time at another size: steps are counted by that."""
    sets = [part for text in more for part in ("--set", text)]
    doc = document("llama3-405b", *sets, "--gpus", "4096")
    scaled = json.loads(ckptplan("scale", "llama3-405b", *sets, "--gpus", "4096", "--format", "json").out)
    wanted = {row["strategy"]: row for row in scaled["sizes"] if row["gpus"] == 4096}
    found = [row for row in rows(doc, given=False, method="exact") if row["gpus"] == 4096]
    assert {row["strategy"] for row in found} == set(wanted)
    printed = " ".join(ckptplan("optimize", "llama3-405b", *sets, "--gpus", "4096").out.split())
    for row in found:
        one = wanted[row["strategy"]]
        assert (row["interval_steps"], row["goodput_steps"]) == (one["interval_steps"], one["goodput"])
        assert f"= {one['interval_steps']:,} steps of {one['step_time_s']:,.6g} s" in printed


def test_a_size_that_cannot_be_planned_is_left_out() -> None:
    """The others are planned, and a warning says which one is not, and why; the planned size must be possible."""
    ran = ckptplan("optimize", "spectrum-16384", "--method", "exact", "--gpus", "8,4096")
    assert ran.code == 0, ran.err
    assert "at 4,096 GPUs" in ran.out
    assert "at 8 GPUs" not in ran.out
    assert "warning: 8 GPUs are left out: storage.tiers: peer memory keeps 2 copies on different nodes" in ran.err


def test_where_nothing_gets_on_no_number_is_offered() -> None:
    """Neither at the planned size nor at another one."""
    out = ckptplan("optimize", "lab-64", "--gpus", "1000000").out
    assert "at 1,000,000 GPUs (MTBF 33 s), synchronous: no progress, goodput 2e-51 %" in out
    out = ckptplan("optimize", "lab-64", "--set", "failures.mtbf=1s").out
    assert "synchronous: no progress, goodput 0.00 %" in out
    assert "save every" not in out
