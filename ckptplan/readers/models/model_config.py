"""The configuration of a model, a Hugging Face config.json: read safely, its faults shown with their lines."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ckptplan.architectures.families import architecture
from ckptplan.cost.architecture import Architecture
from ckptplan.errors import InputError, Place, Problem, printable

LARGEST_FILE = 4_000_000  # bytes; of text with nothing but brackets, 30 times that as objects
DEEPEST = 50  # groups and lists inside one another
NAME = "config.json"

_LONGEST_NUMBER = 30  # digits; a longer one is as wrong as it is long
_TOO_LONG = 10**30
_LONGEST_LINE = 2_000  # characters of a line that is shown
_CONSTANT = re.compile(r"[:\[,]\s*(?:NaN|-?Infinity)")
_HINT = "name the config.json of a model, or the folder that holds it"


class _DuplicateError(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class _ConstantError(ValueError):
    pass


def read_model_config(path: str | Path) -> Architecture:
    """Every tensor of the model that a configuration describes.

    Parameters
    ----------
    path : str or Path
        A ``config.json`` in the form of Hugging Face, or a folder that holds one.

    Raises
    ------
    InputError
        With the file, and the line where it is known: what is no such file, a family that is not known, and every fault
        of the dimensions.
    """
    path = Path(path)
    try:
        file = path / NAME if path.is_dir() and path.name != NAME else path
        text = _text(_bytes(file), str(file))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        said = (error.strerror if isinstance(error, OSError) else None) or "the name cannot be a file"
        raise InputError(Problem(f"cannot be read: {said}", Place(str(path)), hint=_HINT)) from None
    values = _values(text, str(file))
    try:
        return architecture(values, str(file))
    except InputError as error:
        raise InputError([_placed(problem, text, str(file)) for problem in error.problems]) from None


def _bytes(file: Path) -> bytes:
    """What a regular file holds; nothing else is waited for."""
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            what = "is a folder, not a file" if stat.S_ISDIR(mode) else "is not a regular file"
            raise InputError(Problem(what, Place(str(file)), hint=_HINT))
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(LARGEST_FILE + 1)
    finally:
        os.close(handle)
    if len(data) > LARGEST_FILE:
        size = f"is larger than {LARGEST_FILE // 1_000_000} MB"
        raise InputError(Problem(size, Place(str(file)), hint=_HINT))
    return data


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02X} is not UTF-8"
        raise InputError(Problem(message, Place(file, line), hint="save the file as UTF-8")) from None


def _values(text: str, file: str) -> Mapping[str, Any]:
    """The keys at the top of the file."""
    deep = False
    try:
        found = json.loads(text, object_pairs_hook=_group, parse_int=_integer, parse_constant=_constant)
    except json.JSONDecodeError as error:
        message, hint = _no_json(text, error)
        raise InputError(Problem(f"is no JSON: {message}", _place(text, file, error.pos), hint=hint)) from None
    except _DuplicateError as error:
        at = [match.start() for match in _mentions(error.key, text)]
        place = _place(text, file, at[1]) if len(at) > 1 else Place(file)
        raise InputError(Problem("twice in one group", place, error.key, "keep one of the two")) from None
    except _ConstantError as error:
        match = _CONSTANT.search(text)
        place = _place(text, file, match.end() - 1) if match else Place(file)
        raise InputError(Problem(f"{error} is no number in JSON", place)) from None
    except RecursionError:
        found, deep = None, True
    if deep or _is_deep(found):
        raise InputError(Problem(f"more than {DEEPEST} levels inside one another", Place(file), hint=_HINT))
    if not isinstance(found, dict):
        raise InputError(Problem("is no group of keys", Place(file), hint=_HINT))
    return found


def _no_json(text: str, error: json.JSONDecodeError) -> tuple[str, str]:
    """What is wrong with the text, and what to do: two slips of writers of other formats have words of their own."""
    rest = text[error.pos : error.pos + _LONGEST_LINE]
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments", "delete the comment"
    before = text[max(0, error.pos - _LONGEST_LINE) : error.pos] + rest[:1].replace("}", "").replace("]", "")
    if before.rstrip().endswith(",") and rest.lstrip(", \t\r\n")[:1] in {"}", "]"}:
        return "a comma after the last entry", "delete the comma before the bracket"
    return error.msg, _HINT


def _group(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateError(key)
            seen.add(key)
    return found


def _integer(digits: str) -> int:
    if len(digits) <= _LONGEST_NUMBER:
        return int(digits)
    return -_TOO_LONG if digits.startswith("-") else _TOO_LONG


def _constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _is_deep(value: Any) -> bool:
    """Whether groups and lists lie deeper inside one another than a configuration has them."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [inner for inner in held if isinstance(inner, dict | list)]


def _placed(problem: Problem, text: str, file: str) -> Problem:
    """The fault with the line of its key, or of the group that lacks it."""
    position, found = 0, None
    for name in (problem.key or "").split("."):
        match = next(_mentions(name, text, position), None)
        if match is None:
            break
        position, found = match.start(), match
    place = _place(text, file, found.start()) if found else Place(file)
    return Problem(problem.message, place, problem.key, problem.hint)


def _mentions(key: str, text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """Where the key stands, as a key."""
    return re.compile(rf"{re.escape(json.dumps(key))}\s*:").finditer(text, start)


def _place(text: str, file: str, position: int) -> Place:
    line, begin = text.count("\n", 0, position) + 1, text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    if end - begin > _LONGEST_LINE:
        return Place(file, line)
    return Place(file, line, position - begin + 1, printable(text[begin:end].replace("\t", " ")))
