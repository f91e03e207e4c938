"""A run with a lever pulled."""

from typing import NamedTuple

from ckptplan.cost.scenario import Scenario


class Change(NamedTuple):
    """A run with a lever pulled. ``extra_gpus`` stand by for it, and are paid for."""

    scenario: Scenario
    text: str
    notes: tuple[str, ...] = ()
    extra_gpus: int = 0
