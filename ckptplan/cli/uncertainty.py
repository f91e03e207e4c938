"""What is said of inputs that are not known well, by commands that plan many runs and carry no ranges through them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario
    from ckptplan.spec.reading import Spec


def not_known_well(spec: Spec, scenario: Scenario) -> Iterator[str]:
    """Ranges, which count by their central value, and an MTBF from few failures; the scenario is that of the spec."""
    from ckptplan.plan.warnings import few_failures

    yield from few_failures(scenario)
    yield from of_ranges(spec)


def of_ranges(spec: Spec, side: str = "") -> Iterator[str]:
    """The values of a spec that are given as ranges; ``side`` names it beside another one."""
    if spec.spreads:
        of = f" of {side}" if side else ""
        several = "are" if len(spec.spreads) > 1 else "is"
        whose = "their central values count" if len(spec.spreads) > 1 else "its central value counts"
        yield f"{', '.join(spec.spreads)}{of} {several} not known exactly: {whose}"
