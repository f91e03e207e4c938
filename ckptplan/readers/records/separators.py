"""What parts the cells of a line: judged by the line itself and by some that follow it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ckptplan.readers.files import HEAD_BYTES
from ckptplan.readers.records.column_roles import MOST_COLUMNS, ROLES, plain, unit_of

_SEPARATORS = ",;\t|"
_CLOCK = re.compile(r"[0-9]{1,2}:")  # the second part of a stamp, no column of its own
_MOMENT = re.compile(r"[0-9]+(?:\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]+)?")
_MOST_SEEN = 20  # lines by which the separator is found


def few_lines(head: bytes) -> list[str]:
    """The first lines of what was seen of a file, the last one left out where it may go on."""
    lines = head[:HEAD_BYTES].decode("utf-8-sig", "replace").split("\n", _MOST_SEEN)
    return lines[:-1] if len(lines) > 1 else lines


def separator_of(text: str, following: Sequence[str] = ()) -> str:
    """The separator that a line has most of, quoted cells left aside; blanks between times; a comma if it has none.

    Blanks separate only where they part the line and all that follow it into as many cells, and none of these is half
    of a stamp: "gap (days)" and "Failed At" are names of one column.
    """
    bare = re.sub(r'"[^"]*"', "", text)
    best = max(_SEPARATORS, key=bare.count)
    words = bare.split(maxsplit=MOST_COLUMNS)
    if best in bare or len(words) < 2 or _is_one_name(bare):
        return best if best in bare else ","
    known = {name for names in ROLES.values() for name in names}
    if not all(_MOMENT.fullmatch(word) or plain(word) in known for word in words[:2]):
        return ","
    rows = [line.split(maxsplit=MOST_COLUMNS) for line in (text, *following)]
    parted = all(len(row) == len(words) and not any(_CLOCK.match(word) for word in row[1:2]) for row in rows)
    return " " if parted else ","


def _is_one_name(text: str) -> bool:
    """Whether a line is, as a whole, a name that a column has, with or without a unit."""
    known = {name for names in ROLES.values() for name in names}
    return plain(text) in known or unit_of(text)[0] in known
