"""A study in chunks: what is refused, how its points are parted, and what one part comes out as."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.sweep.columns import Columns
from ckptplan.sweep.study import Member, Study


class Chunk(NamedTuple):
    """Points ``start`` to ``stop`` of one spec, counted within that spec, the last axis fastest."""

    member: int
    start: int
    stop: int


def check(study: Study) -> None:
    """Refuse what cannot be swept.

    Raises
    ------
    InputError
        With every fault.
    """
    raise NotImplementedError


def column_names(study: Study) -> tuple[str, ...]:
    """The columns of the result in order: the spec where there are several, the axes, what tells rows apart, the rest.

    The column of a spec is named ``spec``, that of an axis by its key.
    """
    raise NotImplementedError


def rows_per_point(study: Study, member: Member) -> int:
    """Rows of each point of a spec."""
    raise NotImplementedError


def chunks(study: Study) -> tuple[Chunk, ...]:
    """The parts of a study, in order; they depend on the study alone."""
    raise NotImplementedError


def evaluate(study: Study, chunk: Chunk) -> Columns:
    """The rows of one part under the names of `column_names`; numbers are float64, axes of whole numbers int64."""
    raise NotImplementedError


def refuse_without_rows(study: Study, columns: Columns) -> None:
    """Refuse a result in which no point could be planned, with the first reason.

    Raises
    ------
    InputError
        If every row lacks its numbers.
    """
    raise NotImplementedError
