"""What a new layout cannot take over from a checkpoint, each with what to do instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import DATA_INTACT, Format, Manifest, Object
from ckptplan.checkpoint.reshard.batch import GlobalBatch
from ckptplan.checkpoint.reshard.layout import Layout
from ckptplan.checkpoint.reshard.rank_states import SHARDED_OBJECT, NotCarried, data_parallel, states_of_ranks
from ckptplan.errors import InputError

__all__ = ["NotCarried", "data_parallel", "is_sound", "not_carried_over"]

# Foreign code is for the audit to tell; what cannot be resharded has an error of its own.
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


def not_carried_over(
    manifest: Manifest, layout: Layout, batch: GlobalBatch | None = None, without: frozenset[StateKind] = frozenset()
) -> tuple[NotCarried, ...]:
    """All that the new layout does not take over; what stops the load comes first, then what ends one as saved.

    Kinds of state in `without` are left out of the load, and end none.
    """

    def remedy(kind: StateKind) -> str:
        if kind is StateKind.RANDOM:
            return _reseed(manifest)
        return _position(manifest, batch) if kind is StateKind.DATA_POSITION else "let it begin anew in every rank"

    found = [
        *_of_faults(manifest),
        *_of_format(manifest, layout),
        *_of_pipelines(manifest, layout),
        *states_of_ranks(manifest, layout, remedy),
        *_of_grids(manifest, layout),
        *_of_mesh(manifest, layout),
    ]
    kept = [one for one in found if one.refuses or one.kind not in without]
    left = [
        NotCarried(str(kind), "left out of the load", remedy(kind), kind=kind)
        for kind in StateKind
        if kind in without and kind in _kinds(manifest)
    ]
    return tuple(sorted([*kept, *left], key=lambda one: (not one.refuses, not one.ends)))


def _kinds(manifest: Manifest) -> set[StateKind]:
    return {tensor.kind for tensor in manifest.tensors} | {entry.kind for entry in manifest.objects}


def is_sound(manifest: Manifest) -> bool:
    """Whether nothing is known that would stop any loader."""
    return all(fault.flaw in DATA_INTACT for fault in manifest.faults)


def _of_faults(manifest: Manifest) -> Iterator[NotCarried]:
    """What is damaged: no loader gets past it, whatever the layout."""
    for fault in manifest.faults:
        if fault.flaw in DATA_INTACT:
            continue
        where = " ".join(part for part in (fault.file, fault.key) if part)
        said = f"{where}: {fault.message}" if where else fault.message
        yield NotCarried(str(fault.flaw), said, fault.hint or "ckptplan audit tells what is whole", refuses=True)


def _of_format(manifest: Manifest, layout: Layout) -> Iterator[NotCarried]:
    if manifest.format is Format.DCP_RANK_LOCAL:
        yield from _of_rank_metadata(manifest, layout)
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


def _of_rank_metadata(manifest: Manifest, layout: Layout) -> Iterator[NotCarried]:
    """Without collectives a rank reads the metadata of the rank of its number, and what that one wrote."""
    saved = manifest.world_size
    if saved == layout.ranks and _same_mesh(manifest, layout):
        return
    message = (
        "each rank reads only the metadata of the old rank of its number: new ranks beyond find none, and elements "
        "that another rank wrote are not loaded, without a word"
    )
    many = "as many ranks" if saved is None else f"{saved:,} rank{'s' * (saved > 1)}"
    remedy = f"load it on {many} in the mesh that saved it, and save it again with one .metadata (use_collectives=True)"
    yield NotCarried("all tensors", message, remedy, refuses=True)


def _of_grids(manifest: Manifest, layout: Layout) -> Iterator[NotCarried]:
    """Objects that Megatron stores by their place in a grid of (pipeline, tensor) ranks."""
    grids: dict[tuple[str, str], StateKind] = {}
    for entry in manifest.objects:
        found = SHARDED_OBJECT.fullmatch(entry.key)
        if found is not None and entry.kind is StateKind.RANDOM:
            grids[found["name"], found["grid"]] = entry.kind
    for name, grid in grids:
        saved = tuple(int(size) for size in grid.split("."))
        wanted = (layout.size("pp"), layout.size("tp"), *saved[2:])
        if saved[:2] != wanted[:2]:
            said = (
                f"{name} is stored for a grid of pipeline x tensor = {' x '.join(map(str, saved[:2]))} ranks, and "
                f"{' x '.join(map(str, wanted[:2]))} will load: sharded objects cannot be resharded, and Megatron-LM "
                "goes on without these, with a line in its log"
            )
            yield NotCarried(str(StateKind.RANDOM), said, _reseed(manifest), kind=StateKind.RANDOM)


def _of_mesh(manifest: Manifest, layout: Layout) -> Iterator[NotCarried]:
    """As many ranks, arranged otherwise: every rank takes up the stream of another place of the mesh."""
    own = any(
        entry.rank is not None and entry.kind is StateKind.RANDOM for entry in manifest.objects + manifest.tensors
    )
    if _same_mesh(manifest, layout) or not own or manifest.world_size != layout.ranks:
        return
    said = "as many ranks in another mesh: each takes up the random-number stream of another place in the model"
    yield NotCarried(str(StateKind.RANDOM), said, _reseed(manifest), kind=StateKind.RANDOM)


def _same_mesh(manifest: Manifest, layout: Layout) -> bool:
    return manifest.mesh is None or _larger_than_one(manifest.mesh) == _larger_than_one(layout.mesh)


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
