"""The files of a checkpoint: only regular files inside its folder, read at exact places, never beyond what is there."""

from __future__ import annotations

import errno
import os
import stat
from collections import OrderedDict
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from ckptplan.checkpoint.manifest import File, Flaw
from ckptplan.errors import InputError, Place, Problem, printable

MOST_FILES = 1_000_000
MOST_OPEN = 64
DEEPEST = 12  # folders within folders

_HINTS = {
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.ELOOP: "links are not followed",
    errno.ENOTDIR: "links are not followed",  # a link where a folder is expected
    errno.ENOENT: "it has vanished: is a clean-up still running?",
    errno.EMFILE: "too many files are open: see ulimit -n",
    errno.ENFILE: "too many files are open: see ulimit -n",
}


class UnreadableFileError(InputError):
    """A file that cannot be read at all, whatever lies in it."""


def flaw_of(error: InputError) -> Flaw:
    """What is wrong with a file whose reading ended so: it cannot be had, or it contradicts itself."""
    return Flaw.UNREADABLE if isinstance(error, UnreadableFileError) else Flaw.CORRUPT


def hint_of(error: OSError) -> str:
    """What to look at when the system refuses a file."""
    return _HINTS.get(error.errno or 0, "is the storage at hand?")


class CheckpointFolder:
    """A folder whose files are read by names relative to it; a single file is a folder with nothing else in it.

    Links, ``..``, absolute names, pipes and devices are refused: nothing outside of the folder is ever opened. A file
    that has changed its length since it was listed, or vanishes, is an error when it is read.
    """

    def __init__(self, root: str | Path, only: str | None = None) -> None:
        self.root = Path(root)
        self.only = only
        self._sizes: dict[str, int] | None = None
        self._streams: OrderedDict[str, BinaryIO] = OrderedDict()
        self.links: list[str] = []  # names that are links, which are not followed
        self.special: list[str] = []  # names of pipes, sockets and devices, which are not opened

    @property
    def alone(self) -> bool:
        """Whether one file was named, so that what lies beside it is not seen."""
        return self.only is not None

    def __enter__(self) -> CheckpointFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()  # whoever holds a manifest reads through its folder, and nobody else can close it

    def close(self) -> None:
        """Close every file."""
        while self._streams:
            self._streams.popitem()[1].close()

    def sizes(self) -> dict[str, int]:
        """The length of every regular file by its name, sorted. [bytes]."""
        if self._sizes is None:
            found: dict[str, int] = {}
            if self.only is not None:
                found[self.only] = self._size_of(self.only)
            else:
                self._walk(PurePosixPath(), found, 0)
            self._sizes = dict(sorted(found.items()))
        return self._sizes

    def files(self) -> tuple[File, ...]:
        """Every regular file, sorted by name."""
        return tuple(File(name, size) for name, size in self.sizes().items())

    def has(self, name: str) -> bool:
        """Whether there is a regular file of this name."""
        return name in self.sizes()

    def size(self, name: str) -> int:
        """The length of one file. [bytes]."""
        if name not in self.sizes():
            raise self.refused(name, "no such file in the checkpoint", "is the copy complete?")
        return self.sizes()[name]

    def open(self, name: str) -> BinaryIO:
        """A stream of one file, kept open for the next reads; seek before reading."""
        stream = self._streams.pop(name, None)
        if stream is None:
            self.size(name)
            stream = self._opened(name)
            if len(self._streams) >= MOST_OPEN:
                self._streams.popitem(last=False)[1].close()
        self._streams[name] = stream
        return stream

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Exactly these bytes of a file; an error where they are not there."""
        if offset < 0 or length < 0 or offset + length > self.size(name):
            message = f"bytes {offset:,} to {offset + length:,} of a file of {self.size(name):,}"
            raise self.refused(name, message, "the file is cut off, or the metadata is wrong")
        try:
            stream = self.open(name)
            stream.seek(offset)
            found = stream.read(length)
        except OSError as error:
            raise self._unreadable(name, f"cannot be read: {error.strerror or error}", hint_of(error)) from None
        if len(found) < length:
            raise self._unreadable(name, "became shorter while it was read", "is a save or a clean-up still running?")
        return found

    def unchanged(self, name: str) -> None:
        """Raise if a file has another length than when the folder was listed."""
        try:
            now = os.lstat(self.root / name).st_size
        except OSError as error:
            raise self._unreadable(name, f"cannot be read: {error.strerror}", hint_of(error)) from None
        if now != self.size(name):
            message = f"had {self.size(name):,} bytes and now has {now:,}"
            raise self.refused(name, message, "is a save still running?")

    def refused(self, name: str, message: str, hint: str | None = None) -> InputError:
        """The error for one file of the checkpoint."""
        return InputError(Problem(message, Place(str(self.root / printable(name))), hint=hint))

    def _unreadable(self, name: str, message: str, hint: str) -> UnreadableFileError:
        return UnreadableFileError(self.refused(name, message, hint).problems)

    def _walk(self, folder: PurePosixPath, found: dict[str, int], depth: int) -> None:
        try:
            with os.scandir(self.root / folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError as error:
            if depth:
                return  # it has vanished since the folder above was listed, and its files with it
            raise self._unlisted(folder, error) from None
        except OSError as error:
            raise self._unlisted(folder, error) from None
        for entry in listed:
            name = str(folder / entry.name)
            if entry.is_symlink():
                self.links.append(name)
            elif entry.is_dir(follow_symlinks=False) and depth < DEEPEST:
                self._walk(folder / entry.name, found, depth + 1)
            elif entry.is_file(follow_symlinks=False):
                self._add(name, entry, found)
            elif not entry.is_dir(follow_symlinks=False):
                self.special.append(name)
            if len(found) > MOST_FILES:
                raise self.refused("", f"more than {MOST_FILES:,} files", "name the folder of one checkpoint")

    def _unlisted(self, folder: PurePosixPath, error: OSError) -> UnreadableFileError:
        return self._unreadable(str(folder), f"cannot be read: {error.strerror or error}", hint_of(error))

    def _add(self, name: str, entry: os.DirEntry[str], found: dict[str, int]) -> None:
        """The length of one file; none of one that has vanished since its folder was listed."""
        try:
            found[name] = entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._unreadable(name, f"cannot be read: {error.strerror or error}", hint_of(error)) from None

    def _size_of(self, name: str) -> int:
        try:
            status = os.lstat(self.root / name)
        except (OSError, ValueError) as error:
            said = (error.strerror if isinstance(error, OSError) else None) or "no such name can be a file"
            raise self.refused(name, said.lower(), "check the name") from None
        if not stat.S_ISREG(status.st_mode):
            raise self.refused(name, "not a regular file", "links, pipes and devices are not opened")
        return status.st_size

    def _opened(self, name: str) -> BinaryIO:
        """Open without following a link anywhere on the way from the root."""
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or PurePosixPath(name).is_absolute() or "\0" in name:
            raise self.refused(name, "a name that leads out of the checkpoint", "only files inside it are opened")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                for part in parts[:-1]:
                    inner = os.open(part, flags | os.O_DIRECTORY, dir_fd=folder)
                    os.close(folder)
                    folder = inner
                number = os.open(parts[-1], flags, dir_fd=folder)
            finally:
                os.close(folder)
            return self._stream(number, name)
        except OSError as error:
            raise self._unreadable(name, f"cannot be opened: {error.strerror}", hint_of(error)) from None

    def _stream(self, number: int, name: str) -> BinaryIO:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            os.close(number)
            raise self._unreadable(name, "not a regular file", "links, pipes and devices are not opened")
        if status.st_size != self.size(name):
            os.close(number)
            message = f"had {self.size(name):,} bytes and now has {status.st_size:,}"
            raise self._unreadable(name, message, "is a save still running?")
        return os.fdopen(number, "rb")
