"""Opening files that others wrote: regular files only, gzip unpacked within bounds, lines of bounded length."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from ckptplan.errors import InputError, Place, Problem
from ckptplan.fit.record import LeftOut

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on

HEAD_BYTES = 65_536  # what a format is recognised by
LONGEST_LINE = 1_000_000  # bytes; the rest of a longer line is skipped without being kept
MOST_UNPACKED = 16_000_000_000  # bytes out of one gzip file
_MOST_EXPANDED = 300  # times; text of a log expands 5 to 50 times, zeros 1,030 times
_FREE_UNPACKED = 64_000_000  # bytes that may expand as they like

_GZIP = b"\x1f\x8b"
_PACKED = {b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}
_BINARY = {b"PAR1": "a Parquet file", b"SQLite format 3\0": "a SQLite database", b"\x7fELF": "a program"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


class Line(NamedTuple):
    """One line of text without its line break; numbers count from 1."""

    number: int
    text: str


def refused(path: str | Path, message: str, hint: str | None = None, line: int | None = None) -> InputError:
    """The error for a file that cannot be used."""
    return InputError(Problem(message, Place(str(path), line), hint=hint))


def open_record(path: str | Path) -> BinaryIO:
    """A stream of the bytes of a regular file, unpacked if they are gzip; close it.

    Raises
    ------
    InputError
        For a folder, a pipe, a device, a file that is missing or may not be read, another packing than gzip, UTF-16,
        and, while it is read, for gzip that is damaged or expands without end.
    """
    stream = _regular(Path(path))
    try:
        start = stream.read(HEAD_BYTES)
        stream.seek(0)
        if start.startswith(_GZIP):
            unpacked = _Unpacked(stream, str(path))
            stream = io.BufferedReader(unpacked, 1 << 17)
            start = stream.peek(HEAD_BYTES)
        _check_kind(start, path)
    except BaseException:
        stream.close()
        raise
    return stream


def head(path: str | Path, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of a file, unpacked."""
    with open_record(path) as stream:
        return stream.read(size)


class TextLines:
    """The lines of a text file, to be gone through once, and what was wrong with them.

    Bytes that are no UTF-8 become U+FFFD and NUL bytes vanish; both are counted by line, and neither is fatal. A line
    of more than `longest` bytes is not given, only counted.
    """

    def __init__(self, path: str | Path, longest: int = LONGEST_LINE) -> None:
        self.path, self.longest = str(path), longest
        self.lines = self.undecodable = self.with_nul = self.too_long = 0
        self.first_undecodable: int | None = None
        self.unended = False  # the last line has no line break: it may be torn

    def __iter__(self) -> Iterator[Line]:
        with open_record(self.path) as stream:
            yield from self.of(stream)

    def of(self, stream: BinaryIO) -> Iterator[Line]:
        """The lines of a stream from where it stands; between two lines it stands behind the first."""
        while raw := stream.readline(self.longest + 1):
            self.lines += 1
            self.unended = not raw.endswith(b"\n")
            if len(raw) > self.longest and self.unended:
                self.too_long += 1
                self.skip(stream)
                continue
            yield Line(self.lines, self._text(raw))

    def skip(self, stream: BinaryIO) -> None:
        """Go on to the next line."""
        while raw := stream.readline(1 << 20):
            if raw.endswith(b"\n"):
                self.unended = False
                return

    def _text(self, raw: bytes) -> str:
        if b"\0" in raw:
            self.with_nul += 1
            raw = raw.replace(b"\0", b"")
        if self.lines == 1 and raw.startswith(codecs.BOM_UTF8):
            raw = raw[3:]
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            self.undecodable += 1
            self.first_undecodable = self.first_undecodable or self.lines
            text = raw.decode(errors="replace")
        return text.rstrip("\r\n")

    def left_out(self) -> tuple[LeftOut, ...]:
        """Lines that were not given."""
        reason = f"lines of more than {self.longest:,} bytes"
        return (LeftOut(reason, self.too_long),) if self.too_long else ()

    def warnings(self) -> tuple[str, ...]:
        """What was wrong with lines that were given, in sentences."""
        said = []
        if self.undecodable:
            said.append(
                f"{_lines(self.undecodable)} with bytes that are not UTF-8 (first: line {self.first_undecodable:,}), "
                "which were replaced by U+FFFD: save the file as UTF-8"
            )
        if self.with_nul:
            said.append(
                f"{_lines(self.with_nul)} with NUL bytes, which were removed: the writing of the file was interrupted"
            )
        return tuple(said)


def _lines(count: int) -> str:
    return f"{count:,} line{'' if count == 1 else 's'}"


def _regular(path: Path) -> BinaryIO:
    try:
        _check_regular(path.stat().st_mode, path)  # before opening: opening a device can act on it
        # A pipe put in its place since then must not block; what was opened is checked once more.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        stream = os.fdopen(number, "rb", 1 << 17)
        try:
            _check_regular(os.fstat(number).st_mode, path)
        except BaseException:
            stream.close()
            raise
    except FileNotFoundError:
        raise refused(path, "no such file", "name a file of failures") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        said = (error.strerror if isinstance(error, OSError) else None) or "the name cannot be a file"
        raise refused(path, f"cannot be read: {said}") from None
    return stream


def _check_regular(mode: int, path: Path) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise refused(path, "is a folder", "name a file in it")
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise refused(path, f"is {kind}, not a regular file", "write what it gives into a file, and name that")


def _check_kind(start: bytes, path: str | Path) -> None:
    for magic, name in _PACKED.items():
        if start.startswith(magic):
            raise refused(path, f"is packed by {name}", "unpack it, or pack it by gzip, which is read")
    for magic, name in _BINARY.items():
        if start.startswith(magic):
            raise refused(path, f"is {name}, not text", "export it as CSV")
    if start.startswith(_UTF_16) or _every_other_is_nul(start[:4096]):
        raise refused(path, "the text is UTF-16 or UTF-32, not UTF-8", "save the file as UTF-8")
    if len(start) >= 4096 and not start.strip(b"\0"):
        raise refused(path, "begins with nothing but NUL bytes", "is this the right file?")


def _every_other_is_nul(start: bytes) -> bool:
    """Whether bytes look like plain text in UTF-16 without its mark."""
    few, many = sorted((start[0::2].count(0), start[1::2].count(0)))
    return len(start) >= 8 and many > 0.4 * len(start) and few <= 0.05 * len(start)


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, which ends in an error where it is damaged or expands without end."""

    def __init__(self, packed: BinaryIO, path: str) -> None:
        self._packed, self._path, self._given = packed, path, 0
        self._stream = gzip.GzipFile(fileobj=packed, mode="rb")
        self._allowed = max(_FREE_UNPACKED, _MOST_EXPANDED * os.fstat(packed.fileno()).st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        try:
            data = self._stream.read1(len(view))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            hint = "the file was cut off or damaged: unpack what is left of it, and read that"
            raise refused(self._path, f"gzip cannot be unpacked: {error}", hint) from None
        self._given += len(data)
        if self._given > min(self._allowed, MOST_UNPACKED):
            raise refused(self._path, f"gzip expands to more than {self._given - len(data):,} bytes", "unpack it first")
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        self._packed.close()
        super().close()
