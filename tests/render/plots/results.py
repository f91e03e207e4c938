"""Results to draw: each is worked out once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ckptplan.cli.sweep_study import Options, study_of
from ckptplan.fit.combining import combined
from ckptplan.fit.counting import Counting
from ckptplan.fit.fitting import Fitted, fit_record
from ckptplan.load import load
from ckptplan.plan import Plan, plan
from ckptplan.plan.curve import GoodputCurve, goodput_curve
from ckptplan.plan.levers.ranking import levers
from ckptplan.plan.levers.record import Levers
from ckptplan.plan.scale.lines import ScaleLine, scale_lines
from ckptplan.plan.scale.scaling import Scaling, scaling
from ckptplan.plan.simulation import Simulation, simulate_plan
from ckptplan.readers.records.asked import record_options
from ckptplan.readers.records.failures import read_record
from ckptplan.render.plots.breakdown import breakdown_figure
from ckptplan.render.plots.curve import curve_figure
from ckptplan.render.plots.optimize import optimize_figure
from ckptplan.render.plots.scale import scale_figure
from ckptplan.render.plots.simulation import simulation_figure
from ckptplan.render.plots.style import Theme
from ckptplan.render.plots.survival import survival_figure
from ckptplan.render.plots.sweep import sweep_figure
from ckptplan.render.plots.tornado import tornado_figure
from ckptplan.sweep.columns import Columns, joined
from ckptplan.sweep.evaluation import chunks, evaluate
from ckptplan.sweep.study import Study

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = sorted(path.stem for path in (ROOT / "configs").glob("*.yaml"))
GIVEN_S = (600.0, 3600.0, 86_400.0)


@cache
def plan_of(name: str) -> tuple[Plan, GoodputCurve]:
    """A plan with three given intervals, and its curve."""
    scenario = load(name).scenario
    made = plan(scenario, intervals_s=GIVEN_S)
    return made, goodput_curve(scenario, made)


@cache
def scaling_of(name: str) -> tuple[Scaling, tuple[ScaleLine, ...]]:
    """A scaling with prices, and its lines."""
    scenario = load(name).scenario
    made = scaling(scenario, gpu_hour_price=2.0, useful_hour_worth=4.0)
    return made, scale_lines(scenario, made)


@cache
def simulation_of(name: str) -> Simulation:
    """A few simulated runs of the best strategy of one tier."""
    made, _ = plan_of(name)
    interval_s = made.best.typed_interval_s(made.step_time_s)
    return simulate_plan(load(name).scenario, strategy=made.best.strategy, interval_s=interval_s, runs=60)


@cache
def levers_of(name: str) -> Levers:
    """What the levers of a config come out as."""
    return levers(load(name).scenario)


@cache
def fitted_of(file: str) -> Fitted:
    """A record of the example, fitted."""
    return fit_record(combined([read_record(file, record_options({}))]), Counting())


@cache
def swept(names: tuple[str, ...], over: tuple[str, ...], **options: Any) -> tuple[Study, Columns]:
    """A sweep carried out."""
    study = study_of(list(names), Options(over=over, **options)).study
    return study, joined([evaluate(study, chunk) for chunk in chunks(study)])


KINDS: dict[str, Callable[[str, Theme], Figure]] = {
    "curve": lambda name, theme: curve_figure(*plan_of(name), theme),
    "breakdown": lambda name, theme: breakdown_figure(plan_of(name)[0], theme),
    "optimize": lambda name, theme: optimize_figure(*plan_of(name), theme),
    "scale": lambda name, theme: scale_figure(*scaling_of(name), theme),
    "simulate": lambda name, theme: simulation_figure(simulation_of(name), theme),
    "levers": lambda name, theme: tornado_figure(levers_of(name), theme),
    "sweep": lambda name, theme: sweep_figure(
        *swept((name,), ("cluster.gpus=8192,16384,32768",), show="goodput_typed", each="strategy"), theme
    ),
    "sweep of two": lambda name, theme: sweep_figure(
        *swept((name,), ("restart.total=1..30 min:8", "cluster.gpus=8192,16384,32768")), theme
    ),
}


def fit_figure(theme: Theme) -> Figure:
    """The fitted record of the example."""
    return survival_figure(fitted_of(str(ROOT / "docs" / "example" / "sacct.txt")), theme)
