"""Nothing that a picture says is hidden by something else that it says."""

from __future__ import annotations

import pytest

from ckptplan.errors import InputError
from ckptplan.load import load
from ckptplan.plan.scale.lines import scale_lines
from ckptplan.plan.scale.scaling import scaling
from ckptplan.render.plots.scale import scale_figure
from ckptplan.render.plots.style import THEMES
from ckptplan.render.plots.sweep import sweep_figure
from tests.render.plots.drawn import clashes, texts_of
from tests.render.plots.results import CONFIGS, KINDS, fit_figure, swept


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_overlaps_another_or_leaves_the_figure(kind: str, name: str, theme: str) -> None:
    """By the boxes of the renderer, for every kind of picture, every shipped config and both themes."""
    try:
        figure = KINDS[kind](name, THEMES[theme])
    except InputError as error:
        pytest.skip(f"this config has no such result: {error}")
    assert clashes(figure) == []
    assert len(texts_of(figure)) > 5


@pytest.mark.parametrize("theme", THEMES)
def test_no_text_of_a_fitted_record_overlaps(theme: str) -> None:
    """The same for the record of the example."""
    assert clashes(fit_figure(THEMES[theme])) == []


def test_the_last_size_of_a_scaling_is_there_whole() -> None:
    """A label of seven digits at the right end of the axis does not leave the figure."""
    scenario = load("llama3-405b").scenario
    made = scaling(scenario, gpus=[1_000_000])
    figure = scale_figure(made, scale_lines(scenario, made), THEMES["light"])
    assert "1,000,000" in [one.text for one in texts_of(figure)]
    assert clashes(figure) == []


@pytest.mark.parametrize(
    ("specs", "over", "options"),
    [
        (("llama3-405b",), ("cluster.gpus=1024..131072:log:100", "failures.mtbf=1..9 h:90"), {"show": "goodput_typed"}),
        (("llama3-405b",), ("cluster.gpus=1024..131072:log:7", "failures.mtbf=1..9 h:9"), {}),
        (("llama3-405b", "lab-64"), ("failures.mtbf=1..9 h:90", "restart.total=1 min,2 min"), {"each": "strategy"}),
        (("llama3-405b", "lab-64"), ("storage.write_bandwidth=10 GB/s,1 TB/s",), {"show": "expected_s"}),
        (("llama3-405b",), ("interval=1 s..1 d:log:30",), {"show": "lost_fraction", "each": "method"}),
    ],
)
def test_no_text_of_a_sweep_overlaps(specs: tuple[str, ...], over: tuple[str, ...], options: dict[str, str]) -> None:
    """Lines and maps, few cells and many."""
    assert clashes(sweep_figure(*swept(specs, over, **options), THEMES["light"])) == []
