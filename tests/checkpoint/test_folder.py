"""Files of a checkpoint that the system refuses: what is said, and what to look at."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from ckptplan.checkpoint.audit.auditing import audit_path
from ckptplan.checkpoint.audit.findings import Depth
from ckptplan.checkpoint.folder import CheckpointFolder, UnreadableFileError
from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.manifest import Flaw
from tests.checkpoint.shared_fixtures import COLLECTION, OWN, needs_collection

DATA = "__1_0.distcp"
CAUSES = [
    (errno.EACCES, "check its permissions"),
    (errno.ELOOP, "links are not followed"),
    (errno.ENOENT, "it has vanished: is a clean-up still running?"),
    (errno.EIO, "is the storage at hand?"),
]


@pytest.fixture
def refuse(monkeypatch):
    """Lets the system refuse to open files of a name: the user who runs the tests may open all."""
    opened = os.open

    def refusing(name, code):
        def guarded(path, flags, *arguments, **named):
            if Path(path).name == name:
                raise OSError(code, os.strerror(code), path)
            return opened(path, flags, *arguments, **named)

        monkeypatch.setattr(os, "open", guarded)

    return refusing


@pytest.mark.parametrize(("code", "hint"), CAUSES)
def test_the_hint_fits_what_the_system_says(tmp_path, refuse, code, hint):
    """Permissions, links, a clean-up, the storage."""
    (tmp_path / "a").write_bytes(b"1234")
    refuse("a", code)
    with CheckpointFolder(tmp_path) as folder, pytest.raises(UnreadableFileError) as caught:
        folder.read("a", 0, 4)
    (problem,) = caught.value.problems
    assert problem.message == f"cannot be opened: {os.strerror(code)}"
    assert problem.hint == hint


def test_a_link_on_the_way_is_not_followed(tmp_path):
    """The file itself, or a folder that became a link since it was listed."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"1234")
    (tmp_path / "run" / "in").mkdir(parents=True)
    (tmp_path / "run" / "in" / "a").write_bytes(b"1234")
    folder = CheckpointFolder(tmp_path / "run")
    assert folder.size("in/a") == 4
    shutil.rmtree(tmp_path / "run" / "in")
    (tmp_path / "run" / "in").symlink_to(tmp_path / "real")
    with pytest.raises(UnreadableFileError) as caught:
        folder.read("in/a", 0, 4)
    assert caught.value.problems[0].hint == "links are not followed"


def test_what_vanishes_while_a_folder_is_listed_is_not_in_it(tmp_path, monkeypatch):
    """A file before its length is asked for, and a folder before it is listed."""
    for name in ("inner", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b").write_bytes(b"1")
    (tmp_path / "late").write_bytes(b"1")
    scan = os.scandir

    def deleting(path):
        if Path(path).name == "inner":
            (tmp_path / "inner" / "b").unlink()
            (tmp_path / "inner").rmdir()
            (tmp_path / "late").unlink()
        return scan(path)

    monkeypatch.setattr(os, "scandir", deleting)
    with CheckpointFolder(tmp_path) as folder:
        assert folder.sizes() == {"kept/b": 1}


@pytest.mark.parametrize(("code", "hint"), CAUSES)
def test_a_file_that_cannot_be_read_is_one_fault_whatever_lies_in_it(tmp_path, refuse, code, hint):
    """One for the file, with the cause, though it holds parts of nearly all tensors; they are all unreadable."""
    path = tmp_path / "step-2"
    shutil.copytree(OWN / "dcp-3rank", path)
    refuse(DATA, code)
    assert [(fault.file, fault.key) for fault in read_manifest(path).faults] in ([], [(DATA, None)])
    for depth in (Depth.ITEMS, Depth.DATA):
        found = audit_path(path, depth)
        assert [(fault.flaw, fault.file, fault.key, fault.hint) for fault in found.faults] == [
            (Flaw.UNREADABLE, DATA, None, hint)
        ]
        unreadable = {state.kind: state.detail for state in found.states if state.standing == "unreadable"}
        assert len(unreadable) > 3
        assert all(DATA in detail for detail in unreadable.values())


@pytest.mark.parametrize(
    ("fixture", "name"),
    [
        ("dcp-3rank", ".metadata"),
        ("torch-zip", "checkpoint.pt"),
        ("safetensors-sharded", "model.safetensors.index.json"),
    ],
)
def test_metadata_that_cannot_be_read_is_named(tmp_path, refuse, fixture, name):
    """The file, the cause, and what to look at."""
    path = tmp_path / "step-2"
    shutil.copytree(OWN / fixture, path)
    assert (path / name).is_file()
    refuse(name, errno.EACCES)
    (fault, *more) = audit_path(path).faults
    assert (fault.flaw, fault.file, fault.hint) == (Flaw.UNREADABLE, name, "check its permissions")
    assert not [other for other in more if other.file == name]


@needs_collection
@pytest.mark.parametrize(
    ("fixture", "name"),
    [
        ("deepspeed-zero1-2rank", "zero_pp_rank_1_mp_rank_00_optim_states.pt"),
        ("dcp-hf-storage-2rank", "shard-00002-model-00001-of-00001.safetensors"),
        ("dcp-rank-local-metadata", "__0.metadata"),
        ("megatron-torch-dist-tp2-dp2", "common.pt"),
    ],
)
def test_a_file_is_said_to_be_unreadable_once_whichever_part_of_the_audit_opens_it(refuse, fixture, name):
    """The reader of the format and the comparison of checksums come upon the same file."""
    refuse(name, errno.EACCES)
    found = audit_path(COLLECTION / fixture / "ckpt", Depth.DATA)
    said = [(fault.flaw, fault.hint) for fault in found.faults if fault.file == name and "Permission" in fault.message]
    assert said == [(Flaw.UNREADABLE, "check its permissions")]
