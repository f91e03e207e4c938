"""What a new layout cannot take over from a checkpoint, each with what to do instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Format, Manifest, Object, Tensor
from ckptplan.checkpoint.reshard.batch import GlobalBatch
from ckptplan.checkpoint.reshard.layout import Layout
from ckptplan.errors import InputError

_SHARDED_OBJECT = re.compile(r"(?P<name>.+)/shard_(?P<place>\d+(?:\.\d+)*)_(?P<grid>\d+(?:\.\d+)*)")
_WITHIN_A_REPLICA = ("pp", "cp", "tp")  # ranks along these read the same samples

# Foreign code is for the audit to tell; what cannot be resharded has an error of its own.
_HARMLESS = (Flaw.FOREIGN_CODE, Flaw.NOT_RESHARDABLE)
_NESTED_KEYS = (Format.DCP, Format.DCP_RANK_LOCAL)
_FORMATS = {
    Format.FSDP1_FLAT: (
        "FSDP1 wrote flat vectors per rank: nothing in the files says which elements are which parameter",
        "load it on as many ranks as saved it and save it again with StateDictType.SHARDED_STATE_DICT",
    ),
    Format.MEGATRON_LEGACY: (
        "Megatron's legacy format does not say along which axis a tensor was cut",
        "convert it with tools/checkpoint/convert.py of Megatron-LM, or load it as it was saved and save torch_dist",
    ),
    Format.DEEPSPEED: (
        "DeepSpeed loads ZeRO files only on as many data-parallel ranks as saved them",
        "run ds_to_universal.py, and load the result with checkpoint: {load_universal: true}",
    ),
}


class NotCarried(NamedTuple):
    """One thing that the new run does not get, or gets wrongly."""

    state: str  # what it is, in a few words
    message: str
    remedy: str
    refuses: bool = False  # the framework will not load the checkpoint at all


def data_parallel(layout: Layout) -> int:
    """Ranks that read samples of their own. [1]."""
    ranks = layout.ranks
    for axis in _WITHIN_A_REPLICA:
        ranks //= layout.size(axis)
    return ranks


def not_carried_over(manifest: Manifest, layout: Layout, batch: GlobalBatch | None = None) -> tuple[NotCarried, ...]:
    """All that the new layout does not take over; what stops the load comes first."""
    found = [
        *_of_faults(manifest),
        *_of_format(manifest, layout),
        *_of_pipelines(manifest, layout),
        *_of_ranks(manifest, layout, StateKind.RANDOM, _reseed(manifest)),
        *_of_ranks(manifest, layout, StateKind.DATA_POSITION, _position(manifest, batch)),
        *_of_grids(manifest, layout),
        *_of_mesh(manifest, layout),
    ]
    return tuple(sorted(found, key=lambda one: not one.refuses))


def is_sound(manifest: Manifest) -> bool:
    """Whether nothing is known that would stop any loader."""
    return all(fault.flaw in _HARMLESS for fault in manifest.faults)


def _of_faults(manifest: Manifest) -> Iterator[NotCarried]:
    """What is damaged: no loader gets past it, whatever the layout."""
    for fault in manifest.faults:
        if fault.flaw in _HARMLESS:
            continue
        where = " ".join(part for part in (fault.file, fault.key) if part)
        said = f"{where}: {fault.message}" if where else fault.message
        yield NotCarried(str(fault.flaw), said, fault.hint or "ckptplan audit tells what is whole", refuses=True)


def _of_format(manifest: Manifest, layout: Layout) -> Iterator[NotCarried]:
    known = _FORMATS.get(manifest.format)
    if known is None or (manifest.format is Format.DEEPSPEED and manifest.world_size == layout.ranks):
        return
    message, remedy = known
    if manifest.format is Format.DEEPSPEED:
        with suppress(OSError):  # what cannot be looked at is not there
            universal = manifest.root.with_name(f"{manifest.root.name}_universal")  # beside the folder of the step
            if universal.is_dir():
                remedy = f"{universal.name} is its universal form: plan and load that one"
    yield NotCarried("all tensors", message, remedy, refuses=True)


def _of_ranks(manifest: Manifest, layout: Layout, kind: StateKind, remedy: str) -> Iterator[NotCarried]:
    """States that a key holds for one rank: what more ranks ask for is not there, what fewer ranks leave is lost."""
    entries: Sequence[Tensor | Object] = (*manifest.tensors, *manifest.objects)
    own = [entry for entry in entries if entry.kind is kind and entry.rank is not None and not _sharded(entry.key)]
    by_data = [entry for entry in own if "dp_rank" in entry.key]
    groups = (
        ([entry for entry in own if "dp_rank" not in entry.key], layout.ranks, "ranks"),
        (by_data, data_parallel(layout), "data-parallel ranks"),
    )
    for group, wanted, word in groups:
        ranks = {entry.rank for entry in group if entry.rank is not None}
        if not ranks or ranks == set(range(wanted)):
            continue
        yield NotCarried(str(kind), _ranks_sentence(ranks, wanted, word, group[0].key), remedy)


def _ranks_sentence(ranks: set[int], wanted: int, word: str, key: str) -> str:
    missing = [rank for rank in range(wanted) if rank not in ranks]
    left = sorted(rank for rank in ranks if rank >= wanted)
    states = f"states of {len(ranks):,} {word if len(ranks) > 1 else word[:-1]} for {wanted:,}"
    if not missing:
        return f"{states}: {_listed(left)} dropped without a word"
    asks = "ranks {} ask for keys" if len(missing) > 1 else "rank {} asks for a key"
    return f"{states}: new {asks.format(_numbers(missing))} like {key} of their own, and a torch DCP load ends there"


def _listed(numbers: Sequence[int]) -> str:
    return f"that of rank {numbers[0]:,} is" if len(numbers) == 1 else f"those of ranks {_numbers(numbers)} are"


def _numbers(numbers: Sequence[int]) -> str:
    """``2``, ``2 to 7``, ``1, 3 and 5``."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]:,} to {numbers[-1]:,}"
    if len(numbers) == 1:
        return f"{numbers[0]:,}"
    shown = [f"{number:,}" for number in numbers[: len(numbers) if len(numbers) <= 5 else 4]]
    last = f"{len(numbers) - 4:,} more" if len(numbers) > 5 else shown.pop()
    return f"{', '.join(shown)} and {last}"


def _of_grids(manifest: Manifest, layout: Layout) -> Iterator[NotCarried]:
    """Objects that Megatron stores by their place in a grid of (pipeline, tensor) ranks."""
    grids: dict[tuple[str, str], StateKind] = {}
    for entry in manifest.objects:
        found = _SHARDED_OBJECT.fullmatch(entry.key)
        if found is not None and entry.kind is StateKind.RANDOM:
            grids[found["name"], found["grid"]] = entry.kind
    for name, grid in grids:
        saved = tuple(int(size) for size in grid.split("."))
        wanted = (layout.size("pp"), layout.size("tp"), *saved[2:])
        if saved[:2] != wanted[:2]:
            said = (
                f"{name} is stored for a grid of pipeline x tensor = {' x '.join(map(str, saved[:2]))} ranks, and "
                f"{' x '.join(map(str, wanted[:2]))} will load: sharded objects cannot be resharded"
            )
            yield NotCarried(str(StateKind.RANDOM), said, _reseed(manifest))


def _sharded(key: str) -> bool:
    return _SHARDED_OBJECT.fullmatch(key) is not None


def _of_mesh(manifest: Manifest, layout: Layout) -> Iterator[NotCarried]:
    """As many ranks, arranged otherwise: every rank takes up the stream of another place of the mesh."""
    mesh = manifest.mesh
    same = mesh is None or _larger_than_one(mesh) == _larger_than_one(layout.mesh)
    own = any(
        entry.rank is not None and entry.kind is StateKind.RANDOM for entry in manifest.objects + manifest.tensors
    )
    if same or mesh is None or not own or manifest.world_size != layout.ranks:
        return
    said = "as many ranks in another mesh: each takes up the random-number stream of another place in the model"
    yield NotCarried(str(StateKind.RANDOM), said, _reseed(manifest))


def _larger_than_one(mesh: object) -> tuple[tuple[str, int], ...]:
    names, shape = getattr(mesh, "names", ()), getattr(mesh, "shape", ())
    return tuple((name, size) for name, size in zip(names, shape, strict=False) if size > 1)


def _of_pipelines(manifest: Manifest, layout: Layout) -> Iterator[NotCarried]:
    """Nested groups of parameters name the parameters of one pipeline stage only: the last one that was written."""
    if manifest.format not in _NESTED_KEYS:
        return
    groups = [one for one in manifest.objects if one.kind is StateKind.HYPERPARAMETERS and _nested(one)]
    trained = {tensor.parameter for tensor in manifest.tensors if tensor.kind is StateKind.FIRST_MOMENT}
    if not groups or not trained:
        return
    remedy = "save with flatten_optimizer_state_dict=True, which gives every parameter keys of its own"
    listed = _parameters_listed(manifest, groups)
    if listed is not None and listed < len(trained):
        said = (
            f"{groups[0].key} lists {listed:,} of {len(trained):,} trained parameters: pipeline stages wrote the same "
            "key, and one of them survived"
        )
        yield NotCarried(str(StateKind.HYPERPARAMETERS), said, remedy)
    elif layout.size("pp") > 1:
        said = f"{groups[0].key} is one key: at the next save every pipeline stage writes it, and one list survives"
        yield NotCarried(str(StateKind.HYPERPARAMETERS), said, remedy)


def _nested(entry: Object) -> bool:
    path = entry.path
    return len(path) >= 3 and path[-1] == "params" and path[-3] == "param_groups" and str(path[-2]).isdigit()


def _parameters_listed(manifest: Manifest, groups: Sequence[Object]) -> int | None:
    try:
        values = [manifest.source.value(group) for group in groups]
    except InputError:
        return None
    return sum(len(value) for value in values) if all(isinstance(value, list | tuple) for value in values) else None


def _reseed(manifest: Manifest) -> str:
    step = "the step" if manifest.step is None else f"step {manifest.step:,}"
    return (
        f"seed each rank anew from the run's seed, its rank and {step}: dropout and shuffling then are not those that "
        "would have been, and no bit of a later loss agrees"
    )


def _position(manifest: Manifest, batch: GlobalBatch | None) -> str:
    read = None if batch is None else batch.samples_read
    if read is None and batch is not None and manifest.step is not None:
        read = manifest.step * batch.sequences
    where = "the global step times the global batch" if read is None else f"sample {read:,}, the first not read yet"
    return (
        f"start every loader from the global sample index ({where}) and deal samples out by it; a loader that holds a "
        "shuffle buffer or packed remainders loses these"
    )
