"""The groups of inputs of a scenario, and scenarios that take some of them from another one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

from ckptplan.cost.scenario import Scenario

# Group of the spec -> fields of a scenario, in the order of the spec.
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "model": ("model",),
        "cluster": ("cluster",),
        "failures": ("failures",),
        "storage": ("storage",),
        "save": ("saves", "strategies"),
        "restart": ("restart",),
        "training": ("training",),
        "verification": ("verification",),
        "spares": ("spares",),
        "assume": ("failures_strike",),
    }
)
# A plan says what these are worth beside its goodput, which does not depend on them.
SILENT: Mapping[str, tuple[str, ...]] = MappingProxyType({"retention": ("retention",), "prediction": ("prediction",)})


def differing(first: Scenario, second: Scenario, groups: Mapping[str, tuple[str, ...]] = GROUPS) -> tuple[str, ...]:
    """The groups in which two scenarios differ."""
    return tuple(
        group
        for group, fields in groups.items()
        if any(getattr(first, field) != getattr(second, field) for field in fields)
    )


def mixed(first: Scenario, second: Scenario, groups: Collection[str]) -> Scenario:
    """The first scenario with some groups of the second."""
    return replace(first, **{field: getattr(second, field) for group in groups for field in GROUPS[group]})
