"""The state of one interpretation: a stack, marks, a memo; and the loop over opcodes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ckptplan.checkpoint.pickles.keys import can_be_key
from ckptplan.checkpoint.pickles.limits import Limits
from ckptplan.checkpoint.pickles.names import KNOWN, Names
from ckptplan.checkpoint.pickles.values import Global
from ckptplan.errors import InputError, Place, Problem, printable

_TOO_MANY = "no pickle of a checkpoint has so many"
_CUT_OFF = "the file is cut off or damaged"
ENDED = 1 << 62  # the position that STOP gives: behind every end

# What one opcode does: it is given the position behind its own byte and gives the position of the next opcode.
Operation = Callable[["Machine", int], int]


class Refused(Exception):  # noqa: N818 - it is a verdict on the file, turned into an InputError with the position
    """What an opcode asks for is not done; the message says what."""

    def __init__(self, message: str, hint: str = "the file is damaged, or no pickle of a checkpoint") -> None:
        super().__init__(message)
        self.hint = hint


class Machine:
    """One pickle being read. Positions are those of ``data``."""

    __slots__ = ("allowed", "containers", "data", "ended", "foreign", "globals", "limits", "marks", "memo", "stack",
                 "value", "where")  # fmt: skip

    def __init__(self, data: bytes, where: str, allowed: Names | None, limits: Limits) -> None:
        self.data = data
        self.where = where
        self.allowed = allowed
        self.limits = limits
        self.stack: list[Any] = []
        self.marks: list[int] = []  # lengths of the stack
        self.memo: dict[int, Any] = {}
        self.globals: dict[tuple[str, str], Global] = {}
        self.foreign: dict[Global, None] = {}
        self.containers = 0
        self.value: Any = None
        self.ended = -1

    def run(self, table: Sequence[Operation], ends: Sequence[int], start: int = 0) -> Any:
        """Interpret up to STOP. At each of ``ends`` (of frames, then of the data) an opcode must begin."""
        position, data = start, self.data
        try:
            counter = iter(range(self.limits.opcodes))
            for end in ends:
                if position < end:
                    for _ in counter:
                        position = table[data[position]](self, position + 1)
                        if position >= end:
                            break
                    else:
                        raise Refused(f"more than {self.limits.opcodes:,} opcodes", _TOO_MANY)
                if position not in (end, ENDED):
                    self.crossed(end)
            if position != ENDED:
                raise Refused("the pickle ends without STOP", _CUT_OFF)
        except Refused as refused:
            raise self.error(str(refused), position, refused.hint) from None
        except (struct.error, IndexError):
            raise self.error("an opcode takes more than the data or the stack hold", position, _CUT_OFF) from None
        return self.value

    def crossed(self, end: int) -> NoReturn:
        """An opcode goes on beyond one of the ends."""
        raise Refused("an opcode that goes on beyond the end of the data", _CUT_OFF)

    def error(self, message: str, position: int, hint: str) -> InputError:
        """An error that names the file, the place and the opcode."""
        code = f", opcode 0x{self.data[position]:02x}" if 0 <= position < len(self.data) else ""
        text = f"not read as a pickle: {message} (byte {self.place(position):,}{code})"
        return InputError(Problem(text, Place(self.where), hint=hint))

    def place(self, position: int) -> int:
        """Where a position of ``data`` is in the file."""
        return position

    def since_mark(self) -> list[Any]:
        """All that is on the stack above the topmost mark; both are taken off."""
        at = self._top_mark()
        found = self.stack[at:]
        del self.stack[at:]
        return found

    def _top_mark(self) -> int:
        if not self.marks:
            raise Refused("an opcode takes up to a mark, and no mark was set")
        return self.marks.pop()

    def new_container(self) -> None:
        """Count one more list, dict, tuple, set or object."""
        self.containers += 1
        if self.containers > self.limits.containers:
            message = f"more than {self.limits.containers:,} containers"
            raise Refused(message, _TOO_MANY)

    def check_key(self, value: Any) -> None:
        """Refuse a key that is slow to hash."""
        if not can_be_key(value, self.limits.key_parts):
            message = f"a {type(value).__name__} that is no simple value is a key or an element of a set"
            raise Refused(message, "keys are texts, numbers and short tuples of them")

    def named(self, module: Any, name: Any) -> Global:
        """The stand-in for a name; with a list of allowed ones any other is refused."""
        if type(module) is not str or type(name) is not str:
            raise Refused("a global whose name is no text")
        found = self.globals.get((module, name))
        return found if found is not None else self._first_named(module, name)

    def _first_named(self, module: str, name: str) -> Global:
        if self.allowed is not None and (module, name) not in self.allowed:
            wanted = printable(f"{module}.{name}"[:200])
            hint = "nothing was imported or called; do not load this file with the library that it claims to be from"
            raise Refused(f"it asks for {wanted}, which no file of this kind needs", hint)
        found = Global(module, name)
        if (module, name) not in KNOWN:
            self.foreign[found] = None
            if len(self.foreign) > self.limits.foreign:
                raise Refused(
                    f"more than {self.limits.foreign:,} names that are not known", "no checkpoint has so many"
                )
        self.globals[module, name] = found
        return found


def not_an_opcode(machine: Machine, at: int) -> NoReturn:
    """A byte that no pickle of a checkpoint has at this place."""
    raise Refused(f"0x{machine.data[at - 1]:02x} is no opcode that is read here")
