"""Checkpoints that a command reads: opened, kept from being written into, their faults told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckptplan.errors import InputError, UsageError, printable

if TYPE_CHECKING:
    from ckptplan.checkpoint.manifest import Manifest

_MOST_FAULTS = 20

# Endings that promise another kind of file: neither safetensors, nor the name of a folder.
_REPORTS = frozenset([".json", ".jsonl", ".csv", ".md", ".markdown", ".txt", ".yaml", ".yml", ".html", ".log"])
_OTHERS = frozenset([
    ".pt", ".pth", ".bin", ".ckpt", ".pkl", ".pickle", ".distcp", ".gguf", ".ggml", ".onnx", ".npz", ".npy",
    ".h5", ".hdf5", ".keras", ".msgpack", ".safetensor", ".st", ".index", ".tar", ".zip", ".gz", ".zst",
])  # fmt: skip


def readable(path: str) -> Manifest:
    """The manifest of a checkpoint whose tensors can be listed; its faults are the error otherwise."""
    from ckptplan.checkpoint.formats.detect import read_manifest
    from ckptplan.checkpoint.manifest import problem_of

    refuse_empty(path)
    manifest = read_manifest(path)
    if not manifest.tensors and not manifest.objects and manifest.faults:
        raise InputError([problem_of(fault, manifest) for fault in manifest.faults[:_MOST_FAULTS]])
    return manifest


def refuse_empty(path: str) -> None:
    """An empty path is a variable that is not set, not the current folder."""
    if not path:
        raise UsageError("PATH is empty", hint="is a variable not set? The current folder is .")


def refuse_ending(out: Path, option: str, report: str) -> None:
    """Tensors are written as safetensors; ``report`` says where the report goes, which some endings are meant for."""
    ending = out.suffix.lower()
    said = f"{option} {printable(str(out))}: tensors are written as safetensors"
    if ending in _REPORTS:
        raise UsageError(said, hint=f"name a file that ends in .safetensors, or a new folder; {report}")
    if ending in _OTHERS or (ending == ".safetensors" and out.suffix != ending):
        raise UsageError(said, hint="name a file that ends in .safetensors, or a new folder")


def refuse_inside(output: Path | None, manifest: Manifest) -> None:
    """A result must not be written over the checkpoint, nor into its folder."""
    if output is None or not output.parent.exists():
        return
    target, root = output.parent.resolve() / output.name, manifest.root.resolve()
    written = {(root / file.name).resolve() for file in manifest.files}
    if target in written or target == root or (root.is_dir() and len(written) > 1 and root in target.parents):
        raise UsageError(f"-o {output} would write into the checkpoint", hint="give a file elsewhere with -o")


def told(manifest: Manifest, path: str) -> list[str]:
    """The faults in sentences, and what looks further into them."""
    faults = manifest.faults
    said = [": ".join(printable(part) for part in (f.file, f.key, f.message) if part) for f in faults[:_MOST_FAULTS]]
    if len(faults) > _MOST_FAULTS:
        said.append(f"and {len(faults) - _MOST_FAULTS:,} more faults")
    return [*said, f"ckptplan audit {printable(path)} tells whether a run can go on from it"] if said else []
