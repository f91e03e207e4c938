"""The levers of all shipped configs, computed once."""

from __future__ import annotations

from functools import cache

from ckptplan.cost.scenario import Scenario
from ckptplan.load import load, shipped_configs
from ckptplan.plan.levers.catalogue import CATALOGUE
from ckptplan.plan.levers.change import Change
from ckptplan.plan.levers.ranking import levers
from ckptplan.plan.levers.record import Lever, Levers

NAMES = tuple(config.name for config in shipped_configs())
ENTRIES = {entry.key: entry for entry in CATALOGUE}


@cache
def scenario_of(name: str) -> Scenario:
    """The run of a shipped config."""
    return load(name, environment={}).scenario


@cache
def levers_of(name: str) -> Levers:
    """Its levers."""
    return levers(scenario_of(name))


def lever(name: str, key: str) -> Lever:
    """One of its levers."""
    return next(one for one in levers_of(name).levers if one.key == key)


def pulled(scenario: Scenario, key: str) -> Change:
    """The change of one entry of the catalogue, which applies."""
    change = ENTRIES[key].pull(scenario)
    assert isinstance(change, Change), change
    return change


def why_not(scenario: Scenario, key: str) -> str:
    """Why one entry of the catalogue does not apply."""
    reason = ENTRIES[key].pull(scenario)
    assert isinstance(reason, str), reason
    return reason
