"""Sizes that cannot be planned, and why: a row without numbers each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ckptplan.errors import InputError, Problem, printable
from ckptplan.units import format_gpus


class Refusal(NamedTuple):
    """One way of saving that cannot be planned at one size."""

    strategy: str
    gpus: int
    problems: tuple[Problem, ...]

    @property
    def status(self) -> str:
        """Why it cannot be planned, in one line."""
        return _reason(self.problems[0])


def reason(error: InputError) -> str:
    """The first fault of an error, in one line."""
    return _reason(error.problems[0])


def refused(refusals: Sequence[Refusal]) -> InputError:
    """One error for sizes none of which can be planned, each fault once with its size."""
    faults = (replace(p, message=f"at {format_gpus(one.gpus)}: {p.message}") for one in refusals for p in one.problems)
    return InputError(list(dict.fromkeys(faults)))


def _reason(problem: Problem) -> str:
    return printable(": ".join(part for part in (problem.key, problem.message) if part))
