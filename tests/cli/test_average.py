"""``ckptplan average`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from ckptplan.render.schemas import output_schema
from tests.checkpoint.average.folders import load, save
from tests.cli.harness import Tell, ckptplan

STEPS = (9000, 9500, 10000)


@pytest.fixture
def run(tmp_path: Path) -> list[str]:
    """Three checkpoints of a run that wanders about a centre."""
    centre = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    paths = []
    for step in STEPS:
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        noise = np.random.default_rng(step).standard_normal((40, 50)).astype(np.float32)
        save(
            folder / "model.safetensors", {"model.w": centre + np.float32(0.01) * noise, "n": np.array(step, np.int64)}
        )
        paths.append(str(folder))
    return paths


def mean(run: list[str], weights: tuple[float, ...]) -> np.ndarray:
    """The mean by numpy, in float64."""
    held = [load(Path(path))["model.w"].astype(np.float64) for path in run]
    return sum(weight * one for weight, one in zip(weights, held, strict=True)).astype(np.float32)  # type: ignore[union-attr]


def test_the_mean_is_written_and_said(tell: Tell, run: list[str], tmp_path: Path) -> None:
    """A file of the mean; the answer first, then the checkpoints, then what it holds."""
    out = tmp_path / "mean.safetensors"
    told = tell("average", *run, "-o", str(out))
    assert told.code == 0, told.err
    np.testing.assert_array_equal(load(out)["model.w"], mean(run, (1 / 3, 1 / 3, 1 / 3)))
    assert load(out)["n"] == 10000
    assert told.out.startswith(f"The mean of 3 checkpoints is in {out}: 2 tensors, 8.008 kB")
    assert "none of this promises a gain: evaluate the mean" in told.out
    assert told.err == ""


def test_the_document_follows_its_schema(tell: Tell, run: list[str], tmp_path: Path) -> None:
    """Every number of the neighbourhood, the tensors, and what was written."""
    told = tell("average", *run, "-o", str(tmp_path / "mean"), "--ema", "0.5", "--format", "json")
    document = json.loads(told.out)
    jsonschema.validate(document, output_schema("average"))
    assert document["files"] == ["model.safetensors"]
    assert [one["weight"] for one in document["checkpoints"]] == pytest.approx([1 / 7, 2 / 7, 4 / 7])
    assert [one["step"] for one in document["checkpoints"]] == list(STEPS)
    held = [load(Path(path))["model.w"].astype(float) for path in run]
    assert document["displacement"] == pytest.approx(np.linalg.norm(held[2] - held[0]), rel=1e-12)
    assert document["norm"] == pytest.approx(np.linalg.norm(held[0]), rel=1e-12)
    assert {one["name"]: one["made"] for one in document["tensors"]} == {"model.w": "mean", "n": "from the last"}


def test_a_dry_run_writes_nothing(tell: Tell, run: list[str], tmp_path: Path) -> None:
    """The same judgement, without a file; as JSON, CSV and Markdown."""
    before = sorted(tmp_path.rglob("*"))
    document = json.loads(tell("average", *run, "--dry-run", "--format", "json").out)
    jsonschema.validate(document, output_schema("average"))
    assert document["written"] is None
    rows = list(csv.DictReader(io.StringIO(tell("average", *run, "--dry-run", "--format", "csv").out)))
    assert [row["step"] for row in rows] == [str(step) for step in STEPS]
    text = tell("average", *run, "--dry-run", "--format", "markdown").out
    assert text.startswith("## The mean of 3 checkpoints would hold 2 tensors, 8.008 kB; nothing was written")
    assert sorted(tmp_path.rglob("*")) == before


def test_checkpoints_are_put_in_order_unless_weights_are_given(tell: Tell, run: list[str], tmp_path: Path) -> None:
    """A shell lists checkpoint-10000 first; weights are those of the paths as they stand."""
    shuffled = [run[2], run[0], run[1]]
    told = tell("average", *shuffled, "--dry-run", "--format", "json")
    assert [one["step"] for one in json.loads(told.out)["checkpoints"]] == list(STEPS)
    out = tmp_path / "mean.safetensors"
    told = tell("average", *shuffled, "-o", str(out), "--weights", "0.5,0.25,0.25")
    assert "steps are not in the order of the run" in told.err
    np.testing.assert_array_equal(load(out)["model.w"], mean(shuffled, (0.5, 0.25, 0.25)))


def test_types_names_and_shards(tell: Tell, run: list[str], tmp_path: Path) -> None:
    """Another type, a prefix left out, files of a given size."""
    out = tmp_path / "mean"
    told = tell(
        "average", *run, "-o", str(out), "--dtype", "bfloat16", "--strip-prefix", "model.", "--shard-size", "1kB"
    )
    assert told.code == 0, told.err
    found = load(out)
    assert set(found) == {"w", "n"}
    assert found["w"].dtype.name == "bfloat16"
    assert len(list(out.glob("*.safetensors"))) == 2
    assert "in 2 files" in told.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "nothing says where the mean is to be written"),
        (["--dry-run", "-o", "x"], 2, "--dry-run writes nothing"),
        (["--dry-run", "--weights", "0.5,0.5"], 1, "2 weights for 3 checkpoints"),
        (["--dry-run", "--weights", "1,1,1"], 1, "weights sum to 3, not to 1"),
        (["--dry-run", "--weights", "a,b,c"], 2, "not numbers"),
        (["--dry-run", "--ema", "1.5"], 1, "not between 0 and 1"),
        (["--dry-run", "--ema", "0.9", "--weights", "1,0,0"], 2, "exclude each other"),
        (["--dry-run", "--dtype", "int8"], 2, "int8"),
        (["--dry-run", "--include", "moments"], 2, "--include moments: never averaged"),
        (["--dry-run", "--include", "optimizer-step"], 2, "--include optimizer-step: never averaged"),
        (["--dry-run", "--include", "random"], 2, "a mean of them belongs to no point of the run"),
        (["--dry-run", "--include", "nonsense"], 2, "nonsense"),
        (["-o", "/nowhere/at/all"], 1, "its folder does not exist"),
        (["-o", "mean", "--shard-size", "5 s"], 2, "--shard-size 5 s"),
    ],
)
def test_what_is_refused(tell: Tell, run: list[str], arguments: list[str], code: int, said: str) -> None:
    """One message, the right exit code, no traceback."""
    told = tell("average", *run, *arguments)
    assert told.code == code
    assert said in told.err
    assert told.out == ""


def test_one_path_and_other_keys(tell: Tell, run: list[str], tmp_path: Path) -> None:
    """Two at least, of one model."""
    told = tell("average", run[0], "--dry-run")
    assert (told.code, "one checkpoint has no mean" in told.err) == (2, True)
    save(tmp_path / "other.safetensors", {"v": np.zeros(3, np.float32)})
    told = tell("average", run[0], str(tmp_path / "other.safetensors"), "--dry-run")
    assert told.code == 1
    assert "model.w: in " in told.err
    assert "v: in " in told.err


def test_an_output_within_a_checkpoint_is_refused(tell: Tell, run: list[str]) -> None:
    """Nothing is ever written into what is read."""
    told = tell("average", *run, "-o", f"{run[0]}/mean.safetensors")
    assert told.code == 1
    assert "would overwrite or join the checkpoint that is read" in told.err
    assert [path.name for path in Path(run[0]).iterdir()] == ["model.safetensors"]


def test_a_pipe_gets_no_bar(run: list[str]) -> None:
    """Standard error stays empty where it is no terminal."""
    done = ckptplan("average", *run, "--dry-run")
    assert (done.code, done.err) == (0, "")


def test_warnings_follow_the_answer(tell: Tell, run: list[str]) -> None:
    """The same checkpoint twice is averaged, and said."""
    told = tell("average", run[0], run[0], "--dry-run")
    assert told.code == 0
    assert "are the same checkpoint: the mean counts it twice" in " ".join(told.err.split())
