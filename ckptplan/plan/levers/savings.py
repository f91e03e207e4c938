"""What a change is worth over the run: goodput, GPU-hours, wall time and money."""

from ckptplan.cost.scenario import Scenario
from ckptplan.plan.levers.lever import Lever
from ckptplan.units import HOUR_S


def with_savings(
    lever: Lever,
    before: Scenario,
    goodput: float,
    after: Scenario,
    *,
    extra_gpus: int = 0,
    price: float | None = None,
    longer: float = 1.0,
) -> Lever:
    """A lever with what it gains and saves.

    Parameters
    ----------
    lever : Lever
        With the goodput under the change; what is gained and saved is filled in.
    before, after : Scenario
        The run as it is, and under the change.
    goodput : float
        What the run yields as it is. [1]
    extra_gpus : int
        GPUs that stand by for the change: paid for, and not working. [1]
    price : float, optional
        Of one GPU-hour. [money]
    longer : float
        Time of the same work at full speed under the change, over that of the run as it is. [1]

    Returns
    -------
    Lever
        GPU-hours and wall time are None where the work is not known or never ends, money also where the price is not.

    Notes
    -----
    GPU-hours are ``gpus * work / goodput``: ``gpus * work * (1/g - 1/g')`` are saved where GPUs and work stay.
    ``worth`` compares goodputs for equal GPU-hours: the one at which the run as it is would take as many as under the
    change.
    """
    gpus, gpus_after = before.cluster.gpus, after.cluster.gpus
    equal = lever.goodput * gpus / ((gpus_after + extra_gpus) * longer)
    found = lever._replace(gained=lever.goodput - goodput, worth=equal - goodput, gpus=gpus_after)
    work_s = before.training.work_s
    if work_s is None or not goodput > 0.0:
        return found
    hours = gpus * work_s * (1.0 / goodput - 1.0 / equal) / HOUR_S
    return found._replace(
        gpu_hours_saved=hours,
        money_saved=None if price is None else hours * price,
        wall_s_saved=work_s * (1.0 / goodput - longer / lever.goodput),
    )
