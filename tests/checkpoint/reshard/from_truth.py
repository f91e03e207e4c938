"""Manifests made from the right answers beside the fixtures, without any reader of the package, and torch's plans."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from ckptplan.checkpoint.manifest import File, Format, Manifest, Mesh, Shards, Tensor
from tests.checkpoint.shared_fixtures import KINDS, SHARED, truth_of

ORACLE = sorted((SHARED / "reshard").glob("*.json"))
needs_oracle = pytest.mark.skipif(not ORACLE, reason="the fixtures of the task are not here")

SOURCE: Any = None  # nothing is read from the files here


class Shard(NamedTuple):
    """One stored box, as tests write it."""

    offset: tuple[int, ...]
    size: tuple[int, ...]
    file: int
    item_bytes: int = 0
    item_offset: int = 0


def shards(axes: int, stored: list[Shard], flat: bool = False) -> Shards:
    """The arrays of some stored boxes."""
    axes = 1 if flat else axes
    offsets = np.array([s.offset for s in stored], dtype=np.int64).reshape(len(stored), axes)
    sizes = np.array([s.size for s in stored], dtype=np.int64).reshape(len(stored), axes)
    files, items, lengths = (
        np.array(column, dtype=np.int64)
        for column in ([s.file for s in stored], [s.item_offset for s in stored], [s.item_bytes for s in stored])
    )
    return Shards(offsets, sizes, files, items, lengths, np.full(len(stored), -1, dtype=np.int64), flat)


def manifest(tensors: list[Tensor], files: int = 1) -> Manifest:
    """A checkpoint of some tensors."""
    names = tuple(File(f"__{number}_0.distcp", 1 << 40) for number in range(files))
    return Manifest(Format.DCP, Path("ckpt"), tuple(tensors), (), names, SOURCE)


@cache
def manifest_from_truth(fixture: str) -> Manifest:
    """The manifest of a fixture in which every tensor has its boxes."""
    truth = truth_of(fixture)
    inside = truth["root"].removeprefix("ckpt").lstrip("/")  # the folder that names of files in shards start from
    files = {name.removeprefix(f"{inside}/"): number for number, name in enumerate(truth["files"])}
    parameters = [key for key, tensor in truth["tensors"].items() if tensor["kind"] in ("param", "buffer")]
    tensors = tuple(_tensor(key, entry, files, parameters) for key, entry in truth["tensors"].items())
    listed = tuple(File(name, size) for name, size in truth["files"].items())
    mesh = truth.get("mesh")
    return Manifest(
        Format.DCP, Path(fixture), tensors, (), listed, SOURCE,
        mesh=Mesh(tuple(mesh["shape"]), tuple(mesh["names"])) if mesh else None,
    )  # fmt: skip


def _tensor(key: str, entry: dict[str, Any], files: dict[str, int], parameters: list[str]) -> Tensor:
    stored = [
        Shard(tuple(s["offset"]), tuple(s["size"]), files[s["file"]], s["item_length"], s["item_offset"])
        for s in entry["shards"]
    ]
    shape = tuple(entry["shape"])
    rank = 0 if entry["kind"] == "rng" else None
    return Tensor(
        key, KINDS[entry["kind"]], entry["dtype"], shape, shards(len(shape), stored), tuple(entry["path"] or (key,)),
        _parameter(key, parameters), rank,
    )  # fmt: skip


def _parameter(key: str, parameters: list[str]) -> str | None:
    """The parameter whose name, without the prefix of the model, stands in the key between dots; the longest."""
    bare = {name.removeprefix("model."): name for name in parameters}
    fitting = [name for name in bare if f".{name}." in f".{key}."]
    return bare[max(fitting, key=len)] if fitting else None
