"""Names of DeepSpeed's files, and the folder of a tag."""

from __future__ import annotations

import re
from typing import NamedTuple

from ckptplan.checkpoint.folder import CheckpointFolder

LATEST = ("latest", "latest_universal")
LONGEST_TAG = 1_024  # bytes

_RANKED = re.compile(
    r"(?P<precision>(?:bf16_|fp16_)?)zero_pp_rank_(?P<dp>\d{1,7})_mp_rank_(?P<mp>\d{1,7})(?:_\d{1,7})?"
    r"_(?P<role>optim|model)_states\.pt"
)
_SHARED = re.compile(r"mp_rank_(?P<mp>\d{1,7})(?:_\d{1,7})?_model_states\.pt")
_UNIVERSAL = re.compile(r"zero/(?P<parameter>[^/]+)/(?P<slot>[^/]+)\.pt")


class StateFile(NamedTuple):
    """One file of states."""

    name: str
    optimizer: bool
    dp: int | None  # data-parallel rank; None: one file for all
    mp: int  # model-parallel rank


def state_files(folder: CheckpointFolder, prefix: str) -> list[StateFile]:
    """Files of states directly below the folder of a tag."""
    found: list[StateFile] = []
    for name in folder.sizes():
        rest = name.removeprefix(prefix)
        if not name.startswith(prefix) or "/" in rest:
            continue
        if ranked := _RANKED.fullmatch(rest):
            found.append(StateFile(name, ranked["role"] == "optim", int(ranked["dp"]), int(ranked["mp"])))
        elif shared := _SHARED.fullmatch(rest):
            found.append(StateFile(name, False, None, int(shared["mp"])))
    return sorted(found, key=lambda one: (one.mp, one.dp or 0, one.name))


def other_files(folder: CheckpointFolder, prefix: str) -> list[str]:
    """Files of pipeline layers and experts: states that no partition map knows."""
    states = {one.name for one in state_files(folder, prefix)}
    inside = (name for name in folder.sizes() if name.startswith(prefix) and "/" not in name[len(prefix) :])
    return [name for name in inside if name.endswith("_states.pt") and name not in states]


def other_rank(name: str, rank: int) -> str:
    """The name that the file of another data-parallel rank has."""
    return re.sub(r"zero_pp_rank_\d+_", f"zero_pp_rank_{rank}_", name, count=1)


def universal_files(folder: CheckpointFolder, prefix: str) -> dict[str, dict[str, str]]:
    """Files of a universal checkpoint: parameter -> state -> file."""
    found: dict[str, dict[str, str]] = {}
    for name in folder.sizes():
        match = _UNIVERSAL.fullmatch(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if match:
            found.setdefault(match["parameter"], {})[match["slot"]] = name
    return found


def tag_prefix(folder: CheckpointFolder) -> str | None:
    """Prefix of the files of the tag: that folder itself, or the one that `latest` names; None if it is neither."""
    if _is_tag(folder, ""):
        return ""
    for name in LATEST:
        if folder.has(name):
            tag = _named(folder, name)
            if _is_tag(folder, tag + "/"):
                return tag + "/"
    return None


def _is_tag(folder: CheckpointFolder, prefix: str) -> bool:
    return bool(state_files(folder, prefix) or universal_files(folder, prefix))


def _named(folder: CheckpointFolder, name: str) -> str:
    """The tag in a `latest` file: a folder beside it, nothing else."""
    length = folder.size(name)
    text = folder.read(name, 0, min(length, LONGEST_TAG)).decode("utf-8", "replace").strip()
    parts = text.split("/")
    if length > LONGEST_TAG or not text or "\0" in text or any(part in ("", ".", "..") for part in parts):
        raise folder.refused(name, "does not name a folder beside it", "expected a tag such as global_step1000")
    return text
