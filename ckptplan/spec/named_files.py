"""Files that a spec can name. The room that loads the spec reads them; without it they cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ckptplan.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckptplan.cost.architecture import Architecture
    from ckptplan.cost.scenario import Ledger
    from ckptplan.fit.counting import Counting
    from ckptplan.fit.planning import RecordedFailures
    from ckptplan.spec.fields import Fields

_Found = TypeVar("_Found")


class StorageRates(NamedTuple):
    """Rates that were measured, by key of the storage group, with their coefficients of variation. [bytes/s, 1]."""

    rates: Mapping[str, float]
    cvs: Mapping[str, float]  # of those that were measured more than once
    warnings: tuple[str, ...] = ()


class SavedCheckpoint(NamedTuple):
    """What a checkpoint says of a model. ``ledger`` None: weights alone; ``axes``: of the layout, where known."""

    architecture: Architecture
    remarks: tuple[str, ...] = ()
    ledger: Ledger | None = None
    axes: Mapping[str, int] = MappingProxyType({})


class NamedFiles(Protocol):
    """Reads a file that a spec names; raises InputError with every fault of it."""

    def gaps(self, name: str) -> tuple[float, ...]:
        """Gaps between failures. [s]."""

    def failures(self, names: tuple[str, ...], keys: Mapping[str, Any], counting: Counting) -> RecordedFailures:
        """What a record of failures says, in one file or several, to plan with."""

    def storage(self, name: str) -> StorageRates:
        """What a measurement of storage says."""

    def config(self, name: str) -> Architecture:
        """The tensors of a model, from its configuration."""

    def checkpoint(self, name: str) -> SavedCheckpoint:
        """The tensors of a model, and of a checkpoint of training all its states."""


def read_named(
    fields: Fields, path: str, files: NamedFiles | None, read: Callable[[NamedFiles], _Found]
) -> _Found | None:
    """What a file says; None if it cannot be read, with the faults noted at the key that names it."""
    if files is None:
        fields.fault(path, "a file can be read only through ckptplan.load", "give the spec as a file")
        return None
    try:
        return read(files)
    except InputError as error:
        for problem in error.problems:
            if problem.place is None:
                fields.fault(path, problem.message, problem.hint)
            elif problem.place.line is None:  # about the file as a whole: said where it is named
                fields.fault(path, f"{problem.place}: {problem.message}", problem.hint)
            else:
                fields.faulty.add(path)
                fields.problems.append(Problem(problem.message, problem.place, problem.key, problem.hint))
        return None
