"""Reading a pickle as data: what its opcodes describe is put together, and nothing is imported or called."""

from __future__ import annotations

from ckptplan.checkpoint.pickles.atoms import ATOMS
from ckptplan.checkpoint.pickles.containers import CONTAINERS
from ckptplan.checkpoint.pickles.extent import extent
from ckptplan.checkpoint.pickles.limits import LIMITS, Limits
from ckptplan.checkpoint.pickles.machine import Machine, Operation, not_an_opcode
from ckptplan.checkpoint.pickles.names import KNOWN, Names
from ckptplan.checkpoint.pickles.objects import OBJECTS
from ckptplan.checkpoint.pickles.values import Loaded
from ckptplan.errors import InputError, Place, Problem

__all__ = ["KNOWN", "LIMITS", "OPERATIONS", "TABLE", "Limits", "check_length", "load_pickle"]

OPERATIONS: dict[int, Operation] = ATOMS | CONTAINERS | OBJECTS
TABLE: tuple[Operation, ...] = tuple(OPERATIONS.get(code, not_an_opcode) for code in range(256))

# Shared parts may make a value larger than its pickle, as hyperparameters shared by groups do, but not without bound.
_LEAVES_PER_BYTE = 16
_FREE_LEAVES = 1_000_000


def load_pickle(
    data: bytes | memoryview, where: str, allowed: Names | None, limits: Limits = LIMITS, start: int = 0
) -> Loaded:
    """One pickle as inert values.

    ``allowed=None``: every name becomes a stand-in, and those outside of KNOWN are listed as foreign. With a list any
    other name is an error that names it. ``where`` is the file, for messages.
    """
    check_length(memoryview(data)[start:], where, limits)
    machine = Machine(data if isinstance(data, bytes) else bytes(data), where, allowed, limits)
    value = machine.run(TABLE, (len(data),), start)
    found = extent(value, limits.depth)
    if found.depth > limits.depth:
        message = f"values nested more than {limits.depth:,} deep"
        raise InputError(Problem(message, Place(where), hint="no checkpoint nests so deep"))
    if found.leaves > _FREE_LEAVES + _LEAVES_PER_BYTE * (machine.ended - start):
        message = f"a pickle of {machine.ended - start:,} bytes whose shared parts stand for {found.leaves:.3g} values"
        raise InputError(Problem(message, Place(where), hint="such nests are made to exhaust a reader"))
    return Loaded(value, tuple(machine.foreign), machine.ended)


def check_length(data: bytes | memoryview, where: str, limits: Limits) -> None:
    """Refuse a pickle that is longer than any of a checkpoint."""
    if len(data) > limits.pickle_bytes:
        message = f"a pickle of {len(data):,} bytes; at most {limits.pickle_bytes:,} are read"
        raise InputError(Problem(message, Place(where), hint="no checkpoint has one that long"))
