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
    def working_gpus(self) -> Floats:
        """Those of them that are not idle: the layout fills no further replica with the others. [1]."""

    @property
    @abstractmethod
    def speed_gpus(self) -> Floats:
        """Throughput without saves and failures, in GPUs of the size that the spec states. [1]."""

    @property
    @abstractmethod
    def work_s(self) -> Floats:
        """Time of all steps at full speed. [s]."""

    @property
    @abstractmethod
    def wall_s(self) -> Floats:
        """Expected wall time of the run, as `plan.scale` has it; nan where it is not known or never ends. [s]."""

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
        """Throughput, in GPUs of the size that the spec states that lose nothing. [1]."""
        return self.speed_gpus * self.goodput_typed

    @property
    def gpu_hours(self) -> Floats:
        """GPU-hours of the run to its end, of all GPUs, for idle ones are paid too. [GPU h]."""
        return self.wall_s * self.gpus / HOUR_S

    @property
    def gpu_hours_lost(self) -> Floats:
        """Those of them that are not work: idle GPUs do none. [GPU h]."""
        return self.gpu_hours - self.work_s * self.working_gpus / HOUR_S

    @property
    def money(self) -> Floats:
        """Price of the run. [money]."""
        return self._price * self.gpus * self.wall_s / HOUR_S  # in the order in which scale multiplies

    @property
    def money_lost(self) -> Floats:
        """Price of what is not work. [money]."""
        return self.gpu_hours_lost * self._price

    @property
    def _price(self) -> float:
        return float("nan") if self.price is None else self.price
