"""What is said of a mean besides where its checkpoints lie: what it holds, what was left out, what is doubtful."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ckptplan.checkpoint.average.matching import Choice, Matched
from ckptplan.checkpoint.average.running import Ran
from ckptplan.checkpoint.average.strange import NONE, Strange
from ckptplan.checkpoint.average.weighting import Weighting
from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.elements import REAL_PARTS
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Manifest
from ckptplan.errors import printable

_MOST_NAMED = 5
# Types of counts, indices and flags, which the last checkpoint is right about; and of buffers, which a fact tells of.
_COUNTED = frozenset({"int64", "int32", "int16", "uint64", "uint32", "uint16", "bool", *REAL_PARTS})


def twice(manifests: Sequence[Manifest], labels: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Checkpoints that were named before: the number of the one in front of the second, and what is said."""
    seen: dict[tuple[Path, str], str] = {}
    for at, (manifest, label) in enumerate(zip(manifests, labels, strict=True)):
        only = manifest.files[0].name if len(manifest.files) == 1 else ""
        place = (Path(os.path.realpath(manifest.root)), only)
        if place in seen:
            yield (
                at - 1,
                f"{printable(label)} and {printable(seen[place])} are the same checkpoint: the mean counts it twice",
            )
        seen[place] = label


def incomparable(ran: Sequence[Ran], checkpoints: int) -> Iterator[int]:
    """Moves to or from a checkpoint with numbers that are none: distances leave these out."""
    for at in range(checkpoints - 1):
        if any(one.not_finite[at] or one.not_finite[at + 1] for one in ran):
            yield at


def weightless(weighting: Weighting, labels: Sequence[str]) -> Iterator[str]:
    """Checkpoints that were named for nothing."""
    for label, weight in zip(labels, weighting.weights, strict=True):
        if weight == 0.0:
            yield f"{printable(label)} has a weight of 0: it is read, and does not count"


def strange(ran: Sequence[Ran], labels: Sequence[str]) -> Iterator[str]:
    """That the result is not finite, and whose numbers made it so."""
    found = [one for one in ran if one.strange != NONE]
    if not found:
        return
    total = Strange(sum(one.strange.nan for one in found), sum(one.strange.infinite for one in found))
    shown = [f"{printable(one.matched.name)} (of {_sources(one)})" for one in found[:_MOST_NAMED]]
    more = ", ..." if len(found) > _MOST_NAMED else ""
    counts = [(label, sum(one.not_finite[at] for one in ran)) for at, label in enumerate(labels)]
    read = ", ".join(f"{number:,} in {printable(label)}" for label, number in counts if number)
    averaged = f"; averaged were {read}; distances and moves leave such elements out" if read else ""
    yield f"the mean holds {total.words}, in {', '.join(shown)}{more}{averaged}"


def _sources(one: Ran) -> str:
    numbers = (
        [at for at, count in enumerate(one.not_finite, 1) if count] if one.matched.averaged else [len(one.not_finite)]
    )
    listed = " and ".join(map(str, numbers)) if len(numbers) < 3 else ", ".join(map(str, numbers))
    return f"checkpoint{'s' if len(numbers) > 1 else ''} {listed}"


def foreign(manifests: Sequence[Manifest], labels: Sequence[str]) -> Iterator[str]:
    """Files that could run a program."""
    for manifest, label in zip(manifests, labels, strict=True):
        for fault in manifest.faults:
            if fault.flaw is Flaw.FOREIGN_CODE:
                yield f"{printable(label)}: {printable(fault.message)}; nothing of it was run"


def facts(ran: Sequence[Ran]) -> Iterator[str]:
    """How the tensors came about."""
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


def unmatched(manifests: Sequence[Manifest], matched: Sequence[Matched], choice: Choice) -> Iterator[str]:
    """Masters that are there and could not be used."""
    coarse = [m for m in matched if m.averaged and m.tensors[-1].kind is StateKind.PARAMETER and BITS[m.dtype] < 32]
    there = all(any(tensor.kind is StateKind.MASTER for tensor in manifest.tensors) for manifest in manifests)
    if choice.masters and coarse and there:
        yield f"{len(coarse):,} parameters are averaged as stored: nothing tells which fp32 master is theirs"


def doubts(ran: Sequence[Ran]) -> Iterator[str]:
    """Types that a mean may not suit."""
    means = [one.matched for one in ran if one.matched.averaged]
    small = [one.name for one in means if one.tensors[0].dtype.startswith("float8")]
    if small:
        yield (
            "FP8 is averaged as it is stored, which is right only where the scales are equal: "
            f"{len(small):,} of the tensors, {_names(small)}"
        )
    packed = [m.name for m in (one.matched for one in ran if one.differs) if m.dtype not in _COUNTED]
    if packed:
        yield (
            "taken from the last, since their types have no mean (quantized elements) and they differ: "
            f"{_names(packed)}"
        )


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:_MOST_NAMED])
    return f"{shown}, ..." if len(names) > _MOST_NAMED else shown
