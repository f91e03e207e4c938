"""Audits of real checkpoints of every format, against the answers of the libraries that wrote them."""

import pytest

from ckptplan.checkpoint.audit.auditing import audit_path, verdict
from ckptplan.checkpoint.audit.findings import Depth, Standing
from ckptplan.checkpoint.audit.runs import audit_run, checkpoints_of
from ckptplan.checkpoint.kinds import NEEDED_BY_EVERY_RUN
from ckptplan.checkpoint.manifest import Flaw
from tests.checkpoint.shared_fixtures import COLLECTION, KINDS, NAMES, OWN, truth_of

ONE_EACH = [name for name in NAMES if not name.startswith("dcp-malicious-variants")]

FLAWS = {
    "corrupt_metadata": Flaw.CORRUPT,
    "malicious_metadata": Flaw.FOREIGN_CODE,
    "malicious_object": Flaw.FOREIGN_CODE,
    "malicious_pickle": Flaw.FOREIGN_CODE,
    "missing_file": Flaw.MISSING_FILE,
    "truncated_file": Flaw.TRUNCATED,
    "uncommitted": Flaw.UNCOMMITTED,
    "chunk_out_of_bounds": Flaw.OUTSIDE,
    "item_shape_mismatch": Flaw.MISMATCH,
    "bad_headers": Flaw.CORRUPT,
    "hole": Flaw.HOLE,
    "coverage_hole": Flaw.HOLE,
    "overlap": Flaw.OVERLAP,
    "missing_entry": Flaw.MISSING_ENTRY,
    "missing_storage_entry": Flaw.MISSING_ENTRY,
    "bitrot": Flaw.CHECKSUM,
}
HARMLESS = {"unreferenced_files"}


def _audited(name, truth, **options):
    path = COLLECTION / name / truth["root"]
    inside = checkpoints_of(path)
    # A run folder with one checkpoint leads to it; DeepSpeed's universal folder stands beside the one it is made from.
    tag = truth.get("universal_dir") or truth.get("tag")
    inner = inside and (path / tag if tag else inside[0])
    return audit_path(inner or path, **options)


@pytest.mark.parametrize("name", ONE_EACH)
def test_the_verdict_is_that_of_thetruth_of(name):
    """Whole where nothing was damaged; otherwise the flaw is that of the damage."""
    truth = truth_of(name)
    damage = truth.get("damage", {}).get("type")
    found = _audited(name, truth, depth=Depth.DATA if damage in {"bitrot", "bad_crc"} else Depth.ITEMS)
    if damage is None or damage in HARMLESS:
        assert found.whole, found.faults
        assert verdict(found).startswith("whole")
    else:
        assert FLAWS[damage] in {fault.flaw for fault in found.faults}, verdict(found)
        assert verdict(found).startswith("not usable: ")


@pytest.mark.parametrize("name", [name for name in ONE_EACH if "missing_for_exact_resume" in truth_of(name)])
def test_what_is_missing_is_what_the_truth_says(name):
    """Of the states that every run needs, exactly these are absent, and these are there for these ranks only."""
    truth = truth_of(name)
    found = _audited(name, truth)
    if not found.states:  # the metadata itself could not be read: nothing is known of the states
        assert truth["damage"]["type"] in {"corrupt_metadata", "malicious_metadata", "uncommitted"}
        return
    states = {state.kind: state for state in found.states}
    absent = {kind for kind in NEEDED_BY_EVERY_RUN if states[kind].standing is Standing.ABSENT}
    assert absent == {KINDS[word] for word in truth["missing_for_exact_resume"]}
    partial = {
        kind: (list(state.ranks), state.of) for kind, state in states.items() if state.standing is Standing.PARTIAL
    }
    expected = {KINDS[word]: (one["saved_by_ranks"], one["of"]) for word, one in truth.get("partial", {}).items()}
    assert partial == expected
    unreadable = [kind for kind, state in states.items() if state.standing is Standing.UNREADABLE]
    assert bool(unreadable) == (truth.get("damage", {}).get("type") not in {None, "uncommitted", *HARMLESS})


@pytest.mark.parametrize("name", [name for name in NAMES if "malicious" in name])
def test_nothing_of_a_hostile_file_is_executed(name, tmp_path, monkeypatch):
    """Every variant of a hostile file gets a verdict, and the file that it would create never appears."""
    monkeypatch.chdir(tmp_path)
    path = COLLECTION / name / "ckpt"
    inside = checkpoints_of(path)
    audits = [audit_path(path)] if inside is None else audit_run(path, inside).audits
    for found in audits:
        assert not found.whole
        assert {fault.flaw for fault in found.faults} & {Flaw.FOREIGN_CODE, Flaw.CORRUPT}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in NAMES if truth_of(name).get("damage", {}).get("type") in HARMLESS])
def test_files_of_an_older_save_are_listed(name):
    """Nothing refers to them; the checkpoint is whole."""
    truth = truth_of(name)
    assert list(_audited(name, truth).leftovers) == truth["damage"]["files"]


@pytest.mark.parametrize(
    "name", ["dcp-3rank", "safetensors-sharded", "torch-zip/checkpoint.pt", "torch-legacy/checkpoint.pt"]
)
def test_small_checkpoints_of_our_own_are_whole(name):
    """With all data read and compared with its checksums."""
    found = audit_path(OWN / name, depth=Depth.DATA)
    assert found.whole, found.faults


def test_the_small_dcp_checkpoint_is_complete():
    """Three ranks saved all that exact resume needs, in shards that are uneven and empty."""
    found = audit_path(OWN / "dcp-3rank", depth=Depth.DATA)
    assert verdict(found) == "whole, and it holds all that exact resume needs"


def test_the_small_file_of_torch_lacks_the_data_position():
    """And nothing else."""
    assert verdict(audit_path(OWN / "torch-zip" / "checkpoint.pt")) == "whole, but without data position"
