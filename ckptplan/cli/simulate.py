"""``ckptplan simulate``: whole runs played out, failure by failure, with the prediction beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ckptplan.cli.options import (
    Format,
    FormatOption,
    JobsOption,
    OneStrategyOption,
    OutputOption,
    PlayedIntervalOption,
    PlayedStepsOption,
    PrecisionOption,
    ReplayOption,
    ResampleOption,
    RunsOption,
    SeedOption,
    SetOption,
    SpecArgument,
    StrictOption,
)
from ckptplan.cli.plot_option import PlotOption, ThemeName, ThemeOption, draw, plot_to
from ckptplan.errors import InputError, UsageError

_MOST_RUNS = 10_000_000
_LONG_S = 10.0  # from here on one is told beforehand
_SPECTRUM = "failures.classes, storage.tiers, verification or spares"

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ckptplan.plan.simulation import Simulation
    from ckptplan.render.plots.style import Theme
    from ckptplan.spec.reading import Spec


def simulate(
    context: typer.Context,
    spec: SpecArgument,
    interval: PlayedIntervalOption = None,
    steps: PlayedStepsOption = None,
    strategy: OneStrategyOption = None,
    runs: RunsOption = 1000,
    precision: PrecisionOption = None,
    replay: ReplayOption = None,
    resample: ResampleOption = False,
    jobs: JobsOption = 1,
    strict: StrictOption = False,
    seed: SeedOption = 0,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
    plot: PlotOption = None,
    theme: ThemeOption = ThemeName.LIGHT,
) -> None:
    """\b
    ckptplan simulate llama3-405b
    ckptplan simulate run.yaml --interval 1h --precision 0.1%
    ckptplan simulate run.yaml --replay failures.csv

    Plays whole runs, failure by failure, and holds the formulas against them.
    """
    from ckptplan.cli.choices import typed
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.load import load
    from ckptplan.plan.simulation import simulate_plan

    inputs = [spec, *([str(replay)] if replay else [])]
    refuse_overwriting(output, inputs)
    picture = plot_to(context, plot, output=output, inputs=inputs)
    wanted = _share(precision)
    _refuse_what_would_be_ignored(
        two_intervals=interval is not None and steps is not None,
        resampled_nothing=resample and replay is None,
        one_run_counted=replay is not None and not resample and (wanted is not None or typed(context, "runs")),
        one_run_drawn=picture is not None and (runs == 1 or (replay is not None and not resample)),
    )
    loaded = load(spec, sets=set_ or [])
    refuse_overwriting(output, loaded.named)
    name, interval_s = _chosen(loaded, strategy, interval, steps)
    gaps = None if replay is None else _recorded(replay)
    if loaded.scenario.has_spectrum:
        _refuse_what_classes_exclude(replay=replay is not None, jobs=typed(context, "jobs"))
    if gaps is None:
        warn(_long(loaded, name, interval_s, runs, jobs))
    with _progress() as progress:
        made = simulate_plan(
            loaded.scenario,
            strategy=name,
            interval_s=interval_s,
            runs=runs,
            seed=seed,
            jobs=jobs,
            precision=wanted,
            max_runs=_MOST_RUNS,
            replay=gaps,
            resample=resample,
            strict=strict,
            progress=progress,
        )
    emit(_as(format_, made, loaded, output), output)
    warn([*loaded.warnings, *made.notes, *_unmet(made, wanted), *_record_notes(loaded, made, gaps, resample=resample)])
    draw(picture, lambda colours: _figure(made, colours), loaded.named)


def _long(loaded: Spec, strategy: str, interval_s: float, runs: int, jobs: int) -> Iterator[str]:
    """That it will take a while, said before it does, and what would take less."""
    from ckptplan.plan.simulation_length import length_of, spectrum_length_of

    scenario = loaded.scenario
    if scenario.has_spectrum:
        found = spectrum_length_of(scenario, strategy=strategy, interval_s=interval_s, runs=runs)
    else:
        found = length_of(scenario, strategy=strategy, interval_s=interval_s, runs=runs, jobs=jobs)
    if found.seconds >= _LONG_S:
        each = "the run has" if runs == 1 else f"each of {runs:,} runs has"
        yield (
            f"{each} about {found.failures:,.0f} failures, one after the other, which take about {found.seconds:,.0f} "
            "s or longer; less work has the same goodput: a tenth of training.duration (steps, tokens) takes a tenth "
            "of that"
        )


def _figure(made: Simulation, theme: Theme) -> Figure:
    from ckptplan.render.plots.simulation import simulation_figure

    return simulation_figure(made, theme)


def _refuse_what_would_be_ignored(
    *, two_intervals: bool, resampled_nothing: bool, one_run_counted: bool, one_run_drawn: bool
) -> None:
    if two_intervals:
        raise UsageError("--interval and --steps exclude each other", hint="give one of them")
    if resampled_nothing:
        raise UsageError("--resample does nothing without --replay", hint="add --replay FILE")
    if one_run_counted:
        raise UsageError(
            "--runs and --precision do nothing with a record in its order, which is one run", hint="add --resample"
        )
    if one_run_drawn:
        raise UsageError(
            "--plot draws the distribution of several runs, and there is one",
            hint="raise --runs; with --replay, add --resample",
        )


def _refuse_what_classes_exclude(*, replay: bool, jobs: bool) -> None:
    if replay:
        raise UsageError(
            f"--replay does nothing with {_SPECTRUM}: a record has no classes",
            hint="leave --replay out, or the groups out of the spec",
        )
    if jobs:
        raise UsageError(
            f"--jobs does nothing with {_SPECTRUM}: all runs are played side by side", hint="leave --jobs out"
        )


def _recorded(replay: Path) -> tuple[float, ...]:
    from ckptplan.readers.records.gaps import read_gaps

    return read_gaps(replay).gaps_s


def _chosen(loaded: Spec, strategy: str | None, interval: str | None, steps: int | None) -> tuple[str, float]:
    """Strategy and interval: as asked for, else as recommended."""
    from ckptplan.cli.choices import one_of, times
    from ckptplan.plan.chosen import chosen, ways_of_saving
    from ckptplan.plan.record import TIERS

    if strategy is not None:
        one_of(strategy, ways_of_saving(loaded.scenario), "--strategy")
    case, tiering = chosen(loaded.scenario, strategy)
    name = case.save.name if tiering is None else TIERS
    if interval is not None:
        return name, times([interval], "--interval")[0]
    if steps is None:
        return name, case.typed_interval_s if tiering is None else tiering.plan.interval_s
    if case.step_time_s is None:
        raise InputError(
            "an interval in steps needs the time of one step",
            hint="add training.step_time to the spec, for example training: {step_time: 5 s}",
        )
    return name, steps * case.step_time_s


def _share(text: str | None) -> float | None:
    from ckptplan.cli.choices import quantity

    if text is None:
        return None
    value = quantity(text, "fraction", "--precision", hint="write for example 0.1%")
    if not 1e-6 <= value < 1.0:
        raise UsageError(f"--precision {text}: not between 0.0001 % and 100 %", hint="write for example 0.1%")
    return value


def _unmet(made: Simulation, wanted: float | None) -> list[str]:
    if wanted is None or made.precision_reached:
        return []
    return [
        f"the precision of {100 * wanted:g} % was not reached in {made.runs:,} runs: it is {100 * made.precision:.2g} %"
    ]


def _record_notes(loaded: Spec, made: Simulation, gaps: tuple[float, ...] | None, *, resample: bool) -> Iterator[str]:
    """What a record does not carry."""
    from ckptplan.units import format_time

    if gaps is not None and not resample and made.failures.mean >= len(gaps):
        yield f"the run outlasts the record of {len(gaps):,} gaps, which was started over: replay a longer one"
    planned_s = loaded.scenario.failures.mtbf_per_gpu_s / loaded.scenario.cluster.gpus
    if gaps is not None and not 0.5 <= made.mtbf_s / planned_s <= 2.0:
        yield (
            f"the record has a mean gap of {format_time(made.mtbf_s)}, the spec an MTBF of {format_time(planned_s)}: "
            f"the recommended interval is that of the spec; plan for the record with --set "
            f"failures.mtbf={made.mtbf_s:.4g}s"
        )
    if gaps is not None and loaded.scenario.failures_strike == "safe":
        yield (
            "failures_strike is safe: the gaps must not contain the recoveries, which time stamps of failures do; "
            "write gaps of training time, or failures_strike: DR"
        )


def _as(format_: Format, made: Simulation, loaded: Spec, output: Path | None) -> str:
    from ckptplan.cli.output import text_as
    from ckptplan.render import simulation_report

    return text_as(
        format_,
        output,
        document=lambda: simulation_report.simulation_document(made, loaded.si),
        sheets=lambda: [simulation_report.simulation_sheet(made)],
        markdown=lambda: simulation_report.markdown(made),
        report=lambda screen: simulation_report.report(made, screen),
    )


def _progress() -> AbstractContextManager[Callable[[int, int], object] | None]:
    """A bar on a terminal, nothing elsewhere."""
    import sys

    if not sys.stderr.isatty():
        return nullcontext()
    from ckptplan.render.progress import Bar

    return Bar(sys.stderr)
