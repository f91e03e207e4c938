"""``ckptplan inspect`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from ckptplan.render.schemas import output_schema
from tests.cli.harness import Tell

FIXTURES = Path(__file__).parents[1] / "checkpoint" / "fixtures"
DCP = FIXTURES / "dcp-3rank"
# Linear layers of 7 x 5 and 2 x 7 with their biases.
PARAMETERS = 7 * 5 + 7 + 2 * 7 + 2


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkpoint that a test may damage."""
    shutil.copytree(DCP, tmp_path / "step-2")
    return tmp_path / "step-2"


def document(tell: Tell, *arguments: str) -> dict[str, object]:
    """The JSON document, checked against its schema."""
    told = tell("inspect", *arguments, "--format", "json")
    assert told.code == 0, told.err
    found: dict[str, object] = json.loads(told.out)
    jsonschema.validate(found, output_schema("manifest"))
    return found


def test_the_answer_comes_first(tell: Tell) -> None:
    """Format, step, parameters and bytes, before any table."""
    told = tell("inspect", str(DCP))
    assert told.code == 0
    assert told.err == ""
    first = told.out.splitlines()[0]
    assert f"torch DCP, step 2: a checkpoint of {PARAMETERS} parameters" in first
    assert "saved by 3 ranks" in told.out


def test_bytes_by_kind_of_state(tell: Tell) -> None:
    """Adam in fp32: four bytes for a parameter and for each moment, one step for each tensor."""
    kinds = {row["kind"]: row for row in document(tell, str(DCP))["kinds"]}  # type: ignore[attr-defined]
    for kind in ("parameters", "first moments", "second moments"):
        assert kinds[kind]["logical_bytes"] == 4 * PARAMETERS
        assert kinds[kind]["bytes_per_parameter"] == 4.0
        assert kinds[kind]["dtypes"] == ["float32"]
    assert kinds["optimizer step"]["logical_bytes"] == 4 * 4
    assert kinds["optimizer step"]["bytes_per_parameter"] is None
    assert kinds["random-number states"]["tensors"] == 3


def test_lists_are_there_when_asked_for(tell: Tell) -> None:
    """Tensors, shards and files; null otherwise."""
    plain = document(tell, str(DCP))
    assert [plain[name] for name in ("tensors", "objects", "shards", "files")] == [None] * 4
    full = document(tell, str(DCP), "--tensors", "--shards", "--files")
    shards = {entry["key"]: entry for entry in full["shards"]}  # type: ignore[attr-defined]
    assert sorted(map(tuple, shards["model.0.weight"]["offsets"])) == [(0, 0), (3, 0), (6, 0)]
    assert {name["name"] for name in full["files"]} >= {".metadata", "__0_0.distcp", "__2_0.distcp"}  # type: ignore[attr-defined]


def test_keys_and_kinds_choose(tell: Tell) -> None:
    """A pattern and a kind of state; what is like nothing is an error of usage."""
    chosen = document(tell, str(DCP), "--tensors", "--keys", "*0.weight*", "--kind", "first-moments")
    assert [row["key"] for row in chosen["tensors"]] == ["optim.state.0.weight.exp_avg"]  # type: ignore[attr-defined]
    told = tell("inspect", str(DCP), "--keys", "nothing.*")
    assert told.code == 2
    assert "--keys nothing.*: nothing in the checkpoint is like this" in told.err
    told = tell("inspect", str(DCP), "--kind", "moment")
    assert told.code == 2
    assert "did you mean first-moments?" in told.err or "one of" in told.err


@pytest.mark.parametrize(
    ("options", "header"),
    [([], "kind"), (["--files"], "name"), (["--tensors"], "key"), (["--shards", "--files"], "key")],
)
def test_csv_is_the_most_detailed_list(options: list[str], header: str, tell: Tell) -> None:
    """One table with one header."""
    told = tell("inspect", str(DCP), *options, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert rows
    assert next(iter(rows[0])) == header


def test_markdown_has_the_same_answer(tell: Tell) -> None:
    """For a wiki."""
    told = tell("inspect", str(DCP), "--format", "markdown", "--tensors")
    assert told.out.startswith("## ")
    assert "| parameters | 4 |" in told.out


def test_narrow_and_piped_lose_no_digit(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 60 columns no line is longer, and every name is whole."""
    monkeypatch.setenv("COLUMNS", "60")
    told = tell("inspect", str(DCP), "--tensors")
    assert max(len(line) for line in told.out.splitlines() if "fixtures" not in line) <= 60
    assert "optim.state.0.weight.exp_avg_sq" in told.out


def test_faults_are_warned_of_and_point_to_the_audit(copy: Path, tell: Tell) -> None:
    """What can be listed is listed all the same."""
    (copy / "__1_0.distcp").unlink()
    told = tell("inspect", str(copy))
    assert told.code == 0
    assert "__1_0.distcp" in told.err
    assert "ckptplan audit" in told.err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: (path / ".metadata").unlink(), "never"),
        (lambda path: (path / ".metadata").write_bytes(b"\x80\x04."), ".metadata"),
        (lambda path: (path / ".metadata").write_bytes(b"cos\nsystem\n(S'x'\ntR."), "os.system"),
        (shutil.rmtree, "no such"),
    ],
)
def test_what_cannot_be_listed_is_one_error(damage: object, said: str, copy: Path, tell: Tell) -> None:
    """Exit 1, no traceback, no output."""
    damage(copy)  # type: ignore[operator]
    told = tell("inspect", str(copy))
    assert told.code == 1
    assert told.out == ""
    assert said in told.err
    assert "Traceback" not in told.err


def test_the_checkpoint_is_never_written_to(copy: Path, tell: Tell) -> None:
    """Neither over one of its files, nor beside them."""
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    for target in (copy / "__0_0.distcp", copy / "new.txt"):
        told = tell("inspect", str(copy), "-o", str(target))
        assert told.code == 2
        assert "would write into the checkpoint" in told.err
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before


def test_names_in_a_file_cannot_steer_the_terminal(tmp_path: Path, tell: Tell) -> None:
    """Control characters of a tensor's name are shown as question marks."""
    header = json.dumps({"evil\x1b[2Jname": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    told = tell("inspect", str(tmp_path), "--tensors")
    assert told.code == 0
    assert "\x1b" not in told.out
    assert "evil?[2Jname" in told.out


def test_a_checkpoint_of_one_file_is_named_by_its_file(tell: Tell, tmp_path: Path) -> None:
    """As it was given, in the answer and in JSON; its folder is named where the folder was given."""
    (tmp_path / "step-2").mkdir()
    file = tmp_path / "step-2" / "checkpoint.pt"
    shutil.copy(FIXTURES / "torch-zip" / "checkpoint.pt", file)
    assert tell("inspect", str(file)).out.startswith(f"{file}: torch.save")
    assert document(tell, str(file))["path"] == str(file)
    assert tell("inspect", str(file.parent)).out.startswith(f"{file.parent}: torch.save")
    assert document(tell, str(file.parent))["path"] == str(file.parent)
    (tmp_path / "newest.pt").symlink_to(file)
    assert document(tell, str(tmp_path / "newest.pt"))["path"] == str(file)


@pytest.mark.parametrize(
    "command",
    [
        ("inspect", ""),
        ("audit", ""),
        ("audit", "-q", ""),
        ("reshard", "", "--to", "4"),
        ("reshard", "", "--extract", "out.safetensors"),
        ("average", str(DCP), "", "--dry-run"),
    ],
)
def test_an_empty_path_is_not_the_current_folder(command: tuple[str, ...], tell: Tell, monkeypatch: object) -> None:
    """A variable that is not set: nothing is read, whatever lies in the current folder."""
    monkeypatch.chdir(DCP)  # type: ignore[attr-defined]
    told = tell(*command)
    assert (told.code, told.out) == (2, "")
    assert "PATH is empty" in told.err


def test_names_in_a_file_cannot_steer_the_terminal_as_csv(tmp_path: Path, tell: Tell) -> None:
    """The escape of a tensor's name is a question mark there too."""
    header = json.dumps({"evil\x1b[2J\rname": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    told = tell("inspect", str(tmp_path), "--tensors", "--format", "csv")
    assert told.out.splitlines()[1].startswith("evil?[2J?name,")
