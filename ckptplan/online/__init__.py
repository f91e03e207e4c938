"""The interval chosen while training runs; the controller needs the standard library only."""

from __future__ import annotations

from ckptplan.online.controller import IntervalController

__all__ = ["IntervalController"]
