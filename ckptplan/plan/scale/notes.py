"""What to believe of a curve of sizes, and what it takes for granted, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ckptplan.cost.scenario import Scenario
from ckptplan.plan.progress import LONGEST_RUN_S
from ckptplan.plan.scale.batch import BatchFacts
from ckptplan.plan.scale.curve import Curve, Marginal
from ckptplan.plan.scale.peaks import ScalePeak
from ckptplan.plan.scale.refusals import Refusal
from ckptplan.plan.scale.size import Size
from ckptplan.plan.status import OK
from ckptplan.plan.warnings import host_copies_left_out
from ckptplan.units import format_count, format_gpus, format_percent, format_time

if TYPE_CHECKING:
    from ckptplan.plan.scale.records import ScaleRecord

_HARDLY_ANY = 0.05
_LONG_WAIT = 0.05


def status(record: ScaleRecord, size: Size, marginal: Marginal, stuck: str) -> str:
    """The status of one record: ``ok``, or what limits it; ``stuck`` says why it gets nowhere, if it does."""
    return "; ".join(_remarks(record, size, marginal, stuck)) or OK


def _remarks(record: ScaleRecord, size: Size, marginal: Marginal, stuck: str) -> Iterator[str]:
    if stuck:
        yield f"no progress: {stuck}"
    elif record.goodput < _HARDLY_ANY:
        yield "hardly any progress: failures come faster than restarts and saves end"
    if not stuck and record.wall_s is None and size.scenario.training.work_s is not None:
        yield f"the run would take more than {format_time(LONGEST_RUN_S)}: neither its time nor its cost is given"
    if size.note:
        yield size.note
    if marginal.refusal:
        yield f"what more GPUs add is not known: {format_gpus(marginal.to_gpus)} cannot be planned ({marginal.refusal})"


def warnings(
    curve: Curve,
    records: Sequence[ScaleRecord],
    refusals: Sequence[Refusal],
    peaks: Sequence[ScalePeak],
    batch: BatchFacts | None,
) -> tuple[str, ...]:
    """Broken assumptions, each one plain sentence with its remedy."""
    found = [
        *_refused(refusals),
        *_beyond_the_peak(curve, peaks),
        *_jumps(curve),
        *_no_progress(records),
        *_long_restarts(records),
        *_waiting(curve, records),
        *_saves(curve, records),
        *host_copies_left_out(list(curve.cases(curve.planned).values())),
        *_batch(curve, batch),
        *_energy(curve, records),
    ]
    return tuple(dict.fromkeys(found))


def _jumps(curve: Curve) -> Iterator[str]:
    """Recorded gaps have no smooth optimum: what one size gains over the next is partly their accident."""
    gaps = curve.scenario.failures.law.gaps_s
    if gaps:
        yield (
            f"the best interval for {format_count(len(gaps))} recorded gaps jumps from size to size, and goodput with "
            "it: where adding GPUs stops helping and paying holds roughly, and other sizes near it may do as well; "
            "failures.law with a name has no such jumps"
        )


def _refused(refusals: Sequence[Refusal]) -> Iterator[str]:
    """Sizes without numbers by their reason, each with its remedy."""
    reasons = dict.fromkeys(one.status for one in refusals)
    for text in reasons:
        here = [one for one in refusals if one.status == text]
        sizes = list(dict.fromkeys(one.gpus for one in here))
        others = f" and {format_count(len(sizes) - 1)} more size{'' if len(sizes) == 2 else 's'}" if sizes[1:] else ""
        hint = here[0].problems[0].hint
        yield f"no plan for {format_gpus(sizes[0])}{others}: {text}{f'; {hint}' if hint else ''}"


def _beyond_the_peak(curve: Curve, peaks: Sequence[ScalePeak]) -> Iterator[str]:
    for one in peaks:
        if one.peak.gpus is not None and 0 < one.peak.gpus < curve.planned:
            yield (
                f"{one.strategy}: the planned {format_gpus(curve.planned)} do less than "
                f"{format_count(one.peak.gpus)} would; plan fewer, or shorten the restart and the save"
            )


def _no_progress(records: Sequence[ScaleRecord]) -> Iterator[str]:
    for name in dict.fromkeys(record.strategy for record in records):
        least = next((r for r in records if r.strategy == name and r.goodput < _HARDLY_ANY), None)
        if least is not None:
            yield (
                f"{name}: goodput is below {format_percent(_HARDLY_ANY)} at {format_gpus(least.gpus)}, where "
                f"failures come every {format_time(least.mtbf_s)}; plan fewer GPUs, or shorten the restart "
                f"({format_time(least.restart_total_s)}) and the save first"
            )


def _long_restarts(records: Sequence[ScaleRecord]) -> Iterator[str]:
    first = min((r for r in records if r.restart_total_s > r.mtbf_s), key=lambda r: r.gpus, default=None)
    if first is not None:
        yield (
            f"at {format_gpus(first.gpus)} a restart of {format_time(first.restart_total_s)} is longer than the "
            f"MTBF of {format_time(first.mtbf_s)}; shorten the restart first: no interval wins it back"
        )


def _waiting(curve: Curve, records: Sequence[ScaleRecord]) -> Iterator[str]:
    spares = curve.scenario.spares
    first = min((r for r in records if r.waiting_fraction > _LONG_WAIT), key=lambda r: r.gpus, default=None)
    if spares is None or first is None:
        return
    way = "waits for nodes" if spares.reshard_s is None else "lacks replicas"
    yield (
        f"at {format_gpus(first.gpus)} the job {way} {format_percent(first.waiting_fraction)} of the time: "
        f"{format_count(spares.nodes)} spare nodes are too few; raise spares.nodes before you add GPUs"
    )


def _saves(curve: Curve, records: Sequence[ScaleRecord]) -> Iterator[str]:
    """Notes of the planned size, and of each strategy the first one that it does not have."""
    planned = curve.cases(curve.planned)
    said = {name for name, case in planned.items() if case.save.notes}
    for name in said:
        yield from (f"{name}: {note}" for note in planned[name].save.notes)
    for gpus in sorted({record.gpus for record in records}):
        for name, case in curve.cases(gpus).items():
            if case.save.notes and name not in said:
                said.add(name)
                yield f"{name} at {format_gpus(gpus)}: {case.save.notes[0]}"


def _batch(curve: Curve, batch: BatchFacts | None) -> Iterator[str]:
    if batch is None:
        return
    if batch.global_batch % batch.micro_batch:
        yield (
            f"the global batch of {format_count(batch.global_batch)} is not a whole number of micro-batches of "
            f"{format_count(batch.micro_batch)}, so no number of replicas divides it evenly; correct micro_batch"
        )
    idle = [one for one in batch.records if one.replicas > batch.most_replicas]
    if idle:
        one = next((one for one in idle if one.gpus == curve.planned), idle[0])
        few = batch.most_replicas
        yield (
            f"at {format_gpus(one.gpus)} {format_count(one.replicas - few)} of {format_count(one.replicas)} "
            f"replicas are idle: the global batch has only {format_count(few)} micro-batch{'' if few == 1 else 'es'}; "
            f"raise global_batch to {format_count(one.replicas * batch.micro_batch)} or more, or plan no more than "
            f"{format_count(few)} replica{'' if few == 1 else 's'}"
        )


def _energy(curve: Curve, records: Sequence[ScaleRecord]) -> Iterator[str]:
    asked = [record for record in records if record.energy_accounting is not None]
    if asked and curve.tiers in curve.strategies:
        yield "the energy of saves to several tiers is not reckoned: compare that of each tier alone"


def of_scale(scenario: Scenario) -> tuple[str, ...]:
    """What holds only if other sizes are like the planned one, one sentence each."""
    return tuple(_of_scale(scenario))


def _of_scale(scenario: Scenario) -> Iterator[str]:
    training = scenario.training
    if training.scaling_exponent == 1.0 and training.step_noise == 0.0:
        yield (
            "without saves and failures, throughput grows in proportion to the GPUs: measured runs lose some of that, "
            "and the true peak is lower; write training.scaling_exponent or step_noise"
        )
    else:
        noise = "" if training.step_noise == 0.0 else ", each step waiting for the slowest rank"
        yield (
            f"without saves and failures, throughput grows as the GPUs to the power of {training.scaling_exponent:g}"
            f"{noise}; useful GPUs are counted in those of the planned size"
        )
    if training.global_batch is not None:
        yield "the global batch is the same at every size, so that steps are shorter with more GPUs"
    elif training.step_time_s is not None:
        yield "each GPU keeps its part of the batch, so that a step does more with more GPUs; or write global_batch"
    if scenario.spares is not None:
        yield f"{scenario.spares.nodes:g} spare nodes at every size"
