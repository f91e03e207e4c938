"""A folder of checkpoints audited: from which of them a run can go on."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ckptplan.checkpoint.audit.auditing import audit_path, not_read, verdict
from ckptplan.checkpoint.audit.findings import Audit, Depth
from ckptplan.checkpoint.audit.words import ALWAYS
from ckptplan.checkpoint.folder import CheckpointFolder, hint_of
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw
from ckptplan.errors import InputError

_NUMBER = re.compile(r"\d{1,15}")
_TRAINER = re.compile(r"checkpoint-\d+")
_MEGATRON = "latest_checkpointed_iteration.txt"
_POINTERS = ("latest", "latest_universal", _MEGATRON)
NOT_THERE = "it is not there"
_LONGEST_POINTER = 4096
VANISHED = "it vanished while the run was audited"
_CLEANING, _SAVING = "is a clean-up still running?", "is a save still running?"


class Pointer(NamedTuple):
    """A file that says which checkpoint is the newest, and what is wrong with that."""

    file: str
    target: str
    message: str  # empty: it points to a checkpoint to go on from


class RunAudit(NamedTuple):
    """All checkpoints of a run, the newest first."""

    root: Path
    audits: tuple[Audit, ...]
    pointers: tuple[Pointer, ...]

    @property
    def best(self) -> Audit | None:
        """The newest from which a run can go on as if never interrupted."""
        return next((audit for audit in self.audits if audit.usable), None)

    @property
    def newest_whole(self) -> Audit | None:
        """The newest that is at least whole."""
        return next((audit for audit in self.audits if audit.whole and audit.states), None)


def audit_run(
    root: Path,
    paths: Sequence[Path],
    depth: Depth = Depth.ITEMS,
    required: Collection[StateKind] = ALWAYS,
    first_only: bool = False,
) -> RunAudit:
    """Audit the checkpoints of a run, newest first; with ``first_only`` no further than to the first usable one.

    The step that a checkpoint holds decides; the one in its name only while no checkpoint contradicts it.
    """
    audits: list[Audit] = []
    ordered = newest_first(paths)
    for path in ordered:
        audits.append(_still_there(_audited(path, depth, required)))
        if first_only and audits[-1].usable and _names_are_steps(ordered, audits):
            break
    audits = [found if os.path.lexists(found.path) else _gone(found) for found in audits]
    audits.sort(key=lambda found: _rank(step_of(found)), reverse=True)
    return RunAudit(root, tuple(audits), tuple(_pointers(root, audits, paths)) if not first_only else ())


def _audited(path: Path, depth: Depth, required: Collection[StateKind]) -> Audit:
    """The verdict on one of several: whatever ends its reading is said of it, and the others are looked into."""
    try:
        return audit_path(path, depth, required)
    except InputError as error:
        faults = [Fault(Flaw.UNREADABLE, one.message, key=one.key, hint=one.hint) for one in error.problems]
    except OSError as error:
        faults = [Fault(Flaw.UNREADABLE, f"cannot be read: {error.strerror or error}", hint=hint_of(error))]
    return not_read(path, faults, depth)


def _still_there(found: Audit) -> Audit:
    """The same, unless files have vanished or changed their lengths since they were listed: then it is not usable."""
    if not os.path.lexists(found.path):
        return _gone(found)
    if found.manifest is None or not found.usable:
        return found
    for file in found.manifest.files:
        try:
            size = os.lstat(found.manifest.root / file.name).st_size
        except OSError as error:
            fault = Fault(Flaw.UNREADABLE, f"cannot be read: {error.strerror}", file.name, hint=hint_of(error))
            return found._replace(faults=(fault,))
        if size != file.size_bytes:
            message = f"had {file.size_bytes:,} bytes and now has {size:,}"
            return found._replace(faults=(Fault(Flaw.UNREADABLE, message, file.name, hint=_SAVING),))
    return found


def _gone(found: Audit) -> Audit:
    return not_read(found.path, [Fault(Flaw.UNREADABLE, VANISHED, hint=_CLEANING)], found.depth)


def _names_are_steps(paths: Sequence[Path], audits: Sequence[Audit]) -> bool:
    """Whether the numbers in the names can be trusted for those that were not looked into."""
    numbers = [step_named(path) for path in paths]
    agree = all(found.step in {None, step_named(found.path)} for found in audits)
    return agree and None not in numbers and len(set(numbers)) == len(numbers)


def checkpoints_of(path: Path) -> list[Path] | None:
    """The checkpoints in the folder of a run; None if the path is one checkpoint itself.

    The Trainer leaves its last weights in the folder of the run, beside the checkpoints.
    """
    from ckptplan.checkpoint.formats.run_folders import checkpoints_in, is_marked

    if not os.path.isdir(path):  # noqa: PTH112 - false, not an error, where it may not be looked at
        return None
    inside = checkpoints_in(path)
    if is_marked(path):
        inside = [one for one in inside if _TRAINER.fullmatch(one.name)]
    return inside or None


def newest_first(paths: Sequence[Path]) -> list[Path]:
    """By the step that the names say, the highest first; those without a number last."""
    return sorted(paths, key=lambda path: (_rank(step_named(path)), path.name), reverse=True)


def _rank(step: int | None) -> int:
    return -1 if step is None else step


def step_named(path: Path) -> int | None:
    """The step in the name of a checkpoint: ``iter_0000003``, ``checkpoint-500``, ``global_step3_universal``."""
    found = _NUMBER.findall(path.name)
    return int(found[-1]) if found else None


def step_of(found: Audit) -> int | None:
    """The step that a checkpoint holds, or the one that its name says."""
    return found.step if found.step is not None else step_named(found.path)


def _pointers(root: Path, audits: Sequence[Audit], paths: Sequence[Path]) -> Iterator[Pointer]:
    """Pointer files of the run, and whether what they point to is there, whole and complete."""
    if not root.is_dir():
        return
    by_name = {path.name: audit for path in paths for audit in audits if audit.path == path}
    for name in _POINTERS:
        text = _read(root, name)
        if text is None:
            continue
        target = f"iter_{int(text):07d}" if name == _MEGATRON and text.isascii() and text.isdigit() else text
        found = by_name.get(target)
        if found is None:
            yield Pointer(name, target, NOT_THERE)
        else:
            yield Pointer(name, target, "" if found.usable else verdict(found))


def _read(root: Path, name: str) -> str | None:
    """What a pointer says; None without one. A link, a pipe or a long file is no pointer."""
    try:
        with CheckpointFolder(root, only=name) as folder:
            size = folder.size(name)
            text = folder.read(name, 0, size) if size <= _LONGEST_POINTER else b""
    except InputError:
        return None
    return text.decode("utf-8", "replace").strip() or None
