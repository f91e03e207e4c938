"""The lever of detection: failures that stop the run are noticed sooner, whatever class they are of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ckptplan.plan.levers.change import Change
from ckptplan.units import format_time

if TYPE_CHECKING:
    from ckptplan.cost.classes import FailureClass
    from ckptplan.cost.scenario import Scenario


def faster(scenario: Scenario, within_s: float) -> Change | str:
    """Detection within a time, of ``restart.detect`` and of each class that stops the run.

    Errors and slow nodes keep theirs: training goes on until they are found, and no heartbeat shows them. So do hangs
    where false alarms of the watchdog are known, of which a shorter timeout has more.
    """
    failures, restart = scenario.failures, scenario.restart
    dog = failures.watchdog
    has_alarms = dog is not None and bool(dog.false_alarms_per_s)
    now: list[tuple[str, float]] = []
    if restart.total_s is None and restart.detect_s > within_s:
        now.append(("restart.detect", restart.detect_s))
        restart = replace(restart, detect_s=within_s)
    classes = [_noticed(one, within_s, now, hangs=not has_alarms) for one in failures.classes]
    if not now:
        return _why_not(scenario, within_s, has_alarms=has_alarms)
    if dog is not None and not has_alarms and dog.timeout_s is not None:
        dog = dog._replace(timeout_s=min(dog.timeout_s, within_s))
    changed = replace(scenario, restart=restart, failures=replace(failures, classes=tuple(classes), watchdog=dog))
    return Change(changed, _text(now, within_s), tuple(_notes(failures.classes, classes, has_alarms=has_alarms)))


def _noticed(one: FailureClass, within_s: float, now: list[tuple[str, float]], *, hangs: bool) -> FailureClass:
    """The class noticed in time; what it took until now is noted."""
    from ckptplan.cost.classes import BUILT_IN, FailureKind

    kinds = (FailureKind.CRASH, FailureKind.HANG) if hangs else (FailureKind.CRASH,)
    detect_s = BUILT_IN[one.kind].detect_s if one.detect_s is None else one.detect_s
    if one.kind not in kinds or detect_s is None or detect_s <= within_s:
        return one
    now.append((one.name, detect_s))
    return one._replace(detect_s=within_s)


def _why_not(scenario: Scenario, within_s: float, *, has_alarms: bool) -> str:
    if scenario.restart.total_s is not None:
        return "restart.total holds the detection, of which nothing more is known; write restart: {detect: 1 min, ...}"
    if has_alarms:
        return "only hangs take longer, and a shorter timeout of the watchdog has more false alarms"
    return f"it takes {format_time(scenario.restart.detect_s)} already, not more than {format_time(within_s)}"


def _text(now: Sequence[tuple[str, float]], within_s: float) -> str:
    shown = ", ".join(f"{name} {format_time(seconds)}" for name, seconds in now[:3])
    return f"{shown}{f' and {len(now) - 3} more' if len(now) > 3 else ''} to {format_time(within_s)}"


def _notes(before: Sequence[FailureClass], after: Sequence[FailureClass], *, has_alarms: bool) -> Iterator[str]:
    from ckptplan.cost.classes import FailureKind

    pairs = list(zip(before, after, strict=True))
    if any(one.kind is FailureKind.HANG and one != changed for one, changed in pairs):
        yield "hangs are found by heartbeats of every rank, not by the timeout of a collective"
    if has_alarms:
        yield "hangs keep the timeout of the watchdog, of which a shorter one has more false alarms"
    if any(one.kind in (FailureKind.SILENT, FailureKind.SLOW) for one in before):
        yield "errors and slow nodes keep their delay: training goes on until they are found"
