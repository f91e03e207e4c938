"""``ckptplan sweep``: a table over numbers of GPUs, bandwidths, stalls: over any numeric keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ckptplan.cli.options import MethodOption, OutputOption, SetOption, StrategyOption
from ckptplan.cli.places import refuse_place
from ckptplan.cli.plot_option import Plot, ThemeName, ThemeOption, draw, plot_to, refuse_input
from ckptplan.cli.prices import PriceOption
from ckptplan.cli.sweep_options import (
    EachOption,
    ExecutorOption,
    OverOption,
    ResumeOption,
    ShowOption,
    SimulatedRunsOption,
    SweepFormat,
    SweepFormatOption,
    SweepPlotOption,
    SweepSeedOption,
    SweepSpecsArgument,
    WorkersOption,
)
from ckptplan.errors import UsageError, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ckptplan.cli.sweep_output import Tally
    from ckptplan.cli.sweep_study import Planned
    from ckptplan.render.plots.style import Theme
    from ckptplan.sweep.columns import Columns


def sweep(
    context: typer.Context,
    specs: SweepSpecsArgument,
    over: OverOption = None,
    show: ShowOption = None,
    each: EachOption = None,
    strategy: StrategyOption = None,
    method: MethodOption = None,
    set_: SetOption = None,
    gpu_hour_price: PriceOption = None,
    runs: SimulatedRunsOption = None,
    seed: SweepSeedOption = None,
    jobs: WorkersOption = None,
    executor: ExecutorOption = "processes",
    resume: ResumeOption = None,
    format_: SweepFormatOption = SweepFormat.TABLE,
    output: OutputOption = None,
    plot: SweepPlotOption = None,
    theme: ThemeOption = ThemeName.LIGHT,
) -> None:
    """\b
    ckptplan sweep llama3-405b --over cluster.gpus=1024..131072:log:8
    ckptplan sweep run.yaml --over 'save[0].stall=1..60 s:5' --over 'failures.mtbf=1 h,3 h'
    ckptplan sweep study.yaml -o study.csv

    Plans every point of a grid over numeric keys of a spec, or of several.
    Two axes are shown as a pivot. A sweep: group in the file says the same.
    """
    # Near the top of the call stack, as in optimize: deeper down the import of numpy takes longer.
    import numpy  # noqa: F401

    from ckptplan.cli.output import refuse_overwriting, warn
    from ckptplan.cli.stopping import tidy
    from ckptplan.cli.sweep_study import Options, study_of

    _refuse_usage(format_, output, resume)
    refuse_overwriting(output, specs)
    picture = plot_to(context, plot, output=output, inputs=[*specs, *([str(resume)] if resume else [])])
    options = Options(
        over or (), show, None if each is None else each.value, strategy, method, set_ or (), gpu_hour_price, runs, seed
    )
    planned = study_of(specs, options)
    refuse_overwriting(output, planned.inputs)
    if format_ is SweepFormat.TABLE:
        _refuse_long_tables(planned)
    if picture is not None:
        _refuse_what_cannot_be_drawn(planned, picture)
    with tidy():
        tally = _carry_out(planned, format_, output, resume, executor, jobs, picture)
    warn([*planned.notes, *tally.warnings(), *_unused(context, planned, executor)])


def _unused(context: typer.Context, planned: Planned, executor: str) -> Iterator[str]:
    """An engine that was named and had nothing to do."""
    from ckptplan.cli.choices import typed
    from ckptplan.cli.sweep_running import is_quick

    if typed(context, "executor") and executor not in {"serial", "threads"} and is_quick(planned.study):
        yield f"--executor {printable(executor)} is not used: all points are closed forms, evaluated in this process"


def _refuse_usage(format_: SweepFormat, output: Path | None, resume: Path | None) -> None:
    if format_ is SweepFormat.PARQUET and output is None:
        raise UsageError("--format parquet needs a file", hint="add -o study.parquet")
    if output is not None and resume is not None and output.absolute() == resume.absolute():
        raise UsageError(f"-o {output} and --resume {resume} are one file", hint="give another file with -o")
    refuse_place(resume, "--resume")


def _refuse_what_cannot_be_drawn(planned: Planned, picture: Plot) -> None:
    from ckptplan.render.plots.sweep import refuse_undrawable

    refuse_input(picture.file, planned.inputs)
    refuse_undrawable(planned.study)


def _refuse_long_tables(planned: Planned) -> None:
    from ckptplan.render.sweep_table import MOST_ROWS
    from ckptplan.sweep.evaluation import rows_per_point

    study = planned.study
    rows = sum(study.points_each * rows_per_point(study, member) for member in study.members)
    if rows > MOST_ROWS:
        raise UsageError(
            f"{rows:,} rows are too many for a table, which takes {MOST_ROWS:,}",
            hint="--format csv -o study.csv, or parquet, or shorter lists",
        )


def _carry_out(
    planned: Planned,
    format_: SweepFormat,
    output: Path | None,
    resume: Path | None,
    executor: str,
    jobs: int | None,
    picture: Plot | None,
) -> Tally:
    """Evaluate all, write the result, draw it, and remove the journal."""
    from ckptplan.cli.sweep_output import Tally
    from ckptplan.cli.sweep_running import kept, parts_of

    tally = Tally()
    name = output.name if output is not None else Path(planned.specs[0].file).stem
    folder = output.parent if output is not None else Path()
    with kept(planned.study, resume, folder / name, is_read=output is None) as journal:
        parts = parts_of(planned.study, executor, jobs, journal)
        drawn: list[Columns] = []
        _write(planned, tally, parts if picture is None else _keeping(parts, drawn), format_, output)
        draw(picture, lambda colours: _figure(planned, drawn, colours))
    return tally


def _keeping(parts: Iterator[Columns], kept: list[Columns]) -> Iterator[Columns]:
    """The parts, unchanged, each also put into a list."""
    for part in parts:
        kept.append(part)
        yield part


def _figure(planned: Planned, parts: list[Columns], theme: Theme) -> Figure:
    from ckptplan.render.plots.sweep import sweep_figure
    from ckptplan.sweep.columns import joined

    return sweep_figure(planned.study, joined(parts), theme)


def _write(planned: Planned, tally: Tally, parts: Iterator[Columns], format_: SweepFormat, output: Path | None) -> None:
    from ckptplan.cli.sweep_output import destination
    from ckptplan.render.sweep_columns import shown_columns
    from ckptplan.render.sweep_document import head, tail_of
    from ckptplan.sweep.evaluation import column_names

    shown = shown_columns(planned.study, column_names(planned.study), planned.hidden)
    tail = tail_of(planned.notes)
    counted = tally.over(parts, tail)
    if format_ is SweepFormat.TABLE:
        _print_table(planned, tally, counted, output)
        return
    # For a table of rows alone, the texts of a million values need not be made.
    about = head(planned.study, shown) if format_ in (SweepFormat.JSON, SweepFormat.PARQUET) else {}
    from ckptplan.render import sweep_writers

    with destination(output) as file:
        if format_ is SweepFormat.PARQUET:
            sweep_writers.write_parquet(counted, shown, about, file)
        else:
            sweep_writers.write(counted, sweep_writers.writer_for(format_.value, shown, about), tail, file)
        tally.refuse_without_rows()


def _print_table(planned: Planned, tally: Tally, parts: Iterator[Columns], output: Path | None) -> None:
    from ckptplan.cli.output import emit, screen_for
    from ckptplan.render.sweep_columns import shown_columns
    from ckptplan.render.sweep_table import Swept, report
    from ckptplan.sweep.columns import joined
    from ckptplan.sweep.evaluation import column_names

    columns = joined(list(parts))
    tally.refuse_without_rows()
    shown = shown_columns(planned.study, column_names(planned.study), planned.hidden)
    emit(report(Swept(planned.study, columns, shown), screen_for(output)), output)
