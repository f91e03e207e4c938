"""Broken assumptions, and things taken for granted, with several classes of failures or several tiers."""

from __future__ import annotations

from collections.abc import Iterator

from ckptplan.cost.classes import OTHER, FailureKind
from ckptplan.cost.scenario import Scenario
from ckptplan.errors import InputError
from ckptplan.interval.spectrum import Behaviour
from ckptplan.plan.case import Case
from ckptplan.plan.record import Plan
from ckptplan.plan.spectrum.shares import Spectrum, behaviours
from ckptplan.units import format_count, format_percent, format_time, format_time_ends

_FEW = 10  # events of a class
_WORTH_A_WORD = 0.005  # of goodput
_MUCH_WAITING = 0.001
_DAY_S = 86_400.0
_LATE = 0.2  # of the run


def spectrum_warnings(made: Plan, scenario: Scenario, case: Case) -> tuple[str, ...]:
    """Each one plain sentence with its remedy."""
    spectrum = case.spectrum
    if spectrum is None:
        return ()
    found = [
        *_few_events(made, scenario, spectrum),
        *_short_notice(case, spectrum),
        *_waiting(made),
        *_loads_that_do_not_count(scenario, spectrum),
        *_wide_patterns(made),
        *_found_after_the_end(scenario, spectrum, case),
        *_tiers_at_one_scale(made),
        *_retention(scenario),
    ]
    return tuple(found)


def _few_events(made: Plan, scenario: Scenario, spectrum: Spectrum) -> Iterator[str]:
    """A class that costs much and was seen rarely."""
    evidence = scenario.failures.evidence
    if evidence is None or made.classes == ():
        return
    from ckptplan.fit.rate import mtbf_confidence

    lost = {one.name: one.lost_fraction for one in made.classes}
    for one in spectrum.classes:
        seen = one.share * evidence.failures
        if one.name == OTHER or not 0.5 <= seen < _FEW or lost[one.name] < _WORTH_A_WORD:
            continue
        known = mtbf_confidence(evidence.exposure_gpu_s / made.gpus, round(seen))
        yield (
            f"{one.name} takes {format_percent(lost[one.name])} of the time, and rests on {round(seen)} events: one "
            f"every {' to '.join(format_time_ends(float(known.low), float(known.high)))} (95 %); count longer before "
            "you trust that figure"
        )


def _short_notice(case: Case, spectrum: Spectrum) -> Iterator[str]:
    save_s = case.save.stall_s + case.save.flush_s
    for one, kind in zip(spectrum.classes, behaviours(case, spectrum), strict=True):
        if one.kind is FailureKind.PREEMPTION and kind is Behaviour.STOP:
            yield (
                f"{case.save.name}: the notice of {format_time(one.notice_s)} before a {one.name} is shorter than a "
                f"save of {format_time(save_s)}, so it counts as a failure; a save that is durable sooner would lose "
                "no work"
            )


def _waiting(made: Plan) -> Iterator[str]:
    spares = None if made.guards is None else made.guards.spares
    if spares is None or spares.waiting_fraction <= max(spares.most_waiting, _MUCH_WAITING):
        return
    wanted = "no number of spares is enough" if spares.nodes_needed is None else f"{spares.nodes_needed:,} would do"
    yield (
        f"{spares.nodes:,} spare nodes leave {format_percent(spares.waiting_fraction)} of the time lost for want of a "
        f"node, more than the {format_percent(spares.most_waiting)} wanted: {wanted}, or a shorter repair"
    )


def _loads_that_do_not_count(scenario: Scenario, spectrum: Spectrum) -> Iterator[str]:
    """A tier that loads faster shortens a recovery only where the loading is known by itself."""
    loads = any(tier.load_s or tier.read_bandwidth_bytes_per_s for tier in scenario.storage.tiers)
    whole = [one.name for one in spectrum.classes if one.load_s is None]
    if loads and whole:
        yield (
            f"the load times of the tiers do not count for {', '.join(whole)}, whose recovery is given as a total: "
            "write its phases"
        )


def _wide_patterns(made: Plan) -> Iterator[str]:
    """Where nearly nothing goes back to the last tier, its saves may be rarer than anybody would dare."""
    if made.tiers is None:
        return
    last = made.tiers.tiers[-1]
    if last.interval_s is not None and last.interval_s > _DAY_S:
        yield (
            f"{last.name} would be saved to every {format_time(last.interval_s)} only, because "
            f"{format_percent(last.catches)} of the failures go back to it; if the tiers below survive less than the "
            "spec says, that is lost"
        )


def _found_after_the_end(scenario: Scenario, spectrum: Spectrum, case: Case) -> Iterator[str]:
    work_s = scenario.training.work_s
    for one, kind in zip(spectrum.classes, behaviours(case, spectrum), strict=True):
        if kind is Behaviour.LATE and work_s is not None and one.delay_s > _LATE * work_s:
            yield (
                f"{one.name} is found after {format_time(one.delay_s)} on average, in a run of {format_time(work_s)}: "
                "many errors stay in the finished model, and the goodput is that of a run without end; write a "
                "verification"
            )


def _tiers_at_one_scale(made: Plan) -> Iterator[str]:
    if made.tiers is not None and len(made.scales) > 1:
        yield "tiers are planned at the size of the spec only: ckptplan scale has them at other sizes"


def _retention(scenario: Scenario) -> Iterator[str]:
    """A retention that keeps too few saves for what is found late."""
    kept = scenario.retention
    if kept is None or (kept.keep is None and kept.keep_all_s is None):
        return
    from ckptplan.plan.retention.retaining import retention_plan

    try:
        found = retention_plan(scenario)
    except InputError:
        yield "the retention of the spec cannot be kept: ckptplan retain says why"
        return
    if found.given is not None and not found.given.is_enough:
        yield (
            "the retention of the spec keeps too few saves for what is found late, which no goodput here counts: "
            "ckptplan retain says how many are needed"
        )


def spectrum_assumptions(scenario: Scenario, case: Case) -> tuple[str, ...]:
    """What holds only if the run is like that, one sentence each."""
    spectrum = case.spectrum
    if spectrum is None:
        return ()
    return tuple(_assumptions(scenario, spectrum))


def _assumptions(scenario: Scenario, spectrum: Spectrum) -> Iterator[str]:
    rest = [one for one in spectrum.classes if one.name == OTHER]
    if scenario.failures.classes and rest:
        yield (
            f"{format_percent(rest[0].share)} of the interruptions belong to no class: they count as crashes that lose "
            "a node (other)"
        )
    if scenario.failures.classes:
        yield "each class comes by itself, at a constant rate; its rate scales with the GPUs, unless given by every"
    kinds = {one.kind for one in spectrum.classes}
    if FailureKind.SILENT in kinds and scenario.verification is None:
        yield "a save that is older than the error is always left: ckptplan retain says how many that takes"
    if FailureKind.SLOW in kinds:
        yield "one slow node at a time; a second one is not slower than the first"
    if scenario.storage.tiers:
        yield "a recovery from a higher tier leaves its state on all tiers below"
        yield "the drain to a tier begins when that to the tier below has ended"
    spares = scenario.spares
    if spares is not None and spares.nodes > 0:
        there = "1 spare is" if spares.nodes == 1 else f"{format_count(spares.nodes)} spares are"
        yield f"a failed node is repaired at once, beside all others; {there} there when the run begins"
