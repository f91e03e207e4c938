"""Every command on a run that gets nowhere: true words, no winner, no traceback, no overflow."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from ckptplan.render.schemas import output_schema
from tests.cli.harness import Tell

_MTBFS = ("1 us", "1 s", "20 s")


def _lost(mtbf: str) -> tuple[str, str]:
    return "--set", f"failures.mtbf={mtbf}"


@pytest.mark.parametrize("mtbf", _MTBFS)
def test_a_bare_number_comes_with_the_warning(tell: Tell, mtbf: str) -> None:
    """-q and --for print what they are asked for, and say beside it that it leads nowhere."""
    for more in (("-q",), ("--for", "megatron")):
        told = tell("optimize", "llama3-405b", *_lost(mtbf), *more)
        assert told.code == 0
        assert told.out.strip()
        assert "no progress is possible: the restart of 600 s is " in told.err
    assert "no progress" not in tell("optimize", "llama3-405b", "-q").err


@pytest.mark.parametrize("mtbf", _MTBFS)
def test_documents_hold_the_exact_numbers(tell: Tell, mtbf: str) -> None:
    """JSON holds against its schema, with the sentence as advice, nothing called best, and each goodput as it is."""
    told = tell("optimize", "llama3-405b", *_lost(mtbf), "-f", "json")
    made = json.loads(told.out)
    jsonschema.validate(made, output_schema("plan"))
    assert made["advice"][0].startswith("no progress is possible")
    assert made["lever"] is None
    assert made["best"] is None
    most = max(row["goodput_exact"] for row in made["plans"])
    assert 0.0 <= most < 1e-6
    assert (most > 0.0) is (mtbf != "1 us")


@pytest.mark.parametrize("mtbf", _MTBFS)
def test_levers_have_nothing_to_pull(tell: Tell, mtbf: str) -> None:
    """No ranking of GPU-hours that nobody can count."""
    told = tell("levers", "llama3-405b", *_lost(mtbf))
    assert (told.code, told.out) == (1, "")
    assert "nothing useful is left" in told.err


@pytest.mark.parametrize("mtbf", _MTBFS)
def test_scale_names_no_best_way_at_a_size_that_gets_nowhere(tell: Tell, mtbf: str) -> None:
    """The sentence comes first; where more GPUs stop helping still follows; prices are no 280 digits."""
    told = tell("scale", "llama3-405b", *_lost(mtbf), "--gpu-hour-price", "2")
    assert told.code == 0, told.err
    first = told.out.splitlines()[2]
    assert first.startswith("no progress is possible with the planned 16,384 GPUs: the restart of 600 s is ")
    assert "(best)" not in told.out
    assert "adding GPUs stops helping at" in told.out or mtbf == "1 us"
    assert max(len(word) for word in told.out.split()) < 120


@pytest.mark.parametrize("mtbf", _MTBFS)
def test_of_two_runs_that_get_nowhere_neither_loses_less(tell: Tell, mtbf: str) -> None:
    """Neither is better, and neither has hours that could be compared."""
    told = tell("compare", "llama3-405b", "llama3-70b", *_lost(mtbf), "--gpu-hour-price", "2")
    assert told.code == 0, told.err
    assert "neither makes any progress: goodput " in told.out
    for words in ("loses less", "largest cause", "over the run", "e+"):
        assert words not in told.out
    assert "\n work  " in told.out
    for row in ("best strategy", "interval", "interval in steps", "run time", "GPU-hours", "money"):
        assert f"\n {row}  " not in told.out
    document = tell("compare", "llama3-405b", "llama3-70b", *_lost(mtbf), "-f", "json").out
    jsonschema.validate(json.loads(document), output_schema("comparison"))


@pytest.mark.parametrize("mtbf", _MTBFS)
def test_against_a_run_that_gets_nowhere_no_hours_are_saved(tell: Tell, tmp_path: Path, mtbf: str) -> None:
    """The run that gets on loses less; the other one has no end that hours could be counted to."""
    text = _SPEC.format(mtbf=mtbf)
    lost, good = tmp_path / "lost.yaml", tmp_path / "good.yaml"
    lost.write_text(text, encoding="utf-8")
    good.write_text(_SPEC.format(mtbf="10 h"), encoding="utf-8")
    told = tell("compare", str(lost), str(good))
    assert told.code == 0, told.err
    assert "B loses less: goodput " in told.out
    assert "A loses all that it is given (it makes no progress) and B " in told.out
    assert "fewer with" not in told.out


def test_a_sweep_of_points_that_get_nowhere_has_no_best_one(tell: Tell) -> None:
    """Neither a best point nor one that does not change; one point that gets on is the best again."""
    axis = ("sweep", "llama3-405b", "--over")
    nowhere = tell(*axis, "failures.mtbf=1us,20s").out
    assert nowhere.startswith("No progress is possible at any of 2 points: at most 4e-12 % goodput at failures.mtbf ")
    apart = tell(*axis, "failures.mtbf=1us,20s", "--over", "cluster.gpus=8192,16384", "--each", "strategy").out
    assert apart.startswith("No progress is possible at any of 4 points: ")
    assert "No progress" not in tell(*axis, "failures.mtbf=1us,10h").out


@pytest.mark.parametrize("mtbf", _MTBFS)
def test_a_report_leads_with_it(tell: Tell, mtbf: str) -> None:
    """The page says it in its answer, once there, and names no best strategy; HTML draws what there is."""
    page = tell("report", "llama3-405b", *_lost(mtbf), "--format", "md").out
    answer = page.split("## Answer")[1].split("\n## ")[0]
    assert answer.count("no progress is possible") == 1
    assert "Best strategy" not in page
    assert "nothing useful is left" in page
    assert tell("report", "llama3-405b", *_lost(mtbf), "--format", "html").code == 0


@pytest.mark.parametrize("command", ["optimize", "scale"])
def test_pictures_are_drawn(tell: Tell, tmp_path: Path, command: str) -> None:
    """Bars are full of what is lost, and no line is called the best."""
    for number, mtbf in enumerate(_MTBFS):
        file = tmp_path / f"{number}.svg"
        assert tell(command, "llama3-405b", *_lost(mtbf), "--plot", str(file)).code == 0
        assert "(best)" not in file.read_text(encoding="utf-8")


_SPEC = """
name: a run
model: {{parameters: 7e9, state: adam-14}}
cluster: {{gpus: 1024, gpus_per_node: 8}}
failures: {{mtbf: {mtbf}}}
save: [{{name: blocking, mode: sharded, stall: 60 s}}]
restart: {{total: 600 s}}
training: {{step_time: 5 s, duration: 10 d}}
"""
