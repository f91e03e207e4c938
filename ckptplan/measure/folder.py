"""A folder of our own inside that of the user: what is made in it is removed, and nothing else is touched."""

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ckptplan.measure.refusals import no_folder_inside, refusal

PREFIX = ".ckptplan-measure-"
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class OwnFolder:
    """Files are made and removed relative to open folders: nothing that is renamed or linked leads elsewhere."""

    def __init__(self, parent: int, name: str, handle: int, path: str) -> None:
        self._parent, self._name, self._handle, self.path = parent, name, handle, path
        self._files: set[str] = set()
        self._lock = threading.Lock()
        self._closed = False

    def create(self, name: str, flags: int = 0) -> int:
        """Make a file that was not there, and open it for writing."""
        with self._lock:
            if self._closed:
                raise InterruptedError("the folder is being removed")
            handle = os.open(name, _CREATE | flags, 0o600, dir_fd=self._handle)
            self._files.add(name)
        return handle

    def open(self, name: str, flags: int = 0) -> int:
        """Open a file of ours for reading."""
        return os.open(name, _READ | flags, dir_fd=self._handle)

    def expect(self, name: str) -> None:
        """A file that a program started by us will make here."""
        with self._lock:
            self._files.add(name)

    def empty(self) -> None:
        """Remove the files that were made."""
        with self._lock:
            for name in sorted(self._files):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._handle)
                self._files.discard(name)

    def remove(self) -> None:
        """Remove the files and the folder; afterwards no file can be made."""
        with self._lock:
            self._closed = True
        try:
            self.empty()
            inside = os.fstat(self._handle)
            there = os.stat(self._name, dir_fd=self._parent, follow_symlinks=False)
            if (inside.st_dev, inside.st_ino) == (there.st_dev, there.st_ino):
                os.rmdir(self._name, dir_fd=self._parent)
        finally:
            os.close(self._handle)


@contextmanager
def own_folder(directory: str) -> Iterator[OwnFolder]:
    """A new folder in a directory, gone afterwards whatever happens: an error, Ctrl-C, SIGTERM, SIGHUP.

    Raises
    ------
    InputError
        If nothing can be made there, or what was made cannot be removed.
    """
    with _Signals() as signals:
        try:
            parent = os.open(directory, _FOLDER)
        except (OSError, ValueError) as error:
            raise refusal(error if isinstance(error, OSError) else OSError(2, "no such folder"), directory) from error
        try:
            with signals.held():
                folder = _make(parent, directory)
            try:
                yield folder
            finally:
                with signals.held():
                    _remove(folder, directory)
        finally:
            os.close(parent)


def _make(parent: int, directory: str) -> OwnFolder:
    name = PREFIX + secrets.token_hex(8)
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
        handle = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        with suppress(OSError):
            os.rmdir(name, dir_fd=parent)
        if isinstance(error, FileNotFoundError):  # the directory itself is open
            raise no_folder_inside(directory) from error
        raise refusal(error, directory) from error
    return OwnFolder(parent, name, handle, f"{os.path.realpath(directory)}/{name}")


def _remove(folder: OwnFolder, directory: str) -> None:
    try:
        folder.remove()
    except OSError as error:
        raise refusal(error, folder.path, "removed") from error


class _Signals:
    """While entered, a signal that ends the program is an exception; while held, it has to wait."""

    def __init__(self) -> None:
        self._before: dict[int, object] = {}
        self._held = False
        self._waiting = False

    def __enter__(self) -> "_Signals":
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _arrived(self, _number: int, _frame: FrameType | None) -> None:
        if self._held:
            self._waiting = True
            return
        raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put signals off."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt
