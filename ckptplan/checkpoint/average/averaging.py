"""The mean of checkpoints: checked, matched, averaged in one pass, written whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.average.matching import Choice, Matched, match
from ckptplan.checkpoint.average.neighbourhood import Neighbourhood, neighbourhood
from ckptplan.checkpoint.average.rates import rate_of
from ckptplan.checkpoint.average.running import Progress, Ran, run
from ckptplan.checkpoint.average.weighting import Weighting
from ckptplan.checkpoint.average.whole import refuse_damage
from ckptplan.checkpoint.dtypes import BITS, size_bytes
from ckptplan.checkpoint.elements import REAL_PARTS
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Manifest
from ckptplan.checkpoint.writing import SafetensorsWriter
from ckptplan.checkpoint.writing_sharded import SHARD_BYTES, ShardedSafetensorsWriter
from ckptplan.errors import InputError, printable

_NUMBERED = re.compile(r"(?:checkpoint|ckpt|step|global_step|iter|iteration)[-_]?(\d{1,15})\Z")
_MOST_NAMED = 5
# Types of counts, indices and flags, which the last checkpoint is right about; and of buffers, which a fact tells of.
_COUNTED = frozenset({"int64", "int32", "int16", "uint64", "uint32", "uint16", "bool", *REAL_PARTS})
AS_STORED = Choice()


class Averaged(NamedTuple):
    """What was done; `out` None: nothing was written."""

    labels: tuple[str, ...]  # of the checkpoints, in the order in which they were averaged
    manifests: tuple[Manifest, ...]
    weighting: Weighting
    ran: tuple[Ran, ...]
    near: Neighbourhood
    out: Path | None
    files: tuple[str, ...]
    size_bytes: int  # of the tensors of the result
    facts: tuple[str, ...]
    warnings: tuple[str, ...]


def average(
    manifests: Sequence[Manifest],
    out: str | Path | None,
    weigh: Callable[[int], Weighting],
    choice: Choice = AS_STORED,
    *,
    labels: Sequence[str] | None = None,
    by_step: bool = True,
    shard_bytes: int = SHARD_BYTES,
    progress: Progress | None = None,
) -> Averaged:
    """The element-wise mean of checkpoints, written as safetensors.

    Parameters
    ----------
    manifests : sequence of Manifest
        At least two, of any formats and layouts.
    out : path or None
        A file if its name ends in .safetensors, else a new folder; None: read and judge, and write nothing.
    weigh : callable
        From the number of checkpoints to their weights.
    choice : Choice
        What is averaged, and in which type it is written.
    labels : sequence of str, optional
        What the checkpoints are called in messages: the paths that were named; by default their files or folders.
    by_step : bool
        Put them in the order of their steps where all are known.
    shard_bytes : int
        In a folder: no file holds more than this. [bytes]
    progress : callable, optional
        Called with what is done, bytes read, and bytes in all.

    Raises
    ------
    InputError
        If the checkpoints differ in what is averaged, are damaged there, or the result cannot be written.
    """
    if len(manifests) < 2:
        raise InputError("one checkpoint has no mean", hint="name at least two checkpoints")
    named = list(labels or (_label(manifest) for manifest in manifests))
    steps = [_step(manifest) for manifest in manifests]
    order = _order(steps) if by_step else list(range(len(steps)))
    manifests, named = [manifests[at] for at in order], [named[at] for at in order]
    steps = [steps[at] for at in order]
    weighting = weigh(len(manifests))
    for manifest in manifests:
        if not manifest.tensors:
            refuse_damage(manifest, ())
    matched = match(manifests, choice, named)
    for at, manifest in enumerate(manifests):
        refuse_damage(manifest, [one.tensors[at] for one in matched])
    inputs = [path for manifest, label in zip(manifests, named, strict=True) for path in _held(manifest, label)]
    files, ran = _written(manifests, matched, weighting.weights, out, inputs, shard_bytes, progress)
    gram = np.sum([one.gram for one in ran if one.matched.kind is not StateKind.MASTER], axis=0)
    near = neighbourhood(gram, weighting, named, steps, [rate_of(manifest) for manifest in manifests])
    total = sum(size_bytes(one.dtype, one.tensors[-1].elements) for one in matched)
    facts = [] if order == sorted(order) else ["the checkpoints were put in the order of their steps"]
    return Averaged(
        tuple(named),
        tuple(manifests),
        weighting,
        tuple(ran),
        near,
        None if out is None else Path(out),
        files,
        total,
        (*facts, *_facts(ran), *_unmatched(manifests, matched, choice), *near.facts),
        (*_twice(manifests, named), *_foreign(manifests, named), *_doubts(ran, named), *near.warnings),
    )


def _written(  # noqa: PLR0917
    manifests: Sequence[Manifest],
    matched: Sequence[Matched],
    weights: Sequence[float],
    out: str | Path | None,
    inputs: Sequence[Path],
    shard_bytes: int,
    progress: Progress | None,
) -> tuple[tuple[str, ...], list[Ran]]:
    """Run over the data; the names of the files that were written."""
    if out is None:
        return (), run(manifests, matched, weights, None, progress)
    entries = [(one.name, one.dtype, one.tensors[-1].shape) for one in matched]
    with ExitStack() as stack:
        writer: SafetensorsWriter | ShardedSafetensorsWriter
        if str(out).endswith(".safetensors"):
            writer = stack.enter_context(SafetensorsWriter(out, entries, {"format": "pt"}, inputs))
        else:
            writer = stack.enter_context(ShardedSafetensorsWriter(out, entries, {"format": "pt"}, inputs, shard_bytes))
        ran = run(manifests, matched, weights, writer, progress)
        writer.finish()
    return (Path(out).name,) if isinstance(writer, SafetensorsWriter) else writer.files, ran


def _label(manifest: Manifest) -> str:
    only = manifest.files[0].name if len(manifest.files) == 1 else ""
    return str(manifest.root / only)


def _held(manifest: Manifest, label: str) -> list[Path]:
    """What must not be written over or into: a folder, or the one file that a checkpoint is."""
    if len(manifest.files) == 1 and os.path.realpath(label) != os.path.realpath(manifest.root):
        return [manifest.root / manifest.files[0].name]
    return [manifest.root]


def _step(manifest: Manifest) -> int | None:
    """The step that the checkpoint holds, or else the number at the end of its folder's name."""
    if manifest.step is not None:
        return manifest.step
    found = _NUMBERED.search(manifest.root.name)
    return int(found[1]) if found else None


def _order(steps: Sequence[int | None]) -> list[int]:
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return list(range(len(steps)))
    return sorted(range(len(steps)), key=lambda at: known[at])


def _twice(manifests: Sequence[Manifest], labels: Sequence[str]) -> Iterator[str]:
    seen: dict[tuple[Path, str], str] = {}
    for manifest, label in zip(manifests, labels, strict=True):
        only = manifest.files[0].name if len(manifest.files) == 1 else ""
        place = (Path(os.path.realpath(manifest.root)), only)
        if place in seen:
            yield f"{printable(label)} and {printable(seen[place])} are the same checkpoint: the mean counts it twice"
        seen[place] = label


def _foreign(manifests: Sequence[Manifest], labels: Sequence[str]) -> Iterator[str]:
    for manifest, label in zip(manifests, labels, strict=True):
        for fault in manifest.faults:
            if fault.flaw is Flaw.FOREIGN_CODE:
                yield f"{printable(label)}: {printable(fault.message)}; nothing of it was run"


def _facts(ran: Sequence[Ran]) -> Iterator[str]:
    masters = [one for one in ran if one.matched.from_masters]
    rounded = [one for one in masters if BITS[one.matched.dtype] < BITS[one.matched.tensors[-1].dtype]]
    if rounded:
        types = ", ".join(sorted({one.matched.dtype for one in rounded}))
        yield f"{len(rounded):,} parameters are means of their fp32 masters, rounded once to {types}"
    if len(masters) > len(rounded):
        yield f"{len(masters) - len(rounded):,} parameters are means of fp32 masters, as they are stored"
    taken = [one for one in ran if not one.matched.averaged]
    if taken:
        differ = [one.matched.name for one in taken if one.differs]
        of_them = f"{len(differ):,} of them differ: {_names(differ)}" if differ else "all checkpoints agree on them"
        yield f"not averaged but taken from the last checkpoint (buffers, whole numbers): {len(taken):,}; {of_them}"


def _unmatched(manifests: Sequence[Manifest], matched: Sequence[Matched], choice: Choice) -> Iterator[str]:
    """Masters that are there and could not be used."""
    coarse = [m for m in matched if m.averaged and m.tensors[-1].kind is StateKind.PARAMETER and BITS[m.dtype] < 32]
    there = all(any(tensor.kind is StateKind.MASTER for tensor in manifest.tensors) for manifest in manifests)
    if choice.masters and coarse and there:
        yield f"{len(coarse):,} parameters are averaged as stored: nothing tells which fp32 master is theirs"


def _doubts(ran: Sequence[Ran], labels: Sequence[str]) -> Iterator[str]:
    for at, label in enumerate(labels):
        strange = [one.matched.name for one in ran if one.not_finite[at]]
        if strange:
            number = sum(one.not_finite[at] for one in ran)
            yield f"{printable(label)} holds {number:,} numbers that are infinite or NaN, in {_names(strange)}"
    means = [one.matched for one in ran if one.matched.averaged]
    small = [one.name for one in means if one.tensors[0].dtype.startswith("float8")]
    if small:
        yield (
            f"{len(small):,} tensors of FP8 are averaged as they are stored, which is right only where their scales "
            f"are equal: {_names(small)}"
        )
    packed = [m.name for m in (one.matched for one in ran if one.differs) if m.dtype not in _COUNTED]
    if packed:
        yield (
            f"{len(packed):,} tensors whose types have no mean (quantized elements) differ, and are taken from the "
            f"last: {_names(packed)}"
        )


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:_MOST_NAMED])
    return f"{shown}, ..." if len(names) > _MOST_NAMED else shown
