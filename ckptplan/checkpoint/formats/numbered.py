"""Sets of files that count themselves: shards ``-00001-of-00003``, and files of ranks that begin at 0."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from ckptplan.checkpoint.manifest import Fault, Flaw

MOST_NUMBERED = 1 << 20
_SHARD = re.compile(r"(?P<stem>.+?)-(?P<number>\d{5,6})-of-(?P<of>\d{5,6})(?P<suffix>\.[A-Za-z0-9]{1,12})\Z")
# DCP puts the rank in front: several ranks write parts of one numbered file.
_BY_RANK = re.compile(r"shard-\d{1,7}-")
_RANKED = re.compile(
    r"(?P<stem>(?:.*[^A-Za-z0-9])?(?P<word>rank|shard|consolidated|mp|tp|pp|dp|part)[_.-]?)(?P<number>\d{1,6})"
    r"(?P<rest>(?:\D.*)?\.(?:pt|pth|bin|ckpt|safetensors))\Z"
)
_FROM_ONE = frozenset({"shard", "part", "consolidated"})  # may be counted from 1; ranks never are
_SHOWN = 3
_HINT = "is the copy complete?"


class Shards(NamedTuple):
    """One set of shards, by the names of those that are there."""

    stem: str
    suffix: str
    of: int
    names: dict[int, str]

    @property
    def index_name(self) -> str:
        """The name of the index that belongs to it."""
        return f"{self.stem}{self.suffix}.index.json"

    def name(self, number: int) -> str:
        """The name of one of its shards."""
        width = len(str(self.of).zfill(5))
        return f"{self.stem}-{number:0{width}d}-of-{self.of:0{width}d}{self.suffix}"


def shards_in(names: Iterable[str]) -> list[Shards]:
    """Sets of shards among files of one folder."""
    found: dict[tuple[str, str, int], dict[int, str]] = defaultdict(dict)
    for name in names:
        if match := _SHARD.match(_BY_RANK.sub("", name)):
            found[match["stem"], match["suffix"], int(match["of"])][int(match["number"])] = name
    return [Shards(*key, there) for key, there in found.items()]


def missing_shards(one: Shards) -> list[Fault]:
    """The shards of a set that are not there."""
    first = 0 if 0 in one.names else 1
    absent = [number for number in range(first, one.of + first) if number not in one.names]
    if not absent:
        return []
    shown = ", ".join(one.name(number) for number in absent[:_SHOWN]) + (", ..." if len(absent) > _SHOWN else "")
    message = f"{len(absent):,} of {one.of:,} shards {'is' if len(absent) == 1 else 'are'} not there: {shown}"
    return [Fault(Flaw.MISSING_FILE, message, one.name(absent[0]), hint=_HINT)]


def gaps_of_ranks(names: Collection[str]) -> list[Fault]:
    """Files whose names differ in the number of a rank only, and numbers that are left out between them."""
    sets: dict[tuple[str, str, str], dict[int, tuple[str, int]]] = defaultdict(dict)
    for name in names:
        if not _SHARD.match(name) and (match := _RANKED.match(name)):
            digits = match["number"]
            sets[match["stem"], match["rest"], match["word"]][int(digits)] = (name, len(digits))
    faults = []
    for (stem, rest, word), there in sets.items():
        least = min(there) if word in _FROM_ONE and min(there) == 1 else 0
        absent = [number for number in range(least, min(max(there), MOST_NUMBERED)) if number not in there]
        if not absent or len(there) < 2:
            continue
        width = min(digits for _, digits in there.values())
        shown = ", ".join(f"{number}" for number in absent[:_SHOWN]) + (", ..." if len(absent) > _SHOWN else "")
        message = f"{len(absent):,} of at least {max(there) + 1 - least:,} files of a set are not there: {shown}"
        faults.append(Fault(Flaw.MISSING_FILE, message, f"{stem}{absent[0]:0{width}d}{rest}", hint=_HINT))
    return faults
