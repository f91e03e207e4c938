"""Which format a path is, which checkpoint of a run, and what is said where nothing decides."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ckptplan.checkpoint.formats.detect import checkpoints_in, read_manifest
from ckptplan.checkpoint.manifest import Format
from ckptplan.errors import InputError
from tests.checkpoint.archives.torch_zip import saved
from tests.checkpoint.formats.test_safetensors_header import save
from tests.checkpoint.shared_fixtures import KINDS, NAMES, OWN, folder_of, truth_of

FORMATS = {
    "accelerate": {Format.ACCELERATE},
    "torch-dcp": {Format.DCP},
    "torch-dcp-rank-local": {Format.DCP_RANK_LOCAL},
    "safetensors-dcp-sharded": {Format.DCP_SAFETENSORS},
    "deepspeed-zero": {Format.DEEPSPEED, Format.DEEPSPEED_UNIVERSAL},
    "torch-save-per-rank-fsdp1-flat": {Format.FSDP1_FLAT},
    "safetensors": {Format.SAFETENSORS},
    "hf-trainer": {Format.TRAINER},
    "megatron-legacy": {Format.MEGATRON_LEGACY},
    "megatron-torch-dist": {Format.MEGATRON_DIST},
    "orbax": {Format.ORBAX},
    "torch-save": {Format.TORCH},
    "torch-save-legacy": {Format.TORCH_LEGACY},
}


@pytest.mark.parametrize("name", NAMES)
def test_every_checkpoint_is_recognised(name: str) -> None:
    """By what is in it; a folder of several says so."""
    truth = truth_of(name)
    if name == "dcp-malicious-variants":
        with pytest.raises(InputError, match="4 checkpoints"):
            read_manifest(folder_of(name))
        return
    manifest = read_manifest(folder_of(name))
    assert manifest.format in FORMATS[truth["format"]]
    if "damage" not in truth:
        assert {t.key: t.kind for t in manifest.tensors} == {
            key: KINDS[facts["kind"]] for key, facts in truth["tensors"].items()
        }


def test_suffixes_decide_nothing(tmp_path: Path) -> None:
    """A checkpoint of torch under any name is one; a text under a checkpoint's name is none."""
    (tmp_path / "weights.dat").write_bytes(saved({"a": 1}, {}))
    assert read_manifest(tmp_path / "weights.dat").format is Format.TORCH
    (tmp_path / "model.pt").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(InputError, match="no checkpoint is recognised in this file"):
        read_manifest(tmp_path / "model.pt")


def run(tmp_path: Path, *names: str) -> Path:
    """A folder of checkpoints of DCP."""
    for name in names:
        shutil.copytree(OWN / "dcp-3rank", tmp_path / name)
    return tmp_path


def test_checkpoints_of_a_run_come_in_the_order_of_their_steps(tmp_path: Path) -> None:
    """Numbers count, not letters; a save that never ended is among them."""
    folder = run(tmp_path, "step-1000", "step-900", "step-20")
    (folder / "step-1000" / ".metadata").unlink()
    (folder / "logs").mkdir()
    (folder / "logs" / "events.txt").write_text("x")
    assert [path.name for path in checkpoints_in(folder)] == ["step-20", "step-900", "step-1000"]
    with pytest.raises(InputError) as caught:
        read_manifest(folder)
    (problem,) = caught.value.problems
    assert problem.message == "3 checkpoints: step-20, step-900, step-1000"
    assert f"ckptplan audit {folder}" in (problem.hint or "")


def test_checkpoints_one_level_deeper_are_found(tmp_path: Path) -> None:
    """run/checkpoints/step-N."""
    run(tmp_path / "checkpoints", "step-1", "step-2")
    assert [path.name for path in checkpoints_in(tmp_path)] == ["step-1", "step-2"]
    with pytest.raises(InputError, match="2 checkpoints: checkpoints/step-1, checkpoints/step-2"):
        read_manifest(tmp_path)


def test_the_only_checkpoint_of_a_run_is_followed(tmp_path: Path) -> None:
    """And said."""
    manifest = read_manifest(run(tmp_path, "step-7"))
    assert manifest.root == tmp_path / "step-7"
    assert manifest.remarks[0] == f"the only checkpoint in {tmp_path.name} is step-7"


def test_a_checkpoint_itself_holds_none(tmp_path: Path) -> None:
    """Its own folders and files are not taken for checkpoints."""
    assert checkpoints_in(OWN / "dcp-3rank") == []
    assert checkpoints_in(OWN / "torch-zip") == []


@pytest.mark.parametrize(
    ("pointer", "text", "target"),
    [
        ("latest", "step-2", "step-2"),
        ("latest", "step-1\n", "step-1"),
        ("latest_checkpointed_iteration.txt", "12", "iter_0000012"),
        ("latest_checkpointed_iteration.txt", "release", "release"),
    ],
)
def test_pointers_are_followed(tmp_path: Path, pointer: str, text: str, target: str) -> None:
    """Where several checkpoints lie, the pointer of the framework decides, and the remark says so."""
    run(tmp_path, *{"step-1", "step-2", target})
    (tmp_path / pointer).write_text(text)
    manifest = read_manifest(tmp_path)
    assert manifest.root == tmp_path / target
    assert manifest.remarks[0] == f"{pointer} names {target}: that one is read"


@pytest.mark.parametrize("text", ["../outside", "/etc", "..", ".", "", "step-9", "a/b", "x" * 5_000, "\0", "link"])
def test_pointers_do_not_lead_out_of_the_run(tmp_path: Path, text: str) -> None:
    """Names elsewhere, of nothing, of a link, or too long point nowhere."""
    outside = run(tmp_path / "outside", "one")
    folder = run(tmp_path / "run", "step-1", "step-2")
    (folder / "link").symlink_to(outside / "one")
    (folder / "latest").write_text(text)
    with pytest.raises(InputError, match="2 checkpoints: step-1, step-2"):
        read_manifest(folder)


def test_files_that_differ_in_their_number_are_checkpoints(tmp_path: Path) -> None:
    """epoch1.pt and epoch2.pt; files of ranks and shards are not."""
    for name in ("epoch9.pt", "epoch10.pt", "epoch11.pt"):
        (tmp_path / name).write_bytes(saved({"step": 1}, {}))
    assert [path.name for path in checkpoints_in(tmp_path)] == ["epoch9.pt", "epoch10.pt", "epoch11.pt"]
    with pytest.raises(InputError, match="3 checkpoints"):
        read_manifest(tmp_path)
    ranks = tmp_path / "ranks"
    ranks.mkdir()
    for rank in range(3):
        (ranks / f"model_rank{rank}.pt").write_bytes(saved({"step": 1}, {}))
    assert checkpoints_in(ranks) == []
    assert read_manifest(ranks).format is Format.TORCH


def test_a_part_of_a_checkpoint_leads_to_the_whole() -> None:
    """Its metadata or one of its data files says nothing alone."""
    for name in (".metadata", "__1_0.distcp"):
        manifest = read_manifest(OWN / "dcp-3rank" / name)
        assert (manifest.root, manifest.faults) == (OWN / "dcp-3rank", ())
        assert manifest.remarks[0].startswith(f"{name} belongs to the checkpoint in its folder")


def test_nothing_recognised_says_what_was_looked_for(tmp_path: Path) -> None:
    """With the marks of the formats, or with the remedy for a folder of links."""
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError) as caught:
        read_manifest(tmp_path)
    assert "trainer_state.json" in (caught.value.problems[0].hint or "")
    links = tmp_path / "links"
    links.mkdir()
    (links / "model.safetensors").symlink_to(save(tmp_path / "blob", {"w": ("F32", (1,))}))
    with pytest.raises(InputError) as caught:
        read_manifest(links)
    assert "links are not followed" in (caught.value.problems[0].hint or "")


@pytest.mark.parametrize("path", ["/nonexistent/checkpoint", "/dev/null", "a\0b", "", "x" * 5_000])
def test_paths_to_nothing_are_one_error(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, a device, no name at all."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        read_manifest(path)
    assert caught.value.problems[0].place is not None
    assert caught.value.problems[0].hint


def test_checkpoints_in_nothing_is_an_error(tmp_path: Path) -> None:
    """A folder that is not there."""
    with pytest.raises(InputError, match="cannot be read"):
        checkpoints_in(str(tmp_path / "nothing"))
