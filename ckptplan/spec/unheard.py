"""A spec built again with other values, thousands of times: nobody reads what is in force, nor what it warns of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckptplan.spec.fields import Fields
from ckptplan.spec.named_files import NamedFiles
from ckptplan.spec.record import Record


class Unheard(Record):
    """A record of which only the scenario is wanted.

    ``values`` win over those given, also in the states of a model, whose nodes are read again while it is built.
    """

    __slots__ = ("_values",)

    def __init__(self, fields: Fields, files: NamedFiles | None, values: Mapping[str, float]) -> None:
        super().__init__(fields, files)
        self._values = values

    def take(self, path: str, default: Any = None, *, origin: str = "default", text: str | None = None) -> Any:
        """The value of a path, or the default."""
        if path in self._values:
            return self._values[path]
        given = self.fields.given.get(path)
        return default if given is None else given.si

    @property
    def is_heard(self) -> bool:
        """Nobody reads anything."""
        return False

    def note(self, path: str, si: float | int | str | None, text: str, origin: str, unit: str = "") -> None:
        """Nothing is noted."""

    def warn(self, path: str, message: str, hint: str) -> None:
        """Nothing is warned of."""


class Along(Unheard):
    """The same with arrays of several values each, all built at once.

    What refuses values says so through `is_so`, and is kept in ``refused``, one array each. Any other decision that
    depends on a value is none that all of them share: the truth of an array, or its conversion to a number, raises
    ValueError or TypeError, and the values must be built one by one.
    """

    __slots__ = ("refused",)

    def __init__(self, fields: Fields, files: NamedFiles | None, values: Mapping[str, Any]) -> None:
        super().__init__(fields, files, values)
        self.refused: list[Any] = []

    def is_so(self, condition: Any) -> bool:
        """Whether all values are refused; where only some of them may be, they are kept."""
        if not getattr(condition, "ndim", 0):
            return bool(condition)
        self.refused.append(condition)
        return False
