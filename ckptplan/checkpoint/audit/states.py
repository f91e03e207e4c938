"""Every kind of state of one checkpoint: there, absent, there in part, or not to be read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ckptplan.checkpoint.audit.families import KINDS
from ckptplan.checkpoint.audit.findings import Need, Standing, State
from ckptplan.checkpoint.audit.kept import Kept, kept
from ckptplan.checkpoint.audit.owned import (
    Ownership,
    lack,
    ownership,
    slots_of,
    stateless,
    unlisted,
    without_masters,
)
from ckptplan.checkpoint.audit.ranked import Ranks, ranks_of
from ckptplan.checkpoint.audit.words import ALWAYS, IF_USED, LOSS, on_other_ranks
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format, Manifest, Object, Tensor
from ckptplan.checkpoint.summary import by_kind

_RANKED = (StateKind.RANDOM, StateKind.DATA_POSITION)
_OWNED = (StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT, StateKind.OPTIMIZER_STEP, StateKind.MASTER)
_MASTERS_LOST = f"{LOSS[StateKind.MASTER]} are lost"
_DICTS_OF_ALL_RANKS = frozenset({Format.DCP, Format.DCP_RANK_LOCAL})  # a key without a rank is written once


class _Seen(NamedTuple):
    """What all kinds are judged by."""

    manifest: Manifest
    known: Ownership
    optimizer: Kept
    broken: Mapping[str, str]  # why an entry cannot be read, by its key
    required: Collection[StateKind]
    elsewhere: Mapping[StateKind, str]


class _Judged(NamedTuple):
    standing: Standing
    detail: str = ""
    ranks: Ranks | None = None


def states_of(manifest: Manifest, broken: Mapping[str, str], required: Collection[StateKind]) -> tuple[State, ...]:
    """Every kind of state. ``broken``: entries that cannot be read, with the reason."""
    elsewhere: dict[StateKind, str] = {}
    for kind, where in manifest.elsewhere:
        elsewhere[kind] = f"{elsewhere[kind]}; {where}" if kind in elsewhere else where
    known = ownership(manifest)
    optimizer = kept(manifest, slots_of(manifest), known.momentum_alone)
    seen = _Seen(manifest, known, optimizer, broken, required, elsewhere)
    totals = {total.kind: total for total in by_kind(manifest)}
    found = []
    for kind in StateKind:
        judged = _judged(kind, seen)
        need = _need(kind, seen)
        total = totals.get(kind)
        found.append(
            State(
                kind,
                judged.standing,
                need,
                kind in required and need is not Need.NONE,
                total.tensors if total else 0,
                total.objects if total else 0,
                total.logical_bytes if total else 0,
                total.stored_bytes if total else 0,
                judged.detail,
                optimizer.lost(kind) or LOSS[kind],
                on_other_ranks(kind, judged.ranks is not None, judged.standing is not Standing.ABSENT, manifest.format),
                judged.ranks.saved if judged.ranks else (),
                judged.ranks.of if judged.ranks else None,
            )
        )
    return tuple(found)


def _need(kind: StateKind, seen: _Seen) -> Need:
    if kind in KINDS and kind not in seen.optimizer.kinds:
        return Need.NONE
    if kind in ALWAYS:
        return Need.EVERY_RUN
    return Need.IF_USED if kind in IF_USED else Need.NONE


def _judged(kind: StateKind, seen: _Seen) -> _Judged:
    """One kind: what is broken is said before what is incomplete."""
    entries = _of_kind(seen.manifest, kind)
    if not entries:
        return _without_entries(kind, seen)
    ranks = ranks_of(seen.manifest, kind) if kind in _RANKED else None
    broken = [entry for entry in entries if entry.key in seen.broken]
    if broken:
        return _Judged(Standing.UNREADABLE, _unreadable(entries, broken, seen.broken), ranks)
    if ranks is not None:
        return _by_rank(ranks)
    return _by_parameter(kind, seen)


def _of_kind(manifest: Manifest, kind: StateKind) -> list[Tensor | Object]:
    entries: list[Tensor | Object] = [tensor for tensor in manifest.tensors if tensor.kind is kind]
    return [*entries, *(entry for entry in manifest.objects if entry.kind is kind)]


def _without_entries(kind: StateKind, seen: _Seen) -> _Judged:
    """A kind without a tensor or object of its own may follow from another."""
    if kind in seen.elsewhere:
        return _Judged(Standing.PRESENT, seen.elsewhere[kind])
    masters = [tensor for tensor in seen.manifest.tensors if tensor.kind is StateKind.MASTER]
    if kind is StateKind.PARAMETER and masters:
        broken = [tensor for tensor in masters if tensor.key in seen.broken]
        if broken:
            return _Judged(Standing.UNREADABLE, _unreadable(masters, broken, seen.broken))
        return _Judged(Standing.PRESENT, "through the fp32 masters: rounding gives them back")
    if kind is StateKind.DATA_POSITION and _has_progress(seen):
        said = "follows from the progress only while world size, batch size and seed stay the same"
        return _Judged(Standing.ABSENT, said)
    return _of_optimizer(kind, seen.optimizer)


def _of_optimizer(kind: StateKind, optimizer: Kept) -> _Judged:
    """A state that the optimizer keeps in its groups, or not at all."""
    if kind is StateKind.OPTIMIZER_STEP and optimizer.step_in_groups is not None:
        return _Judged(Standing.PRESENT, optimizer.step_in_groups)
    if kind in KINDS and kind not in optimizer.kinds:
        return _Judged(Standing.ABSENT, f"not kept by this optimizer ({optimizer.name})")
    return _Judged(Standing.ABSENT)


def _has_progress(seen: _Seen) -> bool:
    return StateKind.PROGRESS in seen.elsewhere or bool(_of_kind(seen.manifest, StateKind.PROGRESS))


def _unreadable(entries: Sequence[Tensor | Object], broken: Sequence[Tensor | Object], why: Mapping[str, str]) -> str:
    first = broken[0].key
    share = "cannot be read" if len(broken) == len(entries) else f"{len(broken):,} of {len(entries):,} cannot be read"
    return f"{share}: {first}: {why[first]}"


def _by_rank(ranks: Ranks) -> _Judged:
    number = len(ranks.saved)
    whose = f"of {number:,} {ranks.word}{'' if number == 1 else 's'}"
    if ranks.all_there:
        return _Judged(Standing.PRESENT, whose, ranks)
    of = ranks.of if ranks.of is not None else max(ranks.saved) + 1
    if set(range(of)) < set(ranks.saved):  # more than the world has: nothing is missing
        return _Judged(Standing.PRESENT, f"{whose}, more than the {of:,} that saved", ranks)
    if not ranks.saved:
        return _Judged(Standing.PARTIAL, f"whole of none of {of:,} {ranks.word}s", ranks)
    word = ranks.word if number == 1 else f"{ranks.word}s"
    return _Judged(Standing.PARTIAL, f"of {word} {_listed(ranks.saved)} only, of {of:,}", ranks)


def _listed(numbers: Sequence[int]) -> str:
    """``0 to 3``, ``0, 2, 5``."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]:,} to {numbers[-1]:,}"
    if len(numbers) == 2:
        return f"{numbers[0]:,} and {numbers[1]:,}"
    return f"{', '.join(f'{number:,}' for number in numbers[:6])}{', ...' if len(numbers) > 6 else ''}"


def _by_parameter(kind: StateKind, seen: _Seen) -> _Judged:
    """States of parameters, and hyperparameters, which name the parameters that they are of."""
    where = seen.elsewhere.get(kind, "")
    if kind in _OWNED:
        without = lack(kind, seen.known)
        if without is not None:
            said = f"of {without.have:,} of {without.of:,} parameters; not of {', '.join(without.examples)}"
            return _Judged(Standing.PARTIAL, said + (", ..." if without.of - without.have > 3 else ""))
    if kind is StateKind.HYPERPARAMETERS and (lost := unlisted(seen.known)):
        said = f"no group names {', '.join(lost[:3])}{', ...' if len(lost) > 3 else ''} ({len(lost):,} with moments)"
        return _Judged(Standing.PARTIAL, f"{said}: pipeline stages wrote the same key and one survived")
    return _Judged(Standing.PRESENT, where)


def notes_of(manifest: Manifest, states: Sequence[State]) -> Iterator[str]:
    """What is not wrong, and still good to know."""
    low = without_masters(manifest)
    there = {state.kind: state for state in states if state.standing is not Standing.ABSENT}
    if low and StateKind.FIRST_MOMENT in there:
        names = " and ".join(low)
        yield f"parameters are {names} without an fp32 copy: right for a run that has none, else {_MASTERS_LOST}"
    elif low:
        yield f"parameters are {' and '.join(low)}: enough to evaluate, not to train on from exactly"
    bare = stateless(manifest, ownership(manifest))
    if bare:
        some = f"{', '.join(bare[:3])}{', ...' if len(bare) > 3 else ''}"
        have = "1 parameter has" if len(bare) == 1 else f"{len(bare):,} parameters have"
        yield f"{have} no state of the optimizer ({some}): right if frozen or tied, else it is lost"
    for kind in _RANKED:
        state = there.get(kind)
        ranks = manifest.world_size or 1
        shared = state is not None and not state.ranks and state.tensors + state.objects > 0
        if shared and ranks > 1 and manifest.format in _DICTS_OF_ALL_RANKS:
            yield f"{kind}: one for {ranks:,} ranks; if each rank had its own under this key, only one survived"
