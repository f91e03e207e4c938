"""Folders of runs: which checkpoints lie in them, by cheap marks, without walking through the checkpoints."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ckptplan.checkpoint.folder import hint_of
from ckptplan.errors import InputError, Place, Problem

MOST_LISTED = 20_000  # entries of one folder that are looked at
_MOST_CHECKPOINTS = 10_000

# Names in the folder of one checkpoint that mark it as one, a save that never ended included.
_MARKS = re.compile(
    r"""(?: \.metadata(?:\.tmp)? | __\d+\.metadata | __\d+_\d+\.distcp            # torch DCP, Megatron torch_dist
      | trainer_state\.json | random_states_\d+\.pkl | rng_state(?:_\d+)?\.pth    # Hugging Face
      | .*\.safetensors | .*\.safetensors\.index\.json | pytorch_model.*\.bin
      | (?:.*_)?mp_rank_\d+.*_(?:model|optim)_states\.pt                          # DeepSpeed
      | layer_\d+-model_\d+-model_states\.pt
      | mp_rank_\d+(?:_\d+)* | model_optim_rng\.pt                                # Megatron legacy
      | _CHECKPOINT_METADATA | _METADATA | manifest\.ocdbt )\Z""",
    re.VERBOSE,
)
# Folders that are parts of a checkpoint, not checkpoints in a folder of a run.
_PARTS = re.compile(
    r"(?:mp_rank_\d+(?:_\d+)*|zero|(?:pytorch_model_fsdp|optimizer|model|dcp)(?:_\d+)?|ocdbt\.process_\d+|d)\Z"
)
_FILES = re.compile(r".*\.(?:pt|pth|ckpt|bin|safetensors)\Z")
_OF_RANKS = re.compile(r"rank|shard|-of-|mp_|tp_|pp_|dp_|consolidated|layer")
_TRAINER = re.compile(r"checkpoint-\d+\Z")
_FOUND = "lost+found"  # of the file system, closed to all
_DIGITS = re.compile(r"\d+")
POINTERS = ("latest_checkpointed_iteration.txt", "latest", "latest_universal")


def is_marked(folder: Path) -> bool:
    """Whether a folder has the marks of one checkpoint in itself."""
    return any(_MARKS.match(name) for name, _ in _entries(folder))


def is_one(folder: Path) -> bool:
    """Whether a folder is one checkpoint, not one of a run that the Trainer left its last weights in."""
    return is_marked(folder) and not trainer_checkpoints(folder)


def trainer_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints that a Trainer wrote into the folder of its run."""
    inner = [folder / name for name, is_folder in _entries(folder) if is_folder and _TRAINER.match(name)]
    return sorted((one for one in inner if _or_closed(is_marked, one)), key=_by_number)


def checkpoints_in(path: str | Path) -> list[Path]:
    """The checkpoints in the folder of a run, in the order of their steps.

    Those directly inside; if there are none, those one level deeper. Saves that never ended are among them. Files of
    torch.save or safetensors that differ only in their numbers (``epoch1.pt``, ``epoch2.pt``) are checkpoints too.

    Parameters
    ----------
    path : str or Path
        The folder of a run.

    Returns
    -------
    list of Path

    Raises
    ------
    InputError
        If the folder cannot be read, or has more than 10,000 of them.
    """
    path = Path(path)
    found = [*_folders_in(path), *numbered_files(path)]
    if not found:
        inner = [path / name for name, is_folder in _entries(path) if is_folder and not _PARTS.match(name)]
        found = [one for folder in inner for one in _one_deeper(folder)]
    if len(found) > _MOST_CHECKPOINTS:
        message = f"more than {_MOST_CHECKPOINTS:,} checkpoints"
        raise InputError(Problem(message, Place(str(path)), hint="name the folder of one run"))
    return sorted(found, key=_by_number)


def _one_deeper(folder: Path) -> list[Path]:
    """Checkpoints in a folder of the run; none where it cannot be read, or has vanished."""
    try:
        return [*_folders_in(folder), *numbered_files(folder)]
    except InputError:
        return []


def numbered_files(path: Path) -> list[Path]:
    """Files of an unmarked folder that differ only in their numbers, which are not those of ranks or shards."""
    alike: dict[str, list[Path]] = {}
    if is_marked(path):
        return []
    for name, is_folder in _entries(path):
        if not is_folder and _FILES.match(name) and not _OF_RANKS.search(name):
            alike.setdefault(_DIGITS.sub("#", name), []).append(path / name)
    return [file for files in alike.values() if len(files) > 1 for file in files]


def pointed(path: Path) -> tuple[str, Path] | None:
    """What the pointer of a run names: the pointer's own name, and the folder; None without a pointer that leads on."""
    for name in POINTERS:
        text = _pointer(path / name)
        if text is None:
            continue
        for inner in (text, f"iter_{int(text):07d}") if text.isascii() and text.isdigit() else (text,):
            folder = path / inner
            if _is_folder(folder):
                return name, folder
    return None


def _pointer(file: Path) -> str | None:
    """The text of a pointer: one short name of a folder beside it."""
    try:
        if not file.is_file() or file.is_symlink() or file.stat().st_size > 256:
            return None
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    plain = text.isprintable() and text not in {"", ".", ".."} and "/" not in text and "\\" not in text
    return text if plain else None


def _folders_in(path: Path) -> list[Path]:
    folders = [path / name for name, is_folder in _entries(path) if is_folder and not _PARTS.match(name)]
    return [folder for folder in folders if _or_closed(_is_checkpoint, folder)]


def _is_checkpoint(folder: Path) -> bool:
    return is_marked(folder) or _holds_steps(folder) or _holds_files(folder)


def _or_closed(has_marks: Callable[[Path], bool], folder: Path) -> bool:
    """Whether a folder of a run has marks; one that cannot be looked into counts, so that it is told of.

    A folder that has vanished since the run was listed is none.
    """
    try:
        return has_marks(folder)
    except InputError:
        return os.path.lexists(folder) and folder.name != _FOUND and not folder.name.startswith(".")


def _holds_files(folder: Path) -> bool:
    """A folder for each step with a file of torch.save in it: ``step-500/checkpoint.pt``, ``step-500/rank_0.pt``."""
    return any(not is_folder and name.endswith((".pt", ".pth", ".ckpt")) for name, is_folder in _entries(folder))


def _holds_steps(folder: Path) -> bool:
    """Orbax and DeepSpeed universal have their marks one level down."""
    for name, is_folder in _entries(folder):
        if is_folder and (
            name == "zero" or any(inner in {"_METADATA", ".zarray"} for inner, _ in _entries(folder / name))
        ):
            return True
    return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink()
    except (OSError, ValueError):
        return False


def _entries(folder: Path) -> Iterator[tuple[str, bool]]:
    """Names in a folder, and whether each is a folder; links are left out."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry, _ in zip(entries, range(MOST_LISTED), strict=False)
                if not entry.is_symlink()
            ]
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise InputError(Problem(message, Place(str(folder)), hint=hint_of(error))) from None
    yield from sorted(found)


def _by_number(path: Path) -> tuple[str, list[int], str]:
    """Step 900 before step 1000."""
    numbers = [int(digits[-18:]) for digits in _DIGITS.findall(path.name)]
    return str(path.parent), numbers, path.name
