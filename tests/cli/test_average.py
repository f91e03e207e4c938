"""``ckptplan average`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from ckptplan.render.schemas import output_schema
from tests.checkpoint.archives.torch_zip import Storage, saved, tensor
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
        (["--dry-run", "--weights", "0.5,0.5"], 2, "--weights 0.5,0.5: 2 weights for 3 checkpoints"),
        (["--dry-run", "--weights", "1,1,1"], 2, "--weights 1,1,1: weights sum to 3, not to 1"),
        (["--dry-run", "--weights", "a,b,c"], 2, "not numbers"),
        (["--dry-run", "--ema", "1.5"], 2, "--ema 1.5: a decay of 1.5: not between 0 and 1"),
        (["--dry-run", "--ema", "0.9", "--weights", "1,0,0"], 2, "exclude each other"),
        (["--dry-run", "--dtype", "int8"], 2, "int8"),
        (["--dry-run", "--include", "moments"], 2, "--include moments: never averaged"),
        (["--dry-run", "--include", "optimizer-step"], 2, "--include optimizer-step: never averaged"),
        (["--dry-run", "--include", "random"], 2, "a mean of them belongs to no point of the run"),
        (["--dry-run", "--include", "nonsense"], 2, "nonsense"),
        (["-o", "/nowhere/at/all"], 2, "there is no folder /nowhere/at"),
        (["-o", "res.json"], 2, "the report is printed"),
        (["-o", "report.md"], 2, "--format json > FILE"),
        (["-o", "ck.pt"], 2, "tensors are written as safetensors"),
        (["-o", "pytorch_model.BIN"], 2, "tensors are written as safetensors"),
        (["-o", "mean.SafeTensors"], 2, "name a file that ends in .safetensors"),
        (["--dry-run", "--weights", "nan,1,0"], 2, "--weights nan,1,0: a weight of nan"),
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
    """The same checkpoint twice is averaged, and said once; a copy of it holds the same parameters."""
    told = tell("average", run[0], run[0], "--dry-run")
    assert told.code == 0
    assert told.err.count("warning:") == 1
    assert "are the same checkpoint: the mean counts it twice" in " ".join(told.err.split())
    copy = Path(run[0]).with_name("copy")
    shutil.copytree(run[0], copy)
    told = tell("average", run[0], str(copy), "--dry-run")
    assert told.err.count("warning:") == 1
    assert "hold the same parameters" in " ".join(told.err.split())


def test_a_mean_that_is_not_finite_is_said_and_no_checkpoint_is_called_equal(tell: Tell, tmp_path: Path) -> None:
    """One NaN in the second of two that are otherwise the same: what the mean holds, where, and from which."""
    held = {"a.weight": np.ones(5, np.float32), "b.weight": np.ones(5, np.float32)}
    save(tmp_path / "m0.safetensors", held)
    held["a.weight"] = np.array([1, 1, np.nan, 1, 1], np.float32)
    save(tmp_path / "m1.safetensors", held)
    paths = (str(tmp_path / "m0.safetensors"), str(tmp_path / "m1.safetensors"))
    for target in (("--dry-run",), ("-o", str(tmp_path / "mean.safetensors"))):
        told = tell("average", *paths, *target)
        said = " ".join(told.err.split())
        assert "warning: the mean holds 1 NaN, in a.weight (of checkpoint 2)" in said
        assert "hold the same parameters" not in said
        assert told.err.count("warning:") == 1
        document = json.loads(tell("average", *paths, *target, "--overwrite", "--format", "json").out)
        jsonschema.validate(document, output_schema("average"))
        assert [(one["nan"], one["infinite"]) for one in document["tensors"]] == [(1, 0), (0, 0)]
    assert np.isnan(load(tmp_path / "mean.safetensors")["a.weight"]).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("name", ["mean.safetensors", "mean"])
def test_what_is_there_is_replaced_only_with_overwrite(tell: Tell, run: list[str], tmp_path: Path, name: str) -> None:
    """A second run refuses the file, or the folder, of the first, and names the option that replaces it."""
    out = tmp_path / name
    assert tell("average", *run, "-o", str(out)).code == 0
    file = out if out.is_file() else out / "model.safetensors"
    before = file.read_bytes()
    told = tell("average", *run[:2], "-o", str(out))
    assert (told.code, "--overwrite" in told.err) == (1, True)
    assert file.read_bytes() == before
    assert tell("average", *run[:2], "-o", str(out), "--overwrite").code == 0
    assert file.read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--strip-prefix", "zzz"], "--strip-prefix zzz changes no name; the longest is model.w"),
        (["--include", "masters"], "--include masters adds nothing: there are no fp32 masters"),
        (["--include", "buffers"], "--include buffers changes nothing: there are no buffers of a floating type"),
        (["--no-masters"], "--no-masters changes nothing: there are no fp32 masters"),
        (["--weights", "0,0.5,0.5"], "checkpoint-9000 has a weight of 0: it is read, and does not count"),
        (["--shard-size", "1GB"], "--shard-size changes nothing: it is for a folder"),
        (["--overwrite"], "--overwrite changes nothing: nothing was written"),
    ],
)
def test_options_without_effect_are_said(tell: Tell, run: list[str], arguments: list[str], said: str) -> None:
    """One warning each; the same command without the option has none."""
    told = tell("average", *run, "--dry-run", *arguments)
    assert told.code == 0
    assert said in " ".join(told.err.split())
    assert told.err.count("warning:") == 1
    assert tell("average", *run, "--dry-run", "--strip-prefix", "model.").err == ""


def test_changed_data_is_found_by_its_checksum(tell: Tell, tmp_path: Path) -> None:
    """One bit of a weight in an archive of torch: without --crc it is said that nothing was compared."""
    paths = []
    for name in ("a.pt", "b.pt"):
        weights = {"w": tensor(Storage("float32", "0", 64), (64,), (1,))}
        (tmp_path / name).write_bytes(saved(weights, {"0": np.full(64, 1.5, np.float32).tobytes()}))
        paths.append(str(tmp_path / name))
    told = tell("average", *paths, "--dry-run")
    assert "checksums were not compared with the data: --crc does, or ckptplan audit --crc" in " ".join(
        told.out.split()
    )
    document = json.loads(tell("average", *paths, "--dry-run", "--crc", "--format", "json").out)
    jsonschema.validate(document, output_schema("average"))
    assert document["checksums"] == "compared"
    data = bytearray((tmp_path / "b.pt").read_bytes())
    data[data.index(np.full(64, 1.5, np.float32).tobytes()) + 7] ^= 1
    (tmp_path / "b.pt").write_bytes(data)
    assert tell("average", *paths, "--dry-run").code == 0
    told = tell("average", *paths, "-o", str(tmp_path / "mean.safetensors"), "--crc")
    assert told.code == 1
    assert "is not what its CRC-32 says" in told.err
    assert "b.pt" in told.err
    assert not (tmp_path / "mean.safetensors").exists()


def test_files_without_checksums_are_said_where_they_are_asked_for(tell: Tell, run: list[str]) -> None:
    """Safetensors have none: --crc says so, and nothing is said without it."""
    said = "the files have no checksums that could be compared"
    assert said in " ".join(tell("average", *run, "--dry-run", "--crc").out.split())
    assert "were not compared" not in tell("average", *run, "--dry-run").out
