"""The FSDP1 checkpoint that torch wrote, compared with what torch says is in it.

The right answers list no objects and give digests of the parameters only; the rest is compared by its bytes.
"""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.fsdp1 import read, recognised
from ckptplan.checkpoint.manifest import Flaw, Format, Manifest
from tests.checkpoint.shared_fixtures import (
    COLLECTION,
    KINDS,
    counted,
    counted_by,
    described,
    described_by,
    digest,
    missing,
    needs_collection,
    truth_of,
)

NAME = "fsdp1-local-flat-3rank"
pytestmark = needs_collection


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    """What is read from it."""
    folder = CheckpointFolder(COLLECTION / NAME / "ckpt")
    assert recognised(folder)
    return read(folder)


def test_tensors_are_those_that_were_saved(manifest):
    """Keys, kinds, types, shapes and bytes of all pieces, stored bytes and bytes by kind."""
    truth = truth_of(NAME)
    assert described(manifest) == described_by(truth)
    assert counted(manifest, set(KINDS.values())) == counted_by(truth)
    assert sum(one.stored_bytes for one in manifest.tensors) == truth["totals"]["logical_tensor_bytes"]


def test_elements_are_those_that_were_saved(manifest):
    """Digests of all pieces, and the file and rank of each."""
    truth = truth_of(NAME)
    for tensor in manifest.tensors:
        expected = truth["tensors"][tensor.key]
        assert manifest.files[int(tensor.shards.files[0])].name == expected["file"]
        assert tensor.rank == int(expected["file"][5])
        found = digest(manifest, tensor)
        assert "sha256" not in expected or found == expected["sha256"]


def test_facts_of_the_save(manifest):
    """Step, ranks, files, what exact resume lacks, and that it cannot be resharded."""
    truth = truth_of(NAME)
    assert (manifest.format, manifest.step, manifest.world_size) == (Format.FSDP1_FLAT, truth["step"], 3)
    assert manifest.writer_ranks == (0, 1, 2)
    assert {file.name: file.size_bytes for file in manifest.files} == truth["files"]
    assert missing(manifest) == {KINDS[kind] for kind in truth["missing_for_exact_resume"]}
    assert [fault.flaw for fault in manifest.faults] == [Flaw.NOT_RESHARDABLE]
    assert truth["reshardable"] is False
