"""The lever of spares: nodes that stand by, so that a lost one is swapped quickly and never waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ckptplan.plan.levers.change import Change
from ckptplan.units import format_time

if TYPE_CHECKING:
    from ckptplan.cost.classes import FailureClass
    from ckptplan.cost.protection import Spares
    from ckptplan.cost.scenario import Scenario


def nodes_standing_by(scenario: Scenario, swapped_s: float, negligible: float) -> Change | str:
    """Spares for which nobody waits, where the spec has some, and a replacement that takes no longer than a swap."""
    parts, notes, extra = [], [], 0
    changed, longest_s = _swapped(scenario, swapped_s)
    if changed is not None and longest_s is not None:
        parts.append(f"replace {format_time(longest_s)} to {format_time(swapped_s)}")
        notes.append(
            f"a swap in {format_time(swapped_s)} is assumed: the node is powered, and has the image of the job"
        )
    more = None
    if scenario.spares is not None:
        more = _enough(scenario, scenario.spares, negligible)
    if more is not None and scenario.spares is not None:
        extra = (more.nodes - scenario.spares.nodes) * scenario.cluster.gpus_per_node
        changed = replace(changed or scenario, spares=more)
        parts.append(f"{scenario.spares.nodes:,} spares to {more.nodes:,}")
    if changed is None:
        return _why_not(scenario, swapped_s)
    if scenario.spares is None:
        extra = scenario.cluster.gpus_per_node
        notes.append("one node is taken to stand by; where repairs are long it takes more: write spares and repair")
    if extra:
        those = "the GPU that stands by is" if extra == 1 else f"the {extra:,} GPUs that stand by are"
        notes.append(f"{those} paid for, and taken off the savings")
    return Change(changed, ", ".join(parts), tuple(notes), extra)


def _swapped(scenario: Scenario, swapped_s: float) -> tuple[Scenario | None, float | None]:
    """The run with no replacement longer than a swap, and how long the longest is now."""
    restart, failures = scenario.restart, scenario.failures
    own = [one.phases_s["replace"] for one in failures.classes if "replace" in one.phases_s]
    if restart.total_s is None:
        own.append(restart.replace_s)
    longest_s = max(own, default=0.0)
    if longest_s <= swapped_s:
        return None, None
    restart = replace(restart, replace_s=min(restart.replace_s, swapped_s))
    classes = tuple(_class_swapped(one, swapped_s) for one in failures.classes)
    return replace(scenario, restart=restart, failures=replace(failures, classes=classes)), longest_s


def _class_swapped(one: FailureClass, swapped_s: float) -> FailureClass:
    if "replace" not in one.phases_s:
        return one
    return one._replace(phases_s={**one.phases_s, "replace": min(one.phases_s["replace"], swapped_s)})


def _enough(scenario: Scenario, spares: Spares, negligible: float) -> Spares | None:
    """As many spares as make waiting negligible, if that is more than there are."""
    from ckptplan.plan.case import cases_of
    from ckptplan.plan.spectrum.shares import spectrum_in
    from ckptplan.plan.spectrum.standby import spares_needed, takes_a_node

    case = cases_of(replace(scenario, strategies=None))[0]
    classes = spectrum_in(case).classes
    rate = sum(one.rate_per_s(case.mtbf_s) for one in classes if takes_a_node(one))
    needed = spares_needed(spares._replace(most_waiting=negligible), classes, case, rate)
    return None if needed is None or needed <= spares.nodes else spares._replace(nodes=needed)


def _why_not(scenario: Scenario, swapped_s: float) -> str:
    if scenario.spares is not None:
        return f"{scenario.spares.nodes:,} spares are enough, and a replacement takes no longer than a swap"
    if scenario.restart.total_s is not None:
        return (
            "restart.total holds the replacement, and how long is not known; write restart: {replace: 2 min, ...}, "
            "or spares: {nodes: 4, repair: 24 h}"
        )
    return f"a replacement takes {format_time(scenario.restart.replace_s)}, a swap {format_time(swapped_s)}"
