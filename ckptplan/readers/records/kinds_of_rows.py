"""What kind of event the words of a row speak of: a failure, maintenance, preemption, or none at all."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ckptplan.fit.record import Codes, Outcome

_SPACES = re.compile(r"[_\s]+")
_UNPLANNED = re.compile(r"\bun-?(?:planned|scheduled)\b")
_MAINTENANCE = re.compile(r"\bmaintenance\b|\bmaint\b|\bplanned\b|\bscheduled\b")
_PREEMPTED = re.compile(r"\bpre-?empt|\bevict(?:ed|ion)|\breclaim|\bspot (?:interruption|termination)")
_TELLING = "maint|planned|scheduled|pre-?empt|evict|reclaim|spot"  # a part of each word above
_OTHERWISE = "completed complete success succeeded ok finished cancelled canceled running pending healthy"
_NO_FAILURE = frozenset(_OTHERWISE.split())
_LONGEST = 200  # characters of a text that are judged
_MOST_JUDGED = 100_000


def outcome_of(category: str, cause: str = "") -> Outcome:
    """The outcome that the words of a row speak of; a row without a word of another kind is a failure.

    "Unplanned maintenance" is a failure. CENSORED is what no failure ends: completed, cancelled, running.
    """
    kind = _SPACES.sub(" ", category).strip().lower()
    words = f"{kind} | {_SPACES.sub(' ', cause).lower()}"
    if _PREEMPTED.search(words):
        return Outcome.PREEMPTED
    if _MAINTENANCE.search(words) and not _UNPLANNED.search(words):
        return Outcome.MAINTENANCE
    return Outcome.CENSORED if kind in _NO_FAILURE else Outcome.FAILURE


class Judge:
    """The outcomes of many rows; pairs of words are judged once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], int] = {}

    def outcomes(self, category: Any, cause: Any) -> Codes:
        """The outcome of every row of two pyarrow arrays of strings, the first of which may be None.

        Causes without one of the telling words need no look: then the category decides, or nothing does.
        """
        import pyarrow.compute as pc

        found = np.full(len(cause), Outcome.FAILURE, np.int32)
        if category is not None:
            kinds = category.dictionary_encode()
            alone = np.array([self._one(kind, "") for kind in kinds.dictionary.to_pylist()], np.int32)
            found = alone[kinds.indices.to_numpy()]
        telling = pc.match_substring_regex(cause, _TELLING, ignore_case=True)
        rows = np.flatnonzero(telling.to_numpy(zero_copy_only=False))
        words = cause.take(rows).to_pylist()
        given = [""] * len(rows) if category is None else category.take(rows).to_pylist()
        found[rows] = [self._one(kind, text) for kind, text in zip(given, words, strict=True)]
        return found

    def _one(self, category: str, cause: str) -> int:
        pair = (category[:_LONGEST], cause[:_LONGEST])
        outcome = self._known.get(pair)
        if outcome is None:
            outcome = int(outcome_of(*pair))
            if len(self._known) < _MOST_JUDGED:
                self._known[pair] = outcome
        return outcome
