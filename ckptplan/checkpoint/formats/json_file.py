"""JSON files of a checkpoint, whose size and depth are bounded before they are read into values."""

from __future__ import annotations

import json
from typing import Any

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.errors import printable

LARGEST = 64 << 20  # bytes
MOST_VALUES = 2_000_000
_HINT = "the file is damaged; copy it again or take an older checkpoint"


def read_json(folder: CheckpointFolder, name: str) -> dict[str, Any]:
    """The object that a JSON file holds; numbers may be NaN or infinite, as Python writes them."""
    if folder.size(name) > LARGEST:
        raise folder.refused(name, f"more than {LARGEST >> 20} MiB of JSON", "is this the right file?")
    text = folder.read(name, 0, folder.size(name))
    if text.count(b",") > MOST_VALUES:
        raise folder.refused(name, f"more than {MOST_VALUES:,} values", "is this the right file?")
    try:
        found = json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise folder.refused(name, f"byte {error.start:,} is not UTF-8", _HINT) from None
    except RecursionError:
        raise folder.refused(name, "nested too deep", _HINT) from None
    except ValueError as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise folder.refused(name, f"not JSON: {printable(said)[:120]}", _HINT) from None
    if not isinstance(found, dict):
        raise folder.refused(name, "JSON, but not an object with keys", _HINT)
    return found
