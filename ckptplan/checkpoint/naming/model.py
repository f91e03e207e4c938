"""The tensors of a model: which are trained, which are buffers, which belong to FP8."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.naming.entries import Entry, Spelling
from ckptplan.checkpoint.naming.fp8 import named_fp8
from ckptplan.checkpoint.naming.vocabulary import (
    BUFFER_LEAVES,
    EXTRA_STATES,
    FP8_COMPANIONS,
    MODELS,
    MODULE_WRAPPERS,
    PARAMETER_LEAVES,
)


class Trained(NamedTuple):
    """What the states of optimizers tell of a model."""

    keys: frozenset[str]  # of tensors with state
    leaves: frozenset[str]  # last parts of their names
    float8: frozenset[str]  # names of modules that hold a tensor of 8-bit floats


def aliases(spelled: Spelling) -> tuple[str, ...]:
    """The names by which an optimizer can know a tensor: whole, and without what was put in front of it."""
    parts = tuple(part for part in spelled.parts if part not in MODULE_WRAPPERS)
    found = [spelled.parts, parts]
    if parts[0] in MODELS and len(parts) > 1:
        found.append(parts[1:])
        if parts[1].isdigit() and len(parts) > 2 and spelled.ends is not None and {1, 2} <= spelled.ends:
            found.append(parts[2:])  # an element of a list of models
    found.extend(name[1:] for name in tuple(found) if name[0] == "module" and len(name) > 1)
    return tuple(dict.fromkeys(".".join(name) for name in found))


def names_of_tensors(named: Iterable[tuple[Entry, Spelling]]) -> dict[str, dict[str, str]]:
    """For each scope the keys of tensors by every name that an optimizer can know them by.

    A name that two tensors could have is that of the tensor that is most likely known by it: within a container of the
    model by what stands behind the container, else by the whole name.
    """
    found: dict[str, dict[str, str]] = {}
    pairs = list(named)
    for entry, spelled in pairs:
        found.setdefault(spelled.scope, {}).setdefault(_likeliest(spelled), entry.key)
    for entry, spelled in pairs:
        for name in aliases(spelled):
            found[spelled.scope].setdefault(name, entry.key)
    return found


def _likeliest(spelled: Spelling) -> str:
    contained = spelled.ends is not None and 1 in spelled.ends and spelled.parts[0] in MODELS
    return ".".join(spelled.parts[1:] if contained and len(spelled.parts) > 1 else spelled.parts)


def trained(keys: frozenset[str], tensors: Mapping[str, tuple[Entry, Spelling]]) -> Trained:
    """What is known of tensors with optimizer state, and where tensors of 8-bit floats stand."""
    leaves = frozenset(tensors[key][1].parts[-1] for key in keys if key in tensors)
    eight = (spelled for entry, spelled in tensors.values() if (entry.dtype or "").startswith("float8"))
    return Trained(keys, leaves, frozenset(".".join(spelled.parts[:-1]) for spelled in eight))


def kind_of_tensor(entry: Entry, spelled: Spelling, known: Trained) -> StateKind:
    """What a tensor of a model is.

    With optimizer state it is a parameter. Without it is a buffer if its leaf is one of known buffers, or if others
    have state and none of them has its leaf; weights and biases without are frozen or tied.
    """
    leaf = spelled.parts[-1]
    if entry.key in known.keys:
        return StateKind.PARAMETER
    if leaf in EXTRA_STATES:
        return StateKind.FP8 if entry.fp8 else StateKind.OTHER
    beside = ".".join(spelled.parts[:-1]) in known.float8
    if named_fp8(leaf) or (leaf in FP8_COMPANIONS and beside):
        return StateKind.FP8
    if leaf in BUFFER_LEAVES:
        return StateKind.BUFFER
    unlike = known.leaves and leaf not in known.leaves and leaf not in PARAMETER_LEAVES
    return StateKind.BUFFER if unlike else StateKind.PARAMETER
