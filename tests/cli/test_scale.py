"""``ckptplan scale`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import pytest

from ckptplan.render.schemas import output_schema
from ckptplan.spec.starter import STARTER
from tests.cli.harness import Ran, Tell, ckptplan
from tests.cli.test_startup import loaded
from tests.plan.test_scaling import SPECTRUM

_POWER = "cluster.power={compute: 1.1 kW, save: 600 W, restart: 300 W}"
_BATCH = "training={step_time: 5 s, duration: 54 d, global_batch: 2048, micro_batch: 1}"
_ALL = ("scale", "llama3-405b", "--set", _POWER, "--set", _BATCH, "--energy")
_PRICED = ("--gpu-hour-price", "2.5", "--useful-hour-worth", "4")


@pytest.fixture(scope="session")
def spec(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A spec with classes of failures, tiers, spares, a batch and powers."""
    path: Path = tmp_path_factory.mktemp("scale") / "all.yaml"
    path.write_text(SPECTRUM.replace("duration: 54 d", "duration: 54 d, global_batch: 2048, step_noise: 2 %"))
    return str(path)


@pytest.fixture(scope="session")
def everything(spec: str) -> Ran:
    """The JSON of all that can be asked."""
    return ckptplan("scale", spec, "--gpus", "32768", "--energy", *_PRICED, "-f", "json")


@pytest.fixture(scope="session")
def plain() -> Ran:
    """The table of a shipped config, as a pipe gets it."""
    return ckptplan("scale", "llama3-405b")


def test_the_answer_comes_first(plain: Ran) -> None:
    """What the planned GPUs do by each strategy, where more stop helping, then the table; piped, no line is broken."""
    assert plain.code == 0, plain.err
    lines = plain.out.splitlines()
    assert lines[2].startswith("synchronous: 16,384 GPUs do the work of 13,968 (goodput 85.26 %)")
    assert lines[3].endswith("(best)")
    assert lines[5] == (
        "synchronous: adding GPUs stops helping at 235,520 GPUs (1,840 replicas): MTBF 775 s, goodput 30.25 %, the "
        "work of 71,237 (closed form: 235,541 GPUs)"
    )
    assert "add --gpu-hour-price and --useful-hour-worth" in lines[7]
    assert lines.index("What is assumed") > 20
    assert "\x1b" not in plain.out


def test_the_default_series_reaches_beyond_the_peak(plain: Ran) -> None:
    """Sizes from an eighth of the planned one to beyond the peak, the planned one among them."""
    rows = [line.split() for line in plain.out.splitlines() if line.startswith(" asynchronous")]
    sizes = [int(row[1].replace(",", "")) for row in rows]
    assert sizes == [2048 * 2**k for k in range(9)]
    assert rows[-1][-3].startswith("-")  # one more adds less than nothing there


def test_json_holds_against_its_schema(everything: Ran) -> None:
    """Every part is there: peaks with prices, sizes with energy, the batch; strategies at each size."""
    assert everything.code == 0, everything.err
    document = json.loads(everything.out)
    jsonschema.validate(document, output_schema("scaling"))
    assert [one["strategy"] for one in document["peaks"]][-1] == "tiers"
    assert all(one["paying"]["gpus"] <= one["peak"]["gpus"] for one in document["peaks"])
    assert len(document["sizes"]) == 2 * len(document["peaks"])
    assert {one["gpus"] for one in document["sizes"]} == {16384, 32768}
    assert document["batch"]["planned_replicas"] == 128
    first = document["sizes"][0]
    assert first["energy_accounting"] == "first order"
    assert first["money"] == pytest.approx(2.5 * 16384 * first["wall_s"] / 3600)


def test_the_published_schema_is_that_of_the_command() -> None:
    """``spec schema scaling`` prints the schema that the documents are held against."""
    ran = ckptplan("spec", "schema", "scaling")
    assert ran.code == 0
    assert json.loads(ran.out) == output_schema("scaling")


def test_csv_has_the_sizes_of_json() -> None:
    """One row per strategy and size under the same names, numbers to the last digit."""
    document = json.loads(ckptplan("scale", "llama3-405b", "--gpus", "1024", "-f", "json").out)
    rows = list(csv.DictReader(io.StringIO(ckptplan("scale", "llama3-405b", "--gpus", "1024", "-f", "csv").out)))
    assert list(rows[0]) == ["spec", *document["sizes"][0]]
    assert [float(row["goodput"]) for row in rows] == [one["goodput"] for one in document["sizes"]]
    assert rows[0]["money"] == ""


def test_markdown_has_the_same_tables() -> None:
    """Answers as a list, one table each for the sizes, the prices, the energy and the batch, then what is assumed."""
    ran = ckptplan(*_ALL, "--gpus", "8192", *_PRICED, "-f", "markdown")
    assert ran.code == 0, ran.err
    assert ran.out.count("| --- |") >= 3
    assert ran.out.count("\n| ---") == 4
    assert "- at 2.50 per GPU-hour and 4.00 per useful one:" in ran.out
    assert "What is assumed:" in ran.out


@pytest.mark.parametrize("columns", ["60", "40"])
def test_a_narrow_terminal_loses_nothing(columns: str) -> None:
    """At 60 and at 40 columns no line is longer, and every number of the wide table is still there."""
    arguments = (*_ALL, "--gpus", "1000", *_PRICED)
    narrow, wide = ckptplan(*arguments, env={"COLUMNS": columns}), ckptplan(*arguments)
    assert narrow.code == wide.code == 0
    assert max(map(len, narrow.out.splitlines())) <= int(columns)
    (row,) = [line for line in wide.out.splitlines() if line.startswith(" asynchronous") and "1,000" in line][:1]
    numbers = [cell for cell in row.split() if cell[0].isdigit()]
    assert len(numbers) >= 7
    assert all(cell in narrow.out for cell in numbers)


def test_idle_gpus_and_batches_are_said() -> None:
    """A size that fills no whole replicas, and the numbers of replicas near the planned one that keep the batch."""
    ran = ckptplan(*_ALL, "--gpus", "1000")
    assert "104 of 1,000 GPUs fill no further replica and stay idle" in ran.out
    assert "128 replicas do 16 each; of 120 to 136 replicas only 128 divides it evenly" in ran.out


def test_energy_says_what_it_saves_and_costs() -> None:
    """The interval of least energy stands beside that of least time; exact for these saves, so nothing is added."""
    ran = ckptplan("scale", "llama3-405b", "--energy", "--gpus", "16384", "--set", _POWER)
    assert ran.code == 0, ran.err
    assert "least energy with a save every 835 s = 167 steps instead of 1,115 s: 0.31 % less energy for" in ran.out
    assert "first order" not in ran.out
    assert "run MWh" in ran.out


def test_the_price_may_come_from_the_environment() -> None:
    """CKPTPLAN_GPU_HOUR_PRICE as in optimize; without a worth the missing option is named."""
    ran = ckptplan("scale", "llama3-405b", "--gpus", "16384", env={"CKPTPLAN_GPU_HOUR_PRICE": "2.5"})
    assert "a useful GPU-hour costs 2.72, one more 2.92" in ran.out
    assert "where adding GPUs stops paying: add --useful-hour-worth\n" in ran.out
    priced = ckptplan("scale", "llama3-405b", "--gpus", "16384", *_PRICED)
    assert "asynchronous: adding GPUs stops paying at 54,656 GPUs (427 replicas)" in priced.out


def test_one_strategy_can_be_asked_for() -> None:
    """--strategy leaves the others out."""
    ran = ckptplan("scale", "llama3-405b", "--strategy", "asynchronous", "--gpus", "1024", "-f", "csv")
    assert {row["strategy"] for row in csv.DictReader(io.StringIO(ran.out))} == {"asynchronous"}


@pytest.mark.parametrize("strategy", ["synchronous", "file system alone", "tiers"])
def test_with_tiers_the_strategies_are_those_of_optimize(spec: str, strategy: str) -> None:
    """--strategy of one tier, of a save and of all tiers together leave the same ways of saving as in optimize."""
    asked = (spec, "--strategy", strategy, "-f", "csv")
    ran, planned = ckptplan("scale", *asked, "--gpus", "16384"), ckptplan("optimize", *asked)
    assert ran.code == planned.code == 0, ran.err
    names = [{row["strategy"] for row in csv.DictReader(io.StringIO(one.out))} for one in (ran, planned)]
    assert names[0] == names[1]
    assert ("tiers" in names[0]) is (strategy == "tiers")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--gpus", "many"), 2, "not a number of GPUs"),
        (("--gpus", "0"), 2, "not a number of GPUs"),
        (("--gpu-hour-price", "nan"), 2, "nan"),
        (("--useful-hour-worth", "3"), 2, "add --gpu-hour-price"),
        (("--gpu-hour-price", "3", "--useful-hour-worth", "0"), 2, "no GPU pays"),
        (("--gpu-hour-price", "3", "--useful-hour-worth", "inf"), 2, "inf"),
        (("--energy",), 1, "cluster.power"),
        (("--strategy", "nobody"), 2, "not known"),
    ],
)
def test_wrong_options_are_refused(arguments: tuple[str, ...], code: int, message: str) -> None:
    """One message and the documented exit code."""
    ran = ckptplan("scale", "llama3-405b", *arguments)
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_size_that_cannot_be_planned_is_a_row_without_numbers(spec: str) -> None:
    """Peers need two nodes: at 8 GPUs there is one, which the row there says; other sizes have their numbers."""
    ran = ckptplan("scale", spec, "--gpus", "8,16384", "-f", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    jsonschema.validate(document, output_schema("scaling"))
    rows = [one for one in document["sizes"] if one["gpus"] == 8]
    assert [one["strategy"] for one in rows] == [one["strategy"] for one in document["peaks"]]
    for row in rows:
        assert "peer memory keeps 2 copies" in row["status"]
        assert {value for name, value in row.items() if name not in ("strategy", "gpus", "status")} == {None}
    assert all(one["goodput"] > 0.5 for one in document["sizes"] if one["gpus"] == 16384)
    assert ran.err.count("no plan for 8 GPUs") == 1


def test_a_table_says_why_a_row_has_no_numbers(spec: str) -> None:
    """A dash in each column and a note below; CSV has empty cells and the same words."""
    table = ckptplan("scale", spec, "--gpus", "8,16384").out
    (row,) = [line.split() for line in table.splitlines() if line.startswith(" synchronous") and line.split()[1] == "8"]
    assert set(row[2:-1]) == {"-"}
    (note,) = [line for line in table.splitlines() if line.startswith(f"{row[-1]} ")]
    assert note.endswith("peer memory keeps 2 copies on different nodes, and the job has 1")
    found = list(csv.DictReader(io.StringIO(ckptplan("scale", spec, "--gpus", "8,16384", "-f", "csv").out)))
    (cells,) = [one for one in found if (one["strategy"], one["gpus"]) == ("synchronous", "8")]
    assert cells["goodput"] == cells["next_gpus"] == ""
    assert note.endswith(cells["status"])


def test_sizes_none_of_which_can_be_planned_are_refused(spec: str) -> None:
    """One error that names each size and says what would help."""
    ran = ckptplan("scale", spec, "--gpus", "8,7")
    assert (ran.code, ran.out) == (1, "")
    assert "at 8 GPUs: " in ran.err
    assert "at 7 GPUs: " in ran.err
    assert "hint" in ran.err


def test_the_spec_is_not_overwritten(tmp_path: Path) -> None:
    """-o with the spec itself is refused; another file holds the whole report."""
    spec, result = tmp_path / "run.yaml", tmp_path / "scale.txt"
    assert ckptplan("spec", "init", "-o", str(spec)).code == 0
    assert ckptplan("scale", str(spec), "-o", str(spec)).code == 2
    assert ckptplan("scale", str(spec), "-o", str(result)).code == 0
    assert "adding GPUs stops helping at" in result.read_text()


def test_sizes_without_progress_are_warned_of() -> None:
    """Below 5 % of goodput, and restarts longer than the MTBF: on standard error, the result untouched."""
    ran = ckptplan("scale", "rsc-1", "--gpus", "1000000", "-f", "csv")
    assert ran.code == 0
    assert "goodput is below 5 % at 1,000,000 GPUs" in ran.err
    assert "longer than the MTBF" in ran.err
    assert ran.err.count("warning") == 3


@pytest.mark.parametrize(
    "failures",
    [
        "{interruptions: {count: 3, over: 2 d, gpus: 16384}}",
        "{interruptions: {count: 0, over: 2 d, gpus: 16384}, prior: {shape: 0.5, mtbf_per_gpu: 50000 h}}",
    ],
)
def test_few_failures_are_said_as_optimize_says_them(failures: str) -> None:
    """The same sentence as a warning on standard error and in the document; of many failures there is none."""
    few = ("llama3-405b", "--set", f"failures={failures}", "-f", "json")
    ran, planned = ckptplan("scale", *few), ckptplan("optimize", *few)
    assert ran.code == 0, ran.err
    (said,) = [text for text in json.loads(planned.out)["warnings"] if "counted" in text]
    assert said in json.loads(ran.out)["warnings"]
    assert f"warning: {said}" in ran.err
    assert "counted" not in ckptplan("scale", "llama3-405b").err


def test_ranges_are_said_to_count_by_their_centre() -> None:
    """What is given as a range stands in the sizes with one value, which a warning says."""
    ran = ckptplan("scale", "llama3-405b", "--set", "restart.total=5..15 min", "--gpus", "1024", "-f", "json")
    assert "restart.total is not known exactly: its central value counts" in json.loads(ran.out)["warnings"]
    assert "warning: restart.total is not known exactly: its central value counts" in ran.err


def test_it_starts_light() -> None:
    """A closed-form curve loads no scipy, and rich for the table only."""
    assert loaded(["scale", "llama3-405b", "-f", "json"], ("scipy", "rich", "matplotlib")) == []
    assert loaded(["scale", "--help"], ("numpy", "scipy", "pydantic", "yaml", "rich")) == []


def test_recorded_gaps_are_said_to_jump(tell: Tell, tmp_path: Path) -> None:
    """Sizes at which something turns hold roughly, and what one more adds is over a tenth more GPUs at every size."""
    (tmp_path / "gaps.txt").write_text("".join(f"{hours} h\n" for hours in (1, 2, 2, 3, 5, 8, 9, 13)), encoding="utf-8")
    spec = tmp_path / "run.yaml"
    text = STARTER.replace("duration: 30 d", "duration: 2 d")
    spec.write_text(text, encoding="utf-8")
    law = f"failures={{law: {{name: recorded, file: {tmp_path / 'gaps.txt'}}}}}"
    ran = tell("scale", str(spec), "--set", law, "--gpus", "128,2048")
    assert ran.code == 0, ran.err
    assert "warning: the best interval for 8 recorded gaps jumps from size to size" in ran.err
    assert "One more adds, per GPU: with a tenth more GPUs" in " ".join(ran.out.split())
    assert "jumps" not in tell("scale", str(spec)).err
