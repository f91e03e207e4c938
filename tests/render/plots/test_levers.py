"""Pictures of levers: how they are ranked, and what next to nothing reads as."""

from __future__ import annotations

from ckptplan.plan.levers.lever import Lever
from ckptplan.plan.levers.record import Levers
from ckptplan.render.plots.style import LIGHT
from ckptplan.render.plots.tornado import gain_text, tornado_figure
from tests.render.plots.drawn import clashes, named, texts_of
from tests.render.plots.results import levers_of


def _of(*levers: Lever) -> Levers:
    return levers_of("llama3-405b")._replace(levers=levers, overlaps=(), all_together=None)


def _lever(**values: object) -> Lever:
    made = Lever("k", "a change", "1 s to 2 s", strategy="s", interval_s=1.0, interval_steps=None, goodput=0.9)
    return made._replace(**values)  # type: ignore[arg-type]


def _texts(levers: Levers) -> list[str]:
    return [one.text for one in texts_of(tornado_figure(levers, LIGHT))]


def test_next_to_nothing_is_neither_nothing_nor_a_long_bar() -> None:
    """Less than a thousandth of a point is called so, and its bar is as short as that is."""
    made = _of(_lever(gained=1e-9, worth=1e-9, gpu_hours_saved=3.9e-6))
    texts = _texts(made)
    assert "below 0.001 points" in texts
    assert "saves < 0.01 GPU-hours" in texts
    figure = tornado_figure(made, LIGHT)
    assert named(figure, "lever:k").get_width() < 0.001 * figure.axes[0].get_xlim()[1]
    assert (gain_text(0.0), gain_text(-1e-9)) == ("0 points", "loses below 0.001 points")


def test_a_lever_that_costs_gpus_says_by_what_it_ranks() -> None:
    """It gains goodput and ranks below one that gains less: the picture says by how much, and why."""
    made = _of(
        _lever(key="a", gained=0.0001, worth=0.0001, gpu_hours_saved=31.0),
        _lever(key="b", title="keep nodes", gained=0.0002, worth=-0.015, gpu_hours_saved=-5710.0),
    )
    texts = _texts(made)
    assert "costs 5,710 GPU-hours" in texts
    assert "ranks by -1.5 points" in texts
    assert any(text.startswith("Ranked by what each gains at equal GPU-hours") for text in texts)
    assert clashes(tornado_figure(made, LIGHT)) == []
    assert not any(text.startswith("Ranked by") for text in _texts(_of(_lever(gained=0.01, worth=0.01))))


def test_details_are_wrapped() -> None:
    """No word of a change of four lines is left out, and nothing overlaps."""
    change = "gathered 494 s to 247 s, sharded 98.8 s to 49.4 s, asynchronous 77.2 ms to 38.6 ms, a fourth 5 s to 2 s"
    made = _of(_lever(gained=0.01, worth=0.01, change=change), _lever(key="b", gained=0.02, worth=0.02))
    assert change in " ".join(_texts(made))
    assert clashes(tornado_figure(made, LIGHT)) == []
