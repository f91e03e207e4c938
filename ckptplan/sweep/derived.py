"""Figures of a row that follow from those of its record: what is useful, and what the run takes and costs."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from ckptplan.units import HOUR_S

Floats = npt.NDArray[np.float64]


class Derived(ABC):
    """Arrays that follow from others; they broadcast against each other. nan stands for what is not known."""

    price: float | None  # of one GPU for one hour [money]

    @property
    @abstractmethod
    def gpus(self) -> Floats:
        """GPUs of the job. [1]."""

    @property
    @abstractmethod
    def work_s(self) -> Floats:
        """Time of all steps at full speed. [s]."""

    @property
    @abstractmethod
    def goodput_typed(self) -> Floats:
        """Goodput of the number to type. [1]."""

    @property
    def lost_fraction(self) -> Floats:
        """Share of wall time that is not useful. [1]."""
        return 1.0 - self.goodput_typed

    @property
    def useful_gpus(self) -> Floats:
        """GPUs times goodput. [1]."""
        return self.gpus * self.goodput_typed

    @property
    def gpu_hours(self) -> Floats:
        """GPU-hours of the run; infinite where nothing of it is useful. [GPU h]."""
        with np.errstate(divide="ignore", over="ignore"):
            return self._work_gpu_h / self.goodput_typed

    @property
    def gpu_hours_lost(self) -> Floats:
        """Those of them that are not work. [GPU h]."""
        with np.errstate(invalid="ignore"):
            return self.gpu_hours - self._work_gpu_h

    @property
    def money(self) -> Floats:
        """Price of the run. [money]."""
        return self.gpu_hours * self._price

    @property
    def money_lost(self) -> Floats:
        """Price of what is not work. [money]."""
        return self.gpu_hours_lost * self._price

    @property
    def _work_gpu_h(self) -> Floats:
        return self.work_s * self.gpus / HOUR_S

    @property
    def _price(self) -> float:
        return float("nan") if self.price is None else self.price
