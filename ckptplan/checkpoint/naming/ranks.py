"""Which rank a name says that a state belongs to."""

from __future__ import annotations

import re

_OWN = re.compile(r"(?:dp_|global_|world_|data_parallel_)?rank_?(\d{1,7})\Z")


def rank_of(parts: tuple[str, ...]) -> int | None:
    """The rank N of a part ``rank_N``, ``dp_rank_N`` or of ``rank`` followed by a number; None without."""
    for at, part in enumerate(parts):
        own = _OWN.match(part)
        if own:
            return int(own.group(1))
        after = parts[at + 1] if at + 1 < len(parts) else ""
        if part == "rank" and after.isascii() and after.isdigit() and len(after) < 8:
            return int(after)
    return None
