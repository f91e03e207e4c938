"""What makes two sweeps the same: everything that decides their numbers, in one number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

import ckptplan
from ckptplan.sweep.study import Study

_LIBRARIES = ("numpy", "scipy")  # another version may draw or round otherwise


class Identity(NamedTuple):
    """Of a study in so many chunks."""

    fingerprint: str
    chunks: int
    versions: Mapping[str, str]


def identity(study: Study, chunks: Sequence[Any]) -> Identity:
    """What a journal is known by: the study, how it is parted, and the versions of the program and its libraries."""
    made = hashlib.sha256(f"{fingerprint(study)} {_plain(tuple(chunks))!r}".encode("utf-8", "surrogatepass"))
    return Identity(made.hexdigest(), len(chunks), versions())


def versions() -> dict[str, str]:
    """Of the program, and of the libraries whose versions decide the last digits."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"ckptplan": ckptplan.__version__}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # not installed as a package
            found[name] = "unknown"
    return found


def fingerprint(study: Study) -> str:
    """SHA-256 over what decides the numbers of a study, the same in every process.

    Of each spec these are its name, the values in force and the scenario made of them; how other values make another
    scenario follows from these.
    """
    members = tuple((member.name, member.si, member.scenario) for member in study.members)
    said = (versions(), members, study._replace(members=()))
    return hashlib.sha256(repr(_plain(said)).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    """A value as nested tuples whose repr is exact: no order of a set or mapping, no address, no ellipsis."""
    if value is None or type(value) in {bool, int, float, str, bytes}:
        return value
    kind = type(value).__name__
    if isinstance(value, Enum):
        return (kind, value.name)
    if isinstance(value, np.ndarray | np.generic):
        return (str(value.dtype), value.shape, _plain(value.tolist()))
    if is_dataclass(value):
        return (kind, tuple((field.name, _plain(getattr(value, field.name))) for field in fields(value)))
    return (kind, repr(value)) if not isinstance(value, Iterable) else (_kind(value), _members(value))


def _members(values: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(values, Mapping):
        return tuple(sorted((repr(_plain(key)), repr(_plain(value))) for key, value in values.items()))
    if isinstance(values, Set):
        return tuple(sorted(repr(_plain(value)) for value in values))
    return tuple(_plain(value) for value in values)


def _kind(values: Iterable[Any]) -> str:
    """A named tuple by its name; a list and a tuple are alike, as are all mappings."""
    if hasattr(values, "_fields"):
        return type(values).__name__
    return "mapping" if isinstance(values, Mapping) else "set" if isinstance(values, Set) else "sequence"
