"""What the levers of a run come out as: frozen, in SI units, the best lever first."""

from typing import NamedTuple

from ckptplan.plan.levers.lever import Lever
from ckptplan.plan.record import Record

__all__ = ["Elasticity", "Left", "Lever", "Levers", "Overlap"]


class Left(NamedTuple):
    """A lever that this run does not have, and why."""

    key: str
    title: str
    why: str


class Elasticity(NamedTuple):
    """How the lost share of time follows one input at the optimum, the best interval moving with it.

    ``elasticity`` is d ln(1 - goodput) / d ln(input); ``goodput_for_10_percent`` is what the goodput gains if the input
    is 10 % larger, by that slope. [1]
    """

    key: str  # of the input: mtbf, stall, flush, restart, ...
    title: str
    value_text: str
    elasticity: float
    goodput_for_10_percent: float


class Overlap(NamedTuple):
    """Two levers together. ``overlap`` is the sum of what each gains minus ``joint``; below 0 they help each other."""

    first: str
    second: str
    first_gained: float
    second_gained: float
    joint: float
    overlap: float


class Levers(NamedTuple):
    """Everything that ``ckptplan levers`` prints."""

    name: str
    gpus: int
    best: Record
    strategy: str  # of the plan as it is; ``tiers`` where several tiers are best
    interval_s: float  # as typed: whole steps where the step time is known
    interval_steps: int | None
    goodput: float
    step_time_s: float | None
    work_s: float | None
    gpu_hour_price: float | None
    levers: tuple[Lever, ...]  # ranked: what gains most first
    left: tuple[Left, ...]
    elasticities: tuple[Elasticity, ...]
    overlaps: tuple[Overlap, ...]  # pairs of levers, the largest overlap first
    all_together: float | None  # goodput gained by all levers that go together
    first: str  # the one thing to do first, in one sentence
    warnings: tuple[str, ...] = ()
    together: tuple[str, ...] = ()  # keys of the levers that ``all_together`` is of
    apart: tuple[Left, ...] = ()  # pairs that cannot be pulled together, and why
    paired: int = 0  # levers of which all pairs were tried, the best ones
    assumptions: tuple[str, ...] = ()
