"""Checkpoints of a run: which there are, in which order, and what the pointers say."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from ckptplan.checkpoint.audit import runs
from ckptplan.checkpoint.audit.auditing import audit
from ckptplan.checkpoint.audit.findings import Depth
from ckptplan.checkpoint.audit.runs import NOT_THERE, VANISHED, audit_run, checkpoints_of, newest_first, step_named
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.errors import InputError
from tests.checkpoint.made import complete
from tests.checkpoint.shared_fixtures import OWN

TORCH = OWN / "torch-zip" / "checkpoint.pt"
WEIGHTS = OWN / "safetensors-sharded"


@pytest.mark.parametrize(
    ("name", "step"),
    [("iter_0000003", 3), ("checkpoint-500", 500), ("global_step12_universal", 12), ("final", None), ("epoch1.pt", 1)],
)
def test_the_step_stands_in_the_name(name, step):
    """As the frameworks name their folders."""
    assert step_named(Path(name)) == step


def test_steps_are_compared_as_numbers():
    """1,000 is after 900; a name without a number comes last."""
    names = [Path(name) for name in ("step-900", "final", "step-1000", "step-20")]
    assert [path.name for path in newest_first(names)] == ["step-1000", "step-900", "step-20", "final"]


def test_a_checkpoint_is_no_run(tmp_path):
    """Neither a folder with the marks of one, nor a file, nor a folder with nothing."""
    assert checkpoints_of(OWN / "dcp-3rank") is None
    assert checkpoints_of(TORCH) is None
    assert checkpoints_of(tmp_path) is None


def test_weights_beside_the_checkpoints_of_a_trainer_do_not_hide_them(tmp_path):
    """The Trainer leaves its last weights in the folder of the run."""
    for file in WEIGHTS.iterdir():
        shutil.copy(file, tmp_path)
    for step in (9, 10):
        shutil.copytree(WEIGHTS, tmp_path / f"checkpoint-{step}")
    found = checkpoints_of(tmp_path)
    assert found is not None
    assert [path.name for path in found] == ["checkpoint-9", "checkpoint-10"]


def _run(tmp_path, *steps):
    for step in steps:
        (tmp_path / f"step-{step}").mkdir()
        shutil.copy(TORCH, tmp_path / f"step-{step}")
    found = checkpoints_of(tmp_path)
    assert found is not None
    return found


REQUIRED = frozenset({StateKind.PARAMETER, StateKind.FIRST_MOMENT})


def test_the_newest_usable_one_is_the_best(tmp_path):
    """The file of step 30 is cut off."""
    paths = _run(tmp_path, 10, 20, 30)
    broken = tmp_path / "step-30" / "checkpoint.pt"
    broken.write_bytes(broken.read_bytes()[:500])
    run = audit_run(tmp_path, paths, required=REQUIRED)
    assert [audit.path.name for audit in run.audits if audit.usable] == ["step-20", "step-10"]
    assert run.best is not None
    assert run.best.path == tmp_path / "step-20"


def test_no_further_than_to_the_first_usable_one(tmp_path):
    """A script need not wait for the others."""
    paths = _run(tmp_path, 1, 2)  # the file holds step 2
    run = audit_run(tmp_path, paths, required=REQUIRED, first_only=True)
    assert [audit.path.name for audit in run.audits] == ["step-2"]


@pytest.mark.parametrize("first_only", [False, True])
def test_the_step_inside_decides_where_the_name_is_no_step(tmp_path, monkeypatch, first_only):
    """`seed42` is older than `seed7`: a script gets the same answer as a reader of the table."""
    steps = {"seed42": 100, "seed7": 900}

    def audited(path, depth, required):
        path.mkdir()
        found = audit(complete().manifest(step=steps[path.name]), Depth.METADATA, required)
        return found._replace(path=path, manifest=found.manifest._replace(root=path, files=()))

    monkeypatch.setattr(runs, "audit_path", audited)
    run = audit_run(tmp_path, [tmp_path / name for name in steps], first_only=first_only)
    assert run.best is not None
    assert run.best.path.name == "seed7"


def _faults(run):
    """Of every checkpoint, by its name."""
    return {found.path.name: [fault.message for fault in found.faults] for found in run.audits}


@pytest.mark.parametrize(
    "error",
    [InputError("bent"), PermissionError(errno.EACCES, "Permission denied"), OSError(errno.EIO, "Input/output error")],
)
def test_a_child_that_cannot_be_read_is_a_row_and_the_others_are_judged(tmp_path, monkeypatch, error):
    """Whatever ends the reading of one."""
    paths = _run(tmp_path, 10, 20, 30)
    read = runs.audit_path

    def failing(path, depth, required):
        if path.name == "step-30":
            raise error
        return read(path, depth, required)

    monkeypatch.setattr(runs, "audit_path", failing)
    run = audit_run(tmp_path, paths, required=REQUIRED)
    assert run.best is not None
    assert run.best.path.name == "step-20"
    said = "bent" if isinstance(error, InputError) else f"cannot be read: {error.strerror}"
    assert _faults(run) == {"step-30": [said], "step-20": [], "step-10": []}


@pytest.mark.parametrize("moment", ["listed", "opened", "read"])
def test_a_child_that_a_clean_up_deletes_meanwhile_is_a_row(tmp_path, monkeypatch, moment):
    """Deleted as a whole when its files are listed, when the first is opened, when the first is read."""
    paths = _run(tmp_path, 10, 20, 30)
    method = {"listed": "sizes", "opened": "open", "read": "read"}[moment]
    original = getattr(CheckpointFolder, method)

    def deleting(self, *arguments):
        if self.root.name == "step-30":
            shutil.rmtree(self.root, ignore_errors=True)
        return original(self, *arguments)

    monkeypatch.setattr(CheckpointFolder, method, deleting)
    run = audit_run(tmp_path, paths, required=REQUIRED)
    assert run.best is not None
    assert run.best.path.name == "step-20"
    assert _faults(run) == {"step-30": [VANISHED], "step-20": [], "step-10": []}


@pytest.mark.parametrize("first_only", [False, True])
def test_a_child_that_loses_a_file_after_it_was_listed_is_not_usable(tmp_path, monkeypatch, first_only):
    """A clean-up has begun with it; its folder is still there."""
    paths = _run(tmp_path, 1, 2)
    read = runs.audit_path

    def deleting(path, depth, required):
        found = read(path, depth, required)
        if path.name == "step-2":
            (path / TORCH.name).unlink()
        return found

    monkeypatch.setattr(runs, "audit_path", deleting)
    run = audit_run(tmp_path, paths, required=REQUIRED, first_only=first_only)
    assert run.best is not None
    assert run.best.path.name == "step-1"
    assert _faults(run)["step-2"] == ["cannot be read: No such file or directory"]


def test_a_child_that_vanishes_while_others_are_audited_is_not_recommended(tmp_path, monkeypatch):
    """The newest is looked into first, and is gone at the end."""
    paths = _run(tmp_path, 10, 20)
    read = runs.audit_path

    def deleting(path, depth, required):
        if path.name == "step-10":
            shutil.rmtree(tmp_path / "step-20")
        return read(path, depth, required)

    monkeypatch.setattr(runs, "audit_path", deleting)
    run = audit_run(tmp_path, paths, required=REQUIRED)
    assert run.best is not None
    assert run.best.path.name == "step-10"
    assert _faults(run)["step-20"] == [VANISHED]


def test_a_child_that_nobody_may_look_into_is_one_of_the_run(tmp_path, monkeypatch):
    """It is told of; what the file system keeps for itself, and hidden folders, are no checkpoints."""
    _run(tmp_path, 10, 20)
    closed = {"step-20", "lost+found", ".cache"}
    for name in closed:
        (tmp_path / name).mkdir(exist_ok=True)
    scan = os.scandir

    def refusing(path):
        if Path(path).name in closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = checkpoints_of(tmp_path)
    assert found is not None
    assert [path.name for path in found] == ["step-10", "step-20"]
    run = audit_run(tmp_path, found, required=REQUIRED)
    assert _faults(run) == {"step-20": ["cannot be read: Permission denied"], "step-10": []}
    assert run.audits[0].faults[0].hint == "check its permissions"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("latest", "step-20\n", ""),
        ("latest", "step-40", NOT_THERE),
        ("latest", "../../etc", NOT_THERE),
        ("latest_checkpointed_iteration.txt", "40", NOT_THERE),
        ("latest_checkpointed_iteration.txt", "release", NOT_THERE),
        ("latest", "\xff\xfe" * 9, NOT_THERE),
    ],
)
def test_a_pointer_is_followed_within_the_run(tmp_path, name, text, said):
    """What it names is compared with the checkpoints that were found; nothing else is opened."""
    paths = _run(tmp_path, 10, 20)
    (tmp_path / name).write_text(text, encoding="latin-1")
    (pointer,) = audit_run(tmp_path, paths, required=REQUIRED).pointers
    assert pointer.message == said


def test_a_link_or_a_long_file_is_no_pointer(tmp_path):
    """Nothing outside of the run is read."""
    paths = _run(tmp_path, 10, 20)
    (tmp_path / "latest").symlink_to(TORCH)
    (tmp_path / "latest_universal").write_bytes(b"9" * 100_000)
    assert audit_run(tmp_path, paths, required=REQUIRED).pointers == ()
