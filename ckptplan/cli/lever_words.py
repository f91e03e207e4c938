"""What a change of ``ckptplan levers`` sets, in words: each value in force before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ckptplan.plan.levers.own import holds

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario
    from ckptplan.spec.reading import Spec, Value

_MOST = 20  # values that are named
_LISTS = ("save", "storage.tiers", "failures.classes")
_NAMED = 5  # entries of a list that are named
_NOT = "not given"
_PHASES = ("detect", "replace", "initialise", "load", "warm_up")


def differing_keys(now: Spec, then: Spec) -> tuple[str, ...]:
    """Keys whose values in force differ, those that only one of the specs has included."""
    before, after = _values(now), _values(then)
    return tuple(key for key in {**before, **after} if _told(before.get(key)) != _told(after.get(key)))


def _values(spec: Spec) -> dict[str, Value]:
    return {value.key: value for value in spec.values}


def _told(value: Value | None) -> tuple[object, str | None]:
    """What is compared: numbers as such, however they were written; what is not there is a key that is not given.

    99.9 % and 0.999 differ in their last bit, as do 5 min and 300 s in other units: twelve digits are compared.
    """
    if value is None:
        return None, _NOT
    return (float(f"{value.si:.12g}"), None) if isinstance(value.si, int | float) else (value.si, value.text)


def before_and_after(now: Spec, then: Spec, keys: Sequence[str]) -> str:
    """Every value that the change makes another one; a sentence where nothing is changed, or nothing that matters."""
    changed = differing_keys(now, then)
    parts = list(_parts(now, then, changed, keys))
    more = f" and {len(parts) - _MOST} more" if len(parts) > _MOST else ""
    text = ", ".join(parts[:_MOST]) + more
    if not changed and any(_is_given(key, _values(now)) for key in keys):
        text = f"no change: {_stand_for(keys, now)} so already"
    elif _bare(now.scenario) == _bare(then.scenario):
        # What a predictor is worth stands beside the table, so that it is not true of every goodput.
        beside = " of the table" if any(holds("prediction", key) for key in keys) else ""
        said = f"no goodput{beside} depends on {', '.join(keys)}"
        text = f"{text}; {said}" if text else said
    return "; ".join((text, *_warned_of(now, then)))


def _stand_for(keys: Sequence[str], now: Spec) -> str:
    """``restart.total is``: a group by the one value that it has in force, if it is one."""
    within = [[value.key for value in now.values if holds(key, value.key)] for key in keys]
    named = [found[0] if len(found) == 1 else key for key, found in zip(keys, within, strict=True)]
    return f"{', '.join(named)} {'is' if len(named) == 1 else 'are'}"


def _warned_of(now: Spec, then: Spec) -> Iterator[str]:
    """What reading the spec warns of only with the change, such as a restart that is then assumed."""
    known = {(problem.key, problem.message) for problem in now.warnings}
    for problem in then.warnings:
        if (problem.key, problem.message) not in known:
            yield f"mind that then {f'{problem.key}: ' if problem.key else ''}{problem.message}"


def _is_given(key: str, values: Iterable[str]) -> bool:
    return any(holds(key, other) for other in values) or "[" in key


def _bare(scenario: Scenario) -> Scenario:
    """The run without what no goodput depends on."""
    return replace(scenario, name="", retention=None, prediction=None)


def _parts(now: Spec, then: Spec, changed: Sequence[str], keys: Sequence[str]) -> Iterator[str]:
    replaced = [name for name in _LISTS if name in keys]
    for name in replaced:
        yield f"{name} replaced: {_entries(now, name)} by {_entries(then, name)}"
    before, after = _values(now), _values(then)
    total = _restart(now, then) if any(key.startswith("restart.") for key in changed) else None
    if total is not None:
        yield total
    for key in changed:
        is_told = any(holds(name, key) for name in replaced) or (total is not None and key.startswith("restart."))
        if not is_told:
            yield f"{key} {' to '.join(_pair(before.get(key), after.get(key)))}"


def _pair(before: Value | None, after: Value | None) -> tuple[str, str]:
    """Both values, with all their digits where fewer look alike."""
    texts = [_NOT if value is None else value.text for value in (before, after)]
    if before is not None and after is not None and texts[0] == texts[1]:
        texts = [f"{value.si} {value.unit}".rstrip() for value in (before, after)]
    return texts[0], texts[1]


def _entries(spec: Spec, name: str) -> str:
    """``2 (synchronous, asynchronous)``."""
    scenario = spec.scenario
    names = {
        "save": [save.name for save in scenario.saves],
        "storage.tiers": [tier.name for tier in scenario.storage.tiers],
        "failures.classes": [one.name for one in scenario.failures.classes],
    }[name]
    more = ", ..." if len(names) > _NAMED else ""
    return f"{len(names)} ({', '.join(names[:_NAMED])}{more})" if names else "none"


def _restart(now: Spec, then: Spec) -> str | None:
    """The whole recovery where a total stands in for its phases, or they for it."""
    from ckptplan.cost.restart import restart_cost
    from ckptplan.units import format_time

    if (now.scenario.restart.total_s is None) == (then.scenario.restart.total_s is None):
        return None

    def told(spec: Spec) -> str:
        cost = restart_cost(spec.scenario)
        if spec.scenario.restart.total_s is not None:
            return f"restart.total {format_time(cost.total_s)}"
        phases = ", ".join(f"{name} {format_time(cost.phases_s[name])}" for name in _PHASES if cost.phases_s.get(name))
        return f"phases of the restart of {format_time(cost.total_s)} in all ({phases})"

    return f"{told(now)} to {told(then)}"
