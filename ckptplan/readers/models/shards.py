"""Every tensor of a checkpoint in safetensors files: one file, an index with its shards, or a folder with these."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ckptplan.checkpoint.formats.safetensors_header import (
    PICKLED,
    StoredTensor,
    open_regular,
    parse_json,
    read_header,
    refuse_pickle,
    refused,
    several,
    shown,
)

LARGEST_INDEX = 100_000_000  # bytes
_MOST_FILES = 10_000
_MOST_TENSORS = 1_000_000
_MOST_IN_FOLDER = 100_000
_INDEX = ".safetensors.index.json"
_FILE = ".safetensors"
_NUMBERED = re.compile(r"(.*)-([0-9]{1,6})-of-([0-9]{1,6})\.safetensors")
_CONFIG = "or copy its config.json beside the spec and write config: ./config.json"
_SHARDED_TENSORS = "DCP_SHARDING_INFO"


class StoredTensors(NamedTuple):
    """What the files of a checkpoint hold. ``remarks`` are sentences on what does not fit without being wrong."""

    tensors: tuple[StoredTensor, ...]
    files: tuple[Path, ...]
    folder: Path
    remarks: tuple[str, ...] = ()


def read_shards(path: str | Path) -> StoredTensors:
    """Names, types and shapes of all tensors of a checkpoint; of the files only the headers are read.

    Parameters
    ----------
    path : str or Path
        A safetensors file, an index (``model.safetensors.index.json``), or a folder that has one of these.

    Returns
    -------
    StoredTensors

    Raises
    ------
    InputError
        For shards that are missing or lie elsewhere, files that are damaged, tensors that the index has elsewhere, and
        files of other formats: pickled ones are never opened.
    """
    path = Path(path)
    try:
        is_folder = path.is_dir()
    except (OSError, ValueError):
        is_folder = False
    if is_folder:
        return _folder(path)
    refuse_pickle(path)
    if path.name.endswith(".index.json"):
        return _indexed(path)
    if path.suffix == ".json":
        hint = "write config: for a config.json; checkpoint: takes safetensors files"
        raise refused(path, "neither a safetensors file nor an index of these", hint)
    _refuse_part(path)
    return _merged([path], path.parent)


def _refuse_part(path: Path) -> None:
    """Refuse one file of a set by its name: the others hold the rest of the model."""
    found = _NUMBERED.fullmatch(path.name)
    if found and int(found[3]) > 1 and os.path.isfile(path):  # noqa: PTH113 - false for names too long
        message = f"file {int(found[2]):,} of a set of {int(found[3]):,}: a part of a model"
        raise refused(path, message, "name the folder of the set or its index, or write config: ./config.json")


def _folder(folder: Path) -> StoredTensors:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST_IN_FOLDER + 1))
    except OSError as error:
        raise refused(folder, f"cannot be read: {error.strerror}", "check its permissions") from None
    if len(names) > _MOST_IN_FOLDER:
        raise refused(folder, f"more than {_MOST_IN_FOLDER:,} files", "name the index or the file itself")
    indices = [name for name in names if name.endswith(_INDEX)]
    files = [name for name in names if name.endswith(_FILE)]
    outside = [name for name in (indices or files) if not _inside(folder, name)]
    if outside:
        messages = [f"{shown(name)} is a link that leads out of the folder" for name in outside]
        raise several(messages, folder, f"put the files themselves there; such links are not followed; {_CONFIG}")
    if len(indices) == 1:
        return _indexed(folder / indices[0])
    if indices:
        raise refused(folder, f"{len(indices):,} indices: {_some(indices)}", "name one of them")
    if len(files) == 1 and not _NUMBERED.fullmatch(files[0]):
        return _merged([folder / files[0]], folder)
    if files:
        return _numbered(folder, files)
    if ".metadata" in names:
        message = "a folder of torch.distributed.checkpoint, whose .metadata is a pickled file"
        raise refused(folder, message, "write config: ./config.json; pickled files are never opened")
    pickled = next((name for name in names if Path(name).suffix in PICKLED), None)
    if pickled is not None:
        refuse_pickle(folder / pickled)
    hint = "name the folder of the files, or write config: ./config.json"
    raise refused(folder, "no safetensors file and no index in this folder", hint)


def _numbered(folder: Path, files: list[str]) -> StoredTensors:
    """Several files without an index: they must be a whole set by their numbers."""
    parsed = [_NUMBERED.fullmatch(name) for name in files]
    sets = {(found[1], found[3]) if found else None for found in parsed}
    if len(sets) != 1 or None in sets:
        raise refused(folder, f"{len(files):,} safetensors files and no index: {_some(files)}", "name one of them")
    count = int(parsed[0][3]) if parsed[0] else 0
    there = {int(found[2]) for found in parsed if found}
    missing = [number for number in range(1, min(count, _MOST_FILES) + 1) if number not in there]
    if missing:
        listed = ", ".join(f"{number:,}" for number in missing[:10]) + (" ..." if len(missing) > 10 else "")
        message = f"{len(missing):,} of {count:,} files are missing: {listed}"
        raise refused(folder, message, "fetch them, or write config: ./config.json")
    return _merged([folder / name for name in files], folder)


def _indexed(path: Path) -> StoredTensors:
    """Every tensor of the index, in the file that it names."""
    with open_regular(path) as stream:
        text = stream.read(LARGEST_INDEX + 1)
    if len(text) > LARGEST_INDEX:
        raise refused(path, f"an index of more than {LARGEST_INDEX:,} bytes", "is this the right file?")
    index = parse_json(text, path)
    where = index.get("weight_map")
    if not isinstance(where, dict) or not where or not all(isinstance(name, str) for name in where.values()):
        raise refused(path, "no weight_map of tensors and their files", "is this the index of safetensors files?")
    files = _files_of(path, sorted(set(where.values())))
    found = _tensors_by_name(files)
    elsewhere = path  # no shard, so that a name that is nowhere is in none of them
    problems = [
        f"the tensor {shown(name)} is not in {shown(file)}"
        for name, file in where.items()
        if found.get(name, (elsewhere,))[0] != path.parent / file
    ]
    if problems:
        raise several(problems, path, "fetch the files again: index and files do not belong together")
    tensors = tuple(found[name][1] for name in where)
    remarks = _total_size(index, tensors)
    unlisted = [name for name in found if name not in where]
    if unlisted:
        remarks.append(f"tensors of the files that are not in the index: {len(unlisted):,}, first {shown(unlisted[0])}")
    return StoredTensors(tensors, tuple(files), path.parent, tuple(remarks))


def _files_of(path: Path, names: list[str]) -> list[Path]:
    """The files of an index, all in its folder."""
    folder = path.parent
    if len(names) > _MOST_FILES:
        raise refused(path, f"{len(names):,} files; {_MOST_FILES:,} are read", "write config: ./config.json")
    outside = [name for name in names if not _inside(folder, name)]
    if outside:
        messages = [f"the index names {shown(name)}, which is not in its folder" for name in outside]
        hint = f"put the files beside the index; links that lead elsewhere are not followed; {_CONFIG}"
        raise several(messages, path, hint)
    folders = [name for name in names if os.path.isdir(folder / name)]  # noqa: PTH112 - false for names too long
    if folders:
        messages = [f"the index names {shown(name)}, which is a folder" for name in folders]
        raise several(messages, path, "weight_map gives each tensor the name of its safetensors file")
    missing = [name for name in names if not os.path.exists(folder / name)]  # noqa: PTH110 - false for names too long
    if missing:
        messages = [f"the index names {shown(name)}, which is missing" for name in missing]
        raise several(messages, path, "fetch it, or write config: ./config.json")
    return [folder / name for name in names]


def _inside(folder: Path, name: str) -> bool:
    try:
        return (folder / name).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a link that leads to itself
        return False


def _total_size(index: dict[str, object], tensors: Sequence[StoredTensor]) -> list[str]:
    metadata = index.get("metadata")
    said = metadata.get("total_size") if isinstance(metadata, dict) else None
    if said is None:
        return []
    held = sum(tensor.size_bytes for tensor in tensors)
    if isinstance(said, int | float) and said == held:
        return []
    text = f"{said:,}" if isinstance(said, int | float) else shown(str(said))
    return [f"the index gives a total_size of {text} bytes, but the files hold {held:,}"]


def _merged(files: Sequence[Path], folder: Path) -> StoredTensors:
    found = _tensors_by_name(files)
    return StoredTensors(tuple(tensor for _, tensor in found.values()), tuple(files), folder)


def _tensors_by_name(files: Sequence[Path]) -> dict[str, tuple[Path, StoredTensor]]:
    """The tensors of several files with the file of each; a name stands once."""
    found: dict[str, tuple[Path, StoredTensor]] = {}
    for file in files:
        header = read_header(file)
        if _SHARDED_TENSORS in header.metadata:
            message = "the file holds parts of tensors (torch.distributed.checkpoint), not whole ones"
            raise refused(file, message, "write config: ./config.json, or consolidate the files first")
        for tensor in header.tensors:
            if tensor.name in found:
                hint = f"it is in {shown(found[tensor.name][0].name)} already: name the index, or the file that counts"
                raise refused(file, f"the tensor {shown(tensor.name)} stands in two files", hint)
            found[tensor.name] = (file, tensor)
        if len(found) > _MOST_TENSORS:
            raise refused(file, f"more than {_MOST_TENSORS:,} tensors", "write config: ./config.json")
    return found


def _some(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names[:5]) + (" ..." if len(names) > 5 else "")
