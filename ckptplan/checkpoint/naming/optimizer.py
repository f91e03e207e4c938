"""The state of an optimizer, taken apart: which parameter, and what of it.

Frameworks spell one thing in several ways: ``optim.state.<parameter>.exp_avg``,
``optimizer.state.exp_avg.<parameter>``, ``optim.state.<number>.exp_avg``, and ``param_groups.<parameter>.lr``. A
parameter's own name may contain the same words, so that names are matched against those of the tensors that can be
parameters, the longest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.naming.entries import Entry, Spelling
from ckptplan.checkpoint.naming.vocabulary import (
    HYPERPARAMETERS,
    MASTER_GROUPS,
    NUMBERED_OPTIMIZER,
    OPTAX,
    OPTIMIZERS,
    SLOTS,
    UNMISTAKABLE,
)

DEEPEST_ROOT = 4
_NUMBER = re.compile(r"_\d{1,3}\Z")
GROUPS = "param_groups"
STATE = "state"

Root = tuple[str, tuple[str, ...]]  # scope and parts


class Owned(NamedTuple):
    """State of one parameter: the parameter's name as the optimizer spells it, and the name of the state."""

    parameter: str
    slot: str
    certain: bool  # the name is that of a known tensor, or an element of the path of its own


def kind_of_slot(slot: str) -> StateKind | None:
    """What the state of this name is; a dotted or numbered one by its first part (``exp_avg.codes``, ``precond_0``)."""
    first = slot.partition(".")[0]
    return SLOTS.get(slot) or SLOTS.get(first) or SLOTS.get(_NUMBER.sub("", first))


def roots(named: Iterable[tuple[Entry, Spelling]]) -> frozenset[Root]:
    """Where optimizers begin: in front of ``param_groups``, and names of optimizers in front of ``state``."""
    found: set[Root] = set()
    for entry, spelled in named:
        parts = spelled.parts
        for at in range(min(DEEPEST_ROOT, len(parts))):
            if not spelled.bounded(at):
                continue
            ours = _optimizers(parts[:at])
            grouped = parts[at] == GROUPS and (not entry.is_tensor or (ours and parts[-1] in HYPERPARAMETERS))
            stated = parts[at] == STATE and (ours or _bare_state(parts, at))
            other = parts[at] in MASTER_GROUPS | OPTAX and ours
            if grouped or stated or other:
                found.add((spelled.scope, parts[:at]))
                break
    return frozenset(found)


def root_of(spelled: Spelling, known: frozenset[Root]) -> int | None:
    """How many parts of a name are those of its optimizer; None if it is of none."""
    for at in range(min(DEEPEST_ROOT, len(spelled.parts))):
        below = spelled.parts[at] in {STATE, GROUPS} | MASTER_GROUPS | OPTAX
        if below and spelled.bounded(at) and (spelled.scope, spelled.parts[:at]) in known:
            return at
    return None


def opened(named: list[Spelling]) -> list[Spelling]:
    """Names of flat state dicts that begin as an optimizer's state does, with their dots as those of containers."""
    return [name._replace(ends=None) if name.flat and _begins_as_state(name.parts) else name for name in named]


def _begins_as_state(parts: tuple[str, ...]) -> bool:
    below = {STATE, GROUPS} | MASTER_GROUPS | OPTAX
    return any(is_optimizer(parts[at]) and parts[at + 1] in below for at in range(min(2, len(parts) - 1)))


def fitted(name: Spelling, names: Mapping[str, object]) -> Owned | None:
    """State that stands beside its parameter or right below an optimizer: ``optim.<parameter>.exp_avg``.

    The longest name of a known tensor must fit. A tensor that has another below it is no module, so that behind a
    parameter's whole name any word is that of a state; behind other prefixes only words that nothing else is called.
    """
    parts = name.parts
    if is_optimizer(parts[0]) and len(parts) > 2:
        found = split(name.behind(1)._replace(ends=None), names, slot_first=False)
        if found is not None and found.certain and kind_of_slot(found.slot) is not None:
            return found
    if parts[-1] not in SLOTS:
        return None
    first = 0 if ".".join(parts[:-1]) in names else 1 if parts[-1] in UNMISTAKABLE else len(parts)
    starts = range(first, len(parts) - 1)
    at = next((at for at in starts if ".".join(parts[at:-1]) in names), None)
    return None if at is None else Owned(".".join(parts[at:-1]), parts[-1], True)


def split(rest: Spelling, names: Mapping[str, object], *, slot_first: bool) -> Owned | None:
    """The parameter and the slot of what stands behind ``state``; None if neither is known."""
    found = [*_by_path(rest), *_by_name(rest.parts, names)] or _by_slot(rest.parts)
    if not found:
        return None
    known = [owned for owned in found if kind_of_slot(owned.slot) is not None] or found
    preferred = [owned for owned in known if _is_slot_first(rest, owned) == slot_first] or known
    return max(preferred, key=lambda owned: len(owned.parameter))


def slots_come_first(rests: Iterable[Spelling], names: Mapping[str, object]) -> bool:
    """Whether most states of a checkpoint name the slot in front of the parameter, as Megatron does."""
    balance = 0
    for rest in rests:
        found = _by_name(rest.parts, names) or _by_slot(rest.parts)
        known = (owned for owned in found if kind_of_slot(owned.slot) is not None)
        balance += sum(1 if _is_slot_first(rest, owned) else -1 for owned in known)
    return balance > 0


def is_optimizer(part: str) -> bool:
    """Whether a part is a name that frameworks give to an optimizer, or to one of several."""
    return part in OPTIMIZERS or NUMBERED_OPTIMIZER.match(part) is not None


def _optimizers(parts: tuple[str, ...]) -> bool:
    return bool(parts) and is_optimizer(parts[0]) and all(is_optimizer(part) or part.isdigit() for part in parts)


def _bare_state(parts: tuple[str, ...], at: int) -> bool:
    """A state dict of an optimizer at the top, by parameter numbers: ``state.0.exp_avg``."""
    return at == 0 and len(parts) == 3 and parts[1].isdigit() and parts[2] in SLOTS


def _is_slot_first(rest: Spelling, owned: Owned) -> bool:
    return ".".join(rest.parts) == f"{owned.slot}.{owned.parameter}"


def _by_path(rest: Spelling) -> list[Owned]:
    """By the path alone, where the parameter's name is an element of its own."""
    cuts = sorted(rest.ends or ())
    if len(cuts) < 2:
        return []
    first, last = ".".join(rest.parts[: cuts[0]]), ".".join(rest.parts[cuts[0] :])
    if kind_of_slot(first) is not None and kind_of_slot(last) is None:
        return []
    return [Owned(first, last, True)]


def _by_name(parts: tuple[str, ...], names: Mapping[str, object]) -> list[Owned]:
    """The longest known name in front of the slot, and the longest behind it."""
    found = []
    for at in range(len(parts) - 1, 0, -1):
        if ".".join(parts[:at]) in names:
            found.append(Owned(".".join(parts[:at]), ".".join(parts[at:]), True))
            break
    for at in range(1, len(parts)):
        if ".".join(parts[at:]) in names:
            found.append(Owned(".".join(parts[at:]), ".".join(parts[:at]), True))
            break
    return found


def _by_slot(parts: tuple[str, ...]) -> list[Owned]:
    """Where the parameter itself was not saved: a known slot at either end."""
    found = []
    if len(parts) > 1 and parts[-1] in SLOTS:
        found.append(Owned(".".join(parts[:-1]), parts[-1], False))
    if len(parts) > 1 and parts[0] in SLOTS:
        found.append(Owned(".".join(parts[1:]), parts[0], False))
    return found
