"""Lists of outages that no scheduler wrote: when each began and when it ended."""

from __future__ import annotations

import numpy as np

from ckptplan.fit.record import FailureRecord, Outages
from ckptplan.readers.records.column_roles import roles_of
from ckptplan.readers.records.events_csv import header_of, read_table
from ckptplan.readers.records.moments import Style, read_times, style_of
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.separators import separator_of

NAME = "outages with start and end"
_MOSTLY_DOWN = 0.5  # of the time; a list of outages says less, a list of runs more


def looks_like(head: bytes) -> bool:
    """Whether the header has a start and an end and no other time, or whether lines without one are two times each."""
    names = header_of(head)
    if names:
        roles = roles_of(names, {}, "")
        return {"start", "end"} <= set(roles) and not {"time", "gap"} & set(roles)
    lines = [line for line in head.decode("utf-8", "replace").splitlines()[:20] if line.strip() and line[0] != "#"]
    cells = [_two(line) for line in lines[:-1] or lines]
    return bool(cells) and all(len(pair) == 2 and _in_order(pair) for pair in cells)


def _two(line: str) -> list[str]:
    separator = separator_of(line)
    return [cell.strip() for cell in line.split(None if separator == " " else separator)[:2]]


def _in_order(pair: list[str]) -> bool:
    """Whether two texts are two times, the later one last."""
    try:
        seconds = read_times(pair, _style(pair)).seconds
    except ValueError:
        return False
    return bool(np.isfinite(seconds).all() and seconds[0] <= seconds[1])


def _style(pair: list[str]) -> Style:
    if all(text[:1].isdigit() and text[4:5] in ("-", "/") for text in pair):
        return Style("iso")
    return style_of(["0", *pair], "", "", "s", "mdy") if all(_plain(text) for text in pair) else Style("iso")


def _plain(text: str) -> bool:
    return text.replace(".", "", 1).replace("e+", "", 1).isdigit()


def read(path: str, options: RecordOptions) -> FailureRecord:
    """The outages of a list."""
    record = read_table(path, options, NAME)
    content = record.content
    if not isinstance(content, Outages):
        return record
    down = float(np.nansum(content.end_s - content.start_s))
    span = float(np.max(content.until_s) - np.min(content.from_s))
    if content.units == 1 and len(content.unit_names) <= 1 and span > 0 and down > _MOSTLY_DOWN * span:
        said = (
            f"The rows cover {down / span:.0%} of the time: are they runs, each ended by a failure, and not outages? "
            "Then name the end of a run as the time of failure: --column time=NAME."
        )
        return record._replace(warnings=(*record.warnings, said))
    return record
