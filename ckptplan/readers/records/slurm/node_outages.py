"""Rows of ``sacctmgr show event`` -> outages of nodes: pieces put together, and those that last given an end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ckptplan.fit.record import Outcome
from ckptplan.readers.records.slurm.jobs import IS_MAINTENANCE

_NO_END = ("", "unknown", "none", "n/a")
_DOWN = ("DOWN", "FAIL", "ERROR", "NOT_RESPONDING", "NO_RESPOND")
_ASIDE = ("DRAIN", "DRAINED", "DRAINING", "MAINT", "MAINTENANCE", "RESERVED", "PLANNED", "POWERED_DOWN", "POWER_DOWN")
_LONGEST_CAUSE = 60


class Event(NamedTuple):
    """One row, as it is written."""

    node: str
    start: str
    end: str
    state: str
    reason: str

    def is_open(self) -> bool:
        """Whether it says that there is no end."""
        return self.end.lower() in _NO_END


class NodeOutage(NamedTuple):
    """One outage of a node; its end is nan where it is not known."""

    node: str
    start_s: float
    end_s: float
    outcome: Outcome
    cause: str


def continued(events: list[Event], start: Any, end: Any) -> tuple[list[NodeOutage], int]:
    """Rows of a node that follow each other without a gap are one outage, with the cause of the first failure in it."""
    order = sorted(range(len(events)), key=lambda i: (events[i].node, start[i]))
    found: list[NodeOutage] = []
    for i in order:
        outcome = _outcome(events[i])
        one = NodeOutage(events[i].node, float(start[i]), float(end[i]), outcome, _cause(events[i]))
        last = found[-1] if found else None
        # A zero-length outage stands for one whose end was not noted; another one may begin in its second.
        if last is not None and last.node == one.node and not one.start_s > last.end_s and last.end_s > last.start_s:
            worse = one if last.outcome is not Outcome.FAILURE and outcome is Outcome.FAILURE else last
            # A row may lie wholly within the one before; an end that was not noted stays so.
            ends_s = one.end_s if np.isnan(one.end_s) else max(last.end_s, one.end_s)
            found[-1] = worse._replace(start_s=last.start_s, end_s=ends_s)
            continue
        found.append(one)
    return found, len(events) - len(found)


def lasting(found: list[NodeOutage], until_s: float) -> tuple[list[NodeOutage], int, int]:
    """Outages without an end last until ``until_s``, unless their node had another one since; how many are of each.

    The outages of a node follow each other, as those of ``continued`` do.
    """
    ended, open_, followed = list[NodeOutage](), 0, 0
    for place, outage in enumerate(found):
        last = place + 1 == len(found) or found[place + 1].node != outage.node
        if np.isnan(outage.end_s) and last and outage.start_s <= until_s:
            ended.append(outage._replace(end_s=until_s))
            open_ += 1
            continue
        followed += bool(np.isnan(outage.end_s) and not last)
        ended.append(outage)
    return ended, open_, followed


def _outcome(event: Event) -> Outcome:
    state = event.state.upper().rstrip("*~#!%$@^-+").replace("+", " ").split()
    planned = IS_MAINTENANCE.search(event.reason) is not None
    if any(name in _DOWN for name in state) and not planned:
        return Outcome.FAILURE
    if planned or any(name in _ASIDE for name in state):
        return Outcome.MAINTENANCE
    return Outcome.FAILURE if any(name.startswith(_DOWN) for name in state) else Outcome.MAINTENANCE


def _cause(event: Event) -> str:
    reason = " ".join("".join(c if c.isprintable() else " " for c in event.reason).split())
    return (reason or event.state.rstrip("*").lower() or "unknown")[:_LONGEST_CAUSE]
