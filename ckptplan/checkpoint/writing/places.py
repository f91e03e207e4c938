"""Where a result may be written: nothing of the inputs is replaced, and what cannot be written is said first."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ckptplan.errors import InputError, printable


def replaceable(
    path: Path, inputs: Iterable[str | Path] = (), *, folder: bool = False, overwrite: bool = False
) -> Path:
    """What a name stands for, if it may be written: a file (or a folder), no device, nothing of the inputs.

    A file that is there is refused unless it is to be overwritten; what a folder holds is for its writer to judge.
    """
    try:
        target = path.resolve()
        for name in inputs:
            if _harms(target, Path(name)):
                said = f"{printable(str(path))} would overwrite or join the checkpoint that is read"
                raise InputError(said, hint="give another file, outside of the checkpoint")
        if target.exists() and not (target.is_dir() if folder else target.is_file()):
            found = "a directory" if target.is_dir() else "no folder" if folder else "no regular file"
            raise refused(path, OSError(21, f"it is {found}"))
        if target.is_file() and not overwrite:
            raise in_the_way(path)
        if not target.parent.is_dir():
            raise refused(path, OSError(2, "its folder does not exist"))
    except (ValueError, RuntimeError):  # a NUL byte, a loop of links
        raise refused(path, OSError(22, "no such name can be a file")) from None
    except OSError as error:
        raise refused(path, error) from None
    return target


def in_the_way(path: Path) -> InputError:
    """The error for a file that is there already."""
    return InputError(f"{printable(str(path))} is there already", hint="another name, or --overwrite to replace it")


def _harms(target: Path, source: Path) -> bool:
    if source.is_dir():
        return any(parent.samefile(source) for parent in (target, *target.parents) if parent.exists())
    return source.exists() and (target == source.resolve() or (target.exists() and target.samefile(source)))


def refuse_without_room(folder: Path, needed: int) -> None:
    """Raise if the file system says that so many bytes will not fit. [bytes]."""
    with suppress(OSError):
        found = os.statvfs(folder)
        free = found.f_bavail * found.f_frsize
        if needed > free:
            said = f"{needed:,} bytes are to be written and {free:,} are free in {printable(str(folder))}"
            raise InputError(said, hint="choose fewer tensors, or another place")


def refused(path: Path, error: OSError) -> InputError:
    """The error for a file that cannot be written."""
    reason = error.strerror or str(error)
    return InputError(f"cannot write {printable(str(path))}: {reason.lower()}", hint="give another file")


def beside(target: Path) -> Path:
    """A name in the same folder for what is not finished yet."""
    return target.parent / f".{target.name[:200]}.{secrets.token_hex(6)}.part"


@contextmanager
def undone(path: Path, abort: Callable[[], object]) -> Iterator[None]:
    """Abort whatever goes wrong inside; an error of the system becomes that of the file that cannot be written."""
    try:
        yield
    except OSError as error:
        abort()
        raise refused(path, error) from error
    except BaseException:
        abort()
        raise


def sync_folder(folder: Path) -> None:
    """The names in a folder reach storage; where a file system has no such thing, they are as safe as it makes them."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
