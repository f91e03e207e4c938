"""A picture holds the numbers of the JSON document, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ckptplan.load import load
from ckptplan.plan.scale.lines import scale_lines
from ckptplan.plan.scale.scaling import scaling
from ckptplan.plan.simulation import simulate_plan
from ckptplan.render.fit_sheet import fit_document
from ckptplan.render.lever_document import lever_document
from ckptplan.render.plan_document import plan_document
from ckptplan.render.plots.breakdown import breakdown_figure
from ckptplan.render.plots.curve import curve_figure
from ckptplan.render.plots.scale import scale_figure
from ckptplan.render.plots.simulation import simulation_figure
from ckptplan.render.plots.style import LIGHT
from ckptplan.render.plots.survival import survival_figure
from ckptplan.render.plots.sweep import sweep_figure
from ckptplan.render.plots.tornado import tornado_figure
from ckptplan.render.scale_report import scale_document
from ckptplan.render.simulation_report import simulation_document
from tests.render.plots.drawn import named, names, texts_of
from tests.render.plots.results import (
    CONFIGS,
    ROOT,
    fitted_of,
    levers_of,
    plan_of,
    scaling_of,
    simulation_of,
    swept,
)


def _point(artist: Any) -> tuple[float, float]:
    (x,), (y,) = artist.get_data()
    return x, y


@pytest.mark.parametrize("config", CONFIGS)
def test_every_mark_of_a_curve_is_a_record_of_the_document(config: str) -> None:
    """A mark stands at the interval and the exact goodput of its record; every record at the planned scale has one."""
    made, curve = plan_of(config)
    figure = curve_figure(made, curve, LIGHT)
    document = plan_document(made, {})
    wanted = {
        f"{'given' if row['given'] else row['method']}:{row['strategy']}": (row["interval_s"], row["goodput_exact"])
        for row in document["plans"]
        if not row["given"]
    }
    drawn = {name: _point(named(figure, name)) for name in wanted}
    assert drawn == wanted
    given = {(row["interval_s"], row["goodput_exact"]) for row in document["plans"] if row["given"]}
    marks = figure.findobj(lambda artist: (artist.get_gid() or "").startswith("given:"))
    assert {_point(mark) for mark in marks} <= given
    assert len(marks) == len({(r.strategy, r.asked_interval_s) for r in made.given()})


@pytest.mark.parametrize("config", CONFIGS)
def test_the_shaded_region_is_the_flat_one_of_the_document(config: str) -> None:
    """The shade ends where the document says that a tenth of a point is lost."""
    made, curve = plan_of(config)
    shade = named(curve_figure(made, curve, LIGHT), "flat").get_extents()
    axes_of = curve_figure(made, curve, LIGHT).axes[0]
    flat = plan_document(made, {})["flat"]
    assert flat.keys() == {"low_s", "high_s", "within_fraction"}
    assert flat["within_fraction"] == 0.001  # a share, as its name says: a tenth of a point
    ends = axes_of.transData.transform([(flat["low_s"], 0.0), (flat["high_s"], 0.0)])[:, 0]
    assert (shade.x0, shade.x1) == pytest.approx(tuple(ends), abs=1e-6)


def test_the_curve_goes_through_the_marks() -> None:
    """Each curve has the best interval among its points, with the exact goodput: no mark stands off its line."""
    made, curve = plan_of("llama3-405b")
    figure = curve_figure(made, curve, LIGHT)
    for record in made.optima():
        x, y = named(figure, f"curve:{record.strategy}").get_data()
        (place,) = np.flatnonzero(x == record.interval_s)
        assert y[place] == pytest.approx(record.goodput_exact, rel=1e-12)
        assert np.nanmax(y) <= record.goodput_exact * (1.0 + 1e-12)


@pytest.mark.parametrize("config", CONFIGS)
def test_bars_of_the_breakdown_are_the_fractions_of_the_document(config: str) -> None:
    """Each bar is as long as its share, begins where the one before ends, and all of a strategy end at what is lost."""
    made, _ = plan_of(config)
    figure = breakdown_figure(made, LIGHT)
    rows = {(r["strategy"], r["method"]): r for r in plan_document(made, {})["plans"] if not r["given"]}
    optima = [*made.optima(), *(r for r in made.records if r.strategy == "tiers" and not r.given)]
    for record in optima:
        row, end = rows[record.strategy, record.method], 0.0
        assert f"useful:{record.strategy}" not in names(figure)  # it would go on to far beyond the axis
        for part in ("save", "rework", "restart", "slow", "waiting"):
            if f"{part}:{record.strategy}" not in names(figure):
                assert row[f"{part}_fraction"] < 5e-6
                continue
            bar = named(figure, f"{part}:{record.strategy}")
            share = row[f"{part}_fraction"]
            assert bar.get_width() == pytest.approx(share, abs=1e-15)  # matplotlib keeps both ends
            assert bar.get_x() == pytest.approx(end, abs=1e-12)
            end += bar.get_width()
        assert end == pytest.approx(1.0 - row["goodput"], abs=1e-5)


@pytest.mark.parametrize("config", ["llama3-405b", "lab-64", "spectrum-16384"])
def test_lines_of_a_scaling_are_those_of_the_document(config: str) -> None:
    """Goodput and useful GPUs at each size, the peak and the limit of pay are the numbers of the document.

    A line goes through the peak and the limit of pay as well: neither floats beside it. Its marks stand at the sizes
    of the document alone, and between them it has points of its own.
    """
    made, drawn = scaling_of(config)
    figure, document = scale_figure(made, drawn, LIGHT), scale_document(made, {})
    for field in ("goodput", "useful_gpus"):
        for strategy in made.strategies:
            rows = [row for row in document["sizes"] if row["strategy"] == strategy]
            line = named(figure, f"{field}:{strategy}")
            x, y = line.get_data()
            (peak,) = [row for row in document["peaks"] if row["strategy"] == strategy]
            turns = [peak[name] for name in ("peak", "paying") if peak[name] and peak[name]["gpus"]]
            wanted = {row["gpus"]: row[field] for row in [*turns, *rows]}
            assert wanted.items() <= dict(zip(x, y, strict=True)).items()
            assert (x[0], x[-1]) == (min(wanted), max(wanted))
            assert [x[place] for place in line.get_markevery()] == [row["gpus"] for row in rows]
            assert made.batch is not None or len(x) > 3 * len(wanted)  # a batch of 2,048 is even at powers of 2 only
    for peak in document["peaks"]:
        marks = figure.findobj(lambda artist, peak=peak: artist.get_gid() == f"peak:{peak['strategy']}")
        points = [(peak["peak"]["gpus"], peak["peak"][field]) for field in ("goodput", "useful_gpus")]
        assert [_point(mark) for mark in marks] == points


def test_marks_of_many_sizes_do_not_touch_and_the_picture_says_how_many_there_are() -> None:
    """Of 60 even sizes the planned and the largest one have marks; any two are a tenth of an inch apart."""
    scenario = load("lab-64").scenario
    made = scaling(scenario, gpus=range(8, 481, 8))
    figure = scale_figure(made, scale_lines(scenario, made), LIGHT)
    line = named(figure, f"goodput:{made.best}")
    x = np.asarray(line.get_xdata())[line.get_markevery()]
    assert {made.gpus, 480} <= set(x) < {record.gpus for record in made.records}
    (pixels, _) = line.axes.transData.transform([(at, 0.5) for at in x]).T
    assert np.diff(pixels).min() >= 0.1 * figure.dpi
    listed = len({record.gpus for record in made.records})
    assert f"Marks are {x.size} of the {listed} sizes, as more would touch." in [one.text for one in texts_of(figure)]


def test_a_scaling_with_a_global_batch_says_where_its_lines_are_straight() -> None:
    """And one without says nothing, as its lines bend."""
    with_batch, without = (" ".join(_texts(name)) for name in ("spectrum-16384", "llama3-405b"))
    assert "Between sizes that divide the global batch of 2,048 evenly the lines are straight" in with_batch
    assert "straight" not in without


def _texts(config: str) -> list[str]:
    return [one.text for one in texts_of(scale_figure(*scaling_of(config), LIGHT))]


def test_runs_are_counted_in_whole_numbers() -> None:
    """Of three runs no axis shows a half."""
    scenario = load("tinyllama-16").scenario
    made = simulate_plan(scenario, strategy="gathered", interval_s=7367.0, runs=3)
    (axis_of,) = simulation_figure(made, LIGHT).axes
    assert len(axis_of.get_yticks()) >= 2
    assert all(float(tick).is_integer() for tick in axis_of.get_yticks())


def test_the_histogram_is_that_of_the_document() -> None:
    """Bins and their counts are those of the document, and all runs are in them."""
    made = simulation_of("llama3-405b")
    found = simulation_document(made, {})["distribution"]
    stairs = named(simulation_figure(made, LIGHT), "runs").get_data()
    assert list(stairs.values) == list(found["runs"])
    assert list(stairs.edges * 86_400.0) == pytest.approx(list(found["edges_s"]), rel=1e-12)
    assert sum(found["runs"]) == made.runs


def test_the_mean_and_the_quantiles_of_simulated_runs_are_written() -> None:
    """Labels give mean, quantiles and prediction as the report prints them."""
    made = simulation_of("llama3-405b")
    from ckptplan.render.numbers import duration

    texts = " ".join(one.text for one in texts_of(simulation_figure(made, LIGHT)))
    wall = made.wall_s
    for value in (wall.mean, wall.p5, wall.p50, wall.p95, made.predicted_wall_s):
        assert duration(float(value or 0.0)) in texts


def test_the_survival_of_a_record_is_that_of_the_document() -> None:
    """Steps, band and the law: what is drawn is the Kaplan-Meier estimate of the document and the law it gives."""
    from ckptplan.fit.counting import Counting
    from ckptplan.fit.planning import recorded_failures

    fitted = fitted_of(str(ROOT / "docs" / "example" / "sacct.txt"))
    document = fit_document(fitted, recorded_failures(fitted, Counting()), None, "")
    figure = survival_figure(fitted, LIGHT)
    x, y = named(figure, "record").get_data()
    assert list(x[1:] * 86_400.0) == pytest.approx([row["time_s"] for row in document["survival"]], rel=1e-12)
    assert list(y[1:]) == [row["survival"] for row in document["survival"]]
    (chosen,) = [row for row in document["laws"] if row["choice"].startswith("chosen")]
    x, y = named(figure, f"law:{chosen['law']}").get_data()
    assert chosen["law"] == "exponential"
    assert y == pytest.approx(np.exp(-x * 86_400.0 / chosen["mean_s"]), rel=1e-12)


@pytest.mark.parametrize("config", ["llama3-405b", "spectrum-16384", "lab-64"])
def test_bars_of_levers_are_what_the_document_says_they_gain(config: str) -> None:
    """Each lever is a bar as long as the points that it gains, in the order of the document."""
    made = levers_of(config)
    figure = tornado_figure(made, LIGHT)
    rows = lever_document(made, {})["levers"]
    assert rows
    for place, row in enumerate(rows):
        bar = named(figure, f"lever:{row['key']}")
        assert bar.get_width() == pytest.approx(100.0 * row["gained"], rel=1e-12)
        assert bar.get_y() + 0.5 * bar.get_height() == pytest.approx(place)


def test_lines_of_a_sweep_are_its_columns() -> None:
    """Each strategy is a line through its rows, whatever the order in which they come."""
    study, columns = swept(("llama3-405b",), ("cluster.gpus=8192,65536,1024",), show="goodput_typed", each="strategy")
    figure = sweep_figure(study, columns, LIGHT)
    strategies = columns["strategy"].texts()  # type: ignore[union-attr]
    for name in set(strategies):
        x, y = named(figure, f"series:{name}").get_data()
        rows = [place for place, one in enumerate(strategies) if one == name]
        wanted = sorted(
            zip(np.asarray(columns["cluster.gpus"])[rows], np.asarray(columns["goodput_typed"])[rows], strict=True)
        )
        assert list(zip(x, y, strict=True)) == wanted


def test_cells_of_a_map_are_the_column() -> None:
    """The first axis runs to the right, the second upwards."""
    over = ("cluster.gpus=1024..131072:log:8", "failures.mtbf=1..9 h:9")
    study, columns = swept(("llama3-405b",), over, show="goodput_typed")
    cells = named(sweep_figure(study, columns, LIGHT), "heat").get_array()
    assert np.asarray(cells).reshape(9, 8).T.ravel() == pytest.approx(np.asarray(columns["goodput_typed"]), abs=0.0)
