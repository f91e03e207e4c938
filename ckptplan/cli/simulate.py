"""``ckptplan simulate``: whole runs played out, failure by failure, with the prediction beside them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

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
)
from ckptplan.errors import InputError, UsageError

if TYPE_CHECKING:
    from ckptplan.plan.simulation import Simulation
    from ckptplan.spec.reading import Spec


def simulate(
    spec: SpecArgument,
    interval: PlayedIntervalOption = None,
    steps: PlayedStepsOption = None,
    strategy: OneStrategyOption = None,
    runs: RunsOption = 1000,
    precision: PrecisionOption = None,
    replay: ReplayOption = None,
    resample: ResampleOption = False,
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan simulate llama3-405b
    ckptplan simulate run.yaml --interval 1h --precision 0.1%
    ckptplan simulate run.yaml --replay failures.csv

    Plays whole runs, failure by failure, and holds the formulas against them.
    """
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.load import load

    refuse_overwriting(output, [spec, *([str(replay)] if replay else [])])
    if interval is not None and steps is not None:
        raise UsageError("--interval and --steps exclude each other", hint="give one of them")
    if resample and replay is None:
        raise UsageError("--resample does nothing without --replay", hint="add --replay FILE")
    wanted = _share(precision)
    loaded = load(spec, sets=set_ or [])
    name, interval_s = _chosen(loaded, strategy, interval, steps)
    gaps = None
    if replay is not None:
        from ckptplan.readers.gaps import read_gaps

        gaps = read_gaps(replay).gaps_s
    from ckptplan.plan.simulation import simulate_plan

    with _progress(quiet=wanted is None and runs <= 1024) as progress:
        made = simulate_plan(
            loaded.scenario,
            strategy=name,
            interval_s=interval_s,
            runs=runs,
            seed=seed,
            jobs=jobs,
            precision=wanted,
            replay=gaps,
            resample=resample,
            progress=progress,
        )
    emit(_as(format_, made, loaded, output), output)
    warn([*loaded.warnings, *_unmet(made, wanted)])


def _chosen(loaded: Spec, strategy: str | None, interval: str | None, steps: int | None) -> tuple[str, float]:
    """Strategy and interval: as asked for, else as recommended."""
    from ckptplan.cli.choices import one_of, times
    from ckptplan.plan.case import cases_of

    cases = {case.save.name: case for case in cases_of(loaded.scenario)}
    if strategy is not None:
        cases = {one_of(strategy, tuple(cases), "--strategy"): cases[strategy]}
    best = max(cases.values(), key=lambda case: case.goodput(case.optimum(case.method)))
    step_s = best.step_time_s
    if interval is not None:
        return best.save.name, times([interval], "--interval")[0]
    if steps is not None and step_s is None:
        raise InputError(
            "an interval in steps needs the time of one step",
            hint="add training.step_time to the spec, for example training: {step_time: 5 s}",
        )
    optimum_s = best.optimum(best.method)
    count = steps if steps is not None else best.steps(optimum_s)
    return best.save.name, optimum_s if count is None or step_s is None else count * step_s


def _share(text: str | None) -> float | None:
    from ckptplan.units import UnitError, parse_quantity

    if text is None:
        return None
    try:
        value = parse_quantity(text, "fraction")
    except UnitError as error:
        raise UsageError(f"--precision {text}: {error}", hint="write for example 0.1%") from error
    if not 1e-6 <= value < 1.0:
        raise UsageError(f"--precision {text}: not between 0.0001 % and 100 %", hint="write for example 0.1%")
    return value


def _unmet(made: Simulation, wanted: float | None) -> list[str]:
    if wanted is None or made.precision_reached:
        return []
    return [
        f"the precision of {100 * wanted:g} % was not reached in {made.runs:,} runs: it is {100 * made.precision:.2g} %"
    ]


def _as(format_: Format, made: Simulation, loaded: Spec, output: Path | None) -> str:
    from ckptplan.cli.output import screen_for
    from ckptplan.render import simulation_report
    from ckptplan.render.sheet import to_csv, to_json

    if format_ is Format.JSON:
        return to_json(simulation_report.simulation_document(made, loaded.si))
    if format_ is Format.CSV:
        return to_csv([simulation_report.simulation_sheet(made)])
    if format_ is Format.MARKDOWN:
        return simulation_report.markdown(made)
    return simulation_report.report(made, screen_for(output))


def _progress(*, quiet: bool) -> AbstractContextManager[Callable[[int, int], object] | None]:
    """A bar on a terminal, nothing elsewhere."""
    import sys

    if quiet or not sys.stderr.isatty():
        return nullcontext()
    from ckptplan.render.progress import Bar

    return Bar(sys.stderr)
