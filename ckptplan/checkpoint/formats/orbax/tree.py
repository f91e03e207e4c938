"""Names and kinds of what a pytree holds: the file `_METADATA`."""

from __future__ import annotations

from typing import Any, NamedTuple

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax.documents import counts, read_json
from ckptplan.checkpoint.kinds import StateKind

Path = tuple[str, ...]


class Leaf(NamedTuple):
    """One leaf of the tree."""

    path: Path
    write_shape: tuple[int, ...] | None  # of what one process wrote at a time, not of the array
    type: str

    @property
    def name(self) -> str:
        """Its name among the arrays."""
        return ".".join(self.path)


class Tree(NamedTuple):
    """A pytree as its metadata describes it."""

    leaves: tuple[Leaf, ...]
    ocdbt: bool
    fills_left_out: bool  # chunks that hold the fill value only are not stored
    odd: int  # entries that could not be understood


# What a leaf is called in TrainStates of flax, optax, MaxText and t5x. A path is read from its outer end; names of
# parameters themselves are never looked at.
_PARAMETERS = frozenset({"params", "model", "target", "model_params", "parameters"})
_OPTIMIZER = frozenset({"opt_state", "optimizer", "optimizer_state", "opt_states", "param_states", "opt"})
_INSIDE_OPTIMIZER = {
    "mu": StateKind.FIRST_MOMENT,
    "trace": StateKind.FIRST_MOMENT,  # momentum of optax.sgd
    "nu": StateKind.SECOND_MOMENT,
    "nu_max": StateKind.SECOND_MOMENT,
    "count": StateKind.OPTIMIZER_STEP,
    "hyperparams": StateKind.HYPERPARAMETERS,  # of optax.inject_hyperparams
    "v_row": StateKind.SECOND_MOMENT,
    "v_col": StateKind.SECOND_MOMENT,
    "sum_of_squares": StateKind.SECOND_MOMENT,
}
_OUTER = {
    "step": StateKind.PROGRESS,
    "global_step": StateKind.PROGRESS,
    "epoch": StateKind.PROGRESS,
    "rng": StateKind.RANDOM,
    "rngs": StateKind.RANDOM,
    "rng_key": StateKind.RANDOM,
    "prng_key": StateKind.RANDOM,
    "key": StateKind.RANDOM,
    "dropout_rng": StateKind.RANDOM,
    "batch_stats": StateKind.BUFFER,
    "data_iter": StateKind.DATA_POSITION,
    "iter": StateKind.DATA_POSITION,
    "dataset": StateKind.DATA_POSITION,
    "dataloader": StateKind.DATA_POSITION,
    "train_iter": StateKind.DATA_POSITION,
    "loss_scale": StateKind.LOSS_SCALER,
    "dynamic_scale": StateKind.LOSS_SCALER,
    "_overwrite_with_gradient": StateKind.FP8,  # flax: scales and histories of FP8 products
    "fp8_params": StateKind.FP8,
}


def kind_of(path: Path) -> tuple[StateKind, Path]:
    """The kind of a leaf, and the path of its parameter below the one it stands under."""
    for place, part in enumerate(path):
        if part in _OPTIMIZER:
            return _in_optimizer(path[place + 1 :])
        if part in _PARAMETERS:
            return _among_parameters(path[place + 1 :])
        if part in _OUTER:
            return _OUTER[part], ()
    return StateKind.OTHER, ()


def _among_parameters(rest: Path) -> tuple[StateKind, Path]:
    """Collections of flax stand within `params` of some TrainStates, FP8 state and statistics among them."""
    if rest and rest[0] in ("_overwrite_with_gradient", "fp8_params"):
        return StateKind.FP8, ()
    if rest and rest[0] == "batch_stats":
        return StateKind.BUFFER, ()
    return StateKind.PARAMETER, rest


def _in_optimizer(path: Path) -> tuple[StateKind, Path]:
    for place, part in enumerate(path):
        if part in _INSIDE_OPTIMIZER:
            return _INSIDE_OPTIMIZER[part], path[place + 1 :]
        if part in ("target", "params"):  # copies of parameters, for example running means of them
            break
    return StateKind.OTHER, ()


def read_tree(folder: CheckpointFolder, name: str) -> Tree:
    """The tree that a `_METADATA` file describes."""
    found = read_json(folder, name)
    entries = found.get("tree_metadata") if isinstance(found, dict) else None
    if not isinstance(entries, dict):
        raise folder.refused(name, "no description of a tree", "expected tree_metadata")
    leaves = [_leaf(entry) for entry in entries.values()]
    good = tuple(leaf for leaf in leaves if leaf is not None)
    kept = tuple(leaf for leaf in good if leaf.type not in _EMPTY)
    all_stored = found.get("store_array_data_equal_to_fill_value") is True
    return Tree(kept, found.get("use_ocdbt") is not False, not all_stored, len(leaves) - len(good))


_EMPTY = frozenset({"None", "Dict", "List", "Tuple", "NamedTuple"})  # containers without leaves


def _leaf(entry: Any) -> Leaf | None:
    keys = entry.get("key_metadata") if isinstance(entry, dict) else None
    value = entry.get("value_metadata") if isinstance(entry, dict) else None
    if not isinstance(keys, list) or not isinstance(value, dict) or not isinstance(value.get("value_type"), str):
        return None
    path = tuple(str(key["key"]) for key in keys if isinstance(key, dict) and isinstance(key.get("key"), str | int))
    if len(path) != len(keys):
        return None
    return Leaf(path, counts(value.get("write_shape")), value["value_type"])
