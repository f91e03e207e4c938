"""Whether all states of a checkpoint are of one step: a file of another save, of the same length, fits without a word.

Parameters that were frozen for a while and experts that got no token have other steps than their neighbours, and are
right. What tells a file of another save is that all its clocks agree on one step, and those of the others on another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from ckptplan.checkpoint.formats.dcp.scalars import whole_number
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest, Object, Tensor
from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.errors import InputError

STEP = "the optimizer's step"
MOST_READ = 4_096  # steps of parameters that are opened
_MOST_RANKED = 4_096  # states of ranks
_LEAST = 3  # steps of parameters in the files that differ, below which it may be chance
_MOST_LEAVES = 64
_DEEPEST = 4
_LARGEST = 1 << 20  # bytes of a pickled position
_SHOWN = 3
# Formats in which a file is what one rank wrote.
_BY_RANK = frozenset({Format.DCP, Format.DCP_RANK_LOCAL, Format.MEGATRON_DIST, Format.FSDP1_FLAT, Format.TORCH})
_COUNTERS = frozenset({
    "step", "steps", "global_step", "global_steps", "iteration", "iterations", "num_batches", "batches", "batch_idx",
    "pos", "position", "offset", "samples", "num_samples", "consumed_samples", "samples_yielded", "_num_yielded",
    "_num_batches_fetched", "_sampler_iter_yielded", "_snapshot_step", "num_yielded",
})  # fmt: skip
_HINT = "the copy mixes two saves: take the files of one"


class Reading(NamedTuple):
    """One clock: a number that all ranks count alike."""

    clock: str
    file: int
    value: int


class Found(NamedTuple):
    """What is wrong, and what is only good to know."""

    faults: tuple[Fault, ...]
    notes: tuple[str, ...]


NOT_ASKED = Found((), ())


def agreement(manifest: Manifest) -> Found:
    """States of different steps in one checkpoint."""
    steps = list(_steps(manifest))
    ranked = list(_ranked(manifest))
    clocks: dict[str, list[Reading]] = defaultdict(list)
    for reading in (*steps, *ranked):
        clocks[reading.clock].append(reading)
    unequal = {clock: readings for clock, readings in clocks.items() if len({one.value for one in readings}) > 1}
    if not unequal:
        return Found((), ())
    split = {clock: odd for clock, readings in unequal.items() if (odd := _odd_files(readings))}
    strong = _strong(split, unequal) if manifest.format in _BY_RANK else {}
    faults = tuple(_fault(manifest, clock, unequal[clock], files) for clock, files in strong.items())
    notes = () if faults else tuple(_note(clock, readings) for clock, readings in unequal.items())
    return Found(faults, notes)


def _steps(manifest: Manifest) -> Iterator[Reading]:
    """The optimizer's step of every parameter, or of evenly spaced ones where there are very many."""
    held = [tensor for tensor in manifest.tensors if tensor.kind is StateKind.OPTIMIZER_STEP and tensor.elements == 1]
    numbers = [entry for entry in manifest.objects if entry.kind is StateKind.OPTIMIZER_STEP and entry.file >= 0]
    entries: list[Tensor | Object] = [*held, *numbers]
    for entry in _spaced(entries, MOST_READ):
        value = whole_number(entry, manifest.source)
        file = _file(entry)
        if value is not None and file >= 0:
            yield Reading(STEP, file, value)


def _ranked(manifest: Manifest) -> Iterator[Reading]:
    """Counters in what each rank keeps of its own: progress, and the position in the data."""
    kinds = (StateKind.PROGRESS, StateKind.DATA_POSITION)
    entries: list[Tensor | Object] = [one for one in manifest.objects if one.kind in kinds and one.rank is not None]
    entries += [one for one in manifest.tensors if one.kind in kinds and one.rank is not None and one.elements == 1]
    for entry in _spaced(entries, _MOST_RANKED):
        file = _file(entry)
        if file < 0 or (isinstance(entry, Object) and entry.item_bytes > _LARGEST):
            continue
        last = str(entry.path[-1]) if entry.path else entry.key.rpartition(".")[2]
        what = "progress" if entry.kind is StateKind.PROGRESS else "data position"
        for name, value in _counters(_value(manifest, entry), last):
            yield Reading(f"the {what} of ranks, {name}", file, value)


def _value(manifest: Manifest, entry: Tensor | Object) -> Any:
    """The number of a tensor, or an object, taken out of a pickle of its own."""
    if isinstance(entry, Tensor):
        return whole_number(entry, manifest.source)
    try:
        value = manifest.source.value(entry)
        if isinstance(value, bytes) and len(value) <= _LARGEST:
            return load_pickle(value, entry.key, None).value
    except InputError:
        return None
    return value


def _counters(value: Any, name: str) -> Iterator[tuple[str, int]]:
    """Numbers under the names of counters."""
    stack: list[tuple[str, Any, int]] = [(name, value, 0)]
    for _ in range(_MOST_LEAVES):
        if not stack:
            return
        at, held, depth = stack.pop()
        if isinstance(held, dict) and depth < _DEEPEST:
            stack += [(key, one, depth + 1) for key, one in list(held.items())[:_MOST_LEAVES] if isinstance(key, str)]
        elif at in _COUNTERS and type(held) is int and 0 <= held < 1 << 62:
            yield at, held


def _odd_files(readings: Sequence[Reading]) -> frozenset[int]:
    """Files that all say another number than most; none where one file says several."""
    by_file: dict[int, set[int]] = defaultdict(set)
    for one in readings:
        by_file[one.file].add(one.value)
    if len(by_file) < 2 or any(len(values) > 1 for values in by_file.values()):
        return frozenset()
    usual = _usual(readings)
    return frozenset(file for file, values in by_file.items() if values != {usual})


def _usual(readings: Sequence[Reading]) -> int:
    """What most files say; of two that are as frequent the later step."""
    files = Counter(value for _, value in {(one.file, one.value) for one in readings})
    return max(files, key=lambda value: (files[value], value))


def _strong(split: dict[str, frozenset[int]], unequal: dict[str, list[Reading]]) -> dict[str, frozenset[int]]:
    """Clocks whose differences are those of files.

    The steps of several parameters in the same files are no chance, nor the progress of ranks, nor two clocks at once.
    The position in the data alone may differ from rank to rank.
    """
    found = {}
    for clock, odd in split.items():
        others = sum(1 for name, files in split.items() if name != clock and files == odd)
        several = sum(one.file in odd for one in unequal[clock]) >= _LEAST
        own = clock == STEP and several
        if own or clock.startswith("the progress") or others:
            found[clock] = odd
    return found


def _fault(manifest: Manifest, clock: str, readings: Sequence[Reading], odd: Collection[int]) -> Fault:
    names = [manifest.files[file].name for file in sorted(odd)]
    usual = Counter(one.value for one in readings if one.file not in odd)
    other = Counter(one.value for one in readings if one.file in odd)
    said = f"{_counted(other)} in {_listed(names)} and {_counted(usual)} in the other files"
    return Fault(Flaw.CORRUPT, f"states of different steps: {clock} is {said}", hint=_HINT)


def _note(clock: str, readings: Sequence[Reading]) -> str:
    counts = _counted(Counter(one.value for one in readings))
    why = (
        "right for parameters that were frozen for a while and experts that got nothing"
        if clock == STEP
        else "right where ranks go through their data at their own pace"
    )
    return f"{clock} is not the same everywhere, {counts}: {why}, else files of two saves are mixed"


def _counted(values: Counter[int]) -> str:
    """``3 (7 times)``."""
    shown = [f"{value:,} ({count:,} {'time' if count == 1 else 'times'})" for value, count in sorted(values.items())]
    return ", ".join(shown[:_SHOWN]) + (", ..." if len(shown) > _SHOWN else "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")


def _file(entry: Tensor | Object) -> int:
    if isinstance(entry, Object):
        return entry.file
    return int(entry.shards.files[0]) if entry.shards.number else -1


def _spaced(entries: Sequence[Tensor | Object], most: int) -> Sequence[Tensor | Object]:
    """All, or evenly spaced ones."""
    if len(entries) <= most:
        return entries
    return [entries[at * len(entries) // most] for at in range(most)]
