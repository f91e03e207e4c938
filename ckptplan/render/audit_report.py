"""An audit for people: the verdict first, then what is wrong, what is missing and what that costs, and every state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptplan.checkpoint.audit.auditing import verdict, without_optimizer
from ckptplan.checkpoint.audit.findings import HARMLESS, Audit, Depth, Standing, State
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Format
from ckptplan.errors import printable
from ckptplan.render.audit_sheet import state_sheet
from ckptplan.render.marking import bullets, heading
from ckptplan.render.numbers import quantity
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import to_markdown
from ckptplan.units import format_size

_MOST_FAULTS = 20
_MOST_FILES = 5

_WITHOUT_CHECKSUMS = frozenset({Format.SAFETENSORS, Format.DCP_SAFETENSORS, Format.ORBAX, Format.TORCH_LEGACY})

Section = tuple[str, list[str]]


def report(found: Audit, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.paragraph(answer(found), indent="  ", first="") + "\n"]
    before, after = _sections(found)
    parts += [screen.bullets(title, texts) for title, texts in before]
    if found.states:
        parts.append(screen.table(state_sheet(found)))
    parts += [screen.bullets(title, texts) for title, texts in after]
    return "\n".join(part for part in parts if part)


def markdown(found: Audit) -> str:
    """The same as Markdown."""
    before, after = _sections(found)
    parts = [heading(answer(found)), *_lists(before)]
    if found.states:
        parts.append(to_markdown(state_sheet(found)))
    return "\n".join([*parts, *_lists(after)])


def _lists(sections: Sequence[Section]) -> Iterator[str]:
    for title, texts in sections:
        if texts:
            yield f"{heading(title, 3)}\n{bullets(texts)}"


def answer(found: Audit) -> str:
    """The verdict, and on what."""
    manifest = found.manifest
    known = [] if manifest is None else [str(manifest.format)]
    if found.step is not None:
        known.append(f"step {found.step:,}")
    if manifest is not None and manifest.world_size is not None:
        known.append(f"saved by {quantity(manifest.world_size, 'rank')}")
    about = f" ({', '.join(known)})" if known else ""
    return f"{printable(str(found.path))}{about}: {printable(verdict(found))}"


def _sections(found: Audit) -> tuple[list[Section], list[Section]]:
    """What stands before the states, and what after them."""
    missing = [_missing(state) for state in found.missing]
    if missing and found.whole:
        missing.append("--allow KIND goes on without one of them")
    return (
        [("What is wrong", list(_faults(found))), ("What is missing, and what that costs", missing)],
        [
            ("Where", list(_places(found.states))),
            ("On another number of ranks", list(_other_ranks(found))),
            ("Good to know", list(_notes(found))),
        ],
    )


def _faults(found: Audit) -> Iterator[str]:
    broken = [fault for fault in found.faults if fault.flaw not in HARMLESS]
    yield from (_fault(fault) for fault in broken[:_MOST_FAULTS])
    more = len(broken) - _MOST_FAULTS + found.more_faults
    if more > 0:
        yield f"and {more:,} more"


def _fault(fault: Fault) -> str:
    where = ": ".join(part for part in (fault.file, fault.key) if part)
    text = f"{where}: {fault.message}" if where else fault.message
    hint = f" ({fault.hint})" if fault.hint else ""
    return printable(f"{text} [{fault.flaw}]{hint}")


def _missing(state: State) -> str:
    """``scheduler: absent. Without it: ...``."""
    absent = state.standing is Standing.ABSENT
    said = f"absent; {state.detail}" if absent and state.detail else str(state.standing) if absent else state.detail
    return printable(f"{state.kind}: {said}. Without it: {state.loss}")


def _places(states: Sequence[State]) -> Iterator[str]:
    """Where a state is that has no tensor of its own, and whose it is."""
    for state in states:
        if state.detail and not state.missing:
            said = "" if state.standing in (Standing.PRESENT, Standing.ABSENT) else f"{state.standing}: "
            yield printable(f"{state.kind}: {said}{state.detail}")


def _other_ranks(found: Audit) -> Iterator[str]:
    """Nothing of what is broken, and nothing of weights alone: there is no run to go on with."""
    there = {state.kind: state for state in found.states}
    if not found.whole or not there or without_optimizer(found):
        return
    tensors = there[StateKind.PARAMETER].other_ranks
    if not tensors.carried:
        yield f"tensors: {tensors.message}"
    for kind in (StateKind.RANDOM, StateKind.DATA_POSITION):
        yield f"{kind}: {there[kind].other_ranks.message}"
    if tensors.carried:
        yield "all else is carried over, and not safe to lose"


def _notes(found: Audit) -> Iterator[str]:
    yield from (printable(note) for note in found.notes)
    if found.leftovers and not any(found.leftovers[0] in note for note in found.notes):
        names = ", ".join(printable(name) for name in found.leftovers[:_MOST_FILES])
        more = ", ..." if len(found.leftovers) > _MOST_FILES else ""
        files = quantity(len(found.leftovers), "file")
        yield f"{files} of {format_size(found.leftover_bytes)} that nothing in the checkpoint refers to: {names}{more}"
    if found.manifest is None or not found.states:
        return
    if found.manifest.format in _WITHOUT_CHECKSUMS:
        if found.depth is Depth.DATA:
            yield "files of this format hold no checksums: its data was not compared"
    elif found.whole and found.depth is Depth.ITEMS:
        yield "data was not read: --crc compares it with the checksums in the files"
    if found.depth is Depth.METADATA:
        yield "stored items were not opened: without --quick each is held against its metadata"
