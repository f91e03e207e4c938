"""Which moments a run's optimizer keeps at all, as far as its checkpoint tells: what it has not is not missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from ckptplan.checkpoint.audit.families import (
    KINDS,
    ONE_MOMENTUM,
    ONE_STATE_8BIT,
    Family,
    by_hyperparameters,
    by_states,
)
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest, Object, Tensor
from ckptplan.errors import InputError

MOST_VALUES = 64  # of one hyperparameter: a flat state dict has each of them for each parameter

_GROUPS = "param_groups"
_COUNTED, _COUNTED_FREE = ("step",), ("step", "k")  # in the groups of fused and of schedule-free optimizers
_STATE_1, _STATE_2 = frozenset({"state1", "absmax1", "qmap1"}), frozenset({"state2", "absmax2", "qmap2"})
_LIKE_ADAM = frozenset({"betas", "eps"})


class Kept(NamedTuple):
    """What is known of a run's optimizer; without families it is judged as Adam."""

    families: tuple[Family, ...] = ()
    kinds: frozenset[StateKind] = frozenset(KINDS)  # that it keeps
    step_in_groups: str | None = None  # where its param_groups hold the step

    @property
    def name(self) -> str:
        """``Lion``, ``Muon and Adam``."""
        return " and ".join(dict.fromkeys(family.name for family in self.families))

    def lost(self, kind: StateKind) -> str | None:
        """What the loss of a kind costs this optimizer; None where Adam's answer is right, or none is known."""
        return self.families[0].losses.get(kind) if len(self.families) == 1 else None


def kept(manifest: Manifest, slots: frozenset[str], momentum_alone: bool) -> Kept:
    """What the optimizer of a checkpoint keeps.

    Parameters
    ----------
    manifest : Manifest
        Of any format.
    slots : frozenset of str
        Names of the states that parameters have: exp_avg, momentum_buffer.
    momentum_alone : bool
        Whether all first moments are of optimizers that have no other state.

    Returns
    -------
    Kept
        By the hyperparameters of every group, else by the names of states. A group that nothing is known of may be
        one of Adam: then nothing is excused.
    """
    held = _Held(manifest)
    groups = held.groups()
    families = _families(groups, slots, momentum_alone) or _with_one_state(held, groups, slots)
    if not families:
        return Kept(step_in_groups=_step(groups, _COUNTED))
    kinds = frozenset[StateKind]().union(
        *(_kinds(family, held, bool(groups) and not _adam_too(groups), momentum_alone) for family in families)
    )
    counted = _COUNTED_FREE if any("z" in family.signs for family in families) else _COUNTED
    return Kept(families, kinds, _step(groups, counted))


def _families(groups: list[frozenset[str]], slots: frozenset[str], momentum_alone: bool) -> tuple[Family, ...]:
    found = [by_hyperparameters(names) for names in groups]
    told = [family for family in found if family is not None]
    if len(told) == len(found) and told:
        return tuple(family for at, family in enumerate(told) if family not in told[:at])
    signed = by_states(slots)
    if signed is not None and (signed.keeps >= frozenset(KINDS) or not _adam_too(groups)):
        return (*told, signed)
    return (ONE_MOMENTUM,) if momentum_alone and not told else ()


def _adam_too(groups: list[frozenset[str]]) -> bool:
    """Whether a group can be one of Adam."""
    return any(names >= _LIKE_ADAM and by_hyperparameters(names) is None for names in groups)


def _with_one_state(held: _Held, groups: list[frozenset[str]], slots: frozenset[str]) -> tuple[Family, ...]:
    """An optimizer of bitsandbytes that has no second state: not Adam, whose betas and eps are not zero."""
    one = bool(_STATE_1 & slots) and not _STATE_2 & slots
    betas = [part for value in held.values("betas") for part in (value if isinstance(value, list | tuple) else [value])]
    adam = _adam_too(groups) and 0 not in (*held.values("eps"), *betas)
    return (ONE_STATE_8BIT,) if one and groups and not adam else ()


def _step(groups: list[frozenset[str]], names: tuple[str, ...]) -> str | None:
    """Where the groups themselves hold the step, as fused optimizers keep it."""
    found = next((name for name in names if any(name in group for group in groups)), None)
    return None if found is None else f"in {_GROUPS}, as {found}"


def _kinds(family: Family, held: _Held, grouped: bool, momentum_alone: bool) -> frozenset[StateKind]:
    """What it keeps; a first moment only where its hyperparameter is not zero, or cannot be read."""
    if family.first_if is None or momentum_alone:
        return family.keeps
    values = held.values(family.first_if)
    without = all(value is None or value == 0 for value in values) if values else grouped and bool(family.signs)
    return family.keeps - {StateKind.FIRST_MOMENT} if without else family.keeps


class _Held:
    """Hyperparameters of a checkpoint, by name."""

    def __init__(self, manifest: Manifest) -> None:
        self._source = manifest.source
        self._entries: dict[str, list[Tensor | Object]] = defaultdict(list)
        self._names: dict[str, set[str]] = defaultdict(set)
        self._whole: list[Any] = []
        entries: tuple[Tensor | Object, ...] = (*manifest.objects, *manifest.tensors)
        for entry in entries:
            if entry.kind is StateKind.HYPERPARAMETERS:
                self._add(entry)

    def groups(self) -> list[frozenset[str]]:
        """Names of hyperparameters of every group that differs from the others."""
        seen = [frozenset(names) for names in self._names.values()]
        seen += [frozenset(map(str, group)) for group in self._whole]
        return list(dict.fromkeys(seen))

    def values(self, name: str) -> list[Any]:
        """Values of one hyperparameter, of as many groups as are looked into; what cannot be read is left out."""
        found = [group[name] for group in self._whole if name in group]
        for entry in self._entries.get(name, [])[:MOST_VALUES]:
            if isinstance(entry, Object):
                try:
                    found.append(self._source.value(entry))
                except InputError:
                    found.append(NotImplemented)
        return found

    def _add(self, entry: Tensor | Object) -> None:
        path = [str(part) for part in entry.path] or [entry.key]
        parts = ".".join(path).split(".")
        if parts[-1] == _GROUPS:
            self._add_whole(entry)
            return
        if _GROUPS not in parts:
            return
        # betas may be flattened into betas.0 and betas.1
        at = len(parts) - 1 if not parts[-1].isdigit() or len(parts) < 2 else len(parts) - 2
        if parts[at] == _GROUPS:
            return
        self._entries[parts[at]].append(entry)
        self._names[".".join(parts[:at])].add(parts[at])

    def _add_whole(self, entry: Tensor | Object) -> None:
        """A list of groups stored as one object."""
        if not isinstance(entry, Object):
            return
        try:
            value = self._source.value(entry)
        except InputError:
            return
        if isinstance(value, list | tuple):
            self._whole += [group for group in value[:MOST_VALUES] if isinstance(group, Mapping)]
