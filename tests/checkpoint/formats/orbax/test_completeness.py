"""What an Orbax save says of itself, and what is not there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats import orbax
from ckptplan.checkpoint.manifest import Flaw
from tests.checkpoint.shared_fixtures import folder_of, needs_collection

pytestmark = needs_collection

NAMES = ["orbax-ocdbt-8dev", "orbax-no-ocdbt-4dev"]


@pytest.fixture
def step(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the folder of one step, whole."""
    folder = tmp_path / "3"
    shutil.copytree(folder_of(request.param) / "3", folder)
    assert faults(folder) == []
    return folder


def faults(folder: Path) -> list[tuple[Flaw, str | None]]:
    """What is wrong, and where."""
    return [(fault.flaw, fault.file) for fault in orbax.read(CheckpointFolder(folder)).faults]


@pytest.mark.parametrize("step", NAMES, indirect=True)
def test_an_item_that_the_save_lists_and_that_is_gone(step: Path) -> None:
    """Items stand in the description of the save with who wrote them."""
    shutil.rmtree(step / "data_iter")
    assert faults(step) == [(Flaw.MISSING_FILE, "data_iter")]


@pytest.mark.parametrize("step", NAMES, indirect=True)
@pytest.mark.parametrize("place", ["", "state/", "data_iter/"])
def test_a_folder_without_the_mark_that_the_others_have(step: Path, place: str) -> None:
    """Each folder gets its mark once it is written; a save in which none has one is of another kind."""
    (step / f"{place}commit_success.txt").unlink()
    assert faults(step) == [(Flaw.UNCOMMITTED, f"{place}commit_success.txt")]
    for mark in step.rglob("commit_success.txt"):
        mark.unlink()
    assert faults(step) == []


@pytest.mark.parametrize("step", NAMES, indirect=True)
def test_the_names_of_the_arrays(step: Path) -> None:
    """Without the tree nothing is restored, unless an older version's aggregate file is in its place."""
    (step / "state" / "_METADATA").unlink()
    assert faults(step) == [(Flaw.MISSING_FILE, "state/_METADATA")]
    (step / "state" / "checkpoint").write_bytes(b"\x80")
    assert faults(step) == []
