"""Folders of an Orbax checkpoint: the step, its items, and whether the save ended."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax.documents import read_json
from ckptplan.checkpoint.manifest import Fault, Flaw

METADATA = "_CHECKPOINT_METADATA"
TREE = "_METADATA"
COMMITTED = "commit_success.txt"
UNFINISHED = ".orbax-checkpoint-tmp"

_COPY = "is the copy complete?"
_MOST_FAULTS = 100
_STEP = re.compile(r"(?:.*\D)?(\d{1,18})")
_NAME = re.compile(r"(?:[^/]*\D)?\d+(?:\.orbax-checkpoint-tmp.*)?")


class Item(NamedTuple):
    """One item of a checkpoint: a folder below that of the step, or that folder itself."""

    name: str
    prefix: str  # of its files
    tree: bool  # a pytree of arrays


def step_prefixes(folder: CheckpointFolder) -> list[str]:
    """Prefixes of the folders that hold a checkpoint each: "" where the folder is one itself."""
    found: set[str] = set()
    for name in folder.sizes():
        parts = name.split("/")
        if parts[-1] == METADATA and len(parts) <= 2:
            found.add("/".join(parts[:-1]))
        elif parts[-1] in (TREE, "manifest.ocdbt") and len(parts) == 1:
            found.add("")
        elif parts[-1] == TREE and len(parts) == 2:  # an item, or a step that is one itself
            found.add(parts[0] if _NAME.fullmatch(parts[0]) else "")
        elif parts[-1] == TREE and len(parts) == 3:
            found.add(parts[0])
    if "" in found:
        return [""]
    return sorted(one + "/" for one in found)


def folder_name(folder: CheckpointFolder, prefix: str) -> str:
    """Name of the folder of a step."""
    return prefix.rstrip("/") or folder.root.resolve().name


def step_of(name: str) -> int | None:
    """The training step that a folder is named after."""
    match = _STEP.fullmatch(name.split(UNFINISHED, maxsplit=1)[0])
    return int(match[1]) if match else None


def items_of(folder: CheckpointFolder, prefix: str) -> list[Item]:
    """Items below a step, sorted by name."""
    if any(folder.has(prefix + name) for name in (TREE, "manifest.ocdbt")):
        return [Item("", prefix, tree=True)]
    inner: dict[str, bool] = {}
    for name in folder.sizes():
        if name.startswith(prefix) and "/" in name[len(prefix) :]:
            item, rest = name[len(prefix) :].split("/", 1)
            tree = rest in (TREE, "manifest.ocdbt") or rest.endswith(("/.zarray", "/zarr.json"))
            inner[item] = inner.get(item, False) or tree
    return [Item(_clean(item), f"{prefix}{item}/", tree) for item, tree in sorted(inner.items())]


def commit_faults(folder: CheckpointFolder, prefix: str, items: list[Item]) -> list[Fault]:
    """What says that the save never ended."""
    faults: list[Fault] = []
    if UNFINISHED in folder_name(folder, prefix):
        message = f"the folder still has the temporary name of a save under way: {folder_name(folder, prefix)}"
        faults.append(_uncommitted(message, prefix.rstrip("/") or None))
    for item in items:
        if UNFINISHED in item.prefix[len(prefix) :]:
            faults.append(_uncommitted(f"the item {item.name} never got its final name", item.prefix.rstrip("/")))
    name = prefix + METADATA
    if folder.has(name):
        found = read_json(folder, name)
        if not isinstance(found, dict):
            faults.append(Fault(Flaw.CORRUPT, "no description of a checkpoint", name))
        elif found.get("init_timestamp_nsecs") is not None and found.get("commit_timestamp_nsecs") is None:
            faults.append(_uncommitted("the save began and no time of its end is noted", name))
    return [*(faults or _unmarked(folder, prefix, items)), *_lacking(folder, prefix, items)]


def _unmarked(folder: CheckpointFolder, prefix: str, items: list[Item]) -> list[Fault]:
    """Folders without the mark of the end that others of the same save have."""
    places = dict.fromkeys([prefix, *(item.prefix for item in items)])
    without = [place for place in places if not folder.has(place + COMMITTED)]
    if len(without) == len(places):
        return []  # where a folder gets its name at the end no other mark is written
    return [
        _uncommitted("the other folders of the save have this mark of the end", place + COMMITTED) for place in without
    ]


def _lacking(folder: CheckpointFolder, prefix: str, items: list[Item]) -> list[Fault]:
    """Items that the description of the save lists, and trees without the names of their arrays."""
    faults = []
    listed = handlers_of(folder, prefix)
    there = {item.name for item in items}
    for name in listed:
        if name not in there and not any(item.prefix == prefix for item in items):
            message = f"the item {_clean(name)[:80]!a} is listed in {METADATA} and is not there"
            faults.append(Fault(Flaw.MISSING_FILE, message, f"{prefix}{name[:200]}", hint=_COPY))
    for item in items:
        aggregate = folder.has(item.prefix + "checkpoint")  # of older versions, in the place of the tree
        if item.tree and not folder.has(item.prefix + TREE) and not aggregate:
            message = "missing: the names of the arrays are in it, and Orbax restores none without them"
            faults.append(Fault(Flaw.MISSING_FILE, message, item.prefix + TREE, hint=_COPY))
    return faults[:_MOST_FAULTS]


def handlers_of(folder: CheckpointFolder, prefix: str) -> dict[str, str]:
    """Names of the classes that wrote the items."""
    name = prefix + METADATA
    found: Any = read_json(folder, name) if folder.has(name) else None
    handlers = found.get("item_handlers") if isinstance(found, dict) else None
    if not isinstance(handlers, dict):
        return {}
    return {item: text.rsplit(".", 1)[-1] for item, text in handlers.items() if isinstance(text, str)}


def _clean(name: str) -> str:
    return name.split(UNFINISHED, maxsplit=1)[0]


def _uncommitted(message: str, file: str | None) -> Fault:
    return Fault(Flaw.UNCOMMITTED, message, file, hint="go back to an older checkpoint")
