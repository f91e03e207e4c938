"""``ckptplan audit`` as its users see it."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.render.schemas import output_schema
from tests.cli.harness import ckptplan

OWN = Path(__file__).parents[1] / "checkpoint" / "fixtures"
WHOLE = OWN / "dcp-3rank"


@pytest.fixture
def made(tmp_path):
    """Copies of a checkpoint by the name of the step; ``without`` is the file that each lacks."""

    def copied(name, without=None, of=WHOLE):
        folder = tmp_path / "my runs" / name
        shutil.copytree(of, folder)
        if without:
            (folder / without).unlink()
        return folder

    return copied


@pytest.fixture
def run_folder(made):
    """Steps 2 and 10 are whole, 30 lacks a file, 40 never ended."""
    made("step-2")
    made("step-10")
    made("step-30", "__1_0.distcp")
    return made("step-40", ".metadata").parent


def test_a_whole_and_complete_checkpoint_exits_with_zero(tell):
    """The answer comes first."""
    told = tell("audit", str(WHOLE))
    assert told.code == 0, told.err
    first = told.out.splitlines()[0]
    assert first == f"{WHOLE} (torch DCP, step 2, saved by 3 ranks): whole, and it holds all that exact resume needs"
    assert told.err == ""


def test_a_missing_file_exits_with_three_after_the_report(tell, made):
    """The file is named in the first line."""
    told = tell("audit", str(made("step-1", "__1_0.distcp")))
    assert told.code == 3
    assert "not usable: __1_0.distcp" in told.out.splitlines()[0]
    assert "[missing file]" in told.out
    assert told.err == ""


def test_what_is_missing_exits_with_three_unless_allowed(tell):
    """The file of torch.save has no data position; --allow goes on without it."""
    file = str(OWN / "torch-zip" / "checkpoint.pt")
    told = tell("audit", file)
    assert told.code == 3
    assert "data position: absent" in told.out
    assert "data seen twice or skipped" in told.out
    for words in (["data-position"], ["data"], ["rng,data"]):
        assert tell("audit", file, "--allow", *words).code == 0


def test_more_can_be_required(tell):
    """A run with FP8 asks for its state; a group of words asks for several kinds."""
    told = tell("audit", str(WHOLE), "--require", "fp8")
    assert told.code == 3
    assert "whole, but without FP8 state" in told.out.splitlines()[0]
    assert tell("audit", str(WHOLE), "--require", "moments,optimizer").code == 0


def test_an_unknown_kind_is_refused_with_the_nearest_one(tell):
    """Did you mean."""
    told = tell("audit", str(WHOLE), "--allow", "schedular")
    assert told.code == 2
    assert "did you mean scheduler?" in told.err


def test_quiet_prints_nothing_of_one_checkpoint(tell, made):
    """The exit code is the answer; why not goes to standard error."""
    told = tell("audit", "-q", str(WHOLE))
    assert (told.code, told.out, told.err) == (0, "", "")
    told = tell("audit", "-q", str(made("step-1", "__1_0.distcp")))
    assert (told.code, told.out) == (3, "")
    assert "not usable" in told.err


def test_a_run_is_resumed_from_the_newest_that_is_whole_and_complete(tell, run_folder):
    """Steps are compared as numbers: 10 is after 2; 30 and 40 are broken."""
    told = tell("audit", str(run_folder))
    assert told.code == 0
    lines = told.out.splitlines()
    assert lines[0] == f"resume from {run_folder / 'step-10'} (step 2)"
    assert "2 newer checkpoints passed over" in lines[1]
    rows = [line for line in lines if "step-" in line and "not usable" in line]
    assert len(rows) == 3  # two of the table, and the newest again above it


def test_quiet_prints_only_the_path_of_the_checkpoint_to_resume_from(tell, run_folder):
    """So that a script can use it."""
    told = tell("audit", "-q", str(run_folder))
    assert (told.code, told.out, told.err) == (0, f"{run_folder / 'step-10'}\n", "")


def test_a_script_resumes_from_a_folder_with_blanks_in_its_name(run_folder):
    """In a shell: the path is one word, and the command after && runs only if there is one."""
    script = 'CKPT=$("$PYTHON" -m ckptplan audit -q "$RUN") && ls -A "$CKPT" || echo none'
    environment = {**os.environ, "RUN": str(run_folder), "PYTHON": sys.executable}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(file.name for file in WHOLE.iterdir())
    shutil.rmtree(run_folder / "step-10")
    shutil.rmtree(run_folder / "step-2")
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "none\n"
    assert "nothing to resume from" in done.stderr


def test_a_run_without_a_usable_checkpoint_exits_with_three(tell, made):
    """The newest one that at least is whole is named, with what it lacks."""
    made("step-20", ".metadata")
    made("step-10", of=OWN / "torch-zip")
    made("step-5", of=OWN / "torch-zip")
    told = tell("audit", str(made("step-30", "__0_0.distcp").parent))
    assert told.code == 3
    assert told.out.splitlines()[0] == "nothing to resume from exactly: none of 4 checkpoints is whole and complete"
    assert told.out.splitlines()[1].startswith("the newest whole one: step-10")


def test_a_pointer_to_a_broken_checkpoint_is_said(tell, run_folder):
    """`latest` names step 30, which lacks a file; the tracker of Megatron names one that is not there."""
    (run_folder / "latest").write_text("step-30\n")
    (run_folder / "latest_checkpointed_iteration.txt").write_text("77")
    told = tell("audit", str(run_folder))
    assert "latest points to step-30, which is not usable: __1_0.distcp" in told.out
    assert "latest_checkpointed_iteration.txt points to iter_0000077, but it is not there" in told.out


def test_a_folder_without_a_checkpoint_exits_with_three_and_a_wrong_name_with_one(tell, tmp_path):
    """A run that has saved nothing yet is no error of the user's; a path to nothing is."""
    told = tell("audit", str(tmp_path))
    assert told.code == 3
    assert "no checkpoint is recognised here" in told.out
    told = tell("audit", str(tmp_path / "nothing"))
    assert (told.code, told.out) == (1, "")
    assert "no such file or directory" in told.err


def test_names_from_files_do_not_steer_the_terminal(tell, made):
    """A folder whose name has an escape in it."""
    folder = made("step-1\x1b[31m", "__1_0.distcp")
    for arguments in ([folder], [folder.parent]):
        assert "\x1b" not in tell("audit", *map(str, arguments)).out


@pytest.mark.parametrize("broken", [None, "__1_0.distcp", ".metadata"])
def test_the_json_of_a_checkpoint_follows_its_schema(tell, made, broken):
    """Whole, with a file missing, or never committed."""
    told = tell("audit", str(made("step-1", broken)), "--format", "json")
    document = json.loads(told.out)
    jsonschema.validate(document, output_schema("audit"))
    assert document["usable"] == (broken is None) == (told.code == 0)


def test_the_json_of_a_run_follows_its_schema(tell, run_folder):
    """All checkpoints, newest first."""
    told = tell("audit", str(run_folder), "--format", "json")
    document = json.loads(told.out)
    jsonschema.validate(document, output_schema("audits"))
    assert document["resume_from"] == str(run_folder / "step-10")
    assert [one["whole"] for one in document["checkpoints"]].count(True) == 2


def test_csv_has_one_row_per_state_or_per_checkpoint(tell, run_folder):
    """Machine names as the header."""
    rows = list(csv.DictReader(io.StringIO(tell("audit", str(WHOLE), "--format", "csv").out)))
    assert {row["standing"] for row in rows if row["required"] == "true"} == {"present"}
    rows = list(csv.DictReader(io.StringIO(tell("audit", str(run_folder), "--format", "csv").out)))
    assert [row["usable"] for row in rows].count("true") == 2


def test_markdown_begins_with_the_answer(tell, run_folder):
    """A heading, then tables."""
    assert tell("audit", str(run_folder), "--format", "markdown").out.startswith("## resume from ")
    out = tell("audit", str(WHOLE), "--format", "markdown").out
    assert out.startswith(f"## {WHOLE} (torch DCP")
    assert "| parameters | present | every run |" in out


def test_a_result_is_not_written_into_the_checkpoint(tell, made):
    """-o into the folder is refused."""
    folder = made("step-1")
    told = tell("audit", str(folder), "-o", str(folder / "audit.txt"))
    assert told.code == 2
    assert not (folder / "audit.txt").exists()


def test_narrow_and_piped_output_lose_nothing(run_folder):
    """At 60 columns no line is longer, except for words that are; without colours."""
    done = ckptplan("audit", str(WHOLE), env={"COLUMNS": "60", "NO_COLOR": "1"})
    lines = done.out.splitlines()
    assert all(len(line) <= 60 or " " not in line.strip() for line in lines)
    assert "\x1b" not in done.out


def test_checksums_find_a_flipped_bit(tell, made):
    """Without --crc nothing is seen; with it the tensor is named."""
    folder = made("step-1")
    data = bytearray((folder / "__0_0.distcp").read_bytes())
    offset, length = _first_item(tell, folder)
    data[offset + _data_at(data[offset : offset + length])] ^= 1
    (folder / "__0_0.distcp").write_bytes(data)
    assert tell("audit", str(folder)).code == 0
    told = tell("audit", str(folder), "--crc")
    assert told.code == 3
    assert "[checksum]" in told.out


def test_a_quick_audit_opens_no_item(tell, made):
    """An item whose archive is gone is seen without --quick only."""
    folder = made("step-1")
    data = bytearray((folder / "__0_0.distcp").read_bytes())
    offset, length = _first_item(tell, folder)
    data[offset : offset + length] = bytes(length)
    (folder / "__0_0.distcp").write_bytes(data)
    assert tell("audit", str(folder)).code == 3
    told = tell("audit", str(folder), "--quick")
    assert told.code == 0
    assert "stored items were not opened" in told.out
    assert tell("audit", str(folder), "--quick", "--crc").code == 2


def _first_item(tell, folder):
    """Where the first item of a tensor of the model lies in rank 0's file, and its length."""
    document = json.loads(tell("inspect", str(folder), "--shards", "--format", "json").out)
    rank0 = [file["name"] for file in document["files"]].index("__0_0.distcp")
    items = [
        (offset, length)
        for one in document["shards"]
        if one["key"].startswith("model.")
        for file, offset, length in zip(one["files"], one["item_offsets"], one["item_bytes"], strict=True)
        if file == rank0
    ]
    return items[0]


def _data_at(item):
    """The data of the record data/0 behind its local header: name and padding have the lengths that it says."""
    header = item.index(b"PK\x03\x04", item.index(b"data/0") - 30)
    name = int.from_bytes(item[header + 26 : header + 28], "little")
    extra = int.from_bytes(item[header + 28 : header + 30], "little")
    return header + 30 + name + extra


def _without_position(tmp_path):
    """A run of two checkpoints that hold all but the data position."""
    for step in (1, 2):
        (tmp_path / "run" / f"step-{step}").mkdir(parents=True)
        shutil.copy(OWN / "torch-zip" / "checkpoint.pt", tmp_path / "run" / f"step-{step}")
    return tmp_path / "run"


def test_what_was_allowed_is_said_in_every_format(tell, tmp_path):
    """It is no whole answer that a checkpoint can be gone on from: without what, stands beside."""
    run = _without_position(tmp_path)
    file, allow = str(OWN / "torch-zip" / "checkpoint.pt"), ("--allow", "data-position")
    said = "whole; goes on without data position, as allowed"
    assert tell("audit", file, *allow).out.splitlines()[0].endswith(said)
    assert tell("audit", file, *allow, "--format", "markdown").out.splitlines()[0].endswith(said)
    one = json.loads(tell("audit", file, *allow, "--format", "json").out)
    jsonschema.validate(one, output_schema("audit"))
    assert (one["verdict"], one["allowed"], one["usable"]) == (said, ["data position"], True)
    assert [state["kind"] for state in one["states"] if state["allowed"]] == ["data position"]
    rows = csv.DictReader(io.StringIO(tell("audit", file, *allow, "--format", "csv").out))
    assert [row["kind"] for row in rows if row["allowed"] == "true"] == ["data position"]
    lines = tell("audit", str(run), *allow).out.splitlines()
    assert lines[0] == f"resume from {run / 'step-2'} (step 2), without data position, as allowed"
    assert sum(line.endswith(said) for line in lines) == 2
    found = json.loads(tell("audit", str(run), *allow, "--format", "json").out)
    jsonschema.validate(found, output_schema("audits"))
    assert {one["verdict"] for one in found["checkpoints"]} == {said}
    rows = csv.DictReader(io.StringIO(tell("audit", str(run), *allow, "--format", "csv").out))
    assert {row["verdict"] for row in rows} == {said}


@pytest.mark.parametrize(("require", "allow"), [("random", "rng"), ("optimizer", "moments")])
def test_a_state_is_not_both_required_and_allowed_to_be_missing(tell, require, allow):
    """Neither of them wins."""
    told = tell("audit", str(WHOLE), "--require", require, "--allow", allow)
    assert (told.code, told.out) == (2, "")
    assert "--require and --allow both name" in told.err


def test_of_an_only_checkpoint_that_is_whole_it_is_said_what_it_lacks(tell, tmp_path):
    """And which option goes on without it; of one that is broken, why."""
    run = _without_position(tmp_path)
    shutil.rmtree(run / "step-1")
    told = tell("audit", str(run))
    assert told.code == 3
    assert told.out.splitlines()[0] == (
        "nothing to resume from exactly: the only checkpoint, step-2, is whole but lacks data position: "
        "--allow data-position goes on without it"
    )
    (run / "step-2" / "checkpoint.pt").write_bytes((OWN / "torch-zip" / "checkpoint.pt").read_bytes()[:500])
    first = tell("audit", str(run)).out.splitlines()[0]
    assert first.startswith("nothing to resume from exactly: the only checkpoint, step-2, is not usable: checkpoint.pt")


def test_every_word_of_a_kind_can_be_allowed(tell):
    """The words that reports give as advice are those that the option takes."""
    for kind in StateKind:
        assert tell("audit", str(WHOLE), "--quick", "-q", "--allow", kind.word).code == 0


@pytest.mark.parametrize("child", [False, True])
def test_what_may_not_be_read_exits_with_one_and_in_a_run_is_a_row(tell, made, monkeypatch, child):
    """The path itself is an error; one checkpoint of several is told of."""
    run = made("step-2").parent
    closed = made("step-9")
    scan = os.scandir

    def refusing(path):
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    monkeypatch.setattr(os, "access", lambda path, _, **__: Path(path) != closed)
    told = tell("audit", str(run if child else closed))
    if child:
        assert told.code == 0
        assert told.out.splitlines()[0].startswith(f"resume from {run / 'step-2'}")
        assert "step-9" in told.out
        assert "not usable: cannot be read: Permission denied" in told.out
    else:
        assert (told.code, told.out) == (1, "")
        assert told.err == f"{closed}: cannot be read: Permission denied\n  hint: check its permissions\n"


@pytest.mark.parametrize("name", ["tmp-checkpoint-90", "step-90.tmp"])
def test_a_save_under_its_temporary_name_is_not_resumed_from(tell, made, name):
    """It is renamed when all of it is written."""
    whole = made("step-2")
    made(name)
    assert tell("audit", "-q", str(whole.parent)).out == f"{whole}\n"
    told = tell("audit", str(whole.parent / name))
    assert told.code == 3
    assert f"its name, {name}, is that of a save that has not ended" in told.out


@pytest.mark.parametrize("name", ["step-90\n", "step-\n90"])
def test_a_name_with_a_line_break_is_not_printed_for_a_script(tell, made, name):
    """A shell cuts it off and might mean another folder: the report names the same checkpoint, and says so."""
    newest = made(name)
    made("step-2")
    run = newest.parent
    told = tell("audit", "-q", str(run))
    assert (told.code, told.out) == (1, "")
    assert "a line break in the name" in told.err
    told = tell("audit", str(run))
    assert told.code == 0
    assert "its name has a line break" in told.out
    assert json.loads(tell("audit", str(run), "--format", "json").out)["resume_from"] == str(newest)


def test_the_number_of_ranks_is_said_once(tell):
    """The remark on where it comes from does not repeat it."""
    for command in ("audit", "inspect"):
        assert tell(command, str(WHOLE)).out.count("3 ranks") - tell(command, str(WHOLE)).out.count("of 3 ranks") == 1


@pytest.mark.parametrize("name", ["audit.json", "audit.txt", "audit.md"])
def test_a_file_has_the_whole_report_where_nothing_is_printed(tell, run_folder, tmp_path, name):
    """Quiet is what is printed: of a run the path alone, while the file is as without it; of one checkpoint nothing."""
    for path, printed in ((run_folder, f"{run_folder / 'step-10'}\n"), (WHOLE, "")):
        plain, quiet = tmp_path / f"plain-{name}", tmp_path / f"quiet-{name}"
        assert tell("audit", str(path), "-o", str(plain)).code == 0
        told = tell("audit", "-q", str(path), "-o", str(quiet))
        assert (told.code, told.out, told.err) == (0, printed, "")
        assert quiet.read_bytes() == plain.read_bytes()


def test_a_quiet_audit_that_fails_writes_its_report_first(tell, made, tmp_path):
    """What is missing stands in the file, and exit code 3 tells a script."""
    file = tmp_path / "audit.json"
    told = tell("audit", "-q", str(made("step-1", "__1_0.distcp")), "-o", str(file))
    assert (told.code, told.out) == (3, "")
    assert json.loads(file.read_text(encoding="utf-8"))["usable"] is False
