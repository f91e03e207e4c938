"""The jobs of a large JSON document one after another, so that memory does not grow with the file."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ckptplan.errors import InputError
from ckptplan.readers.files import refused

CHUNK = 4_000_000  # bytes
LARGEST_JOB = 64_000_000  # characters of one job with its steps
MOST_BYTES = 16_000_000_000
_LITERAL = re.compile(r"[a-z]{0,5}|-|\\\\.{0,5}")  # what is left of a value that was cut off
_BLANK = re.compile(r"[ \t\r\n]*")


class JsonJobs:
    """The elements of ``jobs`` of the document, whatever stands before and behind; steps are only counted."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self.path, self.found, self.errors, self.cut = path, False, list[str](), False
        self._stream, self._text, self._at, self._ended, self._lines, self._given = stream, "", 0, False, 1, 0
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        # Plain scanning in C; a number of thousands of digits would be an error of Python's.
        self._json = json.JSONDecoder(parse_int=_whole, strict=False)

    def __iter__(self) -> Iterator[Any]:
        if self._next() != "{":
            raise self._fault("the document is no JSON object")
        self._at += 1
        while (mark := self._next()) != "}":
            if mark == ",":
                self._at += 1
                continue
            if mark == "" and self.found:
                self.cut = True
                return
            key = self._key()
            if key is None:
                return
            if key == "jobs" and self._next() == "[":
                self.found = True
                yield from self._elements()
            elif not self._aside(key):
                return
            if self.cut:
                return

    def _elements(self) -> Iterator[Any]:
        self._at += 1
        while (mark := self._next()) != "]":
            if mark == ",":
                self._at += 1
                continue
            try:
                value = self._value()
            except _CutOffError:
                self.cut = True
                return
            yield value
        self._at += 1

    def _key(self) -> str | None:
        """The next key, and past its colon; None where the document is cut off behind the jobs."""
        try:
            key = self._value()
        except _CutOffError:
            self.cut = True
            return None
        if self._next() != ":" or not isinstance(key, str):
            raise self._fault("a key without a value")
        self._at += 1
        return key

    def _aside(self, key: str) -> bool:
        """Go past a value that is not the jobs; what Slurm says of errors is kept."""
        try:
            value = self._value()
        except _CutOffError:
            self.cut = True
            return False
        if key in ("errors", "warnings") and isinstance(value, list):
            self.errors += [str(_said(each))[:200] for each in value[:5] if _said(each)]
        return True

    def _next(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _value(self) -> Any:
        """One value, reading on until it is whole."""
        self._next()
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except RecursionError:
                raise self._fault("nested too deeply") from None
            except ValueError as error:
                # A value that the text cuts off fails like a wrong one: a wrong one fails again with more text.
                if self._is_wrong(error) or not self._more():
                    raise self._broken(error) from None
                continue
            if end == len(self._text) and self._more():  # a number may go on
                continue
            self._at = end
            return value

    def _is_wrong(self, error: ValueError) -> bool:
        """Whether more text cannot mend it: it is far from the end of what was read."""
        if not isinstance(error, json.JSONDecodeError) or error.msg.startswith("Unterminated string"):
            return False
        return error.pos < len(self._text) - CHUNK

    def _broken(self, error: ValueError) -> InputError:
        at = error.pos if isinstance(error, json.JSONDecodeError) else self._at
        said = error.msg if isinstance(error, json.JSONDecodeError) else "a number that cannot be read"
        rest = self._text[at : at + 20].strip()
        if self.found and self._ended and (said.startswith("Unterminated string") or _LITERAL.fullmatch(rest)):
            return _CutOffError("the document is cut off")
        line = self._lines + self._text.count("\n", 0, at)
        return refused(self.path, f"is no JSON: {said}", "run sacct --json again, or sacct -P", line)

    def _fault(self, message: str) -> InputError:
        line = self._lines + self._text.count("\n", 0, self._at)
        return refused(self.path, message, "is this what sacct --json printed?", line)

    def _more(self) -> bool:
        """Read on, and forget what was gone through."""
        if self._ended:
            return False
        if len(self._text) - self._at > LARGEST_JOB:
            hint = "print a table instead: sacct -a -D -X -P"
            raise refused(self.path, f"one value takes more than {LARGEST_JOB:,} characters", hint, self._lines)
        data = self._stream.read(max(CHUNK, len(self._text) - self._at))  # doubles: a large value is scanned few times
        self._given += len(data)
        if self._given > MOST_BYTES:
            hint = "print a table instead: sacct -a -D -X -P"
            raise refused(self.path, f"more than {MOST_BYTES:,} bytes of JSON", hint)
        if not data:
            self._ended = True
            self._text += self._decoder.decode(b"", final=True)
            return False
        self._lines += self._text.count("\n", 0, self._at)
        self._text = self._text[self._at :] + self._decoder.decode(data)
        self._at = 0
        return True


class _CutOffError(InputError):
    """The document ends within a job."""


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < 20 else float("inf")


def _said(entry: Any) -> Any:
    if isinstance(entry, dict):
        return entry.get("description") or entry.get("error")
    return entry
