"""Labels over the axes: none touches another, and few of them keep off the marks of others too."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.plan.distribution import Distribution
from ckptplan.plan.simulation import Simulation
from ckptplan.render.plots.flags import Flag, Placed, rows_of
from ckptplan.render.plots.lettering import width
from ckptplan.render.plots.page import EDGE, LEFT, PAGE, RIGHT, Rect
from ckptplan.render.plots.simulation import simulation_figure
from ckptplan.render.plots.style import SMALL, THEMES
from tests.render.plots.drawn import clashes, texts_of
from tests.render.plots.results import simulation_of

PLACE = Rect(LEFT, 0.0, PAGE - LEFT - RIGHT, 3.0)


def _placed(values: list[float], text: str = "given 3,600 s: loses 1.25 points") -> list[Placed]:
    return rows_of([Flag(value, text, "black") for value in values], (0.0, 1.0), PLACE, log=False)


def _ends(one: Placed) -> tuple[float, float]:
    return one.left, one.left + width(one.flag.text, SMALL)


@pytest.mark.parametrize("count", [1, 2, 5, 7, 12, 40])
@pytest.mark.parametrize("spread", [0.0, 1e-6, 0.01, 0.2, 1.0])
def test_no_two_labels_touch(count: int, spread: float) -> None:
    """However many there are and however near; all lie within the page, and none is lost."""
    values = np.random.default_rng(count).uniform(0.5 - 0.5 * spread, 0.5 + 0.5 * spread, count)
    placed = _placed(values.tolist())
    assert len(placed) == count
    for place, one in enumerate(placed):
        low, high = _ends(one)
        assert EDGE <= low < high <= PAGE - EDGE + 1e-9
        for other in placed[:place]:
            start, end = _ends(other)
            assert one.row != other.row or high < start or end < low


@pytest.mark.parametrize("values", [[0.5], [0.49, 0.5, 0.51], [0.1, 0.12, 0.5, 0.55, 0.9], [0.02] * 5])
def test_few_labels_keep_off_the_marks_of_others(values: list[float]) -> None:
    """The line that leads up to a label passes through no other label."""
    placed = _placed(values, "median: 30.459 d")
    for one in placed:
        for other in placed:
            if other.row > one.row:
                assert not _ends(one)[0] < other.x < _ends(one)[1]


def test_a_mark_alone_has_its_label_over_it() -> None:
    """In the middle, in the lowest row."""
    (one,) = _placed([0.5])
    assert one.row == 0
    assert sum(_ends(one)) / 2 == pytest.approx(one.x)


def _nearly_perfect(**quantiles: float) -> Simulation:
    """Runs of which all but one in a hundred take the same time."""
    made = simulation_of("lab-64")
    wall = made.wall_s._replace(p5=86_400.0, p50=86_400.0, p95=86_400.0, mean=86_410.0)._replace(**quantiles)
    counted = Distribution((86_400.0, 87_400.0, 88_400.0, 96_400.0), (99, 0, 1))
    return made._replace(wall_s=wall, distribution=counted, predicted_wall_s=86_405.0)


@pytest.mark.parametrize("theme", THEMES)
def test_quantiles_that_coincide_have_one_label(theme: str) -> None:
    """Each time stands there once with all that it is of; marks that are seen apart keep labels of their own."""
    for quantiles, told in (
        ({}, ["5 %, median, 95 %: 24 h; mean: 24.003 h", "predicted: 24.001 h"]),
        ({"p95": 86_900.0}, ["5 %, median: 24 h; mean: 24.003 h", "95 %: 24.139 h", "predicted: 24.001 h"]),
        ({"mean": 86_400.0}, ["5 %, median, 95 %, mean: 24 h", "predicted: 24.001 h"]),
    ):
        figure = simulation_figure(_nearly_perfect(**quantiles), THEMES[theme])
        texts = [one.text for one in texts_of(figure)]
        assert sorted(text for text in texts if text.endswith(" h")) == sorted(told)
        assert clashes(figure) == []
