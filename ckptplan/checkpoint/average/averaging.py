"""The mean of checkpoints: checked, matched, averaged in one pass, written whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.average import remarks
from ckptplan.checkpoint.average.matching import Choice, Matched, idle, match
from ckptplan.checkpoint.average.neighbourhood import Neighbourhood, neighbourhood
from ckptplan.checkpoint.average.rates import rate_of
from ckptplan.checkpoint.average.running import Progress, Ran, run
from ckptplan.checkpoint.average.weighting import Weighting
from ckptplan.checkpoint.average.whole import has_checksums, refuse_changed, refuse_damage
from ckptplan.checkpoint.dtypes import size_bytes
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest
from ckptplan.checkpoint.writing.sharded import SHARD_BYTES, ShardedSafetensorsWriter
from ckptplan.checkpoint.writing.single import SafetensorsWriter
from ckptplan.errors import InputError, printable

_NUMBERED = re.compile(r"(?:checkpoint|ckpt|step|global_step|iter|iteration)[-_]?(\d{1,15})\Z")
AS_STORED = Choice()


class Checksums(StrEnum):
    """What was done with the checksums that stand beside the data."""

    COMPARED = "compared"
    NOT_COMPARED = "not compared"
    NONE = "none"  # that could be compared


class Averaged(NamedTuple):
    """What was done; `out` None: nothing was written."""

    labels: tuple[str, ...]  # of the checkpoints, in the order in which they were averaged
    manifests: tuple[Manifest, ...]
    weighting: Weighting
    ran: tuple[Ran, ...]
    near: Neighbourhood
    out: Path | None
    files: tuple[str, ...]
    checksums: Checksums
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
    overwrite: bool = False,
    crc: bool = False,
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
    overwrite : bool
        Replace what has the name of the result.
    crc : bool
        First read all that is averaged and compare it with the checksums in the files.
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
    checksums, unproved = _checksums(manifests, matched, named, compare=crc, progress=progress)
    held = _Target(out, inputs, shard_bytes, overwrite)
    files, ran = _written(manifests, matched, weighting.weights, held, progress)
    gram = np.sum([one.gram for one in ran if one.matched.kind is not StateKind.MASTER], axis=0)
    twice = dict(remarks.twice(manifests, named))
    near = neighbourhood(
        gram,
        weighting,
        named,
        steps,
        [rate_of(manifest) for manifest in manifests],
        not_compared={*twice, *remarks.incomparable(ran, len(manifests))},
    )
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
        checksums,
        total,
        (*facts, *remarks.facts(ran), *remarks.unmatched(manifests, matched, choice), *unproved, *near.facts),
        (
            *idle(manifests, choice),
            *remarks.weightless(weighting, named),
            *twice.values(),
            *remarks.foreign(manifests, named),
            *remarks.strange(ran, named),
            *remarks.doubts(ran),
            *near.warnings,
        ),
    )


class _Target(NamedTuple):
    """Where the result goes, and how."""

    out: str | Path | None
    inputs: Sequence[Path]
    shard_bytes: int
    overwrite: bool


def _written(
    manifests: Sequence[Manifest],
    matched: Sequence[Matched],
    weights: Sequence[float],
    target: _Target,
    progress: Progress | None,
) -> tuple[tuple[str, ...], list[Ran]]:
    """Run over the data; the names of the files that were written."""
    out, inputs, overwrite = target.out, target.inputs, target.overwrite
    if out is None:
        return (), run(manifests, matched, weights, None, progress)
    entries = [(one.name, one.dtype, one.tensors[-1].shape) for one in matched]
    with ExitStack() as stack:
        writer: SafetensorsWriter | ShardedSafetensorsWriter
        if str(out).endswith(".safetensors"):
            writer = stack.enter_context(SafetensorsWriter(out, entries, {"format": "pt"}, inputs, overwrite=overwrite))
        else:
            sharded = ShardedSafetensorsWriter(
                out, entries, {"format": "pt"}, inputs, target.shard_bytes, overwrite=overwrite
            )
            writer = stack.enter_context(sharded)
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


def _checksums(
    manifests: Sequence[Manifest],
    matched: Sequence[Matched],
    labels: Sequence[str],
    *,
    compare: bool,
    progress: Progress | None,
) -> tuple[Checksums, tuple[str, ...]]:
    """Compare the checksums of what is averaged, or say that it was not done."""
    tensors = [list({id(one.tensors[at]): one.tensors[at] for one in matched}.values()) for at in range(len(manifests))]
    there = [at for at, manifest in enumerate(manifests) if has_checksums(manifest, tensors[at])]
    if not there:
        return Checksums.NONE, (
            "the files have no checksums that could be compared with their data",
        ) if compare else ()
    if not compare:
        return Checksums.NOT_COMPARED, (
            "checksums were not compared with the data: --crc does, or ckptplan audit --crc",
        )
    for done, at in enumerate(there):
        if progress is not None:
            progress("comparing checksums", done, len(there))
        refuse_changed(manifests[at], tensors[at])
    without = [printable(label) for at, label in enumerate(labels) if at not in there]
    return Checksums.COMPARED, (f"no checksums to compare: {', '.join(without)}",) if without else ()
