"""The specs of a sweep: those named on the command line, and those that a file with only a ``sweep:`` group names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ckptplan.beside import FilesBeside
from ckptplan.errors import InputError, Place, Problem, printable
from ckptplan.load import bytes_of, shipped_files
from ckptplan.spec.axes import WrittenAxis
from ckptplan.spec.reading import Spec
from ckptplan.spec.sweep_group import Asked, Names, asked_in
from ckptplan.spec.sweep_members import read_member

_MOST_NAMED = 3  # specs in one message


class Text(NamedTuple):
    """A spec that is not read yet. ``asked`` is its sweep group."""

    data: bytes
    file: str
    folder: Path
    path: str  # as a file to be kept from being overwritten; empty for standard input


class Found(NamedTuple):
    """All specs, what the one sweep group asks for, files that hold inputs, and notes."""

    texts: tuple[Text, ...]
    asked: Asked
    files: tuple[str, ...]
    notes: tuple[str, ...] = ()


def found_in(names: Sequence[str], *, has_axes: bool) -> Found:
    """The specs by their names on the command line.

    Raises
    ------
    InputError
        With the faults of all files that cannot be read; if several ask for a grid, and no option gives another.
    """
    texts: list[Text] = []
    asking: list[tuple[str, Asked]] = []
    files: list[str] = []
    problems: list[Problem] = []
    for name in names:
        try:
            text = _text(name)
            files.append(text.path)
            asked, is_study = asked_in(text.data, text.file)
            asking += [] if asked is None else [(text.file, asked)]
            texts += _named(asked.specs, text, problems) if is_study and asked and asked.specs else [text]
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    files += [text.path for text in texts]
    kept, notes = _one_of(asking, has_axes=has_axes)
    return Found(tuple(texts), kept, tuple(dict.fromkeys(file for file in files if file)), notes)


def _one_of(asking: Sequence[tuple[str, Asked]], *, has_axes: bool) -> tuple[Asked, tuple[str, ...]]:
    if len(asking) < 2:
        return asking[0][1] if asking else Asked(), ()
    names = " and ".join(printable(file) for file, _ in asking)
    if has_axes:
        return Asked(), (f"sweep: stands in {names}; with --over, neither counts",)
    raise InputError(
        f"sweep: stands in {names}, and one grid is wanted",
        hint="name one of them, give the axes by --over, or list the specs in a file with only sweep: and specs:",
    )


def _text(name: str) -> Text:
    data, file = bytes_of(name)
    path = Path(name)
    if name != "-" and not path.is_file() and name in shipped_files():
        path = shipped_files()[name]
    return Text(data, file, Path() if name == "-" else Path(name).parent, "" if name == "-" else str(path))


def _named(specs: Names, study: Text, problems: list[Problem]) -> list[Text]:
    found = []
    for name, place in zip(specs.names, specs.places, strict=True):
        try:
            text = _beside(name, study.folder)
            _refuse_studies(text, study)
            found.append(text)
        except InputError as error:
            problems += [_at(problem, place) for problem in error.problems]
    return found


def _refuse_studies(text: Text, study: Text) -> None:
    """A study names specs: neither itself nor another study."""
    with suppress(OSError):
        if study.path and text.path and Path(text.path).samefile(study.path):
            raise InputError(f"{printable(text.file)} names itself", hint="name specs; this file only asks for a sweep")
    if asked_in(text.data, text.file)[1]:
        raise InputError(
            f"{printable(text.file)} asks for a sweep of other specs, and is none itself", hint="name those specs here"
        )


def _beside(name: str, folder: Path) -> Text:
    """A spec in the folder of a study or below it, or a shipped one."""
    path = folder / name
    if name in shipped_files() and not path.is_file():
        return _text(name)
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # RuntimeError: a link that leads to itself
        inside = False
    if not inside:
        raise InputError(
            f"{printable(name)} is not in the folder of this file", hint="put it there, or name it on the command line"
        )
    if "\0" in name or name == "-":
        raise InputError(f"{printable(name)!r} is no file name", hint="name a file beside this one")
    return _text(os.fspath(path))


def _at(problem: Problem, place: Place) -> Problem:
    return Problem(problem.message, place, "sweep.specs", problem.hint) if problem.place is None else problem


def read_all(
    texts: Sequence[Text], axes: Sequence[WrittenAxis], sets: Sequence[str]
) -> list[tuple[Spec, tuple[str, ...]]]:
    """Every spec with the axes in force, and the keys of the axes in it.

    Raises
    ------
    InputError
        With the faults of all of them.
    """
    found: list[tuple[Spec, tuple[str, ...]]] = []
    problems: dict[Problem, list[str]] = {}
    for text in texts:
        files = FilesBeside(text.folder)
        try:
            spec, keys = read_member(text.data, text.file, axes, sets=sets, environment=os.environ, files=files)
            found.append((replace(spec, named=tuple(map(str, files.read))), keys))
        except InputError as error:
            for problem in dict.fromkeys(error.problems):
                problems.setdefault(problem, []).append(text.file)
    if problems:
        raise InputError([in_files(problem, files, len(texts)) for problem, files in problems.items()])
    return found


def in_files(problem: Problem, files: Sequence[str], specs: int) -> Problem:
    """What is said of an option, with the specs of which it is said, where there are others."""
    of_file = problem.place is not None and problem.place.file in files
    names = list(dict.fromkeys(files))
    if of_file or specs == 1:
        return problem
    if len(files) == specs:
        return replace(problem, message=f"{problem.message} (in every spec)")
    listed = ", ".join(printable(name) for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return replace(problem, message=f"{problem.message} (in {listed}{more})")
