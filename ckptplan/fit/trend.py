"""Does the failure rate change over the time observed? Every test of it under one name."""

from ckptplan.fit.laplace import Laplace, laplace
from ckptplan.fit.power_law import PowerLaw, power_law
from ckptplan.fit.recent import Change, Recent, change_point, constant_rate, recent_part

__all__ = [
    "Change",
    "Laplace",
    "PowerLaw",
    "Recent",
    "change_point",
    "constant_rate",
    "laplace",
    "power_law",
    "recent_part",
]
