"""The catalogue: bounded, realistic changes of a run, each of which says why there is none where it does not apply.

The order is the one in which several are pulled together: rates before the times that they give, and what has an end of
its own, such as detection within 30 s, after what halves it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.failures import mtbf_of_job
from ckptplan.cost.restart import restart_cost
from ckptplan.cost.saving import SaveCost, save_cost
from ckptplan.cost.scenario import Mode, Save, Scenario, Storage
from ckptplan.errors import InputError
from ckptplan.plan.levers import factors
from ckptplan.plan.levers.change import Change
from ckptplan.units import format_rate, format_size, format_time, format_time_ends

if TYPE_CHECKING:
    from ckptplan.cost.tier_survival import Tier

DETECTED_S = 30.0  # the timeout of heartbeats in a published recipe (Google Cloud, 432 GPUs)
# Until a node that stands by, powered and with the image of the job, has taken the place of a lost one: assumed. What
# is published is 3 min for a replacement by an orchestrator, without such a node.
SWAPPED_S = 60.0
NEGLIGIBLE = 1e-4  # share of time spent waiting for a node
_SHOWN = 3  # strategies whose numbers stand in the text of a change


class Entry(NamedTuple):
    """One lever: ``pull`` gives the change, or a sentence on why there is none here.

    ``goal`` names what nobody can simply do: it is ranked, to show what it would be worth, and is never the one to do
    first.
    """

    key: str
    title: str
    pull: Callable[[Scenario], Change | str]
    adds_a_save: bool = False
    goal: str = ""


def _half_failures(scenario: Scenario) -> Change | str:
    now_s = float(mtbf_of_job(scenario.failures.mtbf_per_gpu_s, scenario.cluster.gpus))
    classes = ", every class half as often" if scenario.failures.classes else ""
    note = "it takes nodes burnt in, repeat offenders taken out, and faults of software fixed"
    return Change(
        factors.with_mtbf(scenario, 2.0), f"MTBF {' to '.join(format_time_ends(now_s, 2.0 * now_s))}{classes}", (note,)
    )


def _write_bandwidth(scenario: Scenario) -> Change | str:
    storage = scenario.storage
    limits = [getattr(storage, name) for name in factors.WRITE_LIMITS]
    of_tiers = [getattr(tier, name) for tier in storage.tiers for name in factors.TIER_WRITES]
    if not any((*limits, *of_tiers)):
        return "no write bandwidth is given: stall and flush stand in the spec as times"
    if not any(_is_computed(save) for save in scenario.saves) and not any(map(_tier_is_computed, storage.tiers)):
        return "no stall and no flush is computed from it: the spec gives all of them as times"
    text = ", ".join((*_doubled(storage, factors.WRITE_LIMITS), *_doubled_tiers(storage, factors.TIER_WRITES)))
    return Change(factors.with_write_bandwidth(scenario, 2.0), text, tuple(_still_given(scenario)))


_WHOSE = (("per_node", "per node "), ("per_writer", "per writer "), ("per_gpu", "per GPU "), ("peak", "peak "))


def _doubled(holder: object, names: Sequence[str]) -> Iterator[str]:
    """Each limit that is given, before and after: what is to be changed for the gain, and whose it is."""
    for name in names:
        limit = getattr(holder, name)
        if limit:
            whose = next((words for part, words in _WHOSE if part in name), "")
            yield f"{whose}{format_rate(limit)} to {format_rate(2.0 * limit)}"


def _doubled_tiers(storage: Storage, names: Sequence[str]) -> Iterator[str]:
    for tier in storage.tiers:
        for text in _doubled(tier, names):
            yield f"{tier.name} {text}"


def _is_computed(save: Save) -> bool:
    """Whether its write takes as long as the bandwidth says."""
    return (save.flush_s if save.mode is Mode.ASYNCHRONOUS else save.stall_s) is None


def _tier_is_computed(tier: "Tier") -> bool:
    return (tier.drain_s if tier.background else tier.stall_s) is None


def _still_given(scenario: Scenario) -> Iterator[str]:
    given = [save.name for save in scenario.saves if not _is_computed(save)]
    if given:
        yield f"the time that the spec gives for {', '.join(given)} stays"


def _read_bandwidth(scenario: Scenario) -> Change | str:
    restart = scenario.restart
    of_tiers = [
        t for t in scenario.storage.tiers if t.load_s is None and any(getattr(t, n) for n in factors.TIER_READS)
    ]
    is_computed = restart.total_s is None and restart.load_s is None
    if not is_computed and not of_tiers:
        given = "restart.load" if restart.total_s is None else "restart.total"
        return f"{given} gives the time of a load; write load: auto, and storage.read_bandwidth"
    of_storage = _doubled(scenario.storage, ("read_bandwidth_bytes_per_s",) if is_computed else ())
    text = ", ".join((*of_storage, *_doubled_tiers(scenario.storage, factors.TIER_READS)))
    return Change(factors.with_read_bandwidth(scenario, 2.0), text)


def _asynchronous(scenario: Scenario) -> Change | str:
    there = next((save for save in scenario.saves if save.mode is Mode.ASYNCHRONOUS), None)
    if there is not None:
        return f"{there.name} does so already"
    if any(tier.background for tier in scenario.storage.tiers):
        return "the tiers are written in the background already"
    if not scenario.saves:
        return "all saves go to tiers: write: background, in any but the first, does so"
    stall_s = min(save_cost(save, scenario).stall_s for save in scenario.saves)
    save, cost = _in_background(scenario, stall_s)
    if not cost.fits:
        need = format_size(cost.host_memory_per_node_bytes)
        return f"its buffer takes {need} per node, more than cluster.host_memory_per_node"
    if cost.stall_s >= stall_s:
        return f"the copy-out of {format_time(cost.stall_s)} would block as long as the save of {format_time(stall_s)}"
    wanted = None if scenario.strategies is None else (*scenario.strategies, save.name)
    text = f"stall {format_time(stall_s)} to {format_time(cost.stall_s)}, flush {format_time(cost.flush_s)}"
    changed = replace(scenario, saves=(*scenario.saves, save), strategies=wanted)
    return Change(changed, text, tuple(_for_background(scenario, cost, stall_s)))


def _in_background(scenario: Scenario, stall_s: float) -> tuple[Save, SaveCost]:
    """A save in the background: its flush is the write, as storage gives it, else as long as a save blocks now."""
    taken = {save.name for save in scenario.saves}
    name = next(name for name in ("asynchronous", "in the background", *map(str, range(64))) if name not in taken)
    save = Save(name, Mode.ASYNCHRONOUS)
    try:
        return save, save_cost(save, scenario)
    except InputError:
        save = replace(save, flush_s=stall_s)
        return save, save_cost(save, scenario)


def _for_background(scenario: Scenario, cost: SaveCost, stall_s: float) -> Iterator[str]:
    if scenario.cluster.host_memory_per_node_bytes is None:
        yield f"host memory of {format_size(cost.host_memory_per_node_bytes)} per node must be free for its buffer"
    yield (
        "only the copy-out blocks, and the flush is taken not to slow training; measured runs stall for 0.8 s to "
        "several seconds, and lose 2 to 55 % of the speed"
    )
    if cost.flush_s < 0.99 * stall_s:
        yield (
            f"storage would flush in {format_time(cost.flush_s)}, and a save now blocks for {format_time(stall_s)}: "
            "measure what else that time goes to"
        )


def _half_stall(scenario: Scenario) -> Change | str:
    costs = [save_cost(save, scenario) for save in scenario.saves]
    tiers = factors.tier_costs_of(scenario) if scenario.storage.tiers else ()
    all_of_them = [(cost.name, cost.stall_s) for cost in costs] + [(tier.name, tier.stall_s) for tier in tiers]
    now = [(name, stall_s) for name, stall_s in all_of_them if stall_s > 0.0]
    if not now:
        return "no save blocks training"
    text = ", ".join(f"{name} {format_time(s)} to {format_time(0.5 * s)}" for name, s in now[:_SHOWN])
    text = text.removeprefix(f"{now[0][0]} ") if len(now) == 1 else text
    notes = []
    if any(cost.mode is not Mode.ASYNCHRONOUS for cost in costs):
        notes.append("a blocking save gets there with half the bytes, or twice the bandwidth")
    if any(cost.mode is Mode.ASYNCHRONOUS for cost in costs):
        notes.append("of the copy-out, half must go beside forward and backward, or the link be twice as fast")
    more = f" and {len(now) - _SHOWN} more" if len(now) > _SHOWN else ""
    halves, of_tiers = ([0.5 * cost.stall_s for cost in part] for part in (costs, tiers))
    return Change(factors.with_stalls(scenario, halves, of_tiers), text + more, tuple(notes))


def _half_restart(scenario: Scenario) -> Change | str:
    total_s = restart_cost(scenario).total_s
    if total_s <= 0.0:
        return "a restart takes no time"
    own = any(one.total_s or one.phases_s for one in scenario.failures.classes)
    text = f"{format_time(total_s)} to {format_time(0.5 * total_s)}"
    note = "it takes images at hand, compiled programs kept, and a load from near storage or from memory"
    return Change(factors.with_restart(scenario, 0.5), text + (", of every class likewise" if own else ""), (note,))


def _detection(scenario: Scenario) -> Change | str:
    if scenario.restart.total_s is not None and not scenario.failures.classes:
        return "restart.total holds the detection, of which nothing more is known; write restart: {detect: 1 min, ...}"
    from ckptplan.plan.levers.detection import faster

    return faster(scenario, DETECTED_S)


def _spares(scenario: Scenario) -> Change | str:
    if scenario.restart.total_s is not None and scenario.spares is None and not scenario.failures.classes:
        return (
            "restart.total holds the replacement, and how long is not known; write restart: {replace: 2 min, ...}, or "
            "spares: {nodes: 4, repair: 24 h}"
        )
    from ckptplan.plan.levers.standing_by import nodes_standing_by

    return nodes_standing_by(scenario, SWAPPED_S, NEGLIGIBLE)


def _tier(scenario: Scenario) -> Change | str:
    if not scenario.failures.classes:
        return (
            "what is left in memory after a failure is not known: write failures.classes with what each one loses, and "
            "storage.tiers"
        )
    from ckptplan.plan.levers.memory_tier import copies_in_memory

    return copies_in_memory(scenario)


CATALOGUE = (
    Entry("failures", "halve the failure rate", _half_failures, goal="halving the failure rate"),
    Entry("write bandwidth", "double the write bandwidth", _write_bandwidth),
    Entry("read bandwidth", "double the read bandwidth", _read_bandwidth),
    Entry("asynchronous", "save asynchronously", _asynchronous, adds_a_save=True),
    Entry("stall", "halve the stall", _half_stall),
    Entry("restart", "halve the restart", _half_restart),
    Entry("detection", f"detect failures within {DETECTED_S:.0f} s", _detection),
    Entry("spares", "keep nodes standing by", _spares),
    Entry("tier", "keep copies in peer memory", _tier),
)
GOALS = {entry.key: entry.goal for entry in CATALOGUE if entry.goal}
