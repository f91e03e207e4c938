"""Tables of Slurm that are no record of failures: each is refused by name, with the command that makes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from ckptplan.readers.files import head, refused
from ckptplan.readers.records.slurm.columns import header_of, is_fixed_width
from ckptplan.readers.records.slurm.options import COMMAND

_SINFO = frozenset(("avail", "nodes", "nodelist", "partition", "hostnames", "statelong", "cpus(a/i/o/t)"))
_SQUEUE = frozenset(("st", "time_left", "nodelist(reason)", "exec_host", "start_time", "time_limit"))


def name_of(start: bytes) -> str | None:
    """What a table of Slurm is that no reader can use; None for anything else."""
    first = start.split(b"\n", 1)[0]
    if is_fixed_width(start):
        return "a table of sacct for people, cut to the width of its columns"
    words = frozenset(first[:2000].decode("utf-8", "replace").lower().split())
    header = header_of(first)
    names = words | (frozenset(header.names) if header is not None else frozenset())
    if "jobid" in names and len(names & _SQUEUE) >= 2:
        return "output of squeue, which shows jobs that wait or run now"
    if "jobid" not in names and "nodename" not in names and "avail" in names and len(names & _SINFO) >= 3:
        return "output of sinfo, which shows nodes as they are now"
    return None


def looks_like(start: bytes) -> bool:
    """Whether a file is such a table."""
    return name_of(start) is not None


def read(path: str | Path, options: Any = None) -> NoReturn:
    """Refuse the file by its name."""
    start = head(path)
    name = name_of(start) or "no table of Slurm that is known"
    said = f"is {name}: it is no record of failures"
    if is_fixed_width(start):
        cut = " (a + stands where a state or a name was cut off)" if b"+" in start else ""
        said = f"is {name}{cut}: it cannot be read safely"
    raise refused(path, said, f"run {COMMAND}")
