"""Broken assumptions: each one plain sentence with its remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ckptplan.cost.scenario import Kind, LawName, Scenario, Strike
from ckptplan.cost.size import sizes
from ckptplan.plan.case import Case
from ckptplan.plan.record import Plan, Record
from ckptplan.units import format_count, format_gpus, format_percent, format_share, format_size, format_time

# Where these shares of the MTBF are passed, the terms that first order drops reach whole points of goodput.
_STALL_IS_LARGE = 0.05
_RESTART_IS_LARGE = 0.10
_FEW_FAILURES = 10
_SHORT_RUN = 0.005  # of goodput
_FEW_GAPS = 100
_LARGEST_GPU_BYTES = 300e9  # the largest accelerators have 288 GB


def warnings(
    scenario: Scenario, records: Sequence[Record], cases: Sequence[Case], notes: Sequence[str]
) -> tuple[str, ...]:
    """Broken assumptions, each with its remedy."""
    found = [
        *notes,
        *_save_notes(scenario, cases),
        *_incomplete_ledger(scenario),
        *_gpu_memory(scenario),
        *few_failures(scenario),
        *_law(scenario, cases),
        *_large_terms(scenario, records),
        *_floors(scenario, records),
        *_longer_than_the_run(scenario, records),
        *_safe_clock(scenario),
    ]
    return tuple(dict.fromkeys(found))


def _at(scenario: Scenario, gpus: int) -> str:
    return "" if gpus == scenario.cluster.gpus else f" at {format_gpus(gpus)}"


def _save_notes(scenario: Scenario, cases: Sequence[Case]) -> Iterator[str]:
    """Notes of the planned scale, and at other scales those that the planned one does not have."""
    known = {(c.save.name, note) for c in cases if c.gpus == scenario.cluster.gpus for note in c.save.notes}
    for case in cases:
        for note in case.save.notes:
            if case.gpus == scenario.cluster.gpus or (case.save.name, note) not in known:
                yield f"{case.save.name}{_at(scenario, case.gpus)}: {note}"


def _incomplete_ledger(scenario: Scenario) -> Iterator[str]:
    """A restart from such a checkpoint is not the exact one that rework and restart are counted for."""
    kinds = {state.kind for state in scenario.model.ledger.states}
    if not kinds & {Kind.MASTER, Kind.WEIGHTS}:
        yield (
            "the ledger holds no weights: nothing can be resumed from such a checkpoint; add a ledger to model.state, "
            "or write kind: weights on the state that holds them"
        )
    elif Kind.MOMENT not in kinds:
        yield (
            "the ledger holds no optimizer state: training restarts its moments after every failure, which costs "
            "hundreds of steps that this plan does not count; save them, for example with adam-14"
        )


def _gpu_memory(scenario: Scenario) -> Iterator[str]:
    held = sizes(scenario.model, scenario.cluster).held_per_rank_bytes
    if held > _LARGEST_GPU_BYTES:
        yield (
            f"each GPU would hold {format_size(held)} of training state, more than any has: shard it further with "
            "cluster.layout (tensor, pipeline, or shard: fsdp)"
        )


def few_failures(scenario: Scenario) -> Iterator[str]:
    """A count of failures that says little about the MTBF."""
    evidence = scenario.failures.evidence
    if evidence is None or evidence.failures >= _FEW_FAILURES:
        return
    from ckptplan.fit.rate import mtbf_confidence

    gpus = scenario.cluster.gpus
    known = mtbf_confidence(evidence.exposure_gpu_s / gpus, evidence.failures, until_failure=evidence.until_failure)
    low = format_time(float(known.low))
    if evidence.failures == 0:
        remedy = "so count on" if evidence.prior_gpu_s > 0.0 else "so count on, or write a prior"
        yield (
            f"no failure was counted: the MTBF is above {low} (95 %), and the count says nothing more; the plan takes "
            f"{format_time(scenario.failures.mtbf_per_gpu_s / gpus)} from the prior, {remedy}"
        )
        return
    yield (
        f"only {format_count(evidence.failures)} failure{'' if evidence.failures == 1 else 's were'}"
        f"{' was' if evidence.failures == 1 else ''} counted: the MTBF lies between {low} and "
        f"{format_time(float(known.high))} (95 %); count a longer time before you trust the goodput (the interval "
        "moves with the square root only)"
    )


def _law(scenario: Scenario, cases: Sequence[Case]) -> Iterator[str]:
    """What the law of the failures does not carry."""
    law = scenario.failures.law
    if law.name is LawName.RECORDED and len(law.gaps_s) < _FEW_GAPS:
        here = [case for case in cases if case.gpus == scenario.cluster.gpus]
        young = ", ".join(f"{case.save.name} {format_time(case.optimum('young'))}" for case in here)
        yield (
            f"gaps recorded: only {len(law.gaps_s)}; the interval that is best for them fits their accidents; by "
            f"young, from their mean alone: {young}"
        )
    yield from host_copies_left_out(cases)


def host_copies_left_out(cases: Sequence[Case]) -> Iterator[str]:
    """Strategies whose surviving host copies no formula counts."""
    names = [
        c.save.name for c in cases if c.save.flush_s > 0.0 and c.host_copy_survives > 0.0 and c.copy_survives == 0.0
    ]
    if names:
        yield (
            "host_copy_survives is counted for exponential failures and one save in flight only, and left out for "
            f"{', '.join(dict.fromkeys(names))}: its true goodput is higher, the more so the longer the flush"
        )


def _optima(records: Sequence[Record]) -> Iterator[Record]:
    """One record per strategy and scale, the exact one if there is one: each warning is said once."""
    found: dict[tuple[str, int], Record] = {}
    for row in records:
        if not row.given and (row.method == "exact" or (row.strategy, row.gpus) not in found):
            found[row.strategy, row.gpus] = row
    yield from found.values()


def _rows(scenario: Scenario) -> str:
    """The rows of a table that hold where first order does not."""
    return "exact" if scenario.failures.law.name is LawName.EXPONENTIAL else "renewal"


_ROWS = re.compile(r"use the \w+ rows, and ")


def without_table(texts: Iterable[str]) -> tuple[str, ...]:
    """The same without what they say of rows, for those who read no table of them."""
    return tuple(_ROWS.sub("", text) for text in texts)


def _large_terms(scenario: Scenario, records: Sequence[Record]) -> Iterator[str]:
    rows = _rows(scenario)
    for row in _optima(records):
        at = _at(scenario, row.gpus)
        if row.effective_stall_s > _STALL_IS_LARGE * row.mtbf_s:
            yield (
                f"{row.strategy}{at}: one save costs {format_time(row.effective_stall_s)} of an MTBF of "
                f"{format_time(row.mtbf_s)}; use the {rows} rows, and shorten the save first"
            )
        if row.restart_total_s > _RESTART_IS_LARGE * row.mtbf_s:
            yield (
                f"a restart of {format_time(row.restart_total_s)} is "
                f"{format_share(row.restart_total_s / row.mtbf_s, 'the MTBF')}{at}; use the {rows} rows, and shorten "
                "the restart first: no interval wins it back"
            )


def _floors(scenario: Scenario, records: Sequence[Record]) -> Iterator[str]:
    for row in _optima(records):
        if row.interval_floor_s > 0 and row.interval_s <= row.interval_floor_s:
            yield (
                f"{row.strategy}{_at(scenario, row.gpus)}: the flush of {format_time(row.flush_s)} is longer than the "
                "best interval; more write bandwidth would allow saving more often"
            )


def _longer_than_the_run(scenario: Scenario, records: Sequence[Record]) -> Iterator[str]:
    duration = scenario.training.work_s
    for row in _optima(records):
        if duration is not None and row.interval_s >= duration:
            yield (
                f"{row.strategy}{_at(scenario, row.gpus)}: the best interval is longer than the run of "
                f"{format_time(duration)}, so no save is due before its end; save at the end, and at the latest when "
                "losing all of it would hurt"
            )


def short_run(made: Plan) -> Iterator[str]:
    """A run too short for its law to show its long-run goodput."""
    run, goodput = made.run, made.best.goodput_typed
    if run is None or run.runs == 0:
        return
    within = run.work_s / run.expected_s
    if abs(within - goodput) > _SHORT_RUN:
        yield (
            f"{run.strategy}: the run is too short for the long run of its failures: goodput {format_percent(within)} "
            f"until it ends, {format_percent(goodput)} in the long run; the interval is the best one for the long run"
        )


def _safe_clock(scenario: Scenario) -> Iterator[str]:
    if scenario.failures_strike is Strike.SAFE and scenario.failures.law.name is LawName.RECORDED:
        yield (
            "failures_strike is safe, so the failure clock stands still in recovery: the recorded gaps must not "
            "contain the recoveries, which time stamps of failures do; write gaps of training time, or "
            "failures_strike: DR"
        )
    if scenario.failures_strike is Strike.SAFE and scenario.failures.source == "interruptions":
        yield (
            "failures_strike is safe, so the failure clock stands still in recovery: subtract the recovery time from "
            "interruptions.over, or the MTBF is too long"
        )
