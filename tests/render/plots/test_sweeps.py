"""Pictures of sweeps: axes spaced as their values are, and which strategy is best where."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.render.plots.style import LIGHT
from ckptplan.render.plots.sweep import sweep_figure
from ckptplan.render.plots.sweep_series import Series, coinciding
from tests.render.plots.drawn import clashes, named, names, texts_of
from tests.render.plots.results import swept


@pytest.mark.parametrize(
    ("over", "scale"),
    [
        ("interval=1..60 s:5", "linear"),
        ("interval=1..60 s:log:5", "log"),
        ("interval=50..60 s:log:4", "log"),
        ("cluster.gpus=64..128:5", "linear"),
        ("cluster.gpus=8..4000:25", "linear"),
        ("cluster.gpus=8..4000:log:25", "log"),
        ("cluster.gpus=64,128,256", "log"),
        ("cluster.gpus=64,100", "linear"),
        ("cluster.gpus=64,72,4096", "log"),
        ("cluster.gpus=64,72,96", "linear"),
    ],
)
def test_an_axis_is_spaced_as_its_values_are(over: str, scale: str) -> None:
    """A linear range has a linear axis and a logarithmic one a logarithmic; a list goes by the ratio of its ends."""
    figure = sweep_figure(*swept(("lab-64",), (over,), show="goodput_typed"), LIGHT)
    assert figure.axes[0].get_xscale() == scale
    assert clashes(figure) == []


@pytest.mark.parametrize("over", ["cluster.gpus=1000..1000000:log:7", "cluster.gpus=1000..10000000:5"])
def test_the_last_label_of_an_axis_is_whole(over: str) -> None:
    """Seven digits at the right end find their room."""
    figure = sweep_figure(*swept(("llama3-405b",), (over,)), LIGHT)
    assert clashes(figure) == []
    assert any(one.text in ("1,000,000", "10,000,000") for one in texts_of(figure))


@pytest.mark.parametrize(("measure", "shown"), [("interval_s", "interval [min]"), ("size_bytes", "size [GB]")])
def test_a_name_has_its_unit_once(measure: str, shown: str) -> None:
    """In brackets, not in its name too."""
    figure = sweep_figure(*swept(("lab-64",), ("cluster.gpus=64,128",), show=measure), LIGHT)
    texts = [one.text for one in texts_of(figure)]
    assert shown in texts
    assert not any(measure in text for text in texts)


def test_a_change_of_the_best_strategy_is_marked_and_named() -> None:
    """A ring at the first point of the other strategy, as the column of strategies has it; below it both by name."""
    over = ("save[1].stall=1..5000 s:log:12",)
    study, columns = swept(("lab-64",), over, show="goodput_typed,strategy")
    figure = sweep_figure(study, columns, LIGHT)
    strategies = columns["strategy"].texts()  # type: ignore[union-attr]
    first = strategies.index("synchronous")
    assert strategies == ["asynchronous"] * first + ["synchronous"] * (len(strategies) - first)
    (x,), (y,) = named(figure, "change:").get_data()
    assert (x, y) == (np.asarray(columns["save[1].stall"])[first], np.asarray(columns["goodput_typed"])[first])
    text = f"Best strategy: asynchronous, then synchronous from {study.axes[0].texts[first]} on."
    assert text in [one.text for one in texts_of(figure)]
    assert "from here on another strategy is best" in [one.text for one in texts_of(figure)]


def test_one_best_strategy_is_named() -> None:
    """Of lines and of maps; strategies that have lines of their own need no note."""
    for over, options, says in (
        (("cluster.gpus=64,128",), {}, "Best strategy throughout: asynchronous."),
        (("cluster.gpus=64..640:9", "restart.total=1..30 min:9"), {}, "Best strategy throughout: asynchronous."),
        (("cluster.gpus=64..640:9", "save[1].stall=1..5000 s:9"), {}, "Best strategy: synchronous at "),
        (("cluster.gpus=64,128",), {"each": "strategy"}, ""),
    ):
        figure = sweep_figure(*swept(("lab-64",), over, **options), LIGHT)
        texts = [one.text for one in texts_of(figure) if one.text.startswith("Best strategy")]
        assert bool(texts) == bool(says)
        assert all(text.startswith(says) for text in texts)
        assert clashes(figure) == []
    assert not any(name.startswith("change") for name in names(figure))


def test_without_columns_the_picture_is_about_goodput_as_the_sentence_is() -> None:
    """A column that is asked for is drawn instead; what is shown anyway is there for its goodput."""
    over = ("storage.write_bandwidth=1..100 GB/s:log:5",)
    for each in ("point", "strategy", "method"):
        texts = [one.text for one in texts_of(sweep_figure(*swept(("llama3-405b",), over, each=each), LIGHT))]
        assert "goodput_typed over storage.write_bandwidth" in texts
    asked = sweep_figure(*swept(("llama3-405b",), over, show="interval_s,goodput_typed"), LIGHT)
    assert "interval over storage.write_bandwidth" in [one.text for one in texts_of(asked)]


def test_lines_that_lie_on_one_another_are_said_to() -> None:
    """The size of a checkpoint does not depend on how it is saved; the goodput does."""
    over = ("storage.write_bandwidth=1..100 GB/s:5",)
    note = "These lines lie on one another: synchronous and asynchronous."
    alike = sweep_figure(*swept(("llama3-405b",), over, show="size_bytes", each="strategy"), LIGHT)
    assert note in [one.text for one in texts_of(alike)]
    assert clashes(alike) == []
    apart = sweep_figure(*swept(("llama3-405b",), over, show="goodput_typed", each="strategy"), LIGHT)
    assert not any("lie on one another" in one.text for one in texts_of(apart))


def test_lines_coincide_only_where_all_of_their_points_do() -> None:
    """Groups of lines, those that are nearer than is seen; one that is not known somewhere is another one."""
    values = {
        "a": [1.0, 2.0],
        "b": [1.0, 2.01],
        "c": [1.0, 2.2],
        "d": [1.0, np.nan],
        "e": [1.01, 2.19],
        "f": [np.nan] * 2,
    }
    series = [Series(name, np.array(found), np.full(2, None)) for name, found in values.items()]
    told = ["These lines lie on one another: a and b.", "These lines lie on one another: c and e."]
    assert list(coinciding(series, 0.02)) == told
    assert list(coinciding(series, 0.0)) == []
    assert next(coinciding([*series, series[0]._replace(name="g")], 0.02)).endswith(": a, b and g.")


@pytest.mark.parametrize(
    ("over", "unit", "ticks"),
    [
        ("storage.write_bandwidth=0.5..100 GB/s:log:6", "[GB/s]", ("0.5", "100")),
        ("storage.write_bandwidth=1 MB/s,1 TB/s", "[GB/s]", ("0.001", "1,000")),
        ("storage.write_bandwidth=1..9 TB/s:5", "[TB/s]", ("2", "8")),
        ("model.parameters=1e9..1e13:log:6", "", ("10\u2079", "10\u00b9\u00b3")),
    ],
)
def test_bytes_have_a_unit_and_large_counts_are_powers_of_ten(over: str, unit: str, ticks: tuple[str, str]) -> None:
    """No 1e+09 on any axis."""
    figure = sweep_figure(*swept(("llama3-405b",), (over,)), LIGHT)
    texts = [one.text for one in texts_of(figure)]
    assert set(ticks) <= set(texts)
    assert f"{over.partition('=')[0]} {unit}".strip() in texts
    assert not any("e+" in text for text in texts)
    assert clashes(figure) == []


def test_a_number_before_a_name_counts_specs_or_strategies() -> None:
    """Names that begin alike are numbered each among its own; no line is called by a number that it does not show."""
    study, columns = swept(("lab-64", "lab-64"), ("cluster.gpus=64,128",), show="goodput_typed", each="strategy")
    drawn = [one.text for one in texts_of(sweep_figure(study, columns, LIGHT))]
    first, second = (member.name for member in study.members)
    assert second == f"{first} again"
    wanted = [
        f"spec {number}: {name}, {strategy}"
        for number, name in ((1, first), (2, second))
        for strategy in ("synchronous", "asynchronous")
    ]
    assert [text for text in drawn if "synchronous" in text][:4] == wanted
    apart = sweep_figure(*swept(("lab-64", "llama3-405b"), ("restart.total=1 min,2 min",), each="strategy"), LIGHT)
    assert not any(
        text.startswith(("line ", "row ", "spec ", "strategy ")) for text in (t.text for t in texts_of(apart))
    )


def test_cells_of_a_map_have_bytes_as_tables_have_them() -> None:
    """``5.67 TB``, not a power of ten, in the cells and in what is read aloud."""
    over = ("storage.write_bandwidth=1..100 GB/s:8", "restart.total=1..30 min:8")
    figure = sweep_figure(*swept(("llama3-405b",), over, show="size_bytes"), LIGHT)
    assert "5.67 TB" in " ".join(one.text for one in texts_of(figure))
    assert "5.67 TB to 5.67 TB" in str(figure.get_label())
