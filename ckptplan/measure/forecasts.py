"""What the formulas of a plan say of one save on this node."""

from typing import NamedTuple

from ckptplan.cost.scenario import Storage
from ckptplan.cost.write import copy_out_time, write_time
from ckptplan.measure.setting import Setting


class Forecast(NamedTuple):
    """What the formulas of a plan say for this node, from rates that were measured alone. [s]."""

    stall_s: float
    flush_s: float


def forecast(setting: Setting, copy_bytes_per_s: float, write_bytes_per_s: float) -> Forecast:
    """Stall and flush of this node as a plan computes them.

    Parameters
    ----------
    setting : Setting
        Writers, and bytes of each.
    copy_bytes_per_s, write_bytes_per_s : float
        Rate of the copy of one writer, and of the writes of the node. [bytes/s]

    Returns
    -------
    Forecast
    """
    total = setting.writers * setting.size_bytes
    storage = Storage(write_bandwidth_per_node_bytes_per_s=write_bytes_per_s)
    write = write_time(total, 1, setting.writers, storage)
    return Forecast(
        stall_s=float(copy_out_time(setting.size_bytes, 1, copy_bytes_per_s)),
        flush_s=0.0 if write is None else write.seconds,
    )
