"""What kind of event the words of a row speak of: a failure, maintenance, preemption, or none at all."""

from __future__ import annotations

import re

from ckptplan.fit.record import Outcome

_SPACES = re.compile(r"[_\s]+")
_UNPLANNED = re.compile(r"\bun-?(?:planned|scheduled)\b")
_MAINTENANCE = re.compile(r"\bmaintenance\b|\bmaint\b|\bplanned\b|\bscheduled\b")
_PREEMPTED = re.compile(r"\bpre-?empt|\bevict(?:ed|ion)|\breclaim|\bspot (?:interruption|termination)")
_OTHERWISE = "completed complete success succeeded ok finished cancelled canceled running pending healthy"
_NO_FAILURE = frozenset(_OTHERWISE.split())


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
