"""What a user says of a failure record beyond what it says itself."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class RecordOptions(NamedTuple):
    """Everything has a default; what is given outranks what is recognised or guessed."""

    format: str | None = None  # a name of `ckptplan.readers.records.failures.FORMATS`; None recognises it by content
    zone: str | None = None  # of stamps without a zone, by name: America/Denver
    columns: Mapping[str, str] = {}  # role -> column name, for CSV and JSON lines
    unit: str | None = None  # of plain numbers that are times: s, ms, min, h, d
    date_order: str | None = None  # "mdy" or "dmy", for 1/2/2024
    watched_from: str | float | None = None  # a stamp, a time with its unit from the start of the record, or seconds
    watched_until: str | float | None = None
    units: int | None = None  # how many nodes (or services, systems) were watched, failed or not
    slurm: Any = None  # options of the Slurm readers alone
