"""What binds, and what the figures take for granted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckptplan.cost.scenario import LawName, Mode, Scenario, Strike
from ckptplan.cost.size import total_bytes
from ckptplan.cost.write import aggregate_write_time
from ckptplan.plan.case import Case
from ckptplan.units import format_percent, format_rate, format_size, format_time

_STRIKES = {
    Strike.DR: "failures may strike work, saves and the whole recovery (DR)",
    Strike.R: "failures may strike work, saves and the restart, not the downtime before it (R)",
    Strike.SAFE: "failures may strike work and saves, never a recovery (safe)",
}


def binds(scenario: Scenario, cases: Sequence[Case]) -> tuple[str, ...]:
    """What limits each strategy, one sentence each, and the burst that the peak would allow."""
    found = [
        f"{case.save.name}: {format_time(case.save.write.seconds)} to write, bound by {case.save.write.binds}"
        for case in cases
        if case.save.write is not None
    ]
    peak = scenario.storage.peak_write_bandwidth_bytes_per_s
    if peak is not None:
        burst = float(aggregate_write_time(total_bytes(scenario.model, scenario.cluster), peak))
        found.append(
            f"the peak of {format_rate(peak)} would take the checkpoint in a burst of {format_time(burst)}; the plan "
            "does not use it, because storage does not hold its peak"
        )
    return tuple(found)


def assumptions(scenario: Scenario, cases: Sequence[Case], scales: Sequence[int]) -> tuple[str, ...]:
    """What holds only if the run is like that, one sentence each."""
    return tuple(_assumptions(scenario, cases, scales))


def _assumptions(scenario: Scenario, cases: Sequence[Case], scales: Sequence[int]) -> Iterator[str]:
    yield _of_failures(scenario)
    yield _STRIKES[scenario.failures_strike]
    if scenario.failures_strike is Strike.R and cases[0].restart.downtime_s == 0:
        yield "all of the recovery is restart, as no downtime (detect, replace) is given"
    uncounted = [phase for phase, seconds in cases[0].restart.phases_s.items() if seconds == 0]
    if uncounted:
        yield f"a restart takes no time to {', '.join(uncounted).replace('_', ' ')}: the spec gives none"
    if scenario.model.architecture is not None and scenario.model.architecture.assumed:
        yield f"the file of the model does not say, and is taken: {'; '.join(scenario.model.architecture.assumed)}"
    yield "the interval is work between two saves, the save itself excluded; exact shares are of wall time"
    free = [c.save.name for c in cases if c.save.flush_s > 0 and c.save.training_speed_while_flushing == 1.0]
    if free:
        yield (
            f"the flush of {', '.join(free)} does not slow training (training_speed_while_flushing is 1); "
            "measured runs lose 2 to 55 %: compare step times inside and outside a save"
        )
    if any(case.save.mode is Mode.ASYNCHRONOUS for case in cases) and not scenario.storage.tiers:
        yield _of_host_copies(scenario, cases)
    for case in cases:
        yield from _of_background(case)
    for case in cases:
        if case.save.mode is Mode.GATHERED:
            memory = format_size(case.save.host_memory_per_node_bytes)
            yield f"{case.save.name}: one host holds all {memory}, and getting it there takes no time"
    if len(scales) > 1 and _held(scenario):
        yield f"{', '.join(_held(scenario))}: as given at every number of GPUs"


def _of_failures(scenario: Scenario) -> str:
    """The law of the failures, in one sentence."""
    law = scenario.failures.law
    if law.name is LawName.EXPONENTIAL:
        return "failures are independent, exponential, and scale with the number of GPUs"
    if law.name is LawName.RECORDED:
        return (
            f"gaps between failures are independent and like the recorded ones ({len(law.gaps_s):,}), scaled to the "
            "MTBF"
        )
    shape = f"{'sigma' if law.name is LawName.LOGNORMAL else 'shape'} {law.shape:g}"
    if law.of_nodes:
        return f"the failures of each node are {law.name} ({shape}); a node keeps its age when another one fails"
    return f"gaps between failures of the job are independent and {law.name} ({shape}); their mean scales with the GPUs"


def _of_host_copies(scenario: Scenario, cases: Sequence[Case]) -> str:
    survives = scenario.failures.host_copy_survives
    if not any(case.copy_survives > 0.0 for case in cases):
        return "no host copy survives a failure: each one goes back to the newest flushed save"
    return (
        f"the host copy survives {format_percent(survives)} of the failures, which go back to the newest copy and "
        "flush it again; the others go back to the newest flushed save"
    )


def _of_background(case: Case) -> Iterator[str]:
    save = case.save
    if save.in_flight > 1 and case.speed < 1.0:
        yield (
            f"{save.name}: flushes that overlap slow training from the first save after a restart on as they do later; "
            "the true goodput is a little higher"
        )
    if save.in_flight > 1:
        yield f"{save.name}: {save.in_flight} flushes at one time are each as fast as one alone, up to write_bandwidth"
    if save.hidden_copy_s > 0.0:
        yield f"{save.name}: {format_time(save.hidden_copy_s)} of the copy-out runs beside forward and backward, free"


def _held(scenario: Scenario) -> list[str]:
    """Times that the spec gives, which a computation would let move with the scale."""
    held = [f"{what} of {s.name}" for s in scenario.saves for what in ("stall", "flush") if getattr(s, f"{what}_s")]
    return held + (["restart time"] if scenario.restart.total_s is not None or scenario.restart.load_s else [])
