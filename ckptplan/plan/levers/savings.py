"""What a change of goodput is worth over the run: GPU-hours, wall time and money."""

from typing import NamedTuple

from ckptplan.cost.scenario import Scenario
from ckptplan.units import HOUR_S


class Worth(NamedTuple):
    """``equal_goodput``: at which the run as it is would take as many GPU-hours as under the change. [1, GPU h, s]."""

    equal_goodput: float
    gpu_hours: float | None
    wall_s: float | None
    money: float | None


def worth(
    before: Scenario, goodput: float, after: Scenario, changed: float, *, extra_gpus: int, price: float | None
) -> Worth:
    """What a change saves over the run.

    Parameters
    ----------
    before, after : Scenario
        The run as it is, and under the change.
    goodput, changed : float
        What they yield. [1]
    extra_gpus : int
        GPUs that stand by for the change: paid for, and not working. [1]
    price : float, optional
        Of one GPU-hour. [money]

    Returns
    -------
    Worth
        GPU-hours and wall time are None where the work is not known, money also where the price is not.

    Notes
    -----
    GPU-hours are ``gpus * work / goodput``: ``gpus * work * (1/g - 1/g')`` are saved where GPUs and work stay.
    """
    longer = _work_ratio(before, after)
    gpus, gpus_after = before.cluster.gpus, after.cluster.gpus + extra_gpus
    equal = changed * gpus / (gpus_after * longer)
    work_s = before.training.work_s
    if work_s is None:
        return Worth(equal, None, None, None)
    hours = gpus * work_s * (1.0 / goodput - 1.0 / equal) / HOUR_S
    wall_s = work_s * (1.0 / goodput - longer / changed)
    return Worth(equal, hours, wall_s, None if price is None else hours * price)


def _work_ratio(before: Scenario, after: Scenario) -> float:
    """Work of the changed run over that of the run as it is, each in its own time at full speed. [1].

    A duration is of the GPUs of the spec: other GPUs do the same work in another time, as ``ckptplan scale`` has it.
    """
    was_s, is_s = before.training.work_s, after.training.work_s
    if before.training != after.training and was_s and is_s:
        return is_s / was_s
    more = after.cluster.gpus / before.cluster.gpus
    return 1.0 if more == 1.0 else more**-before.training.scaling_exponent
