"""The pipeline: for each scale and strategy, cost -> interval -> shares -> record; then the whole run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ckptplan.cost.scenario import LawName, Scenario
from ckptplan.cost.size import sizes
from ckptplan.cost.state import bytes_per_parameter
from ckptplan.errors import InputError
from ckptplan.interval.methods import METHODS
from ckptplan.plan import advice, assumptions, refusals, warnings
from ckptplan.plan.case import Case, cases_of
from ckptplan.plan.chosen import saves_to_tiers
from ckptplan.plan.progress import no_progress
from ckptplan.plan.record import TIERS, CheckpointFacts, FailureFacts, Plan, Record, recommended
from ckptplan.plan.rows import Best, Money, held_against, records_of, tier_record
from ckptplan.plan.scale.refusals import reason
from ckptplan.plan.scale.size import size_at
from ckptplan.plan.wall_time import wall_time
from ckptplan.units import format_gpus

if TYPE_CHECKING:
    from ckptplan.cost.spread import Spread
    from ckptplan.plan.propagation import Rebuild
    from ckptplan.plan.tiers.tiering import Tiering, TierPlan

METHOD_NAMES = tuple(METHODS)
ALONE = " alone"  # ends the name of a strategy that is one tier by itself


class Unsure(NamedTuple):
    """Inputs that are not known exactly, and how to rebuild the scenario with other values of them."""

    spreads: "Mapping[str, Spread]"
    rebuild: "Rebuild"


def default_methods(scenario: Scenario) -> tuple[str, ...]:
    """The methods that say something about this run: the one for other laws needs another law."""
    exponential = scenario.failures.law.name is LawName.EXPONENTIAL
    return tuple(name for name in METHOD_NAMES if name != "renewal" or not exponential)


def plan(
    scenario: Scenario,
    *,
    methods: Sequence[str] | None = None,
    intervals_s: Sequence[float] = (),
    steps: Sequence[int] = (),
    gpus: Sequence[int] = (),
    gpu_hour_price: float | None = None,
    strict: bool = False,
    unsure: Unsure | None = None,
    verify: bool = False,
    seed: int = 0,
    whole_run: bool = True,
) -> Plan:
    """Plan the checkpoint interval of a run.

    Parameters
    ----------
    scenario : Scenario
        The run.
    methods : sequence of str, optional
        Which of ``METHOD_NAMES`` to account by; by default those that say something about the run.
    intervals_s : sequence of float
        Given intervals to evaluate beside the optimum: work between two saves. [s]
    steps : sequence of int
        Given intervals in optimizer steps; needs ``training.step_time``.
    gpus : sequence of int
        Further scales, the MTBF per GPU held; the scenario's own scale always comes first.
    gpu_hour_price : float, optional
        Price of one GPU for one hour, for what a given interval loses. [money]
    strict : bool
        Refuse what would otherwise be corrected and said: an interval below the flush, buffers that do not fit.
    unsure : Unsure, optional
        Inputs that are not known exactly, carried through the plan of the best strategy.
    verify : bool
        Simulate the best record and hold the formula against it.
    seed : int
        Of all random numbers.
    whole_run : bool
        Also say when the run ends and how sure that is; the recommendation does not need it.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If something needed is neither given nor computable, or ``strict`` refuses it.
    """
    chosen = default_methods(scenario) if methods is None else methods
    given = (*intervals_s, *_as_intervals(steps, scenario))
    runs, cases, notes = _at_sizes(scenario, tuple(dict.fromkeys((scenario.cluster.gpus, *gpus))))
    scales = tuple(runs)
    if strict:
        refusals.refuse(cases, given)
    money = {count: Money(run.training.work_s, gpu_hour_price) for count, run in runs.items()}
    records = tuple(record for case in cases for record in records_of(case, chosen, given, money[case.gpus]))
    here = [case for case in cases if case.gpus == scenario.cluster.gpus]
    best = max((r for r in records if not r.given and r.gpus == scenario.cluster.gpus), key=recommended)
    made = Plan(
        name=scenario.name,
        gpus=scenario.cluster.gpus,
        step_time_s=scenario.training.step_time_s,
        duration_s=scenario.training.work_s,
        checkpoint=_checkpoint_facts(scenario),
        failures=_failure_facts(scenario, here[0].mtbf_s),
        restart=here[0].of_spec.restart,
        saves=tuple(case.save for case in here),
        records=records,
        best=best,
        binds=assumptions.binds(scenario, here),
        assumptions=assumptions.assumptions(scenario, here, scales),
        warnings=warnings.warnings(scenario, records, cases, notes),
        scales=scales,
        step_times_s=tuple(run.training.step_time_s for run in runs.values()),
        advice=advice.advice(here, best),
    )
    chosen_case = next(c for c in here if c.save.name == best.strategy)
    made = _with_the_whole_run(made, scenario, chosen_case, money[made.gpus], seed, whole_run=whole_run)
    if not made.makes_progress:
        made = made._replace(advice=(no_progress(here),))
    elif whole_run:
        from ckptplan.plan.curve import flat_of_plan
        from ckptplan.plan.levers.quick import first_lever

        made = made._replace(flat=flat_of_plan(scenario, made, chosen_case))
        made = made._replace(lever=first_lever(scenario, made, gpu_hour_price))
    if unsure is not None and unsure.spreads:
        made = _with_spread(made, scenario, unsure, seed)
    return _verified(made, scenario, seed) if verify else made


def _with_the_whole_run(
    made: Plan, scenario: Scenario, case: Case, money: Money, seed: int, *, whole_run: bool
) -> Plan:
    """The plan with what holds for the best strategy from the start of the run to its end."""
    has_guards = scenario.prediction is not None or scenario.training.step_noise > 0.0
    if case.spectrum is not None or has_guards:
        made = _with_the_spectrum(made, scenario, case, money, seed, whole_run=whole_run)
    if not whole_run:
        return made
    if scenario.training.work_s is not None and case.spectrum is None:
        from ckptplan.plan.run import run_facts

        made = made._replace(run=run_facts(scenario, case, made.best.typed_interval_s(made.step_time_s), seed))
        made = made._replace(warnings=(*made.warnings, *warnings.short_run(made)))
    if scenario.failures.evidence is not None:
        from ckptplan.plan.evidence import evidence_facts

        made = made._replace(evidence=evidence_facts(case, scenario.failures.evidence))
    if not case.is_exponential:
        from ckptplan.plan.memory import early_facts, schedule_facts

        made = made._replace(schedule=schedule_facts(case), early=early_facts(scenario))
    return made


def _with_the_spectrum(made: Plan, scenario: Scenario, case: Case, money: Money, seed: int, *, whole_run: bool) -> Plan:
    """The plan with what each class takes, what guards against it, several tiers, and the run under all of them."""
    from ckptplan.plan.run import spectrum_run_facts
    from ckptplan.plan.spectrum.by_class import class_facts, of_shares
    from ckptplan.plan.spectrum.guards import guard_facts
    from ckptplan.plan.spectrum.shares import spectrum_in
    from ckptplan.plan.spectrum.warnings import spectrum_assumptions, spectrum_warnings

    interval_s = made.best.typed_interval_s(made.step_time_s)
    made = made._replace(classes=class_facts(case, interval_s), guards=guard_facts(scenario, case, interval_s))
    if case.spectrum is None:
        return made
    found = _tiers(made, scenario, case)
    if found is not None:
        made = made._replace(tiers=found.plan, records=(*made.records, tier_record(case.of_spec, found.plan)))
        made = made._replace(records=(*made.records, *_given_to_tiers(made, scenario, case, found.plan, money)))
    best = found if made.tiers_are_best else None
    if best is not None:
        case, interval_s = case.of_spec, best.plan.interval_s
        spectrum = spectrum_in(case)
        if len(spectrum.classes) > 1:
            made = made._replace(classes=of_shares(case, spectrum, best.shares, best.recovery_s))
    if whole_run:
        made = made._replace(run=spectrum_run_facts(scenario, case, interval_s, best, seed))
    return made._replace(
        warnings=(*made.warnings, *spectrum_warnings(made, scenario, case)),
        assumptions=(*made.assumptions, *spectrum_assumptions(scenario, case)),
    )


def _given_to_tiers(made: Plan, scenario: Scenario, case: Case, best: "TierPlan", money: Money) -> Iterator[Record]:
    """The records of given intervals between slots, for the pattern of the best plan over all tiers."""
    from ckptplan.plan.tiers.tiering import tiering_of

    asked = dict.fromkeys(record.asked_interval_s for record in made.given() if record.asked_interval_s is not None)
    held = Best(best.goodput, wall_time(money.work_s, None, best.interval_s, best.goodput))
    for asked_s in asked:
        found = tiering_of(scenario, case, interval_s=asked_s)
        if found is not None:
            row = tier_record(case.of_spec, found.plan)
            row = row._replace(given=True, asked_interval_s=asked_s)
            yield held_against(held, row, None, money)


def _tiers(made: Plan, scenario: Scenario, case: Case) -> "Tiering | None":
    """The best plan over all tiers, beside the best tier alone."""
    if not saves_to_tiers(scenario):
        return None
    from ckptplan.plan.tiers.tiering import tiering_of

    alone = [record for record in made.optima() if record.strategy.endswith(ALONE)]
    single = max(alone, key=lambda record: record.goodput_typed, default=None)
    found = tiering_of(scenario, case, None if single is None else (single.strategy, single.goodput_typed))
    return found if found is not None and found.plan.goodput > 0.0 else None  # nan and 0: the table says so already


def _with_spread(made: Plan, scenario: Scenario, unsure: Unsure, seed: int) -> Plan:
    from ckptplan.plan.propagation import propagate

    best = made.best
    facts = propagate(
        scenario, unsure.spreads, unsure.rebuild, strategy=best.strategy, interval_s=best.interval_s, seed=seed
    )
    return made._replace(spread=facts)


def _verified(made: Plan, scenario: Scenario, seed: int) -> Plan:
    from ckptplan.plan.simulation import simulate_plan

    strategy, interval_s = made.best.strategy, made.best.typed_interval_s(made.step_time_s)
    if made.tiers is not None and made.tiers_are_best:
        strategy, interval_s = TIERS, made.tiers.interval_s
    found = simulate_plan(scenario, strategy=strategy, interval_s=interval_s, seed=seed)
    return made._replace(verification=found.prediction)


def _at_sizes(scenario: Scenario, counts: Sequence[int]) -> tuple[dict[int, Scenario], list[Case], list[str]]:
    """The same work at every number of GPUs, the ways of saving there, and what changed on the way.

    A size that cannot be planned is left out and said to be; the planned one must be there.
    """
    runs: dict[int, Scenario] = {}
    cases: list[Case] = []
    notes: list[str] = []
    for count in counts:
        try:
            size = size_at(scenario, count)
            cases += cases_of(size.scenario)
        except InputError as error:
            if count == scenario.cluster.gpus:
                raise
            notes.append(f"{format_gpus(count)} are left out: {reason(error)}")
            continue
        runs[count] = size.scenario
        notes += [size.note] if size.note else []
    return runs, cases, notes


def _as_intervals(steps: Sequence[int], scenario: Scenario) -> list[float]:
    if steps and scenario.training.step_time_s is None:
        raise InputError(
            "intervals in steps need the time of one step",
            hint="add training.step_time to the spec, for example training: {step_time: 5 s}",
        )
    return [count * (scenario.training.step_time_s or 0.0) for count in steps]


def _checkpoint_facts(scenario: Scenario) -> CheckpointFacts:
    size = sizes(scenario.model, scenario.cluster)
    return CheckpointFacts(
        size_bytes=size.total_bytes,
        size_per_gpu_bytes=size.total_bytes / scenario.cluster.gpus,
        size_per_node_bytes=size.total_bytes / scenario.cluster.nodes,
        bytes_per_parameter=bytes_per_parameter(scenario.model),
        ledger=scenario.model.ledger.name,
    )


def _failure_facts(scenario: Scenario, mtbf_s: float) -> FailureFacts:
    per_gpu = scenario.failures.mtbf_per_gpu_s
    return FailureFacts(
        mtbf_s=mtbf_s,
        mtbf_per_gpu_s=per_gpu,
        mtbf_per_node_s=per_gpu / scenario.cluster.gpus_per_node,
        source=scenario.failures.source,
        failures_counted=scenario.failures.count,
    )
