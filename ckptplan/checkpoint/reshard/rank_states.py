"""States that a checkpoint holds for single ranks: what each framework's load does where other ranks ask for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Format, Manifest, Object, Tensor
from ckptplan.checkpoint.reshard.layout import Layout

SHARDED_OBJECT = re.compile(r"(?P<name>.+)/shard_(?P<place>\d+(?:\.\d+)*)_(?P<grid>\d+(?:\.\d+)*)")
_WITHIN_A_REPLICA = ("pp", "cp", "tp")  # ranks along these read the same samples
_BY_RANK = (StateKind.RANDOM, StateKind.DATA_POSITION)

# torch's planner raises "Missing key in checkpoint state_dict" for a key that is asked for and not there.
KEYED = (Format.DCP, Format.DCP_RANK_LOCAL, Format.DCP_SAFETENSORS, Format.MEGATRON_DIST)
LEAVE_OUT = (
    "leave it out of the load (--without here; torchtitan: checkpoint.exclude_from_loading; torch: no such key in the "
    "state dict, or DefaultLoadPlanner(allow_partial_load=True))"
)


class NotCarried(NamedTuple):
    """One thing that the new run does not get, or gets wrongly."""

    state: str  # what it is, in a few words
    message: str
    remedy: str
    refuses: bool = False  # the framework will not load the checkpoint at all
    ends: bool = False  # a load of everything as saved ends here; one that leaves this out does not
    kind: StateKind | None = None
    ranks: str = ""  # where a load ends: the ranks for which nothing is stored


def data_parallel(layout: Layout) -> int:
    """Ranks that read samples of their own. [1]."""
    ranks = layout.ranks
    for axis in _WITHIN_A_REPLICA:
        ranks //= layout.size(axis)
    return ranks


def states_of_ranks(manifest: Manifest, layout: Layout, remedy: Callable[[StateKind], str]) -> Iterator[NotCarried]:
    """What more ranks ask for is not there, what fewer ranks leave is lost."""
    entries: Sequence[Tensor | Object] = (*manifest.tensors, *manifest.objects)
    own = [entry for entry in entries if entry.rank is not None and not SHARDED_OBJECT.fullmatch(entry.key)]
    kinds = tuple(StateKind) if manifest.format in KEYED else _BY_RANK
    for kind in sorted(kinds, key=lambda kind: kind is not StateKind.RANDOM):
        of_kind = [entry for entry in own if entry.kind is kind]
        if manifest.format is Format.ORBAX:
            yield from _of_processes(manifest, of_kind, layout, remedy(kind))
            continue
        by_data = [entry for entry in of_kind if "dp_rank" in entry.key]
        others = [entry for entry in of_kind if "dp_rank" not in entry.key]
        for group, wanted, word in ((others, layout.ranks, ""), (by_data, data_parallel(layout), "data-parallel ")):
            yield from _of_group(manifest.format, group, wanted, word, remedy(kind))


def _of_group(
    format_: Format, group: Sequence[Tensor | Object], wanted: int, word: str, remedy: str
) -> Iterator[NotCarried]:
    ranks = {entry.rank for entry in group if entry.rank is not None}
    if not ranks:
        return
    kind = group[0].kind
    if format_ is Format.TRAINER and kind is StateKind.RANDOM and _alone(group) != (wanted == 1):
        said = (
            f"states of {_count(ranks, word)} for {wanted:,}: one process looks for rng_state.pth, several for "
            "rng_state_R.pth, so none is taken up; the Trainer goes on with a line in its log"
        )
        yield NotCarried(str(kind), said, remedy, kind=kind)
    elif ranks != set(range(wanted)):
        missing = [rank for rank in range(wanted) if rank not in ranks]
        left = sorted(rank for rank in ranks if rank >= wanted)
        states = f"states of {_count(ranks, word)} for {wanted:,}"
        if not missing:
            yield NotCarried(str(kind), f"{states}: {_listed(left)} dropped without a word", remedy, kind=kind)
            return
        asks, named = _asks(format_, kind, missing, word, group)
        ends = format_ in KEYED
        where = f"{word}rank{'s' * (len(missing) > 1)} {_numbers(missing)}"
        told = f"{LEAVE_OUT}, and {remedy}" if ends else remedy
        yield NotCarried(str(kind), f"{states}: new {asks}{named}", told, ends=ends, kind=kind, ranks=where)


def _asks(
    format_: Format, kind: StateKind, missing: Sequence[int], word: str, group: Sequence[Tensor | Object]
) -> tuple[str, str]:
    several = len(missing) > 1
    who = f"{word}rank{'s' * several} {_numbers(missing)}"
    if format_ in KEYED:
        key = _key_of(missing[0], group)
        verb = f"ask for keys like {key}, which are" if several else f"asks for {key}, which is"
        return f"{who} {verb} not there, and a torch DCP load ends there", ""
    find = f"{who} find{'s' * (not several)} no file of {'their' if several else 'its'} own"
    if kind is StateKind.RANDOM and format_ in (Format.TRAINER, Format.ACCELERATE):
        loader = "the Trainer" if format_ is Format.TRAINER else "accelerate"
        return find, f", and {loader} goes on without, with a line in its log"
    return find, ": whether the load goes on is up to the script"


def _key_of(rank: int, group: Sequence[Tensor | Object]) -> str:
    """What a rank that has no state asks for: the key of another one with its own number."""
    for entry in group:
        found = [*re.finditer(rf"(?<!\d)0*{entry.rank}(?!\d)", entry.key)]
        if found:
            last = found[-1]
            return f"{entry.key[: last.start()]}{rank:0{len(last[0])}d}{entry.key[last.end() :]}"
    return f"{group[0].key} of their own"


def _alone(group: Sequence[Tensor | Object]) -> bool:
    return any("rng_state.pth" in entry.key for entry in group)


def _of_processes(
    manifest: Manifest, group: Sequence[Tensor | Object], layout: Layout, remedy: str
) -> Iterator[NotCarried]:
    """Grain's iterators: each process looks for a file with its number and the number of processes in the name."""
    saved = len({entry.rank for entry in group})
    if not saved:
        return
    each = max(1, (manifest.world_size or saved) // saved)
    will = -(-layout.ranks // each)
    if will != saved:
        processes = f"{saved:,} process{'es' * (saved > 1)}"
        said = (
            f"states of {processes} of {each:,} devices: {will:,} look for files whose names say so, and a load "
            "of this item ends there"
        )
        told = f"leave this item out of what is restored (--without here), and {remedy}"
        where = "all processes"
        yield NotCarried(str(group[0].kind), said, told, ends=True, kind=group[0].kind, ranks=where)


def _count(ranks: set[int], word: str) -> str:
    return f"{len(ranks):,} {word}rank{'s' * (len(ranks) > 1)}"


def _listed(numbers: Sequence[int]) -> str:
    return f"that of rank {numbers[0]:,} is" if len(numbers) == 1 else f"those of ranks {_numbers(numbers)} are"


def _numbers(numbers: Sequence[int]) -> str:
    """``2``, ``2 to 7``, ``1, 3 and 5``."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]:,} to {numbers[-1]:,}"
    if len(numbers) == 1:
        return f"{numbers[0]:,}"
    shown = [f"{number:,}" for number in numbers[: len(numbers) if len(numbers) <= 5 else 4]]
    last = f"{len(numbers) - 4:,} more" if len(numbers) > 5 else shown.pop()
    return f"{', '.join(shown)} and {last}"
