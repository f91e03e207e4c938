"""What is in force: every value taken for the scenario, with where it came from, and the warnings on the way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ckptplan.cost.spread import Spread
from ckptplan.errors import Problem
from ckptplan.spec.fields import Fields
from ckptplan.spec.named_files import NamedFiles, SavedCheckpoint
from ckptplan.spec.schema import UNIT_OF_FORM, Key, find
from ckptplan.units import format_count, format_percent, format_power, format_rate, format_size, format_time

if TYPE_CHECKING:
    from ckptplan.fit.ends import Recovery

_SUFFIX = {"s": "_s", "bytes": "_bytes", "bytes/s": "_bytes_per_s", "W": "_w"}


@dataclass(frozen=True, slots=True)
class Value:
    """One value in force. ``si`` is in ``unit``, None if not known or computed later; ``text`` is for people."""

    key: str
    si: float | int | str | None
    unit: str
    text: str
    origin: str


@dataclass(slots=True)
class Record:
    """The fields of a spec while a scenario is built from them."""

    fields: Fields
    files: NamedFiles | None = None  # reads what the spec names
    saved: SavedCheckpoint | None = None  # the checkpoint that the model is taken from, if it is
    recovery: Recovery | None = None  # as the record of failures shows it, if there is one
    values: list[Value] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def take(self, path: str, default: Any = None, *, origin: str = "default", text: str | None = None) -> Any:
        """The value of a path, or the default; either is noted as in force."""
        key = find(path)
        form = key.shown_as if isinstance(key, Key) else "text"
        given = self.fields.given.get(path)
        si: Any = default if given is None else given.si
        if text is None and si is None and isinstance(key, Key):
            text = key.default
        if given is not None and given.spread is not None:
            text = _spread_for_people(given.spread, form)
        shown = text if text is not None else for_people(si, form)
        self.note(path, si, shown, origin if given is None else given.node.origin, UNIT_OF_FORM.get(form, ""))
        return si

    def note(self, path: str, si: float | int | str | None, text: str, origin: str, unit: str = "") -> None:
        """Note a value that no key of the schema gives as it is."""
        self.values.append(Value(path, None if si == "auto" else si, unit, text, origin))

    def warn(self, path: str, message: str, hint: str) -> None:
        """A likely mistake that does not stop the planning."""
        self.warnings.append(Problem(message, self.fields.place(path), path, hint))

    @property
    def is_heard(self) -> bool:
        """Whether anybody reads what is noted, and what is warned of."""
        return True

    def is_so(self, condition: Any) -> bool:
        """Whether a condition of values that refuses them holds."""
        return bool(condition)

    def origin(self, path: str) -> str:
        """Where a path was given, else ``default``."""
        given = self.fields.given.get(path)
        return "default" if given is None else given.node.origin


def _spread_for_people(spread: Spread, form: str) -> str:
    if spread.low is not None and spread.high is not None:
        return f"{for_people(spread.low, form)} .. {for_people(spread.high, form)}"
    return f"{for_people(spread.mean, form)}, cv {spread.cv:g}"


def for_people(si: Any, form: str) -> str:
    """A value in SI as people read it, by the form of its key."""
    if not isinstance(si, int | float):
        return str(si)
    if form == "bytes":
        return format_size(si)
    formatters = {
        "time": format_time,
        "time or auto": format_time,
        "size": format_size,
        "rate": format_rate,
        "power": format_power,
    }
    if form == "fraction":
        return format_percent(si)
    return formatters.get(form, format_count)(si)


def nested(values: Sequence[Value]) -> dict[str, Any]:
    """The values as nested groups, ready for JSON; a key carries its unit: ``write_bandwidth_bytes_per_s``."""
    root: dict[str, Any] = {}
    for value in values:
        parts = [int(p) if p.isdigit() else p for p in re.findall(r"[^.\[\]]+", value.key)]
        suffix = "" if str(parts[-1]).startswith("bytes") else _SUFFIX.get(value.unit, "")
        here: Any = root
        for part, following in pairwise(parts):
            here = _step(here, part, [] if isinstance(following, int) else {})
        last = parts[-1]
        if isinstance(last, int):
            _step(here, last, value.si)
        else:
            here[f"{last}{suffix}"] = value.si
    return root


def _step(container: Any, part: int | str, empty: Any) -> Any:
    if isinstance(container, list):
        if part == len(container):
            container.append(empty)
        return container[int(part)]
    return container.setdefault(part, empty)
