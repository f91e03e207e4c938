"""One lever as it is ranked: in a module of its own, because every ``optimize`` loads it."""

from typing import NamedTuple


class Lever(NamedTuple):
    """One change, and the run under it at its own best interval.

    Goodputs are of what would be typed, as ``Record.goodput_typed``. Savings are over the whole work of the run, whose
    wall time becomes shorter: ``gpus * work_s * (1/before - 1/after)``; None where the work, or the price, is not
    known. [1, s]
    """

    key: str  # one word or two, such as ``asynchronous``
    title: str  # an imperative: ``save asynchronously``
    change: str  # the numbers before and after: ``stall 60 s to 277 ms, flush 2.84 s``
    strategy: str  # the best one under the change
    interval_s: float  # as typed: whole steps where the step time is known
    interval_steps: int | None
    goodput: float
    gained: float = 0.0  # goodput gained, below 0 where the change does harm
    gpu_hours_saved: float | None = None
    money_saved: float | None = None
    own: bool = False  # the user's own change
    notes: tuple[str, ...] = ()  # what must be true for it: memory for a buffer, nodes that stand by
    worth: float = 0.0  # as ``gained``, of the run as it is for as many GPU-hours; it ranks. Equal but for other GPUs
    gained_before_steps: float = 0.0  # at the best interval, not rounded to whole steps
    gpus: int = 0  # of the job under the change
    wall_s_saved: float | None = None
    in_hand: bool = True  # one can set about it; fewer failures are what many repairs come to
    beside: float | None = None  # goodput that a predictor gains to first order, beside the table and not ranked
    behind: str | None = None  # of the one to do first: what would gain more, and is in nobody's hand
