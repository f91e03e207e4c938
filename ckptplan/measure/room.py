"""How much each writer can write here: by the room on the file system, and by the memory of this machine."""

import os
from typing import NamedTuple

from ckptplan.errors import InputError, printable
from ckptplan.measure.blocks import PAGE_BYTES, memory_needed
from ckptplan.measure.host import HostMemory, file_system_of
from ckptplan.measure.refusals import refusal
from ckptplan.measure.setting import Setting
from ckptplan.units import format_size

_LEAST_BYTES = 1 << 20  # by each writer
_KEPT_FREE = 0.05  # of the file system, and no more than the next line
_KEPT_FREE_BYTES = 100 * 2**30
_OF_MEMORY = 0.25  # of what is available: for the blocks, or for shards and their buffers
_FILES_OF_MEMORY = 0.5  # of what is available: for files that live in memory
_MOST_PREPARED_BYTES = 64 * 2**30  # shards and buffers: at some GB/s they are filled in half a minute


class Limit(NamedTuple):
    """The most that each writer can write [bytes], why, and what would make it more."""

    bytes_: int
    why: str
    hint: str


def fitting(directory: str, setting: Setting, *limits: Limit, memory: HostMemory) -> tuple[Setting, tuple[str, ...]]:
    """The setting with a size that fits, and a note that says what is measured if that is less than was asked for.

    Parameters
    ----------
    directory : str
        Where the files will be.
    setting : Setting
        What is asked for.
    *limits : Limit
        Others than the room for the files.
    memory : HostMemory
        Of this machine; files on a tmpfs take it.

    Raises
    ------
    InputError
        If less than 1 MiB of each writer fits, and more was asked for.
    """
    limit = min((*_limits_of_files(directory, setting.writers, memory), *limits), key=lambda one: one.bytes_)
    pages = max(1, -(-setting.size_bytes // PAGE_BYTES))
    asked = pages * PAGE_BYTES if setting.direct else setting.size_bytes
    if asked <= limit.bytes_:
        return setting._replace(size_bytes=asked), ()
    if limit.bytes_ < min(_LEAST_BYTES, asked):
        raise InputError(f"{limit.why}: too little to measure with", hint=limit.hint)
    size = format_size(limit.bytes_)
    note = f"only {size} per writer fit, and {size} are measured, not {format_size(asked)}: {limit.why}"
    return setting._replace(size_bytes=limit.bytes_), (note,)


def _limits_of_files(directory: str, writers: int, memory: HostMemory) -> tuple[Limit, ...]:
    """The room on the file system; one that lives in memory must not take all of that."""
    try:
        space = os.statvfs(directory)
    except OSError as error:
        raise refusal(error, directory) from error
    total, free = space.f_blocks * space.f_frsize, space.f_bavail * space.f_frsize
    kept = min(_KEPT_FREE * total, _KEPT_FREE_BYTES)
    on_disk = Limit(
        _pages((free - kept) / writers),
        f"{printable(directory)} has {format_size(free)} free, of which {format_size(kept)} (5 % of the file system, "
        "100 GiB at most) are left alone",
        "free some space, give fewer --writers, or another folder",
    )
    kind = file_system_of(directory)
    if not kind.is_memory or memory.available_bytes is None:
        return (on_disk,)
    in_memory = Limit(
        _pages(_FILES_OF_MEMORY * memory.available_bytes / writers),
        f"{printable(directory)} is {kind.kind}, whose files take at most half of the "
        f"{format_size(memory.available_bytes)} of memory that are available",
        "give fewer --writers, or a folder on storage",
    )
    return (on_disk, in_memory)


def limit_of_shards(setting: Setting, memory: HostMemory) -> Limit:
    """What each shard can have, of which there are two in memory: itself and its buffer; both have to be filled."""
    hint = "give fewer --writers, a smaller --block, or free memory"
    room, why = float(_MOST_PREPARED_BYTES), f"shards and their buffers take at most {_MOST_PREPARED_BYTES >> 30} GiB"
    if memory.available_bytes is not None and _OF_MEMORY * memory.available_bytes < room:
        room = _OF_MEMORY * memory.available_bytes
        why = (
            f"shards of {setting.writers:,} writer{'' if setting.writers == 1 else 's'} and their buffers take at most "
            f"a quarter of the {format_size(memory.available_bytes)} of memory that are available"
        )
    return Limit(_pages((room - setting.block_bytes) / (2 * setting.writers)), why, hint)


def check_blocks(setting: Setting, memory: HostMemory) -> None:
    """Blocks of all writers in a quarter of the memory.

    Raises
    ------
    InputError
        If they take more.
    """
    need = setting.writers * memory_needed(setting.block_bytes)
    if memory.available_bytes is not None and need > _OF_MEMORY * memory.available_bytes:
        raise InputError(
            f"{setting.writers:,} writers with blocks of {format_size(setting.block_bytes)} need {format_size(need)} "
            f"of memory, more than a quarter of the {format_size(memory.available_bytes)} that are available",
            hint="give a smaller --block, or fewer --writers",
        )


def _pages(size_bytes: float) -> int:
    """Whole pages, rounded down."""
    return int(size_bytes) // PAGE_BYTES * PAGE_BYTES
