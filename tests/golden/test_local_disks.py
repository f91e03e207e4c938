"""A published recipe that saves to the disks of each machine too: what those saves alone would yield."""

from __future__ import annotations

import pytest

from ckptplan.load import load
from ckptplan.plan import plan

_LOCAL = "{name: local SSD, mode: asynchronous, stall: 1 s, flush: 18 s, training_speed_while_flushing: 0.98}"


def test_saves_to_local_disks_alone() -> None:
    """432 GPUs: 24 steps are best and yield 99.608 %, and the 5 steps of the recipe 99.234 %, if no node were lost."""
    spec = load("google-405b-432", sets=[f"save=[{_LOCAL}]"])
    made = plan(spec.scenario, methods=["exact"], intervals_s=[225.0])
    best = made.optima()[0]
    assert best.interval_s == pytest.approx(1070.9, abs=0.05)
    assert best.interval_steps == 24
    assert best.goodput == pytest.approx(0.99608, abs=1e-5)
    (given,) = (record for record in made.records if record.interval_s == 225.0)
    assert given.goodput == pytest.approx(0.99234, abs=1e-5)


def test_the_shipped_spec_saves_where_a_lost_node_leaves_a_copy() -> None:
    """The only strategy is the object store: local disks go with their node, and without classes nobody counts that."""
    assert [save.name for save in load("google-405b-432").scenario.saves] == ["persistent only"]
