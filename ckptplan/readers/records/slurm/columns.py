"""The header of a table of sacct or sacctmgr: its delimiter, its columns, and which of them hold free text."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_COLUMNS = 4_096
LONGEST_HEADER = 1_000_000  # bytes

# Columns that may hold the delimiter, or a line break, because people or programs write what they like into them.
_FREE = {
    "jobname", "comment", "admincomment", "systemcomment", "workdir", "submitline", "constraints", "extra", "container",
    "stdin", "stdout", "stderr",
}  # fmt: skip
_LISTS = {"nodelist", "reqnodes", "alloctres", "reqtres", "allocgres", "reqgres", "flags", "licenses"}  # hold commas
_DELIMITED = re.compile(r"[A-Za-z][A-Za-z0-9_]*?([^A-Za-z0-9_\s(){}:%./-]\S{0,7}?|\t|[:/.-]{1,8})[A-Za-z]")
_JOB = ("jobid", "jobidraw")
# Names that Slurm gives to columns, and nobody else: two of them show that a table is of sacct.
_SLURMS = frozenset(
    (
        "jobidraw", "jobname", "exitcode", "derivedexitcode", "elapsedraw", "timelimit", "timelimitraw", "nnodes",
        "allocnodes", "alloctres", "reqtres", "alloccpus", "ncpus", "nodelist", "eligible", "cputimeraw",
    )
)  # fmt: skip


class Header(NamedTuple):
    """Names in lower case, in order; sacct --parsable has an empty one at the end."""

    delimiter: bytes
    names: tuple[str, ...]

    def at(self, *names: str) -> int | None:
        """Place of the first of these columns that is there; of one that is there twice the first."""
        return next((self.names.index(name) for name in names if name in self.names), None)

    def free(self) -> tuple[bool, ...]:
        """Which columns may hold the delimiter."""
        lists = self.delimiter in (b",", b"=", b":")
        return tuple(
            name in _FREE or (lists and (name in _LISTS or name.startswith("tresusage"))) for name in self.names
        )


def header_of(line: bytes, delimiter: str | None = None) -> Header | None:
    """The header that a first line is; None where it is not one of names between delimiters."""
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    by = delimiter or _delimiter(text)
    if by is None:  # one column has no delimiter
        return Header(b"\x1f", (text.strip().lower(),)) if text.strip().lower() in _JOB else None
    return Header(by.encode(), tuple(name.strip().lower() for name in text.split(by)))


def _delimiter(text: str) -> str | None:
    """What stands between the first two names, and between all others."""
    found = _DELIMITED.match(text)
    if found is not None:
        return found[1]
    first = re.match(r"([A-Za-z][A-Za-z0-9]*)( )[A-Za-z]", text)  # sacct --delimiter=' '
    return " " if first else None


def is_sacct(header: Header | None) -> bool:
    """Whether a header has a job and its state."""
    return header is not None and any(name in header.names for name in _JOB) and "state" in header.names


def lacks_state(header: Header | None) -> bool:
    """Whether a header is one of sacct, but does not say how jobs ended."""
    if header is None or "state" in header.names or not any(name in header.names for name in _JOB):
        return False
    return len(_SLURMS & set(header.names)) > 1


def is_fixed_width(head: bytes) -> bool:
    """Whether a table is the one for people: names, then dashes below each."""
    lines = head.split(b"\n", 2)
    ruler = lines[1].strip() if len(lines) > 1 else b""
    return b"JobID" in lines[0] and len(ruler) > 3 and not ruler.strip(b"- ")
