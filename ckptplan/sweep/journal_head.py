"""The first line of a journal: what it is, of which study, made by which versions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from ckptplan.errors import printable
from ckptplan.sweep.identity import Identity

SCHEMA = "ckptplan.sweep-part/1"
LONGEST_LINE = 4096  # bytes
_FAMILY = "ckptplan.sweep-part/"
_SEAL = '"checksum": '
_MOSTLY = 0.9  # of the bytes of a line that is damaged


def first_line(identity: Identity) -> bytes:
    """The line of a study, the same whenever it is written."""
    head = {"schema": SCHEMA, "fingerprint": identity.fingerprint, "chunks": identity.chunks}
    return sealed({**head, "versions": dict(identity.versions)})


def sealed(head: Mapping[str, Any]) -> bytes:
    """A first line, which ends in a checksum over what stands before."""
    text = json.dumps(dict(head))
    return f'{text[:-1]}, {_SEAL}"{_sum(text[:-1])}"}}\n'.encode()


def strangeness(found: bytes, identity: Identity) -> str:
    """What a file is whose first bytes are not the line of a study."""
    head = _head(found)
    schema = head.get("schema")
    is_ours = isinstance(schema, str) and schema.startswith(_FAMILY)
    if not _is_whole(found) and (is_ours or _is_nearly(found, first_line(identity))):
        return "is a journal of a sweep, and its first line is damaged: what it holds is not known to be of this one"
    if not is_ours:
        return "is no journal of a sweep"
    if schema != SCHEMA or head.get("versions") != dict(identity.versions):
        return f"was begun by another version: {_told(head.get('versions'))}; this is {_told(dict(identity.versions))}"
    return "is the journal of another sweep: specs, axes, columns or seed differ"


def _sum(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _is_whole(found: bytes) -> bool:
    """Whether the checksum of a first line is right."""
    text, _, rest = found.partition(b"\n")[0].decode("utf-8", "replace").rpartition(f", {_SEAL}")
    return rest == f'"{_sum(text)}"}}'


def _is_nearly(found: bytes, line: bytes) -> bool:
    """Whether most of a line stands there, each byte at its place."""
    alike = sum(one == other for one, other in zip(found, line, strict=False))
    return alike >= _MOSTLY * len(line)


def _head(found: bytes) -> dict[str, Any]:
    """The first line as JSON, empty where it is none."""
    try:
        head = json.loads(found.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return {}
    return head if isinstance(head, dict) else {}


def _told(versions: object) -> str:
    """Versions as people read them; those of a file may be anything."""
    if not isinstance(versions, dict):
        return "unknown"
    return printable(", ".join(f"{name} {number}" for name, number in versions.items()))[:100]
