"""Files of weights in a folder: safetensors or torch.save, single or in shards with an index."""

from __future__ import annotations

import math
import re
from pathlib import PurePosixPath
from typing import NamedTuple

from ckptplan.checkpoint import dtypes
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.archives.torch_file import is_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.json_file import read_json
from ckptplan.checkpoint.formats.numbered import missing_shards, shards_in
from ckptplan.checkpoint.formats.pieces import Pieces
from ckptplan.checkpoint.formats.safetensors_header import Header, header_of
from ckptplan.checkpoint.manifest import Fault, Flaw, row_major

INDEX = ".index.json"
_MOST_FAULTS = 100  # of one index
_TORCH_WEIGHTS = re.compile(
    r"(pytorch_model(_fsdp)?(_\d+)?(-\d{5}-of-\d{5})?|adapter_model|model(_\d+)?|diffusion_pytorch_model)\.(bin|pt|pth)\Z"
)


class Index(NamedTuple):
    """Which file holds which tensor."""

    name: str
    files: dict[str, str]  # by tensor


def at_root(folder: CheckpointFolder) -> list[str]:
    """Files that lie in the folder itself."""
    return [name for name in folder.sizes() if "/" not in name]


def safetensors_at_root(folder: CheckpointFolder) -> list[str]:
    """Files that are called safetensors."""
    return [name for name in at_root(folder) if name.endswith(".safetensors")]


def torch_weights_at_root(folder: CheckpointFolder) -> list[str]:
    """Files of torch.save that are called as weights are, and begin as it writes."""
    return [name for name in at_root(folder) if _TORCH_WEIGHTS.match(name) and is_torch(folder, name)]


def indices_at_root(folder: CheckpointFolder) -> list[str]:
    """Indices of shards."""
    found = [name for name in at_root(folder) if name.endswith((f".safetensors{INDEX}", f".bin{INDEX}"))]
    tensors = safetensors_at_root(folder)  # of two sets of weights the safetensors are taken, and their index
    return [name for name in found if not tensors or name.endswith(f".safetensors{INDEX}")]


def looks_like_safetensors(folder: CheckpointFolder, name: str) -> bool:
    """Whether a file begins with the length of a header and the brace of JSON."""
    size = folder.size(name)
    head = folder.read(name, 0, min(9, size))
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") <= size - 8


def add_weights(pieces: Pieces) -> None:
    """Add all weights of a folder, each index compared with what its files hold."""
    folder = pieces.folder
    held: dict[str, set[str]] = {}
    for name in safetensors_at_root(folder):
        held[name] = add_safetensors(pieces, name)
    if not held:
        for name in torch_weights_at_root(folder):
            before = set(pieces.keys)
            pieces.torch(name)
            pieces.holds(name, "weights")
            held[name] = {key for key in pieces.keys if key not in before}
    indices: list[Index] = []
    for name in indices_at_root(folder):
        index = pieces.read(lambda name=name: read_index(folder, name), name)  # type: ignore[misc]
        if index is not None:
            indices.append(index)
            compare(pieces, index, held)
            pieces.holds(name, "index of shards")
    compare_numbers(pieces, indices, list(held))


def compare_numbers(pieces: Pieces, indices: list[Index], names: list[str]) -> None:
    """Note shards that the numbers in the names of others count, and an index that is not there.

    A set that an index leaves out, or that lies beside the same weights in one file, is left over.
    """
    if pieces.folder.alone:
        for one in shards_in(names):
            message = f"one of {one.of:,} shards, and the others are not looked at"
            hint = "name the folder that holds all of them"
            pieces.faults += [Fault(Flaw.MISSING_FILE, message, name, hint=hint) for name in names[: one.of > 1]]
        return
    referred = {file for index in indices for file in index.files.values()}
    for one in shards_in(names):
        if any(name in referred for name in one.names.values()):
            told = {number: one.name(number) for number in range(1, one.of + 1) if one.name(number) in referred}
            pieces.faults += missing_shards(one._replace(names={**told, **one.names}))
        elif not indices and f"{one.stem}{one.suffix}" not in names:
            pieces.faults += missing_shards(one)
            if not pieces.folder.has(one.index_name):
                message = f"missing: {len(one.names):,} of {one.of:,} shards are there, and it says what each holds"
                hint = "copy the folder again; the library does not load shards without it"
                pieces.faults.append(Fault(Flaw.MISSING_FILE, message, one.index_name, hint=hint))


def add_safetensors(pieces: Pieces, name: str) -> set[str]:
    """Add the tensors of one safetensors file; the keys that its header names."""
    header = pieces.read(lambda: read_safetensors(pieces.folder, name), name, "write or copy the file again")
    pieces.holds(name, "weights")
    if header is None:
        return set()
    for tensor, offset in zip(header.tensors, header.offsets, strict=True):
        pieces.tensor(tensor.name, stored_tensor(name, tensor.name, tensor.dtype, tensor.shape, offset))
    return {tensor.name for tensor in header.tensors}


def read_safetensors(folder: CheckpointFolder, name: str) -> Header:
    """The header of a file in a checkpoint."""
    size = folder.size(name)
    stream = folder.open(name)
    try:
        stream.seek(0)
        return header_of(stream, size, folder.root / name)
    except OSError as error:
        raise folder.refused(name, f"cannot be read: {error.strerror}", "is the storage at hand?") from None


def stored_tensor(file: str, name: str, dtype: str, shape: tuple[int, ...], offset: int) -> StoredTensor:
    """A tensor of a safetensors file, its type in the spelling of headers."""
    kind = dtypes.OF_SAFETENSORS[dtype]
    length = dtypes.size_bytes(kind, math.prod(shape))
    return StoredTensor(kind, shape, row_major(shape), name, 0, file, offset, offset, length)


def read_index(folder: CheckpointFolder, name: str) -> Index:
    """The file of every tensor, by an index."""
    found = read_json(folder, name)
    files = found.get("weight_map")
    if not isinstance(files, dict) or not all(isinstance(file, str) for file in files.values()):
        raise folder.refused(name, "an index without a weight_map of tensors to files", "write the index again")
    return Index(name, files)


def compare(pieces: Pieces, index: Index, held: dict[str, set[str]]) -> None:
    """Note what an index names and the folder does not hold."""
    faults: list[Fault] = []
    lost: dict[str, list[str]] = {}
    for key, file in index.files.items():
        if file not in held:
            lost.setdefault(file, []).append(key)
        elif key not in held[file]:
            message = f"{index.name} places {key[:200]!a} in this file, which does not hold it"
            faults.append(Fault(Flaw.MISSING_ENTRY, message, file, key, "copy the folder again"))
    for file, keys in lost.items():
        outside = PurePosixPath(file).is_absolute() or ".." in PurePosixPath(file).parts or "\0" in file
        what = "leads out of the folder" if outside else "is not there"
        message = f"{file[:200]!a}, which {index.name} names for {len(keys):,} tensors, {what}"
        faults.append(Fault(Flaw.MISSING_FILE, message, file, keys[0], "copy the folder again"))
    if len(faults) > _MOST_FAULTS:
        more = f"and {len(faults) - _MOST_FAULTS:,} more faults of the index"
        faults = [*faults[:_MOST_FAULTS], Fault(Flaw.MISSING_ENTRY, more, index.name)]
    pieces.faults += faults
