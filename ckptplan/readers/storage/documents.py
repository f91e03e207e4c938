"""JSON out of files that others wrote: several documents, text around them, and nothing that is no number."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ckptplan.errors import InputError, Problem
from ckptplan.readers.files import open_record, refused

LARGEST_FILE = 16_000_000  # bytes
MOST_DOCUMENTS = 10_000
MOST_LINES = 100_000  # of a table
_MOST_BRACKETS = 1_000_000
_MOST_FAILED = 20  # places that look like the start of a document and are none
_NEAR = 200
_LARGEST = 1e24  # a larger number is no count of bytes, times or rates
_HINT = "give the JSON of fio (--output-format=json), a result of IOR, elbencho, DLIO or MLPerf Storage"


class Found(NamedTuple):
    """The JSON documents of a text, the text around them, and whether the last one ends before it is whole."""

    documents: tuple[dict[str, Any], ...]
    around: str
    torn: bool = False


def text_of(path: str | Path) -> str:
    """All of a small text file.

    Raises
    ------
    InputError
        If it is not a regular file of at most 16 MB of text.
    """
    try:
        with open_record(path) as stream:
            data = stream.read(LARGEST_FILE + 1)
    except InputError as error:
        raise InputError([_hinted(problem) for problem in error.problems]) from None
    return decoded(data, path)


def decoded(data: bytes, path: str | Path) -> str:
    """The bytes of a file, or of a pipe, as text; a byte order mark and bytes that are no UTF-8 do no harm.

    Raises
    ------
    InputError
        If they are more than 16 MB, or nothing.
    """
    if len(data) > LARGEST_FILE:
        raise refused(path, f"is larger than {LARGEST_FILE // 1_000_000} MB", "give the summary, not a log")
    text = data.decode("utf-8-sig", errors="replace").replace("\0", "")
    if not text.strip():
        raise refused(path, "is empty", _HINT)
    return text


def _hinted(problem: Problem) -> Problem:
    """The fault with a hint for benchmarks, where the one that it has speaks of failures."""
    return replace(problem, hint=_HINT) if problem.hint and "failures" in problem.hint else problem


def documents_in(text: str, path: str | Path) -> Found:
    """Every JSON object that begins a line.

    Raises
    ------
    InputError
        If it nests too deep, or has too many brackets to be the result of a benchmark.
    """
    if text.count("{") + text.count("[") > _MOST_BRACKETS:
        raise refused(path, "has more brackets than the result of a benchmark", _HINT)
    decoder = json.JSONDecoder(parse_constant=_no_number, parse_int=_whole)
    found: list[dict[str, Any]] = []
    around: list[str] = []
    at, failed, torn = 0, 0, False
    while len(found) < MOST_DOCUMENTS and failed < _MOST_FAILED:
        start = _next_start(text, at)
        around.append(text[at : len(text) if start is None else start])
        if start is None:
            break
        try:
            document, at = decoder.raw_decode(text, start)
        except RecursionError:
            raise refused(path, "nests too deep", _HINT, line=text.count("\n", 0, start) + 1) from None
        except ValueError as error:
            failed += 1
            torn = isinstance(error, json.JSONDecodeError) and not text[error.pos :].strip()
            at = start + 1
            continue
        torn = False
        if isinstance(document, dict):
            found.append(document)
    return Found(tuple(found), "\n".join(part.strip() for part in around if part.strip()), torn)


def _next_start(text: str, at: int) -> int | None:
    """The next brace that begins a line, or follows the end of a document."""
    while True:
        start = text.find("{", at)
        if start < 0:
            return None
        near = max(0, start - _NEAR)  # a longer prefix does not change what it ends with
        before = text[max(near, text.rfind("\n", near, start) + 1) : start].strip()
        if not before or before.endswith(("}", ",", "[")):
            return start
        line_end = text.find("\n", start)
        if line_end < 0:
            return None
        at = line_end


def _no_number(_: str) -> None:
    """NaN and infinity are no answers: they count as not given."""


def _whole(digits: str) -> float | int | None:
    return int(digits) if len(digits) <= 25 else None


def number(value: Any) -> float | None:
    """A finite number that is not negative, also where it stands as text; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        if len(value) > 40:
            return None
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and 0.0 <= value < _LARGEST else None


def positive(value: Any) -> float | None:
    """The same, if it is more than zero."""
    found = number(value)
    return found if found else None


def count(value: Any) -> int | None:
    """A positive whole number, also where it stands as text."""
    found = positive(value)
    return int(found) if found is not None and found == int(found) and found < 1e9 else None


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []
