"""Scenario -> Plan: ties what a save costs to how often to save, and says what to believe."""

from __future__ import annotations

from ckptplan.plan.pipeline import METHOD_NAMES, Unsure, plan
from ckptplan.plan.record import Plan, Record

__all__ = ["METHOD_NAMES", "Plan", "Record", "Unsure", "plan"]
