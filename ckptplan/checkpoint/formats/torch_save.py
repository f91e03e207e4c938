"""Files of torch.save, alone or several in a folder, as scripts of their own write them."""

from __future__ import annotations

from collections.abc import Sequence

from ckptplan.checkpoint.archives.flatten import leaves
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.archives.torch_file import TorchFile, is_torch
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.numbered import gaps_of_ranks
from ckptplan.checkpoint.formats.pieces import Pieces
from ckptplan.checkpoint.formats.roles import add_roles, role_of, world_of
from ckptplan.checkpoint.formats.safetensors import add_configurations
from ckptplan.checkpoint.formats.steps import step_of
from ckptplan.checkpoint.formats.weights import add_weights, at_root, indices_at_root, torch_weights_at_root
from ckptplan.checkpoint.manifest import Format, Manifest


def torch_files(folder: CheckpointFolder) -> list[str]:
    """Files of the folder itself that begin as torch.save writes, arguments of a run beside others left out."""
    names = at_root(folder)
    return [name for name in names if (name != "training_args.bin" or len(names) == 1) and is_torch(folder, name)]


def recognised(folder: CheckpointFolder) -> bool:
    """Whether there is a file that torch.save wrote."""
    return bool(torch_files(folder) or indices_at_root(folder))


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of all files of torch.save in a folder."""
    pieces = Pieces(folder)
    names = torch_files(folder)
    found: list[TorchFile] = []
    weights = torch_weights_at_root(folder) if len(names) > 1 or indices_at_root(folder) else []
    if weights or indices_at_root(folder):
        add_weights(pieces)
    rest = [name for name in names if name not in weights and role_of(name) is None]
    single = len(names) == 1 and not weights
    for name in names if single else rest:
        one = pieces.torch(name, "" if single else f"{name}:")
        pieces.holds(name, "tensors and objects")
        found += [one] if one is not None else []
    world = None if single else world_of(add_roles(pieces), pieces)
    add_configurations(pieces)
    if not single:
        pieces.faults += gaps_of_ranks(rest)
    for one in found:
        pieces.remarks += _remarks(one)
    legacy = bool(found) and all(one.legacy for one in found)
    step = next((step for one in found if (step := step_of(one.value)) is not None), None)
    return pieces.manifest(Format.TORCH_LEGACY if legacy else Format.TORCH, step=step, world_size=world)


def tensors_of(file: TorchFile) -> list[StoredTensor]:
    """Every tensor of a file, those that share a storage too."""
    return [leaf for _, leaf in leaves(file.value) if isinstance(leaf, StoredTensor)]


def unique_storage_bytes(tensors: Sequence[StoredTensor]) -> int:
    """Bytes of all storages that tensors refer to, each counted once. [bytes]."""
    return sum({tensor.storage: tensor.storage_bytes for tensor in tensors}.values())


def _remarks(file: TorchFile) -> list[str]:
    """What makes a file larger or smaller than its tensors."""
    tensors = tensors_of(file)
    stored = unique_storage_bytes(tensors)
    reached: dict[str, set[tuple[int, int]]] = {}
    for tensor in tensors:
        start = tensor.data_offset - tensor.storage_offset_bytes * (tensor.deflated_bytes is None)
        reached.setdefault(tensor.storage, set()).add((start, start + tensor.span * tensor.element_bytes))
    used = sum(_union(spans) for spans in reached.values())
    shared = len(tensors) - len(reached)
    found = []
    if stored > used:
        found.append(
            f"{stored - used:,} bytes of the file belong to no tensor: torch.save writes whole storages, and some "
            "tensors are views on a part of one"
        )
    if shared:
        some = "1 tensor shares" if shared == 1 else f"{shared:,} tensors share"
        found.append(f"{some} the storage of another: tied weights or views, stored once")
    return found


def _union(spans: set[tuple[int, int]]) -> int:
    """The length that spans cover together."""
    covered, reached = 0, 0
    for start, end in sorted(spans):
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return covered
