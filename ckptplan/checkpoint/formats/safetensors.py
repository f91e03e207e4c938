"""Folders and files of safetensors: weights alone."""

from __future__ import annotations

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.json_file import read_json
from ckptplan.checkpoint.formats.pieces import Pieces
from ckptplan.checkpoint.formats.weights import (
    add_safetensors,
    add_weights,
    at_root,
    indices_at_root,
    looks_like_safetensors,
    safetensors_at_root,
)
from ckptplan.checkpoint.manifest import Format, Manifest

CONFIGURATIONS = {
    "config.json": "configuration of the model",
    "generation_config.json": "configuration of generation",
    "adapter_config.json": "configuration of the adapter",
}


def recognised(folder: CheckpointFolder) -> bool:
    """Whether the folder holds safetensors files, or one file is of that format whatever it is called."""
    if safetensors_at_root(folder) or any(name.endswith(".safetensors.index.json") for name in indices_at_root(folder)):
        return True
    names = at_root(folder)
    return len(names) == 1 and looks_like_safetensors(folder, names[0])


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of a folder of safetensors."""
    pieces = Pieces(folder)
    names = at_root(folder)
    if not safetensors_at_root(folder) and not indices_at_root(folder):
        add_safetensors(pieces, names[0])
    else:
        add_weights(pieces)
    add_configurations(pieces)
    return pieces.manifest(Format.SAFETENSORS)


def add_configurations(pieces: Pieces) -> None:
    """Say what the small JSON files beside the weights are."""
    for name, what in CONFIGURATIONS.items():
        if pieces.folder.has(name):
            pieces.holds(name, what)


def producer(folder: CheckpointFolder) -> str:
    """The library that the configuration of the model names."""
    if not folder.has("config.json") or folder.size("config.json") > 1 << 20:
        return ""
    version = read_json(folder, "config.json").get("transformers_version")
    return f"transformers {version[:40]}" if isinstance(version, str) else ""
