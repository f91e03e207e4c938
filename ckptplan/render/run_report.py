"""Sentences on the whole run: when it ends, how sure the figures are, and what unequal intervals would gain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ckptplan.errors import printable
from ckptplan.plan.progress import LONGEST_RUN_S
from ckptplan.plan.record import Plan
from ckptplan.render.numbers import duration, percent, points, seconds, whole
from ckptplan.units import format_time, format_time_ends

if TYPE_CHECKING:
    from ckptplan.plan.evidence import EvidenceFacts
    from ckptplan.plan.run import RunFacts

_WORTH_A_LINE = 0.00005  # of goodput
# A gain is none below the first of these, nor below both others, of which the last is a share of the run.
_SHORTEST_S, _UNHEARD_S, _UNHEARD = 1e-3, 0.5, 1e-6


def to_the_end(plan: Plan) -> list[str]:
    """When the run ends, what it takes, and how its work is divided best."""
    run = plan.run
    if run is None:
        return list(_without_end(plan))
    low, middle, high = (duration(quantile) for quantile in run.quantiles_s)
    basis = f" ({run.runs:,} simulated runs)" if run.runs else ""
    if run.taken_as_exponential:
        basis = " (the failures of so many nodes taken as exponential)"
    lines = [
        f"{format_time(run.work_s)} of work take {duration(run.expected_s)} with {printable(run.strategy)}, sd "
        f"{duration(run.sd_s)}; 5, 50, 95 %: {low}, {middle}, {high}{basis}",
        f"{_events(run)} are expected; {whole(run.gpu_hours)} GPU-hours, {whole(run.gpu_hours_lost)} of them lost",
    ]
    if run.best_pieces is not None and run.best_pieces_s is not None:
        gain = _sooner(run.expected_s - run.best_pieces_s, run.expected_s)
        lines.append(f"divided best into {_count(run.best_pieces, 'piece')}, the last without a save: {gain}")
    if plan.spread is not None:
        lines.append("this is at the means of the inputs: its quantiles are the chance of failures alone")
    if run.end is not None:
        lines.append(f"expected to end on {run.end}")
    return lines


def _without_end(plan: Plan) -> Iterator[str]:
    """Why nothing is said of the time to the end; where no progress is possible, that is said already."""
    if plan.duration_s is None or not plan.makes_progress:
        return
    wall_s = plan.duration_s / plan.best_goodput
    text = f"{format_time(plan.duration_s)} of work would take {format_time(wall_s)} at this goodput"
    if wall_s > LONGEST_RUN_S:
        yield f"{text}: such a run never ends"
    else:
        yield f"{text}, by the long run: it has too many failures to be played, so that no quantiles are known"


def _sooner(gain_s: float, run_s: float) -> str:
    """How much sooner a run ends; a gain that no clock would show, in a run this long, is none."""
    if gain_s < _SHORTEST_S or (gain_s < _UNHEARD_S and gain_s < _UNHEARD * run_s):
        return "no sooner"
    return f"{format_time(gain_s)} sooner"


def _events(run: RunFacts) -> str:
    if run.saves is None:
        return _count(run.failures, "recovery", "recoveries")
    return f"{_count(run.failures, 'failure')} and {_count(run.saves, 'save')}"


def verified(plan: Plan) -> list[str]:
    """Whether the formula holds against a simulation, if one was asked for."""
    if plan.verification is None:
        return []
    from ckptplan.render.simulation_report import verdict

    return [verdict(plan.verification)]


def how_sure(plan: Plan) -> list[str]:
    """What the count of failures and the unsure inputs leave open."""
    return [*_evidence(plan), *_new_nodes(plan), *_spread(plan)]


def _evidence(plan: Plan) -> Iterator[str]:
    known = plan.evidence
    if known is None:
        return
    counted = f"{_count(known.failures, 'failure')} in {whole(known.exposure_gpu_hours)} GPU-hours"
    counted += f" ({format_time(known.exposure_s)} of {_gpus(plan.gpus)})"
    counted += ", taken as exponential" if known.law_differs else ""
    level = percent(known.level).replace(".00", "")
    if known.mtbf_high_s is None or known.interval_high_s is None or known.goodput_high is None:
        yield (
            f"{counted}: the MTBF is above {format_time(known.mtbf_low_s)} ({level}), so save every "
            f"{seconds(known.interval_low_s)} or less often, goodput at least {percent(known.goodput_low)}{_way(plan)}"
        )
    else:
        yield (
            f"{counted}: MTBF {' to '.join(format_time_ends(known.mtbf_low_s, known.mtbf_high_s))} ({level}), interval "
            f"{seconds(known.interval_low_s)} to {seconds(known.interval_high_s)}, goodput "
            f"{percent(known.goodput_low)} to {percent(known.goodput_high)} with {printable(known.strategy)}"
        )
    steps = "" if known.posterior_interval_steps is None else f" = {_count(known.posterior_interval_steps, 'step')}"
    yield (
        f"by the posterior rate ({_prior(known)}) save every "
        f"{seconds(known.posterior_interval_s)}{steps}{_way(plan)}; not knowing the MTBF better costs "
        f"{_points(known.expected_loss)} of goodput on average"
    )


def _way(plan: Plan) -> str:
    """Whose interval it is, where the plan at the top of the page is one over several tiers and this is of one."""
    known = plan.evidence
    return f" with {printable(known.strategy)}" if known is not None and plan.tiers is not None else ""


def _prior(known: EvidenceFacts) -> str:
    if known.prior_exposure_s == 0.0:
        return f"prior of Jeffreys, worth {_count(known.prior_shape, 'failure')}"
    believed = format_time(known.prior_exposure_s / known.prior_shape)
    return f"prior worth {_count(known.prior_shape, 'failure')} at an MTBF of {believed}"


def _spread(plan: Plan) -> Iterator[str]:
    spread = plan.spread
    if spread is None:
        return
    low, _, high = spread.interval_s
    worst, middle, best = spread.typed_goodput
    yield (
        f"over the ranges of the inputs (5 to 95 %, {spread.samples:,} draws): best interval {seconds(low)} to "
        f"{seconds(high)}; the planned one yields {percent(worst)} to {percent(best)}, median {percent(middle)}, and "
        f"is {_points(spread.expected_loss)} below the best on average"
    )
    named = [f"{cause.key} {100 * cause.share:.0f} %" for cause in spread.causes if cause.share >= 0.005]
    if named:
        yield f"spread of the goodput by cause: {', '.join(named)}"


def unequal(plan: Plan) -> list[str]:
    """What saves at unequal intervals would gain, if anything."""
    found = plan.schedule
    if found is None or found.gain < _WORTH_A_LINE:
        return []
    return [
        f"the hazard changes with age: a first save {seconds(found.first_period_s)} after a restart, the tenth "
        f"{seconds(found.tenth_period_s)} after the ninth, and so on would yield {points(found.gain)} more"
    ]


def _new_nodes(plan: Plan) -> Iterator[str]:
    early = plan.early
    if early is not None and early.first_failures > early.long_run_failures:
        yield (
            f"an MTBF measured early does not extrapolate: if all nodes are new at the start, "
            f"{whole(early.first_failures)} of them fail at least once within {format_time(early.over_s)}, where the "
            f"long run has {_count(early.long_run_failures, 'failure')}"
        )


def _points(share: float) -> str:
    """A loss in points that is not rounded to nothing."""
    return points(share) if share >= 0.00005 else f"{100 * share:.1g} points" if share > 0 else "nothing"


def _count(number: float, noun: str, plural: str | None = None) -> str:
    return f"{whole(number)} {noun if number == 1 else plural or noun + 's'}"


def _gpus(count: int) -> str:
    return _count(count, "GPU")
