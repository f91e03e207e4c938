"""JSON objects in a file: one a line, one after another, or in one list; torn ones are counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ckptplan.fit.record import LeftOut
from ckptplan.readers.files import TextLines, head, open_record, refused

LARGEST_DOCUMENT = 32_000_000  # bytes of a file whose objects do not stand on a line each
_MOST_TORN = 100  # objects in one piece of JSON
_SPACE = " \t\r\n,"


class JsonObjects:
    """The objects of a file, to be gone through once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.rows = self.torn = 0
        self.first_torn: int | None = None
        self._lines = TextLines(path)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._one_a_line() if _is_one_a_line(head(self.path)) else self._in_a_document()

    def _one_a_line(self) -> Iterator[dict[str, Any]]:
        for line in self._lines:
            text = line.text.strip()
            if not text:
                continue
            self.rows += 1
            value = parsed(text)
            if isinstance(value, dict):
                yield value
            else:
                self._tear(line.number)

    def _tear(self, line: int) -> None:
        self.torn += 1
        self.first_torn = self.first_torn or line

    def _tear_document(self, text: str, at: int) -> int:
        """Where the next object may begin after one that is torn; -1 for nowhere."""
        self._tear(self.first_torn or text.count("\n", 0, at) + 1)
        if self.torn > _MOST_TORN:  # each may take long to be found torn
            raise refused(self.path, f"more than {_MOST_TORN} objects that are torn", "write one object a line")
        return text.find("\n{", at)

    def _in_a_document(self) -> Iterator[dict[str, Any]]:
        with open_record(self.path) as stream:
            data = stream.read(LARGEST_DOCUMENT + 1)
        if len(data) > LARGEST_DOCUMENT:
            size = LARGEST_DOCUMENT // 1_000_000
            raise refused(self.path, f"JSON of more than {size} MB in one piece", "write one object a line")
        text = data.replace(b"\0", b"").decode("utf-8-sig", "replace").strip()
        if text.startswith("["):
            value = parsed(text)
            if isinstance(value, list):
                yield from self._of_list(value)
                return
            text = text[1:]  # a list that was cut off: its objects one by one
        yield from self._one_after_another(text)

    def _of_list(self, values: list[Any]) -> Iterator[dict[str, Any]]:
        for value in values:
            self.rows += 1
            if isinstance(value, dict):
                yield value
            else:
                self.torn += 1

    def _one_after_another(self, text: str) -> Iterator[dict[str, Any]]:
        decoder, at = json.JSONDecoder(parse_int=_whole), 0
        while at < len(text):
            if text[at] in _SPACE:
                at += 1
                continue
            if text[at] == "]" and not text[at + 1 :].strip():
                return
            self.rows += 1
            try:
                value, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                at = self._tear_document(text, at)
                if at < 0:
                    return
                continue
            if isinstance(value, dict):
                yield value
            else:
                self.torn += 1

    def left_out(self) -> tuple[LeftOut, ...]:
        """What was no object."""
        torn = LeftOut("torn: no JSON object", self.torn)
        return (*self._lines.left_out(), *((torn,) if self.torn else ()))

    def warnings(self) -> tuple[str, ...]:
        """What was wrong with the text."""
        if self.first_torn is None:
            return self._lines.warnings()
        return (*self._lines.warnings(), f"The first text that is no JSON object begins in line {self.first_torn:,}.")


def parsed(text: str) -> Any:
    """The value of a JSON text, None for text that is none, is nested without end or has numbers without end."""
    try:
        return json.loads(text, parse_int=_whole)
    except (ValueError, RecursionError):
        return None


def _whole(text: str) -> int | float:
    return int(text) if len(text) < 20 else float(text)


def _is_one_a_line(start: bytes) -> bool:
    """Whether one of the first lines is an object by itself, or the file is neither an object nor a list."""
    lines = [line.strip() for line in start.splitlines() if line.strip()][:5]
    if not lines or lines[0].startswith(b"["):
        return not lines
    whole = any(isinstance(parsed(line.decode("utf-8-sig", "replace")), dict) for line in lines)
    return whole or not lines[0].startswith(b"{")


def first_object(start: bytes) -> dict[str, Any] | None:
    """The first object at the beginning of a file; None where there is none, or it is cut off."""
    text = start.decode("utf-8-sig", "replace").lstrip()
    if text.startswith("["):
        text = text[1:].lstrip()
    if not text.startswith("{"):
        return None
    try:
        value, _ = json.JSONDecoder(parse_int=_whole).raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
