"""``ckptplan levers``: what to change first, and what each change would gain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ckptplan.cli.lever_options import ChangeOption
from ckptplan.cli.options import (
    Format,
    FormatOption,
    OutputOption,
    SetOption,
    SpecArgument,
    StrategyOption,
)
from ckptplan.cli.plot_option import PlotOption, ThemeName, ThemeOption, draw, plot_to
from ckptplan.cli.prices import PriceOption, unanswered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ckptplan.plan.levers.record import Levers
    from ckptplan.render.plots.style import Theme
    from ckptplan.spec.reading import Spec


def levers(
    context: typer.Context,
    spec: SpecArgument,
    change: ChangeOption = None,
    gpu_hour_price: PriceOption = None,
    strategy: StrategyOption = None,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
    plot: PlotOption = None,
    theme: ThemeOption = ThemeName.LIGHT,
) -> None:
    """\b
    ckptplan levers llama3-405b
    ckptplan levers run.yaml --gpu-hour-price 2.50 --change 'restart.total=5 min'
    ckptplan levers run.yaml --change 'new storage: storage.write_bandwidth=4 TB/s; save[0].stall=20 s'

    What to do first: goodput, GPU-hours and money that each change of the run
    would gain, which of them overlap, and what the optimum depends on.
    """
    # Before anything that reads the spec: deeper down the import of numpy takes much longer on Python 3.11.
    import numpy  # noqa: F401

    from ckptplan.cli.choices import with_strategies
    from ckptplan.cli.lever_changes import Changed, changes
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.cli.uncertainty import of_ranges
    from ckptplan.load import bytes_of
    from ckptplan.plan.levers.ranking import levers as levers_of

    refuse_overwriting(output, [spec])
    picture = plot_to(context, plot, output=output, inputs=[spec])
    written = changes(change or [])
    data, file = bytes_of(spec)
    changed = Changed(
        data=data,
        file=file,
        folder=Path() if spec == "-" else Path(spec).parent,
        sets=tuple(set_ or []),
        strategies=None if strategy is None else tuple(strategy),
        written=tuple(written),
    )
    loaded = changed.spec([])
    refuse_overwriting(output, loaded.named)
    made = levers_of(
        with_strategies(loaded.scenario, strategy),
        own=changed.own(loaded),
        build=changed.scenario,
        gpu_hour_price=gpu_hour_price,
    )
    emit(_as(format_, made, loaded, output), output)
    warn([*loaded.warnings, *made.warnings, *of_ranges(loaded), *unanswered(gpu_hour_price, made.work_s)])
    draw(picture, lambda colours: _figure(made, colours), loaded.named)


def _figure(made: Levers, theme: Theme) -> Figure:
    from ckptplan.render.plots.tornado import tornado_figure

    return tornado_figure(made, theme)


def _as(format_: Format, made: Levers, loaded: Spec, output: Path | None) -> str:
    from ckptplan.cli.output import text_as
    from ckptplan.render import lever_report
    from ckptplan.render.lever_document import lever_document
    from ckptplan.render.lever_sheet import lever_sheet

    return text_as(
        format_,
        output,
        document=lambda: lever_document(made, loaded.si),
        sheets=lambda: [lever_sheet(made)],
        markdown=lambda: lever_report.markdown(made),
        report=lambda screen: lever_report.report(made, screen),
    )
