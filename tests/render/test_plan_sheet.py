"""The goodput table: which row is stressed."""

from __future__ import annotations

from ckptplan.load import load
from ckptplan.plan import plan
from ckptplan.render.plan_sheet import reading_sheet


def test_the_recommended_row_of_several_tiers_is_stressed_beside_given_intervals() -> None:
    """A given interval comes last in the table, and is not what is recommended."""
    made = plan(load("spectrum-16384").scenario, intervals_s=[3600.0], whole_run=False)
    sheet, _ = reading_sheet(made)
    (stressed,) = sheet.emphasis
    assert made.tiers_are_best
    assert made.records[-1].given
    assert made.records[stressed].goodput_typed == made.best_goodput
