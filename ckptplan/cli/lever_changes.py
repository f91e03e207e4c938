"""``--change``: read as its name and its assignments, which the spec is read with again, by the rules of ``--set``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.errors import InputError, Place, Problem, UsageError, printable
from ckptplan.plan.levers.catalogue import CATALOGUE
from ckptplan.plan.levers.own import Own
from ckptplan.plan.levers.work import other_work
from ckptplan.spec.assignments import key_and_value, label_of
from ckptplan.spec.schema import SPEC

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario
    from ckptplan.spec.reading import Spec

_MOST = 50  # changes
_LONGEST_NAME = 100
_SHOWN = 60  # characters of a change that has no name
_BEFORE_A_QUOTED = "=[{,:;"  # a quote after one of these begins a text; elsewhere it is an apostrophe
_FIRST_KEY = re.compile(r"(^|:)\s*([^\s:=\[\].]+)[^\s:=\[\]]*(?:\[[^\]=]*\][^\s:=\[\]]*)*\s*=")
_OPEN, _CLOSE = "[{", "]}"
_EXAMPLE = (
    "write for example 'restart.total=5 min', or 'new storage: storage.write_bandwidth=4 TB/s; save[0].stall=20 s'"
)


class Written(NamedTuple):
    """One change as written: its name, or the text itself, and its assignments."""

    title: str
    sets: tuple[str, ...]
    keys: tuple[str, ...]


def changes(texts: Sequence[str]) -> list[Written]:
    """Every ``--change``.

    Raises
    ------
    UsageError
        If one is no change, or has the name of another one or of a lever of the catalogue.
    """
    if len(texts) > _MOST:
        raise UsageError(f"{len(texts)} changes, but at most {_MOST} are compared", hint="ckptplan sweep does more")
    found: list[Written] = []
    for text in texts:
        one = _change(text)
        if one.title.casefold() in {entry.title for entry in CATALOGUE}:
            message = f"--change {_short(text)}: {_short(one.title)} is the name of a lever that is tried anyway"
            raise UsageError(message, hint="give the change a name of its own")
        if one.title in {other.title for other in found}:
            raise UsageError(f"--change {_short(text)}: another change has this name", hint="give each its own name")
        found.append(one)
    return found


def _change(text: str) -> Written:
    name, rest = _name(text)
    sets = tuple(part.strip() for part in _parts(rest, ";") if part.strip())
    read = [key_and_value(one) for one in sets]
    keys = tuple(one[0].strip() for one in read if one is not None)
    if not sets or len(keys) < len(sets):
        raise UsageError(f"--change {_short(text)}: KEY=VALUE is wanted", hint=_EXAMPLE)
    if len(set(keys)) < len(keys):
        raise UsageError(f"--change {_short(text)}: one key is set twice", hint="write each key once")
    if name is not None and len(name) > _LONGEST_NAME:
        raise UsageError(f"--change {_short(text)}: a name of {len(name):,} characters", hint="write a short one")
    if name == "":
        raise UsageError(f"--change {_short(text)}: the name before the colon is empty", hint=_EXAMPLE)
    return Written(_short("; ".join(sets)) if name is None else name, sets, keys)


def _name(text: str) -> tuple[str | None, str]:
    """The name, which ends with the colon before the first key; names may hold any sign.

    The first key is the first one that begins with a key of the spec, since a name may hold an equals sign too; where
    there is none, whatever looks like a key.
    """
    found = _FIRST_KEY.search(text)
    known = found
    while known is not None and known[2].strip() not in SPEC.keys:
        known = _FIRST_KEY.search(text, known.start() + 1)
    found = known or found
    if found is None or not found[1]:
        return None, text
    return text[: found.start()].strip(), text[found.end(1) :]


def _parts(text: str, at: str) -> Iterator[str]:
    start = 0
    for place, sign in _outside(text):
        if sign == at:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """The characters outside of brackets and quoted texts, with their places."""
    depth, quote, before = 0, "", "="
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"" and before in _BEFORE_A_QUOTED:
            quote = sign
        elif sign in _OPEN:
            depth += 1
        elif sign in _CLOSE:
            depth = max(depth - 1, 0)
        elif depth == 0:
            yield place, sign
        before = before if sign.isspace() else sign


def _short(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."


class Changed(NamedTuple):
    """A spec that was read once, and is read again with changes written into it."""

    data: bytes
    file: str
    folder: Path
    sets: tuple[str, ...]
    strategies: tuple[str, ...] | None
    written: tuple[Written, ...]

    def spec(self, indices: Sequence[int]) -> Spec:
        """The spec with the changes of these indices, one after another.

        Raises
        ------
        InputError
            With every fault found, those that a change makes under the name of its option.
        """
        from ckptplan.beside import FilesBeside
        from ckptplan.spec.reading import read_spec

        chosen = [self.written[index] for index in indices]
        sets = [one for change in chosen for one in change.sets]
        files = FilesBeside(self.folder)
        try:
            loaded = read_spec(self.data, self.file, sets=(*self.sets, *sets), environment=os.environ, files=files)
            return replace(loaded, named=tuple(map(str, files.read)))
        except InputError as error:
            raise InputError([_as_change(problem, chosen) for problem in error.problems]) from error

    def scenario(self, indices: Sequence[int]) -> Scenario:
        """The run under the changes of these indices."""
        from ckptplan.cli.choices import with_strategies

        wanted = None if self.strategies is None else list(self.strategies)
        return with_strategies(self.spec(indices).scenario, wanted)

    def own(self, now: Spec) -> list[Own]:
        """The changes as levers, with what is in force before and after.

        Raises
        ------
        InputError
            With every fault of all of them; more or less work is one, since no run is the better for it.
        """
        from ckptplan.cli.lever_words import before_and_after, differing_keys

        found: list[Own] = []
        problems: list[Problem] = []
        for index, one in enumerate(self.written):
            try:
                then = self.spec([index])
            except InputError as error:
                problems += error.problems
                continue
            changed = differing_keys(now, then)
            other = other_work(changed, one.keys)
            if other is not None:
                problems.append(_of_work(one, *other))
                continue
            text = before_and_after(now, then, one.keys)
            found.append(Own(f"change {index + 1}", one.title, text, one.keys, changed))
        if problems:
            raise InputError(problems)
        return found


def _of_work(one: Written, key: str, beside: str) -> Problem:
    """A change of the amount of work, which saves nothing and costs nothing: it is another run."""
    hint = "for another amount of work write --set, which changes the run as it is too"
    if beside:
        hint += f"; the same work in another form needs {beside} in the change as well"
    message = "gives the amount of work, and a run that does less or more of it is another one: no change of it saves"
    return Problem(message, Place(_label(one.title)), key, hint=hint)


def _label(text: str) -> str:
    return f"--change {text if len(text) <= 80 else text[:77] + '...'}"


def _as_change(problem: Problem, chosen: Sequence[Written]) -> Problem:
    """A fault under the option of the change that makes it, which may lie at a key that the change does not set."""
    place = problem.place
    labels = {label_of(one) for change in chosen for one in change.sets}
    hint = None if problem.hint is None else problem.hint.replace("--set '", "--change '")
    if place is not None and place.file in labels:
        return replace(problem, place=Place(place.file.replace("--set", "--change", 1)), hint=hint)
    if not chosen:
        return problem
    message = problem.message if place is None else f"{problem.message} (with {place})"
    return replace(problem, message=message, place=Place(", ".join(_label(one.title) for one in chosen)), hint=hint)
