"""The process of `ckptplan.simulate` as a plain event loop in Python, segment by segment: slow, and easy to check.

It shares no line with the package. The benchmark of the simulator measures against it, and a test compares the two.
"""

from __future__ import annotations

import random
from typing import NamedTuple


class Setting(NamedTuple):
    """One process under exponential failures that strike the whole recovery. [s], speed [1]."""

    interval_s: float
    stall_s: float
    flush_s: float
    speed: float
    recovery_s: float
    mtbf_s: float


class Outcome(NamedTuple):
    """What a number of failures came to. [s]."""

    wall_s: float
    useful_s: float  # work that became durable
    saving_s: float  # in stalls and slow-downs
    lost_s: float  # work done that did not become durable
    recovering_s: float


def play(setting: Setting, failures: int, seed: int) -> Outcome:
    """Play the process up to the given number of failures, event by event."""
    W, d, F, om, recovery, M = setting
    draw = random.Random(seed).expovariate  # noqa: S311 - a simulation
    wall = useful = saving = lost = recovering = 0.0
    for _ in range(failures):
        left = draw(1.0 / M)  # to the failure
        if left < recovery:
            wall += left
            recovering += left
            continue
        wall += recovery
        recovering += recovery
        left -= recovery
        work = W  # before the next save
        flush = 0.0  # left of the flush in flight
        at_risk = 0.0  # work done since the newest durable save
        while True:
            if flush > 0.0:  # training at speed om beside the flush
                if left < flush:
                    wall += left
                    saving += (1.0 - om) * left
                    at_risk += om * left
                    break
                wall += flush
                left -= flush
                saving += (1.0 - om) * flush
                work -= om * flush
                at_risk += om * flush - W
                flush = 0.0
                useful += W
            if left < work:  # training at full speed
                wall += left
                at_risk += left
                break
            wall += work
            left -= work
            at_risk += work
            if left < d:  # the stall
                wall += left
                saving += left
                break
            wall += d
            left -= d
            saving += d
            work, flush = W, F
            if F == 0.0:
                useful += W
                at_risk -= W
        lost += at_risk
    return Outcome(wall, useful, saving, lost, recovering)
