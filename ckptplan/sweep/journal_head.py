"""The first line of a journal: what it is, of which study, made by which versions."""

from __future__ import annotations

import json
from typing import Any

from ckptplan.errors import printable
from ckptplan.sweep.identity import Identity

SCHEMA = "ckptplan.sweep-part/1"
LONGEST_LINE = 4096  # bytes
_FAMILY = "ckptplan.sweep-part/"


def first_line(identity: Identity) -> bytes:
    """The line of a study, the same whenever it is written."""
    head = {"schema": SCHEMA, "fingerprint": identity.fingerprint, "chunks": identity.chunks}
    return json.dumps({**head, "versions": dict(identity.versions)}).encode() + b"\n"


def strangeness(found: bytes, identity: Identity) -> str:
    """What a file is whose first bytes are not the line of a study."""
    head = _head(found)
    schema = head.get("schema")
    if not isinstance(schema, str) or not schema.startswith(_FAMILY):
        return "is no journal of a sweep"
    if schema != SCHEMA or head.get("versions") != dict(identity.versions):
        return f"was begun by another version: {_told(head.get('versions'))}; this is {_told(dict(identity.versions))}"
    return "is the journal of another sweep: specs, axes, columns or seed differ"


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
