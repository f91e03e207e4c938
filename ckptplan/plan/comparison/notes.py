"""What must be known to read a comparison rightly, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from ckptplan.cost.scenario import Scenario
from ckptplan.plan.comparison.record import Comparison
from ckptplan.units import format_time

_OVERLAP = 1e-4  # of goodput: a hundredth of a point, the last digit that is printed


def notes_of(made: Comparison, first: Scenario, second: Scenario) -> tuple[str, ...]:
    """Every sentence that applies."""
    return (*_of_causes(made), *_of_sizes(made, first, second), *_of_hours(made), *_of_silent(made))


def _of_causes(made: Comparison) -> Iterator[str]:
    if len(made.causes) > 1:
        orders = "all" if made.orders is None else f"{made.orders} sampled"
        text = (
            f"points of a cause: the mean, over {orders} orders in which the causes could be changed one after another "
            "from A to B, of what it adds when its turn comes (Shapley value); their sum is the whole difference"
        )
        yield text if made.orders is None else f"{text}, and +- is the standard error of each"
    if any(cause.most - cause.least > _OVERLAP for cause in made.causes):
        yield (
            "least and most: what a cause adds at its worst and its best place in the order; where they are far apart, "
            "causes overlap, and the gain of one depends on whether others came first"
        )
    for cause in made.causes:
        if len(cause.groups) > 1:
            yield f"{cause.name} are one cause, because they cannot be mixed{f': {cause.why}' if cause.why else ''}"
    if len({outcome.strategy for outcome in made.outcomes} - {None}) > 1:
        yield "the strategy that is best counts in A, in B and in everything between"


def _of_sizes(made: Comparison, first: Scenario, second: Scenario) -> Iterator[str]:
    a, b = made.outcomes
    groups = {group for cause in made.causes for group in cause.groups}
    if a.gpus == b.gpus:
        return
    text = "failures hold the MTBF per GPU: that of the job, which falls as GPUs are added, changes with the cluster"
    if "failures" not in groups:
        text += f" alone, from {format_time(a.mtbf_s)} to {format_time(b.mtbf_s)}"
    yield text
    if "failures" in groups and isclose(a.mtbf_s, b.mtbf_s, rel_tol=1e-9):
        per_gpu = f"{format_time(a.mtbf_per_gpu_s)} and {format_time(b.mtbf_per_gpu_s)}"
        yield f"the MTBF of the job is the same in both, which at their sizes is {per_gpu} per GPU: so failures differ"
    yield "sizes differ: goodput says what part of the GPUs works, useful GPUs say how much work that is"
    if a.work_s is not None and b.work_s is not None:
        yield "the work of each run is the time that its own GPUs would need without saves and failures"
    if first.training.scaling_exponent != 1.0 or second.training.scaling_exponent != 1.0:
        yield "useful GPUs are of the own size of each run; training.scaling_exponent compares sizes only in scale"


def _of_hours(made: Comparison) -> Iterator[str]:
    if any(outcome.wall_s is not None for outcome in made.outcomes):
        yield (
            "run time and GPU-hours are the work over this goodput, which is that of a long run; optimize also counts "
            "the end, after which nothing is saved, so that its hours differ a little"
        )


def _of_silent(made: Comparison) -> Iterator[str]:
    for group in made.silent:
        yield f"{group} differs too, and no goodput here depends on it"
