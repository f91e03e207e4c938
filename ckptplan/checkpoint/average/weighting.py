"""How much each checkpoint counts in the mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.errors import InputError

_CLOSE = 1e-6  # that weights may miss 1 by: six digits were typed


class Weighting(NamedTuple):
    """One weight per checkpoint, in the order given: at least 0, sum 1."""

    name: str  # uniform, given, exponential
    weights: tuple[float, ...]


def uniform(checkpoints: int) -> Weighting:
    """The plain mean: that of stochastic weight averaging (Izmailov et al. 2018, UAI, algorithm 1)."""
    return Weighting("uniform", (1.0 / checkpoints,) * checkpoints)


def given(weights: Sequence[float], checkpoints: int) -> Weighting:
    """Weights as they were typed.

    They must sum to 1 within 1e-6, and are then divided by their sum. A sum that is further off is refused rather than
    normalised: it is more often a weight forgotten than a ratio meant.
    """
    if len(weights) != checkpoints:
        said = f"{len(weights)} weights for {checkpoints} checkpoints"
        raise InputError(said, hint="give one weight for each checkpoint, in the same order")
    wrong = [weight for weight in weights if not (math.isfinite(weight) and 0.0 <= weight <= 1.0)]
    if wrong:
        said = f"a weight of {wrong[0]:g}: not between 0 and 1"
        raise InputError(said, hint="a mean of checkpoints has no negative weights")
    total = math.fsum(weights)
    if abs(total - 1.0) > _CLOSE:
        scaled = ",".join(f"{weight / total:.6g}" for weight in weights) if total else "equal ones"
        raise InputError(f"weights sum to {total:.9g}, not to 1", hint=f"write for example {scaled}")
    return Weighting("given", tuple(weight / total for weight in weights))


def exponential(decay: float, checkpoints: int) -> Weighting:
    """Weights that fall by a factor from each checkpoint to the one before; the last one is the newest.

    Checkpoint k of n has ``decay^(n-k)`` over the sum of all. That is the exponential moving average without the weight
    of its start, as Adam corrects its own (Kingma and Ba 2015, section 3): with the few checkpoints of a folder the
    oldest would otherwise have nearly all of the weight. The decay is per checkpoint, not per training step.
    """
    if not (math.isfinite(decay) and 0.0 < decay < 1.0):
        raise InputError(f"a decay of {decay:g}: not between 0 and 1", hint="write for example 0.9")
    powers = [decay ** (checkpoints - 1 - k) for k in range(checkpoints)]
    total = math.fsum(powers)
    return Weighting("exponential", tuple(power / total for power in powers))
