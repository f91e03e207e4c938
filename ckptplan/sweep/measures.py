"""The columns that a sweep can show: one name, unit and meaning each, the same words as in the sheet of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class Source(StrEnum):
    """What must be worked out for a measure; what costs more is done only where it is asked for."""

    RECORD = "record"  # the interval and its shares: closed forms or sums
    RUN = "run"  # the run to its end
    SIMULATION = "simulation"  # whole runs played out


class Measure(NamedTuple):
    """One column. ``unit`` is empty for counts, ``1`` for shares; ``text`` marks names and sentences."""

    name: str
    unit: str
    about: str
    source: Source = Source.RECORD
    text: bool = False
    whole: bool = False  # a whole number, where it is known
