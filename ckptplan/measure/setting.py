"""What is to be measured, and how one hears of it meanwhile."""

from collections.abc import Callable
from typing import NamedTuple

Progress = Callable[[str, int, int], object]  # what is done, bytes done, bytes in all
Announce = Callable[[str], object]  # a sentence that is to be read before the first byte


class Setting(NamedTuple):
    """What is to be measured. [bytes, 1]."""

    writers: int
    size_bytes: int  # by each writer
    block_bytes: int
    repeats: int
    direct: bool = False
    read: bool = True
    drop_all: bool = False


def told(notes: tuple[str, ...], announce: Announce | None) -> tuple[str, ...]:
    """The notes, announced."""
    if announce is not None:
        for note in notes:
            announce(note)
    return notes
