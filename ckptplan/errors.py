"""Errors that a user can cause; each renders itself as one clear message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

EXIT_OK = 0
EXIT_INPUT = 1
EXIT_USAGE = 2
EXIT_CHECK = 3
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


def printable(text: str) -> str:
    """A name of the user's with ? for control characters and line breaks: it must not steer the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


@dataclass(frozen=True, slots=True)
class Place:
    """A position in an input: a file (or ``--set``), and where known the line and column, both from 1."""

    file: str
    line: int | None = None
    column: int | None = None
    text: str | None = None  # the source line itself, for the caret

    def __str__(self) -> str:
        parts = [printable(self.file), *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of an input: where, which key, what is wrong, and what would be accepted."""

    message: str
    place: Place | None = None
    key: str | None = None
    hint: str | None = None

    def render(self) -> str:
        """``file:line:column: key: message``, the source line with a caret, and the hint."""
        head = ": ".join(part for part in (str(self.place or ""), printable(self.key or ""), self.message) if part)
        lines = [head]
        if self.place and self.place.text is not None and self.place.line and self.place.column:
            number = str(self.place.line)
            window, column = _around(self.place.text, self.place.column)
            lines.append(f"  {number} | {window}")
            lines.append(f"  {' ' * len(number)} | {' ' * (column - 1)}^")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def _around(text: str, column: int, width: int = 100) -> tuple[str, int]:
    """The part of a source line around a column, tabs and control characters made visible as blanks."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    if len(clean) <= width:
        return clean.rstrip(), column
    start = max(0, min(column - width // 2, len(clean) - width))
    return clean[start : start + width].rstrip(), column - start


class CkptplanError(Exception):
    """Base of every error that is not a bug: it carries the problems and the exit code."""

    exit_code: ClassVar[int] = EXIT_INPUT

    def __init__(self, problems: str | Problem | Sequence[Problem], *, hint: str | None = None) -> None:
        if isinstance(problems, str):
            problems = (Problem(problems, hint=hint),)
        elif isinstance(problems, Problem):
            problems = (problems,)
        self.problems = tuple(problems)
        super().__init__(self.problems[0].message if self.problems else "")

    def render(self) -> str:
        """All problems, one after another."""
        return "\n".join(problem.render() for problem in self.problems)


class InputError(CkptplanError):
    """The input is wrong, or no answer exists for it."""


class UsageError(CkptplanError):
    """The command line itself is wrong."""

    exit_code = EXIT_USAGE


class CheckFailed(CkptplanError):  # noqa: N818 - it is a verdict, not a malfunction
    """A check that the user asked for did not hold."""

    exit_code = EXIT_CHECK
