"""``ckptplan sweep``: what it prints, from options and from files, and what it refuses."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow.parquet as pq
import pytest

from ckptplan.cli.sweep_output import Tally, destination
from ckptplan.errors import InputError
from ckptplan.render.plots.sweep import MOST_LINES, MOST_MAPS, MOST_POINTS
from ckptplan.render.schemas import output_schema
from ckptplan.spec.starter import STARTER
from ckptplan.sweep.columns import Labels
from tests.cli.harness import Tell, ckptplan

RUN = "llama3-405b"
GPUS = ("--over", "cluster.gpus=8192,16384")


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _json(tell, *arguments: str) -> dict:
    told = tell("sweep", *arguments, "--format", "json")
    assert told.code == 0, told.err
    document = json.loads(told.out)
    jsonschema.validate(document, output_schema("sweep"))
    return document


def _records(document: dict) -> list[dict]:
    names = [column["name"] for column in document["columns"]]
    return [dict(zip(names, row, strict=True)) for row in document["rows"]]


_SHARED = ("strategy", "method", "interval_s", "interval_steps", "goodput", "goodput_exact", "goodput_steps")


@pytest.mark.parametrize("spec", ["llama3-405b", "opt-175b", "tinyllama-16", "rsc-1"])
def test_one_point_equals_optimize_to_the_last_digit(tell, spec):
    """Every strategy by every method, in every share; the point is set in one and an axis of the other."""
    shares = ("save_fraction", "rework_fraction", "restart_fraction")
    columns = (*_SHARED, *shares, "mtbf_s", "stall_s", "flush_s", "overhead", "status")
    told = tell("optimize", spec, "--set", "failures.mtbf=5 h", "--format", "json")
    assert told.code == 0, told.err
    wanted = [record for record in json.loads(told.out)["plans"] if record["strategy"] != "tiers"]
    document = _json(tell, spec, "--over", "failures.mtbf=5 h", "--each", "method", "--show", ",".join(columns))
    found = _records(document)
    assert [{name: row[name] for name in columns} for row in found] == [
        {name: record[name] for name in columns} for record in wanted
    ]


def test_an_axis_of_gpus_rescales_as_optimize_does(tell):
    """The failure rate of each GPU is held."""
    told = tell("optimize", RUN, "--gpus", "1024,100000", "--format", "json")
    plans = [one for one in json.loads(told.out)["plans"] if one["method"] == "exact" and one["gpus"] != 16384]
    document = _json(
        tell, RUN, "--over", "cluster.gpus=1024,100000", "--each", "strategy", "--show", "gpus,mtbf_s,interval_s"
    )
    assert [(row["gpus"], row["mtbf_s"], row["interval_s"]) for row in _records(document)] == [
        (one["gpus"], one["mtbf_s"], one["interval_s"]) for one in plans
    ]


def test_a_given_interval_can_be_an_axis(tell):
    """It is evaluated as --interval is."""
    told = tell("optimize", RUN, "--interval", "1h", "--method", "exact", "--format", "json")
    (wanted,) = [one for one in json.loads(told.out)["plans"] if one["given"] and one["strategy"] == "asynchronous"]
    options = ("--strategy", "asynchronous", "--show", "interval_s,goodput_typed,lost_goodput")
    (row,) = _records(_json(tell, RUN, "--over", "interval=1 h", *options))
    assert row["given_interval_s"] == 3600
    assert row["lost_goodput"] == wanted["lost_goodput"]


def test_csv_has_a_row_for_each_point_in_order(tell):
    """The last axis runs fastest; the header carries units."""
    told = tell("sweep", RUN, *GPUS, "--over", "storage.write_bandwidth=10 GB/s,2 TB/s", "--format", "csv")
    rows = _rows(told.out)
    assert [row["cluster.gpus"] for row in rows] == ["8192", "8192", "16384", "16384"]
    assert [float(row["storage.write_bandwidth_bytes_per_s"]) for row in rows] == [1e10, 2e12, 1e10, 2e12]


def test_a_grid_in_the_file_says_the_same_as_options(tell, tmp_path):
    """To the last byte, and the other commands take the file as if it had none."""
    grid = "\nsweep:\n  over: {cluster.gpus: '64..512:log:4', 'save[0].stall': [1 s, 2 s]}\n  each: strategy\n"
    plain, with_grid = tmp_path / "plain.yaml", tmp_path / "grid.yaml"
    plain.write_text(STARTER)
    with_grid.write_text(STARTER + grid)
    options = ("--over", "cluster.gpus=64..512:log:4", "--over", "save[0].stall=1 s,2 s", "--each", "strategy")
    by_options = tell("sweep", str(plain), *options, "--format", "csv")
    by_file = tell("sweep", str(with_grid), "--format", "csv")
    assert by_file.out == by_options.out
    assert by_file.out.count("\n") > 8
    for command in (
        ("optimize", "--format", "json"),
        ("spec", "show", "--format", "json"),
        ("size", "--format", "json"),
    ):
        words = command[: 2 if command[0] == "spec" else 1]
        rest = command[len(words) :]
        one, other = (tell(*words, str(path), *rest) for path in (plain, with_grid))
        assert one.code == other.code == 0
        assert one.out == other.out.replace("grid.yaml", "plain.yaml")


def test_options_win_over_the_file(tell, tmp_path):
    """An axis by its key, all else by its name; axes of other keys are added."""
    path = tmp_path / "run.yaml"
    path.write_text(STARTER + "\nsweep: {over: {cluster.gpus: [64, 128]}, show: goodput, each: method}\n")
    told = tell(
        "sweep", str(path), "--over", "cluster.gpus=256", "--over", "restart.total=1 min,2 min", "--show",
        "interval_s", "--each", "point", "--format", "csv",
    )  # fmt: skip
    assert told.out.splitlines()[0] == "cluster.gpus,restart.total_s,interval_s"
    assert [row["cluster.gpus"] for row in _rows(told.out)] == ["256", "256"]


def test_a_study_names_several_specs(tell, tmp_path):
    """Shipped ones and files beside it; each row names its spec, and equals that of the spec alone."""
    (tmp_path / "mine.yaml").write_text(STARTER)
    study = tmp_path / "study.yaml"
    study.write_text("sweep:\n  specs: [llama3-405b, mine.yaml]\n  over: {restart.total: [5 min, 10 min]}\n")
    rows = _records(_json(tell, str(study)))
    assert len(rows) == 4
    assert len({row["spec"] for row in rows}) == 2
    alone = _records(_json(tell, RUN, "--over", "restart.total=5 min,10 min"))
    assert [row["goodput_typed"] for row in rows[:2]] == [row["goodput_typed"] for row in alone]


def test_specs_of_one_name_are_told_apart(tell, tmp_path):
    """By the file, or as the same one again."""
    path = tmp_path / "a.yaml"
    path.write_text(STARTER)
    rows = _records(_json(tell, str(path), str(path), "--over", "restart.total=5 min"))
    assert len({row["spec"] for row in rows}) == 2


def test_standard_input_is_a_spec():
    """It is read once, though the grid stands in it too."""
    text = STARTER + "\nsweep: {over: {restart.total: [1 min, 2 min]}}\n"
    ran = ckptplan("sweep", "-", "--format", "csv", stdin=text.encode())
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 3


def test_a_price_shows_what_is_lost(tell):
    """In money, beside the goodput."""
    told = tell("sweep", RUN, *GPUS, "--gpu-hour-price", "2.5", "--format", "csv")
    rows = _rows(told.out)
    assert all(float(row["money_lost"]) > 0 for row in rows)


def test_points_that_cannot_be_planned_are_said(tell):
    """Their rows have a reason and no numbers; standard error counts them."""
    told = tell("sweep", RUN, "--over", "cluster.layout.tensor=7,8", "--format", "csv")
    assert told.code == 0, told.err
    bad, good = _rows(told.out)
    assert good["goodput_typed"]
    assert not bad["goodput_typed"]
    assert "7" in bad["status"]
    assert "1 row has no numbers" in " ".join(told.err.split())


def test_a_sweep_without_any_plan_is_an_error(tmp_path):
    """With the first reason; of what was written nothing is left, and an older file stays."""
    output = tmp_path / "out.csv"
    output.write_text("older")
    lost = {"goodput_typed": np.full(2, np.nan), "status": Labels(np.array([1, 0], dtype=np.int32), ("b", "a\x1b"))}
    tail: dict = {}

    def written() -> None:
        tally = Tally()
        with destination(output) as file:
            for part in tally.over([lost, lost], tail):
                file.write(repr(part).encode())
            tally.refuse_without_rows()

    with pytest.raises(InputError, match=r"no point could be planned: a\?") as caught:
        written()
    assert "ckptplan optimize" in caught.value.render()
    assert tail == {"unplanned": 4}
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert output.read_text() == "older"


@pytest.mark.parametrize("format_", ["csv", "json", "markdown", "parquet", "table"])
def test_a_file_appears_whole_and_alone(tell, tmp_path, format_):
    """Equal to standard output, run after run, with nothing left beside it."""
    output = tmp_path / "out"
    arguments = ("sweep", RUN, *GPUS, "--format", format_)
    told = tell(*arguments, "-o", str(output))
    assert (told.code, told.out) == (0, "")
    first = output.read_bytes()
    assert tell(*arguments, "-o", str(output)).code == 0
    assert output.read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    if format_ != "parquet":
        assert tell(*arguments).out.encode() == first


def test_what_a_killed_run_left_is_removed_but_nothing_else(tell, tmp_path):
    """Not what a running one writes to, nor files of other outputs, links, or such as were begun later."""
    old = 1_000_000_000
    output = tmp_path / "out.csv"
    names = (".out.csv.aaaaaaaa.part", ".out.csv.bbbbbbbb.part", ".other.csv.aaaaaaaa.part", ".out.csv.a.part", "aim")
    for name in names:
        (tmp_path / name).write_text("begun")
        os.utime(tmp_path / name, (old, old))
    (tmp_path / ".out.csv.cccccccc.part").symlink_to("aim")
    (tmp_path / ".out.csv.dddddddd.part").write_text("begun later")
    os.utime(tmp_path / ".out.csv.dddddddd.part", (2 * old, 2 * old))
    with (tmp_path / names[1]).open("r+b") as running:
        fcntl.flock(running, fcntl.LOCK_EX)
        assert tell("sweep", RUN, *GPUS, "--format", "csv", "-o", str(output)).code == 0
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"out.csv", ".out.csv.cccccccc.part", ".out.csv.dddddddd.part", *names[1:]}


def test_parquet_holds_what_csv_holds(tell, tmp_path):
    """Read back, value by value."""
    output = tmp_path / "out.parquet"
    assert tell("sweep", RUN, *GPUS, "--format", "parquet", "-o", str(output)).code == 0
    wanted = _rows(tell("sweep", RUN, *GPUS, "--format", "csv").out)
    found = pq.read_table(output).to_pylist()
    assert [float(row["goodput_typed"]) for row in wanted] == [row["goodput_typed"] for row in found]
    assert [row["strategy"] for row in wanted] == [row["strategy"] for row in found]


@pytest.mark.parametrize("environment", [{}, {"COLUMNS": "60"}, {"NO_COLOR": "1"}, {"COLUMNS": "60", "TERM": "dumb"}])
def test_piped_and_narrow_tables_lose_no_digit(environment):
    """Two axes: a pivot where it fits; no line is wider than asked for, no colour codes, the sentence first."""
    ran = ckptplan("sweep", RUN, *GPUS, "--over", "storage.write_bandwidth=10 GB/s,100 GB/s,2 TB/s", env=environment)
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    assert " ".join(ran.out.split()).startswith("Best of 6 points: cluster.gpus 8,192")
    assert all(goodput in ran.out for goodput in ("95.28", "91.92"))
    if "COLUMNS" in environment:
        assert max(map(len, ran.out.splitlines())) <= 60
    assert "(across)" in ran.out


BAD = {
    "no axis": ((RUN,), 2, "a sweep needs an axis", "--over cluster.gpus"),
    "no spec": ((), 2, "Missing argument", "--help"),
    "unknown spec": (("llama3-405", *GPUS), 1, "neither a file nor a shipped config", "did you mean llama3-405b?"),
    "key": ((RUN, "--over", "cluster.gpu=3"), 1, "unknown key", "did you mean gpus?"),
    "twice": ((RUN, *GPUS, *GPUS), 1, "the key has two axes", "one list"),
    "twice by name": (
        (RUN, "--over", "save[0].stall=1 s", "--over", "save[synchronous].stall=2 s"),
        1,
        "the key has two axes",
        "one list",
    ),
    "no such strategy": ((RUN, "--over", "save[9].stall=1 s"), 1, "there is no save[9]", "save[synchronous]"),
    "points": (
        (RUN, "--over", "failures.mtbf=1..2 h:1000000", "--over", "interval=1..2 h:1000"),
        1,
        "1,000,000,000",
        "",
    ),
    "show": (
        (RUN, *GPUS, "--show", "intervall"),
        2,
        "--show intervall: not known",
        "did you mean interval or interval_s",
    ),
    "show nothing": ((RUN, *GPUS, "--show", " , "), 2, "names no column", "--show interval_s"),
    "each": ((RUN, *GPUS, "--each", "points"), 2, "--each points: not known", "did you mean point?"),
    "strategy": ((RUN, *GPUS, "--strategy", "sync"), 2, "--strategy sync: not known", "synchronous"),
    "method": ((RUN, *GPUS, "--method", "yong"), 2, "--method yong: not known", "did you mean young?"),
    "set": ((RUN, *GPUS, "--set", "cluster.gpu=3"), 1, "unknown key", "did you mean gpus?"),
    "set and over": ((RUN, *GPUS, "--set", "cluster.gpus=3"), 2, "is set, and is an axis", "leave --set out"),
    "set sweep": ((RUN, *GPUS, "--set", "sweep.seed=3"), 2, "the options of this command", "--over"),
    "price": ((RUN, *GPUS, "--gpu-hour-price", "nan"), 2, "not a finite number", "2.5"),
    "price below zero": ((RUN, *GPUS, "--gpu-hour-price", "-1"), 2, "--gpu-hour-price -1: less than 0", "0 or more"),
    "price for nothing": (
        (RUN, *GPUS, "--gpu-hour-price", "2", "--show", "interval_s"),
        2,
        "does nothing",
        "money_lost",
    ),
    "runs": ((RUN, *GPUS, "--runs", "0"), 2, "--runs 0: less than 1", "from 1 to 1,000,000"),
    "runs for nothing": ((RUN, *GPUS, "--runs", "3", "--show", "interval_s"), 2, "does nothing", "simulated_goodput"),
    "no runs": ((RUN, *GPUS, "--show", "simulated_goodput"), 1, "no run is simulated", "number of runs"),
    "seed": ((RUN, *GPUS, "--seed", "-1"), 2, "--seed -1: less than 0", "0 or more"),
    "jobs": ((RUN, *GPUS, "--jobs", "0"), 2, "--jobs 0: less than 1", "from 1 to 1,024"),
    "executor": ((RUN, *GPUS, "--executor", "proceses"), 2, "no executor is called 'proceses'", "processes"),
    "address": ((RUN, *GPUS, "--executor", "dask://nowhere"), 2, "no address of a scheduler", "dask://10.0.0.7:8786"),
    "format": ((RUN, *GPUS, "--format", "xlsx"), 2, "--format xlsx: not known", "markdown, parquet"),
    "parquet": ((RUN, *GPUS, "--format", "parquet"), 2, "needs a file", "-o study.parquet"),
    "folder": ((RUN, *GPUS, "--format", "csv", "-o", "/nowhere/out.csv"), 2, "there is no folder", "-o"),
    "journal": ((RUN, *GPUS, "--resume", "nowhere/kept"), 2, "--resume nowhere/kept: there is no folder", "make it"),
    "one file": ((RUN, *GPUS, "-o", "x.csv", "--resume", "x.csv"), 2, "are one file", "another file"),
    "long table": ((RUN, "--over", "failures.mtbf=1..2 h:2001"), 2, "2,001 rows are too many", "--format csv"),
}


@pytest.mark.parametrize(("arguments", "code", "message", "hint"), BAD.values(), ids=list(BAD))
def test_bad_input_is_refused(tell, tmp_path, monkeypatch, arguments, code, message, hint):
    """Every option: one message, what would be accepted, nothing on standard output and no file."""
    monkeypatch.chdir(tmp_path)
    told = tell("sweep", *arguments)
    assert told.code == code, told.err
    assert told.out == ""
    said = " ".join(told.err.split())
    assert message in said
    assert hint in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_faults_of_all_axes_are_said_at_once(tell):
    """Those of several options in one run."""
    told = tell("sweep", RUN, "--over", "foo=3", "--over", "cluster.gpus=1.5", "--over", "failures.mtbf=3")
    assert [part in told.err for part in ("foo: unknown key", "1.5 is not a whole", "3 has no unit")] == [True] * 3


def test_inputs_and_journals_are_not_overwritten(tell, tmp_path):
    """A spec, a study, a spec that it names, a file that a spec names."""
    spec, study, gaps = tmp_path / "run", tmp_path / "study", tmp_path / "gaps.csv"
    gaps.write_text("gap_s\n" + "3600\n" * 30)
    spec.write_text(STARTER)
    study.write_text("sweep: {specs: run, over: {restart.total: 3 min}}\n")
    named = tmp_path / "named.yaml"
    named.write_text(STARTER)
    recorded = ("--set", "failures={law: {name: recorded, file: gaps.csv}}")
    for output, arguments in (
        (spec, (str(spec), "--over", "restart.total=3 min")),
        (study, (str(study),)),
        (spec, (str(study),)),
        (gaps, (str(named), "--over", "restart.total=3 min", *recorded)),
    ):
        before = output.read_bytes()
        told = tell("sweep", *arguments, "--format", "csv", "-o", str(output))
        assert told.code == 2, (output, told.err)
        assert "would overwrite an input" in told.err
        assert output.read_bytes() == before
    told = tell("sweep", str(spec), "--over", "restart.total=3 min", "--resume", str(spec))
    assert told.code == 1
    assert spec.read_text() == STARTER


def test_specs_of_a_study_stay_in_its_folder(tell, tmp_path):
    """No path out of it, no link out of it; the fault has its line."""
    outside = tmp_path / "outside.yaml"
    outside.write_text(STARTER)
    folder = tmp_path / "studies"
    folder.mkdir()
    (folder / "link.yaml").symlink_to(outside)
    (folder / "loop.yaml").symlink_to("loop.yaml")
    study = folder / "study.yaml"
    for name in ("../outside.yaml", str(outside), "link.yaml", "loop.yaml", "missing.yaml", "-", "study.yaml"):
        study.write_text(f"sweep:\n  over: {{restart.total: 3 min}}\n  specs: [{name}]\n")
        told = tell("sweep", str(study))
        assert told.code == 1, name
        assert "study.yaml" in told.err
        assert "hint: " in told.err


def test_two_grids_are_one_too_many(tell, tmp_path):
    """Which one counts is not guessed, unless an option gives the axes."""
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(STARTER + "\nsweep: {over: {restart.total: [1 min, 2 min]}}\n")
    both = (str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))
    assert "one grid is wanted" in tell("sweep", *both).err
    told = tell("sweep", *both, "--over", "restart.total=3 min")
    assert told.code == 0
    assert "neither counts" in told.err


def test_sizes_that_leave_gpus_idle_are_planned_and_explained(tell):
    """A sweep asks what a size would do, and says how idle GPUs count; a spec must fill its cluster."""
    told = tell("sweep", RUN, "--over", "cluster.gpus=1000,16384", "--show", "useful_gpus,gpu_hours")
    assert told.code == 0, told.err
    said = " ".join(told.out.split())
    assert "[1] 104 of 1,000 GPUs fill no further replica and stay idle" in said
    assert "Idle GPUs are paid and do no work. A sweep asks what a size would do; a spec states" in said
    assert "--set cluster.gpus refuses such a size" in said
    assert "1,000 GPUs do not divide" in tell("optimize", RUN, "--set", "cluster.gpus=1000").err
    filled = tell("sweep", RUN, "--over", "cluster.gpus=1024,16384", "--show", "useful_gpus,gpu_hours")
    assert "dle" not in filled.out


def test_the_help_of_plot_says_what_a_picture_takes(tell):
    """Axes, points, lines and maps: the numbers by which it refuses."""
    said = " ".join(tell("sweep", "--help").out.split())
    assert "over at most two axes of several values" in said
    assert f"up to {MOST_POINTS:,} points and {MOST_LINES} lines or {MOST_MAPS} maps" in said


def test_a_hostile_name_is_no_formula_in_csv(tell, tmp_path):
    """Of a spec and of a strategy, in the CSV of a sweep and of a plan."""
    spec = tmp_path / "run.yaml"
    spec.write_text(STARTER.replace("name: sharded", "name: '=1+1'").replace("name: my run", "name: '@SUM(A1)'", 1))
    swept = tell("sweep", str(spec), str(spec), "--over", "restart.total=60 s", "--each", "strategy", "--format", "csv")
    assert {row["strategy"] for row in _rows(swept.out)} == {"'=1+1", "asynchronous"}
    planned = tell("optimize", str(spec), "--format", "csv")
    assert {row["strategy"] for row in _rows(planned.out)} == {"'=1+1", "asynchronous"}
    assert {row["spec"][:2] for row in (*_rows(swept.out), *_rows(planned.out))} == {"'@"}


def test_the_least_and_the_greatest_value_of_an_axis_are_checked(tell: Tell) -> None:
    """Each with what reading a spec with it would warn of, at the option, wherever in the list they stand."""
    for values in ("1s,1min,1e9 d", "1 h,1e9 d,1s", "1e9 d,1s"):
        ran = tell("sweep", RUN, "--over", f"failures.mtbf={values}")
        assert ran.code == 0, ran.err
        assert ran.err.count(f"warning: --over failures.mtbf={values}: failures.mtbf: one GPU would fail every") == 2
        assert "is this one in minutes that was meant in hours?" in ran.err
        assert "is this the MTBF of one GPU?" in ran.err


def test_a_warning_of_a_group_is_one_of_the_axis_in_it(tell: Tell) -> None:
    """The count of an axis is odd, and not what the file says."""
    ran = tell("sweep", RUN, "--over", "failures.interruptions.count=1,419")
    assert "warning: --over failures.interruptions.count=1,419: failures.interruptions: one GPU would" in ran.err
    assert "yaml:" not in ran.err


def test_few_failures_and_ranges_are_said(tell: Tell) -> None:
    """A sweep carries neither through its points; where failures are what is swept their count is no news."""
    sets = ("--set", "failures.interruptions.count=3", "--set", "save[0].stall=50..70 s")
    ran = tell("sweep", RUN, *sets, "--over", "restart.total=1 min,5 min")
    assert "warning: only 3 failures were counted: the MTBF lies between 148 h and 87.3 d (95 %)" in ran.err
    assert "warning: save[0].stall is not known exactly: its central value counts" in ran.err
    ran = tell("sweep", RUN, *sets, "--over", "failures.interruptions.count=3,400")
    assert "failures were counted" not in ran.err
    ran = tell(
        "sweep",
        RUN,
        "lab-64",
        *sets[:2],
        "--over",
        "restart.total=1 min,5 min",
        "--set",
        "failures.interruptions={count: 3, over: 54 d, gpus: 64}",
    )
    assert "llama3-405b.yaml: only 3 failures" in ran.err
    assert "lab-64.yaml: only 3 failures" in ran.err


def test_columns_without_numbers_have_a_reason(tell: Tell) -> None:
    """No price, or no work of the run: dashes are explained."""
    ran = tell("sweep", RUN, "--over", "restart.total=1 min", "--show", "money,goodput")
    assert ran.code == 0, ran.err
    assert "warning: no price is given, so there is no money: add --gpu-hour-price" in ran.err
    bare = ("--set", "training={step_time: 5 s}")
    ran = tell("sweep", RUN, *bare, "--over", "restart.total=1 min", "--show", "gpu_hours,expected_s,goodput")
    assert "warning: no training.duration is given, so there is no gpu_hours, expected_s\n" in ran.err
    ran = tell("sweep", RUN, *bare, "--over", "training.duration=1 d,2 d", "--show", "gpu_hours")
    assert "no training.duration" not in ran.err
    ran = tell("sweep", RUN, "--over", "restart.total=1 min", "--show", "money", "--gpu-hour-price", "2")
    assert "there is no" not in ran.err
    ran = tell("sweep", RUN, "--over", "restart.total=1 min", "--show", "lost_goodput,lost_money")
    why = "no interval is given, so there is no lost_goodput, lost_money: add for example --over interval="
    assert f"warning: {why}" in ran.err
    assert "price" not in ran.err


def test_small_words_of_axes_and_studies(tell: Tell, tmp_path: Path) -> None:
    """A sign is no missing unit, one fault is said once, and keys of a study are shown their place."""
    ran = tell("sweep", RUN, "--over", "restart.total=-1..1 s:3")
    assert "restart.total: -1 s is negative" in ran.err
    ran = tell("sweep", RUN, "--over", "restart.total=,")
    assert ran.err.count("a value is missing") == 1
    study = tmp_path / "study.yaml"
    study.write_text("specs: [llama3-405b]\nsweep: {over: {restart.total: 1 min}}\n", encoding="utf-8")
    assert "hint: specs belongs under sweep\n" in tell("sweep", str(study)).err
