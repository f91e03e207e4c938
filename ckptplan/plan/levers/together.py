"""Several levers pulled together: what they gain jointly, and how much of that they share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.errors import InputError
from ckptplan.plan.levers.catalogue import CATALOGUE
from ckptplan.plan.levers.outcome import goodputs_of
from ckptplan.plan.levers.own import Build, Own, clash
from ckptplan.plan.levers.record import Left, Lever, Overlap
from ckptplan.plan.levers.work import told_by, with_its_steps

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario

# Levers of which every pair is tried: a closed pair takes 0.2 ms, one with classes or tiers up to 100 ms.
PAIRED_CLOSED = 12
PAIRED = 5


class Joint(NamedTuple):
    """Pairs, those that do not go together, and all that do."""

    overlaps: tuple[Overlap, ...]
    apart: tuple[Left, ...]
    paired: int
    together: tuple[str, ...]
    all_together: float | None


def pulled(scenario: Scenario, keys: Sequence[str], own: Sequence[Own], build: Build | None) -> Scenario:
    """The run with several levers pulled, in the order of the catalogue, whatever that of ``keys``.

    The changes of the user's own come first, as if they had been written into the spec. A lever that no longer applies
    after the others, such as detection that is fast enough by then, changes nothing more.
    """
    indices = [index for index, one in enumerate(own) if one.key in keys]
    if indices and build is not None:
        scenario = with_its_steps(scenario, build(indices), told_by([own[index] for index in indices]))
    for entry in CATALOGUE:
        if entry.key in keys:
            change = entry.pull(scenario)
            scenario = scenario if isinstance(change, str) else change.scenario
    return scenario


def joint(
    scenario: Scenario, goodput: float, levers: Sequence[Lever], own: Sequence[Own], build: Build | None, *, most: int
) -> Joint:
    """Every pair of the best levers, and all that are worth it and go together.

    Parameters
    ----------
    scenario : Scenario
        The run as it is.
    goodput : float
        What it yields. [1]
    levers : sequence of Lever
        Ranked.
    own, build
        Changes of the user's own, and the scenario under some of them.
    most : int
        How many levers are paired.
    """
    best = levers[:most]
    apart: list[Left] = []
    pairs: list[tuple[Lever, Lever]] = []
    for first, second in combinations(best, 2):
        why = _why_apart(first, second, own)
        if why is None:
            pairs.append((first, second))
        else:
            apart.append(_apart(first, second, why))
    everything = _go_together(levers, own, build, scenario.cluster.gpus)
    sets = [(one.key, other.key) for one, other in pairs] + ([everything] if len(everything) > 1 else [])
    found = _goodputs(scenario, sets, own, build)
    overlaps = []
    for (first, second), value in zip(pairs, found, strict=False):
        if isinstance(value, InputError):
            apart.append(_apart(first, second, str(value)))
            continue
        together = value - goodput
        shared = first.gained + second.gained - together
        overlaps.append(Overlap(first.key, second.key, first.gained, second.gained, together, shared))
    overlaps.sort(key=lambda one: -one.overlap)
    last = found[-1] if len(everything) > 1 else None
    whole = None if last is None or isinstance(last, InputError) else last - goodput
    return Joint(tuple(overlaps), tuple(apart), len(best), everything if whole is not None else (), whole)


def _goodputs(
    scenario: Scenario, sets: Sequence[tuple[str, ...]], own: Sequence[Own], build: Build | None
) -> list[float | InputError]:
    """The typed goodput of each set of levers, or why it has none."""
    scenarios: list[Scenario] = []
    errors: dict[int, InputError] = {}
    for index, keys in enumerate(sets):
        try:
            scenarios.append(pulled(scenario, keys, own, build))
        except InputError as error:
            errors[index] = error
    values = iter(goodputs_of(scenarios))
    return [errors[index] if index in errors else next(values) for index in range(len(sets))]


def _apart(first: Lever, second: Lever, why: str) -> Left:
    return Left(f"{first.key} + {second.key}", f"{first.title}, and {second.title}", why)


def _why_apart(first: Lever, second: Lever, own: Sequence[Own]) -> str | None:
    by_key = {one.key: one for one in own}
    if first.own and second.own:
        return clash(by_key[first.key], by_key[second.key])
    return None


def _go_together(levers: Sequence[Lever], own: Sequence[Own], build: Build | None, gpus: int) -> tuple[str, ...]:
    """All that gain something and save GPU-hours, on the GPUs of the run; of two that do not go together, the better.

    What gains points and costs more GPU-hours than it saves is not worth it; goodputs of other GPUs do not compare.
    """
    kept: list[Lever] = []
    for lever in levers:
        gains = lever.gained > 0.0 and lever.worth > 0.0 and lever.gpus == gpus
        if gains and all(_why_apart(lever, other, own) is None for other in kept):
            kept += [lever] if not lever.own or _can_be_built([*kept, lever], own, build) else []
    return tuple(lever.key for lever in kept)


def _can_be_built(levers: Sequence[Lever], own: Sequence[Own], build: Build | None) -> bool:
    """Whether the spec takes these changes of the user's own at once: ``restart.total`` takes no phase beside it."""
    keys = {lever.key for lever in levers}
    indices = [index for index, one in enumerate(own) if one.key in keys]
    if len(indices) < 2 or build is None:
        return True
    try:
        build(indices)
    except InputError:
        return False
    return True
