"""What every tensor and object of a checkpoint is, decided for the whole checkpoint at once from its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.naming import model, optimizer
from ckptplan.checkpoint.naming.entries import Entry, Named, Spelling, spelling
from ckptplan.checkpoint.naming.ranks import rank_of
from ckptplan.checkpoint.naming.sections import (
    generator_state,
    is_average,
    is_floating,
    may_be_average,
    rank_in,
    section_of,
)
from ckptplan.checkpoint.naming.vocabulary import (
    BUFFER_LEAVES,
    CONFIGURATIONS,
    EXTRA_STATES,
    MASTER_GROUPS,
    MODELS,
    OPTAX,
    PARAMETER_LEAVES,
    SECTIONS,
    SLOTS,
    WRAPPERS,
)

__all__ = ["Entry", "Named", "classify"]

_RANKED = frozenset({StateKind.RANDOM, StateKind.DATA_POSITION, StateKind.PROGRESS, StateKind.OTHER})


class _State(NamedTuple):
    """An entry of an optimizer: how it is spelt, and how many of its parts come before ``state``."""

    entry: Entry
    spelled: Spelling
    root: int
    fitted: optimizer.Owned | None = None  # without a ``state`` in its name: by the name of its parameter

    @property
    def below(self) -> str:
        return self.spelled.parts[self.root]

    @property
    def rest(self) -> Spelling:
        behind = self.spelled.behind(self.root + 1)
        return behind if self.spelled.bounded(self.root + 1) else behind._replace(ends=None)


def classify(entries: Sequence[Entry]) -> list[Named]:
    """The kind, the parameter and the rank of every entry, in the order given.

    Names decide, by whole parts: the path through the saved containers where the format keeps it, the names of
    optimizers' states matched against those of all tensors, and the names that frameworks give to other states. An
    object that may hold FP8 state is that only if `Entry.fp8` says so.
    """
    spelled = _unwrapped(optimizer.opened([spelling(entry) for entry in entries]))
    pairs = list(zip(entries, spelled, strict=True))
    known_roots = optimizer.roots(pairs)
    states: dict[int, _State] = {}
    for at, (entry, name) in enumerate(pairs):
        root = optimizer.root_of(name, known_roots)
        if root is not None:
            states[at] = _State(entry, name, root)
    states |= _beside(pairs, states)
    owners, own = _owners(pairs, states)
    return [
        _of_state(states[at], own.get(at), owners)
        if at in states and entry.key not in owners.keys
        else _of_rest(entry, name, owners)
        for at, (entry, name) in enumerate(pairs)
    ]


def _beside(pairs: Sequence[tuple[Entry, Spelling]], states: Mapping[int, _State]) -> dict[int, _State]:
    """States that no ``state`` in their name tells, by the names of parameters that they stand behind."""
    rest = [(at, entry, name) for at, (entry, name) in enumerate(pairs) if at not in states]
    names = model.names_of_tensors([(entry, name) for _, entry, name in rest if entry.is_tensor])
    found = {}
    for at, entry, name in rest:
        if name.parts[0] in MODELS and not name.flat and name.ends is not None:
            continue
        owned = optimizer.fitted(name, _names_for(names, name.scope))
        if owned is not None:
            found[at] = _State(entry, name, 0, owned)
    return found


class _Owners(NamedTuple):
    """Tensors that optimizers keep state for, and all tensors' keys by the names that an optimizer can use."""

    trained: model.Trained
    names: Mapping[str, dict[str, str]]
    modules: frozenset[tuple[str, str]]  # scopes and first parts of names below which weights stand

    @property
    def keys(self) -> frozenset[str]:
        return self.trained.keys

    def key(self, scope: str, name: str) -> str | None:
        """The key of the tensor of this name, in the same file or in the only one that has it."""
        return _names_for(self.names, scope).get(name)


def _owners(
    pairs: Sequence[tuple[Entry, Spelling]], states: Mapping[int, _State]
) -> tuple[_Owners, dict[int, optimizer.Owned]]:
    """Take apart the states of all optimizers, and find the tensors that they are of."""
    outside = [pair for at, pair in enumerate(pairs) if at not in states and pair[0].is_tensor]
    names = model.names_of_tensors(outside)
    own = _split(states, names)
    # A model may have a module `optimizer` with a module `state`: its tensor is known by the state that it has.
    claimed = {(state.spelled.scope, owned.parameter) for at, owned in own.items() for state in (states[at],)}
    inner = [
        (state.entry, state.spelled)
        for state in states.values()
        if state.entry.is_tensor and (state.spelled.scope, ".".join(state.spelled.parts)) in claimed
    ]
    if inner:
        names = model.names_of_tensors([*outside, *inner])
        own = _split(states, names)
    scoped = [(states[at].spelled.scope, owned.parameter) for at, owned in own.items()]
    # An optimizer without states (plain SGD) tells its parameters by flattened groups alone.
    scoped += [grouped for state in states.values() if (grouped := _of_group(state, names)) is not None]
    keys = frozenset(key for scope, name in scoped if (key := _names_for(names, scope).get(name)) is not None)
    tensors = {entry.key: (entry, name) for entry, name in (*outside, *inner)}
    modules = frozenset(
        (name.scope, name.parts[0]) for entry, name in tensors.values() if is_floating(entry) and entry.shape
    )
    return _Owners(model.trained(keys, tensors), names, modules), own


def _split(states: Mapping[int, _State], names: Mapping[str, dict[str, str]]) -> dict[int, optimizer.Owned]:
    fitted = {at: state.fitted for at, state in states.items() if state.fitted is not None}
    states = {at: state for at, state in states.items() if state.fitted is None}
    stated = {at: state for at, state in states.items() if state.below == optimizer.STATE}
    found = {
        at: optimizer.Owned(".".join(state.rest.parts), state.below, False)
        for at, state in states.items()
        if state.below in OPTAX
    }
    everything: dict[str, str] = {}
    for own_names in names.values():
        everything.update(own_names)
    first = optimizer.slots_come_first((state.rest for state in stated.values()), everything)
    for at, state in stated.items():
        owned = optimizer.split(state.rest, _names_for(names, state.spelled.scope), slot_first=first)
        if owned is not None:
            found[at] = owned
    return found | fitted


def _names_for(names: Mapping[str, dict[str, str]], scope: str) -> dict[str, str]:
    """Names within one file; where that holds no model, those of the only file that does."""
    if scope in names:
        return names[scope]
    return next(iter(names.values())) if len(names) == 1 else {}


def _of_state(state: _State, owned: optimizer.Owned | None, owners: _Owners) -> Named:
    """What an entry of an optimizer is."""
    if state.fitted is None and state.below in {optimizer.GROUPS, "hyperparams"}:
        return Named(StateKind.HYPERPARAMETERS, _grouped(state, owners), None)
    if state.fitted is None and state.below in MASTER_GROUPS:
        return Named(StateKind.MASTER, None, None)
    if owned is None:
        return Named(StateKind.OTHER, None, rank_of(state.rest.parts))
    kind = optimizer.kind_of_slot(owned.slot) or StateKind.OTHER
    return Named(kind, owners.key(state.spelled.scope, owned.parameter), None)


def _grouped(state: _State, owners: _Owners) -> str | None:
    """The key of the parameter of a flattened ``param_groups.<parameter>.lr``."""
    found = _of_group(state, owners.names)
    return None if found is None else owners.key(*found)


def _of_group(state: _State, names: Mapping[str, dict[str, str]]) -> tuple[str, str] | None:
    """Scope and name of the parameter of a flattened ``param_groups.<parameter>.lr``."""
    if state.fitted is not None or state.below not in {optimizer.GROUPS, "hyperparams"}:
        return None
    parts, scope = state.rest.parts, state.spelled.scope
    known = _names_for(names, scope)
    ends = (".".join(parts[:at]) for at in range(len(parts) - 1, 0, -1))
    return next(((scope, name) for name in ends if name in known), None)


def _of_rest(entry: Entry, name: Spelling, owners: _Owners) -> Named:
    """What an entry outside of all optimizers is."""
    if entry.key not in owners.keys and entry.is_tensor and optimizer.is_optimizer(name.parts[0]) and name.bounded(1):
        bucket = _of_bucket(name.parts[-1])
        if bucket is not None:
            return Named(bucket, None, None)
    if entry.key not in owners.keys:
        copied = not entry.is_tensor or _averaged(entry, name, owners) is not None
        if is_average(name.parts) or (copied and may_be_average(name.parts)):
            return Named(StateKind.EMA, _averaged(entry, name, owners) if entry.is_tensor else None, None)
        section = _section(entry, name, in_module=(name.scope, name.parts[0]) in owners.modules)
        if section is not None:
            return Named(section, None, rank_in(name.parts) if section in _RANKED else None)
    if entry.is_tensor:
        kind = model.kind_of_tensor(entry, name, owners.trained)
        return Named(kind, entry.key if kind is StateKind.PARAMETER else None, None)
    if name.parts[-1] in EXTRA_STATES:
        return Named(StateKind.FP8 if entry.fp8 else StateKind.OTHER, None, None)
    return Named(StateKind.OTHER, None, rank_of(name.parts))


def _averaged(entry: Entry, name: Spelling, owners: _Owners) -> str | None:
    """The parameter that an average is of: what stands behind ``ema``, ``ema.shadow_params``, ``ema_model.module``."""
    found = (owners.key(name.scope, ".".join(name.parts[at:])) for at in range(1, min(4, len(name.parts))))
    return next((key for key in found if key not in {None, entry.key}), None)


def _of_bucket(leaf: str) -> StateKind | None:
    """State of many parameters in one flat bucket, as Megatron's distributed optimizer keeps it."""
    if leaf == "param":
        return StateKind.MASTER
    return None if leaf in PARAMETER_LEAVES else SLOTS.get(leaf, StateKind.OTHER)


def _section(entry: Entry, name: Spelling, *, in_module: bool) -> StateKind | None:
    """The kind that the first part of a name gives, or for what cannot be of a model a later one."""
    parts = name.parts
    if entry.is_tensor and generator_state(entry, name, in_module=in_module):
        return StateKind.RANDOM
    loose = entry.is_tensor and not in_module and not is_floating(entry) and parts[-1] not in BUFFER_LEAVES
    if _of_another(entry, name) or (entry.is_tensor and not loose and _of_module(entry, name)):
        return None
    kind = section_of(parts[0])
    if kind is StateKind.PROGRESS or (kind is None and (loose or not entry.is_tensor)):
        inner = next((found for part in parts[1:] if (found := section_of(part)) is not None), None)
        return inner if inner is not None and (kind is None or inner is not StateKind.LOSS_SCALER) else kind
    return kind


def _of_another(entry: Entry, name: Spelling) -> bool:
    """Whether the first part is that of a model, of an optimizer or of what the run was started with."""
    first = name.parts[0]
    return first in MODELS or (optimizer.is_optimizer(first) if entry.is_tensor else first in CONFIGURATIONS)


def _of_module(entry: Entry, name: Spelling) -> bool:
    """Whether a tensor is called as one of a module is, without a container of states in front.

    One element of a path with dots in it is the full name of a module's tensor, not a way through containers.
    """
    parts = name.parts
    dotted = not name.bounded(1) or (name.ends is None and _weightlike(parts))
    return parts[0] not in SECTIONS or (len(parts) > 1 and dotted) or _sized(entry, SECTIONS[parts[0]])


def _sized(entry: Entry, kind: StateKind) -> bool:
    """A tensor of many numbers that are not whole ones counts nothing: a parameter may be called ``tokens``."""
    return kind is StateKind.PROGRESS and is_floating(entry) and len(entry.shape) > 0 and entry.dtype is not None


def _weightlike(parts: tuple[str, ...]) -> bool:
    return parts[-1] in PARAMETER_LEAVES


def _unwrapped(names: list[Spelling]) -> list[Spelling]:
    """Names without the container that holds everything, such as the ``app`` of torch's tutorials."""
    for _ in range(2):
        wrappers = {(name.scope, name.parts[0]) for name in names if _wraps(name)}
        if not wrappers:
            break
        names = [
            name.behind(1)
            if (name.scope, name.parts[0]) in wrappers and len(name.parts) > 1 and (name.bounded(1) or name.flat)
            else name
            for name in names
        ]
    return names


def _wraps(name: Spelling) -> bool:
    """Whether the first part holds the parts of a checkpoint: known to, or an optimizer with states stands in it."""
    parts = name.parts
    if len(parts) < 3 or not (name.bounded(1) and name.bounded(2)) or _is_part(parts[0]):
        return False
    stated = len(parts) > 3 and optimizer.is_optimizer(parts[1]) and parts[2] in {optimizer.STATE, optimizer.GROUPS}
    return stated or (parts[0] in WRAPPERS and _is_part(parts[1]))


def _is_part(name: str) -> bool:
    return name in MODELS or optimizer.is_optimizer(name) or name in SECTIONS
