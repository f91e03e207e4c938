"""``ckptplan scale``: how many GPUs: where more of them stop helping, and where they stop paying."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ckptplan.cli.options import (
    EnergyOption,
    Format,
    FormatOption,
    OutputOption,
    ScaleGpusOption,
    SetOption,
    SpecArgument,
    StrategyOption,
)
from ckptplan.cli.plot_option import PlotOption, ThemeName, ThemeOption, draw, plot_to
from ckptplan.cli.prices import PriceOption, WorthOption
from ckptplan.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ckptplan.cost.scenario import Scenario
    from ckptplan.plan.scale.scaling import Scaling
    from ckptplan.render.plots.style import Theme
    from ckptplan.spec.reading import Spec


def scale(
    context: typer.Context,
    spec: SpecArgument,
    gpus: ScaleGpusOption = None,
    strategy: StrategyOption = None,
    gpu_hour_price: PriceOption = None,
    useful_hour_worth: WorthOption = None,
    energy: EnergyOption = False,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
    plot: PlotOption = None,
    theme: ThemeOption = ThemeName.LIGHT,
) -> None:
    """\b
    ckptplan scale llama3-405b
    ckptplan scale run.yaml --gpu-hour-price 2.50 --useful-hour-worth 4
    ckptplan scale run.yaml --gpus 1024,16384,100000 --energy

    Goodput and throughput against the number of GPUs, by each strategy; the
    number at which adding GPUs stops helping, and at which it stops paying.
    """
    from ckptplan.cli.choices import scales, with_strategies
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.cli.uncertainty import not_known_well
    from ckptplan.load import load
    from ckptplan.plan.scale.scaling import scaling

    refuse_overwriting(output, [spec])
    picture = plot_to(context, plot, output=output, inputs=[spec])
    _refuse_half_a_question(gpu_hour_price, useful_hour_worth)
    counts = scales(gpus)
    loaded = load(spec, sets=set_ or [])
    refuse_overwriting(output, loaded.named)
    scenario = with_strategies(loaded.scenario, strategy)
    made = scaling(
        scenario,
        gpus=counts,
        gpu_hour_price=gpu_hour_price,
        useful_hour_worth=useful_hour_worth,
        energy=energy,
    )
    made = made._replace(warnings=(*made.warnings, *not_known_well(loaded, scenario)))
    emit(_as(format_, made, loaded, output), output)
    warn([*loaded.warnings, *made.warnings])
    draw(picture, lambda colours: _figure(scenario, made, colours), loaded.named)


def _figure(scenario: Scenario, made: Scaling, theme: Theme) -> Figure:
    from ckptplan.plan.scale.lines import scale_lines
    from ckptplan.render.plots.scale import scale_figure

    return scale_figure(made, scale_lines(scenario, made), theme)


def _refuse_half_a_question(price: float | None, worth: float | None) -> None:
    if worth is None:
        return
    if worth == 0.0:
        raise UsageError("--useful-hour-worth 0: then no GPU pays", hint="write what a useful GPU-hour is worth to you")
    if price is None:
        raise UsageError("--useful-hour-worth is compared with a price, and none is given", hint="add --gpu-hour-price")


def _as(format_: Format, made: Scaling, loaded: Spec, output: Path | None) -> str:
    from ckptplan.cli.output import text_as
    from ckptplan.render import scale_report
    from ckptplan.render.scale_sheets import scale_sheet

    return text_as(
        format_,
        output,
        document=lambda: scale_report.scale_document(made, loaded.si),
        sheets=lambda: [scale_sheet(made)],
        markdown=lambda: scale_report.markdown(made),
        report=lambda screen: scale_report.report(made, screen),
    )
