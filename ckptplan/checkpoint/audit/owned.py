"""States that belong to one parameter each: which parameters have theirs, and which of them lack one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest, Object, Tensor
from ckptplan.checkpoint.summary import is_low_precision
from ckptplan.errors import InputError

Owner = tuple[str, ...]

MOMENTS = (StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT)
_OF_PARAMETERS = (*MOMENTS, StateKind.OPTIMIZER_STEP, StateKind.MASTER)
_ADAM_FIRST, _ADAM_SECOND = "exp_avg", "exp_avg_sq"
# First moments of optimizers that keep no second one, and no step: SGD with momentum, Muon.
_ALONE = frozenset({"momentum_buffer", "momentum", "muon_buffer", "muon_momentum", "muon_momentum_buffer", "trace"})


class Lack(NamedTuple):
    """Parameters without a state that their neighbours have."""

    have: int
    of: int
    examples: tuple[str, ...]


class Ownership(NamedTuple):
    """Who has what: for each kind the owners, and the name that the optimizer gives to the state."""

    by_kind: Mapping[StateKind, Mapping[Owner, Tensor]]
    listed: frozenset[str] | None  # parameters by the names or numbers of param_groups; None: not known
    low: Mapping[str, bool]  # whether a stored parameter has fewer than 32 bits

    def slots(self, kind: StateKind) -> frozenset[str]:
        """Names of the states of a kind: exp_avg, momentum_buffer."""
        return frozenset(_slot(tensor) for tensor in self.by_kind.get(kind, {}).values())

    @property
    def momentum_alone(self) -> bool:
        """Whether the optimizer keeps one momentum and neither second moment nor step."""
        first = self.slots(StateKind.FIRST_MOMENT)
        return bool(first) and first <= _ALONE


def ownership(manifest: Manifest) -> Ownership:
    """Who has what in a checkpoint."""
    found: dict[StateKind, dict[Owner, Tensor]] = defaultdict(dict)
    for tensor in manifest.tensors:
        owner = _owner(tensor) if tensor.kind in _OF_PARAMETERS else None
        if owner is not None:
            found[tensor.kind][owner] = tensor
    low = {t.key: is_low_precision(t.dtype) for t in manifest.tensors if t.kind is StateKind.PARAMETER}
    return Ownership(found, _listed(manifest), low)


def _owner(tensor: Tensor) -> Owner | None:
    """The parameter, or for states by numbers the file and the number; None if the key tells neither."""
    if tensor.parameter is not None:
        return (tensor.parameter,)
    path = _path(tensor)
    if len(path) < 3 or not str(path[-2]).isdigit() or path[-3] != "state":
        return None
    file, colon, _ = tensor.key.partition(":")
    return (file if colon else "", *(str(part) for part in path[:-1]))


def slots_of(manifest: Manifest) -> frozenset[str]:
    """Names of all states that optimizers keep for parameters, those of several tensors with each of theirs."""
    return frozenset(_slot(tensor) for tensor in manifest.tensors if tensor.kind in MOMENTS)


def _slot(tensor: Tensor) -> str:
    """The name of the state: the last part of its path, or Megatron's first ones."""
    parts = [str(part) for part in tensor.path] or [tensor.key]
    words = parts[-1].split(".") if len(parts) > 1 else parts[0].replace(":", ".").split(".")
    return next((word for word in (*_ALONE, _ADAM_FIRST, _ADAM_SECOND) if word in words), words[-1])


def _path(entry: Tensor | Object) -> tuple[str | int, ...]:
    """The way to an entry; that of a flat state dict is taken apart at its dots."""
    flat = entry.path and "." in str(entry.path[0])
    return (*str(entry.path[0]).split("."), *entry.path[1:]) if flat else entry.path


def lack(kind: StateKind, known: Ownership) -> Lack | None:
    """Parameters that lack a state which others of their kind have; None if none does, or none has it."""
    have = known.by_kind.get(kind, {})
    if not have:
        return None
    without = sorted(_expected(kind, known) - set(have))
    unstated = _listed_without_state(known) if kind in MOMENTS else []
    if not without and not unstated:
        return None
    names = [" ".join(owner[-2:]) if len(owner) > 1 else owner[0] for owner in without] + unstated
    return Lack(len(have), len(have) + len(names), tuple(names[:3]))


def _expected(kind: StateKind, known: Ownership) -> set[Owner]:
    """Parameters whose other states show that they need this one too."""
    first, second = (known.by_kind.get(moment, {}) for moment in MOMENTS)
    stepped = set(known.by_kind.get(StateKind.OPTIMIZER_STEP, {}))
    alone = {owner for owner, tensor in first.items() if _slot(tensor) in _ALONE}
    squared = {owner for owner, tensor in second.items() if _slot(tensor) == _ADAM_SECOND}
    if kind is StateKind.FIRST_MOMENT:
        return squared | stepped
    if kind is StateKind.SECOND_MOMENT:
        return (set(first) | stepped) - alone
    if kind is StateKind.OPTIMIZER_STEP:
        return (set(first) - alone) | squared
    # A parameter of 32 bits needs no master; one that is not stored itself does.
    return {owner for owner in first if len(owner) == 1 and known.low.get(owner[0], True)}


def without_masters(manifest: Manifest) -> tuple[str, ...]:
    """Types of fewer than 32 bits that the parameters have, where no fp32 copy is stored."""
    if any(tensor.kind is StateKind.MASTER for tensor in manifest.tensors):
        return ()
    parameters = [tensor for tensor in manifest.tensors if tensor.kind is StateKind.PARAMETER]
    return tuple(sorted({tensor.dtype for tensor in parameters if is_low_precision(tensor.dtype)}))


def stateless(manifest: Manifest, known: Ownership) -> list[str]:
    """Parameters without any state of the optimizer, where others have some: frozen, tied, or lost."""
    owners = {owner[0] for kind in MOMENTS for owner in known.by_kind.get(kind, {}) if len(owner) == 1}
    if not owners:
        return []
    return [t.key for t in manifest.tensors if t.kind is StateKind.PARAMETER and t.key not in owners]


def _listed_without_state(known: Ownership) -> list[str]:
    """Parameters that param_groups lists and that have no state."""
    spelled = _spelled(known)
    return sorted((known.listed or frozenset()) - spelled) if spelled else []


def unlisted(known: Ownership) -> list[str]:
    """Parameters that have state and that no list of param_groups names: groups of other pipeline stages are lost."""
    return sorted(_spelled(known) - known.listed) if known.listed is not None else []


def _spelled(known: Ownership) -> frozenset[str]:
    """Owners by the name or number that the optimizer gives them, where it stands in the path."""
    states = [tensor for kind in MOMENTS for tensor in known.by_kind.get(kind, {}).values()]
    paths = [path for tensor in states if len(path := _path(tensor)) >= 3 and path[-3] == "state"]
    return frozenset(str(path[-2]) for path in paths) if len(paths) == len(states) else frozenset()


def _listed(manifest: Manifest) -> frozenset[str] | None:
    """All parameters that ``param_groups.N.params`` lists; None where the lists cannot be had, or several mix."""
    groups = [entry for entry in manifest.objects if _is_list(entry)]
    if not groups or len({_path(entry)[:-2] for entry in groups}) > 1 or len({_scope(entry) for entry in groups}) > 1:
        return None
    found: set[str] = set()
    for entry in groups:
        try:
            value = manifest.source.value(entry)
        except InputError:
            return None
        if not isinstance(value, list | tuple) or not all(isinstance(one, str | int) for one in value):
            return None
        found.update(str(one) for one in value)
    return frozenset(found)


def _scope(entry: Object) -> int:
    return entry.file if ":" in entry.key else -1


def _is_list(entry: Object) -> bool:
    path = _path(entry)
    return (
        entry.kind is StateKind.HYPERPARAMETERS
        and len(path) >= 3
        and path[-1] == "params"
        and path[-3] == "param_groups"
        and str(path[-2]).isdigit()
    )
