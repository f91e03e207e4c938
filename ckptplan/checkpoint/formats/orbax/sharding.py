"""How JAX had laid out every array when it was saved: the file `_sharding`."""

from __future__ import annotations

import base64
import binascii
import math
from collections import Counter
from typing import Any, NamedTuple

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax.documents import MOST_BYTES, counts, parse_json, read_json
from ckptplan.checkpoint.manifest import Mesh

Spec = tuple[tuple[str, ...], ...]  # names of the mesh axes that cut each axis of the array


class Layout(NamedTuple):
    """The layout of one array; no mesh for an array on one device."""

    mesh: Mesh | None
    spec: Spec


class Layouts(NamedTuple):
    """Layouts by name of the array, and what was not understood."""

    of: dict[str, Layout]
    remarks: tuple[str, ...] = ()


def read_layouts(folder: CheckpointFolder, name: str) -> Layouts:
    """All layouts of a pytree; none where the file is absent."""
    if not folder.has(name):
        return Layouts({})
    if folder.size(name) > MOST_BYTES:
        # The ids of all devices stand in it once per array, so that it grows with both.
        return Layouts({}, (f"{name} has {folder.size(name):,} bytes and was not read: mesh and layouts are not told",))
    found = read_json(folder, name)
    layouts: dict[str, Layout] = {}
    known: dict[str, Layout | None] = {}
    odd = 0
    for key, text in (found if isinstance(found, dict) else {}).items():
        array = _decoded(key)
        if isinstance(text, str) and text not in known:
            known[text] = _layout(parse_json(folder, name, text.encode("utf-8", "replace")))
        layout = known.get(text) if isinstance(text, str) else None
        if array is None or layout is None:
            odd += 1
        else:
            layouts[array] = layout
    remarks = (f"{name}: {odd} entries could not be understood",) if odd else ()
    return Layouts(layouts, remarks)


def common_mesh(layouts: Layouts) -> Mesh | None:
    """The mesh of most arrays."""
    meshes = Counter(layout.mesh for layout in layouts.of.values() if layout.mesh is not None)
    return meshes.most_common(1)[0][0] if meshes else None


def cuts(layout: Layout, axes: int) -> tuple[int, ...] | None:
    """Into how many parts each axis of an array is cut; None if the layout does not fit it."""
    if layout.mesh is None:
        return (1,) * axes
    size = dict(zip(layout.mesh.names, layout.mesh.shape, strict=True))
    if len(layout.spec) > axes or any(name not in size for names in layout.spec for name in names):
        return None
    parts = [math.prod(size[name] for name in names) for names in layout.spec]
    return (*parts, *[1] * (axes - len(parts)))


def _decoded(key: str) -> str | None:
    try:
        return base64.b64decode(key, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _layout(found: Any) -> Layout | None:
    if not isinstance(found, dict):
        return None
    if found.get("sharding_type") != "NamedSharding":
        return Layout(None, ())
    shape, names = counts(found.get("shape"), 2**31), found.get("axis_names")
    if shape is None or not isinstance(names, list) or len(names) != len(shape) or math.prod(shape) > 2**31:
        return None
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        return None
    spec = _spec(found.get("partition_spec"))
    return None if spec is None else Layout(Mesh(shape, tuple(names)), spec)


def _spec(found: Any) -> Spec | None:
    """None, a name, or a list of names for each axis."""
    if not isinstance(found, list) or len(found) > 64:
        return None
    spec: list[tuple[str, ...]] = []
    for part in found:
        names = [part] if isinstance(part, str) else ([] if part is None else part)
        if not isinstance(names, list) or len(names) > 64 or not all(isinstance(name, str) for name in names):
            return None
        spec.append(tuple(names))
    return tuple(spec)
