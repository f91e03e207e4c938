"""From a path to a manifest: which format it is, and which checkpoint of a run."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from ckptplan.checkpoint.folder import CheckpointFolder, hint_of
from ckptplan.checkpoint.formats.registry import MARKS, format_of
from ckptplan.checkpoint.formats.run_folders import checkpoints_in, is_one, numbered_files, pointed, trainer_checkpoints
from ckptplan.checkpoint.manifest import Fault, Flaw, Manifest
from ckptplan.errors import InputError, Place, Problem, printable

__all__ = ["checkpoints_in", "read_manifest"]

_MOST_NAMED = 10
# Files that say nothing alone.
_OF_A_FOLDER = re.compile(
    r"(?:(?:__\d+)?\.metadata|__\d+_\d+\.distcp|.*\.index\.json|trainer_state\.json|_METADATA|_CHECKPOINT_METADATA)\Z"
)

_STAGED = re.compile(r"tmp-checkpoint-\d+|.+\.tmp")  # of a Trainer, and of many others


def read_manifest(path: str | Path) -> Manifest:
    """The manifest of a checkpoint: a file, its folder, or the folder of a run that leads to one checkpoint.

    Parameters
    ----------
    path : str or Path
        Recognised by what is in it, never by its name alone.

    Returns
    -------
    Manifest

    Raises
    ------
    InputError
        If no format is recognised, or the folder holds several checkpoints and nothing says which one is meant.
    """
    path = Path(path)
    mode = _mode(path)
    if stat.S_ISREG(mode):
        return _of_file(path)
    if not stat.S_ISDIR(mode):
        raise _refused(path, "neither a file nor a folder", "name the folder of a checkpoint, or a file")
    return _of_folder(path)


def _of_file(path: Path) -> Manifest:
    # The user may name a link; what lies in a checkpoint may not be one.
    real = Path(os.path.realpath(path)) if path.is_symlink() else path
    if _OF_A_FOLDER.match(real.name):
        return _through(
            real.parent, f"{printable(real.name)} belongs to the checkpoint in its folder: all of it is read"
        )
    found = _read(CheckpointFolder(real.parent, only=real.name))
    if found is None:
        raise _refused(path, "no checkpoint is recognised in this file", "name the folder, or a file of torch.save")
    return found._replace(only=real.name)


def _of_folder(path: Path) -> Manifest:
    own = is_one(path)
    if not own:
        several = numbered_files(path)
        if several:
            raise _several(path, several)
        followed = _followed(path)
        if followed is not None:
            return followed
    found = _read(CheckpointFolder(path))
    if found is not None:
        return found
    inside = checkpoints_in(path)
    if len(inside) == 1:
        return _through(inside[0], _only(path, inside[0]))
    if inside:
        raise _several(path, inside)
    links = len(CheckpointFolder(path).sizes()) == 0 and any(path.iterdir())
    hint = "links are not followed: name the real folder" if links else f"looked for {MARKS}"
    raise _refused(path, "no checkpoint is recognised here", hint)


def _followed(path: Path) -> Manifest | None:
    """The checkpoint that a pointer names, or the only one of a Trainer; an error for several."""
    pointer = pointed(path)
    if pointer is not None:
        name, folder = pointer
        return _through(folder, f"{name} names {printable(folder.name)}: that one is read")
    beside_weights = trainer_checkpoints(path)
    inside = beside_weights or checkpoints_in(path)
    if len(inside) > 1:
        raise _several(path, inside)
    return _through(inside[0], _only(path, inside[0])) if beside_weights else None


def _only(path: Path, inside: Path) -> str:
    return f"the only checkpoint in {printable(path.name)} is {printable(inside.name)}"


def _through(path: Path, remark: str) -> Manifest:
    """The manifest of a checkpoint within the folder that was named."""
    found = _read(CheckpointFolder(path)) if path.is_dir() else _of_file(path)
    if found is None:
        raise _refused(path, "no checkpoint is recognised here", f"looked for {MARKS}")
    return found._replace(remarks=(remark, *found.remarks))


def _read(folder: CheckpointFolder) -> Manifest | None:
    reader = format_of(folder)
    if reader is None:
        return None
    found = reader.read(folder)
    staged = _staged(folder)
    if staged is not None:
        found = found._replace(faults=(staged, *found.faults))
    if folder.links:
        count = len(folder.links)
        few = ", ".join(printable(name) for name in folder.links[:3])
        remark = f"{count:,} {'link is' if count == 1 else 'links are'} not followed: {few}"
        found = found._replace(remarks=(*found.remarks, remark))
    return found


def _staged(folder: CheckpointFolder) -> Fault | None:
    """The fault of a folder under the name that it has while it is written; it is renamed when all of it is there."""
    name = Path(os.path.abspath(folder.root)).name  # noqa: PTH100 - `.` has a name too, and no link is followed
    if folder.only is not None or not _STAGED.fullmatch(name):
        return None
    message = f"its name, {printable(name)}, is that of a save that has not ended"
    return Fault(Flaw.UNCOMMITTED, message, hint="wait for the save, or take the checkpoint before this one")


def _several(path: Path, inside: list[Path]) -> InputError:
    names = ", ".join(printable(str(one.relative_to(path))) for one in inside[:_MOST_NAMED])
    more = f" and {len(inside) - _MOST_NAMED:,} more" if len(inside) > _MOST_NAMED else ""
    hint = f"name one of them; ckptplan audit {printable(str(path))} tells which one is good"
    return _refused(path, f"{len(inside):,} checkpoints: {names}{more}", hint)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except FileNotFoundError as error:
        raise _refused(path, str(error.strerror).lower(), "name the folder of a checkpoint, or a file") from None
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}", hint_of(error)) from None
    except ValueError:
        raise _refused(path, "no such name can be a file", "name the folder of a checkpoint, or a file") from None


def _refused(path: Path, message: str, hint: str) -> InputError:
    return InputError(Problem(message, Place(str(path)), hint=hint))
