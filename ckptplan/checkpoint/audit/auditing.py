"""One checkpoint audited: what is wrong, what is there, and the verdict."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from ckptplan.checkpoint.audit.agreement import NOT_ASKED, agreement
from ckptplan.checkpoint.audit.findings import Audit, Depth, Standing, State
from ckptplan.checkpoint.audit.states import notes_of, states_of
from ckptplan.checkpoint.audit.wholeness import broken_entries, faults_of
from ckptplan.checkpoint.audit.words import ALWAYS
from ckptplan.checkpoint.folder import flaw_of, hint_of
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Manifest
from ckptplan.errors import InputError, Place, Problem

_OPTIMIZER = (StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT, StateKind.OPTIMIZER_STEP, StateKind.HYPERPARAMETERS)


def audit(manifest: Manifest, depth: Depth = Depth.ITEMS, required: Collection[StateKind] = ALWAYS) -> Audit:
    """What a checkpoint is worth to a run that would go on from it.

    Parameters
    ----------
    manifest : Manifest
        Of any format.
    depth : Depth
        How far down to look: a million items take minutes to open, and data as long as it takes to read.
    required : collection of StateKind
        Kinds without which the checkpoint is not complete.

    Returns
    -------
    Audit
        The verdict and all that it rests on. What is wrong with the files is in it, never raised.
    """
    agreed = NOT_ASKED if depth is Depth.METADATA else agreement(manifest)
    faults = faults_of(manifest._replace(faults=(*manifest.faults, *agreed.faults)), depth)
    broken = broken_entries(manifest, faults.kept)
    states = states_of(manifest, broken, required) if manifest.tensors or manifest.objects else ()
    left = [file for file in manifest.files if not file.referenced]
    return Audit(
        manifest.path,
        manifest,
        states,
        faults.kept,
        faults.more,
        tuple(file.name for file in left),
        sum(file.size_bytes for file in left),
        (*manifest.remarks, *agreed.notes, *notes_of(manifest, states)),
        depth,
    )


def audit_path(path: Path, depth: Depth = Depth.ITEMS, required: Collection[StateKind] = ALWAYS) -> Audit:
    """The same from a path; metadata that cannot be read is a verdict too. Only the path itself must be readable."""
    from ckptplan.checkpoint.formats.detect import read_manifest

    _refuse_unreadable(path)
    try:
        manifest = read_manifest(path)
    except InputError as error:
        return not_read(path, [_fault(problem, path, error) for problem in error.problems], depth)
    return audit(manifest, depth, required)._replace(path=path)


def not_read(path: Path, faults: Sequence[Fault], depth: Depth) -> Audit:
    """The verdict on a checkpoint of which nothing could be read."""
    return Audit(path, None, (), tuple(faults), 0, (), 0, (), depth)


def _refuse_unreadable(path: Path) -> None:
    """An error for a path to nothing, or to what may not be read."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            os.scandir(path).close()
        elif stat.S_ISREG(mode):
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except FileNotFoundError:
        raise InputError(Problem("no such file or directory", Place(str(path)), hint="check the name")) from None
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise InputError(Problem(message, Place(str(path)), hint=hint_of(error))) from None
    except ValueError:
        raise InputError(Problem("no such name can be a file", Place(str(path)), hint="check the name")) from None


def _fault(problem: Problem, path: Path, error: InputError) -> Fault:
    """A problem of the metadata, with its file by the name within the checkpoint."""
    place = problem.place.file if problem.place is not None else ""
    inside = place.removeprefix(f"{path}/") if place.startswith(f"{path}/") else None
    return Fault(flaw_of(error), problem.message, inside, problem.key, problem.hint)


def verdict(found: Audit) -> str:
    """What the checkpoint is worth, in one sentence."""
    if not found.whole:
        return f"not usable: {_broken(found)}"
    if not found.states:
        return "not usable: nothing in it can be listed"
    if found.complete:
        going_on = gone_without(found)
        return f"whole; goes on {going_on}" if going_on else "whole, and it holds all that exact resume needs"
    if without_weights(found):
        return f"whole, but {_no_weights(found)}"
    if without_optimizer(found):
        others = [state for state in found.missing if state.kind not in _OPTIMIZER]
        rest = f"; {_missing(others)}" if 0 < len(others) <= 2 else ""
        return f"whole, but without any state of the optimizer: a run starts anew from these weights{rest}"
    allowed = gone_without(found)
    return f"whole, but {_missing(found.missing)}{f'; {allowed}' if allowed else ''}"


def gone_without(found: Audit) -> str:
    """``without random-number states, as allowed``; empty where nothing that is missing was allowed."""
    return f"without {series([_allowed(state) for state in found.allowed])}, as allowed" if found.allowed else ""


def _allowed(state: State) -> str:
    """A kind that is absent by its name; one that is there in part is not all there."""
    return str(state.kind) if state.standing is Standing.ABSENT else f"all {state.kind} ({state.detail})"


def _no_weights(found: Audit) -> str:
    """Said before all else that is missing: nothing can start from it."""
    if without_optimizer(found):
        return "it holds neither weights nor any state of the optimizer: no run can start from it"
    others = [state for state in found.missing if state.kind is not StateKind.PARAMETER]
    rest = f"; also {_missing(others)}" if 0 < len(others) <= 2 else ""
    return f"it holds no weights: only with those of the same step from elsewhere can a run go on{rest}"


def without_weights(found: Audit) -> bool:
    """Whether no parameter is there."""
    return any(state.kind is StateKind.PARAMETER and state.standing is Standing.ABSENT for state in found.states)


def without_optimizer(found: Audit) -> bool:
    """Whether nothing of the optimizer is there: weights alone."""
    return all(state.standing is Standing.ABSENT for state in found.states if state.kind in _OPTIMIZER)


def _broken(found: Audit) -> str:
    """The gravest fault, and how many more there are."""
    first = found.faults[0]
    where = ": ".join(part for part in (first.file, first.key, first.message) if part)
    more = len(found.faults) + found.more_faults - 1
    return where if not more else f"{where} (and {more:,} more {'fault' if more == 1 else 'faults'})"


def _missing(states: Sequence[State]) -> str:
    """``the scheduler is missing; random-number states are there in part (...)``."""
    absent = [str(state.kind) for state in states if state.standing is Standing.ABSENT]
    said = [f"without {series(absent)}"] if absent else []
    for state in states:
        if state.standing is Standing.PARTIAL:
            said.append(f"{state.kind} {state.detail}")
        if state.standing is Standing.UNREADABLE:
            said.append(f"{state.kind} cannot be read")
    return "; ".join(said)


def series(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
