"""``ckptplan optimize``: the interval to type, and where every hour goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ckptplan.cli.options import (
    FailUnderOption,
    Format,
    FormatOption,
    GpusOption,
    IntervalOption,
    KeepOption,
    MethodOption,
    OutputOption,
    QuietOption,
    SeedOption,
    SetOption,
    SpecsArgument,
    StepsOption,
    StrategyOption,
    StrictOption,
    TrainerOption,
    VerifyOption,
)
from ckptplan.cli.plot_option import Plot, PlotOption, ThemeName, ThemeOption, plot_to
from ckptplan.cli.prices import PriceOption
from ckptplan.errors import CheckFailed, Problem, UsageError

if TYPE_CHECKING:
    from ckptplan.plan import Plan, Record
    from ckptplan.render.trainers import Trainer
    from ckptplan.spec.reading import Spec


def optimize(
    context: typer.Context,
    specs: SpecsArgument,
    interval: IntervalOption = None,
    steps: StepsOption = None,
    gpus: GpusOption = None,
    method: MethodOption = None,
    strategy: StrategyOption = None,
    set_: SetOption = None,
    gpu_hour_price: PriceOption = None,
    trainer: TrainerOption = None,
    keep: KeepOption = 3,
    fail_under: FailUnderOption = None,
    strict: StrictOption = False,
    verify: VerifyOption = False,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
    plot: PlotOption = None,
    theme: ThemeOption = ThemeName.LIGHT,
) -> None:
    """\b
    ckptplan optimize llama3-405b
    ckptplan optimize run.yaml --interval 1h --gpu-hour-price 2.50
    ckptplan optimize run.yaml --gpus 1024,16384,100000

    Says how often to save, by each strategy of the spec, and accounts for
    every hour: save, rework, restart, goodput.
    """
    from ckptplan.cli.choices import finite, typed
    from ckptplan.cli.output import emit, refuse_overwriting, warn

    _refuse_what_would_be_ignored(context, quiet=quiet, trainer=trainer)
    refuse_overwriting(output, specs)
    picture = plot_to(context, plot, output=output, inputs=specs)
    if picture is not None and len(specs) > 1:
        raise UsageError(f"--plot draws one spec, and {len(specs)} are given", hint="plot them one by one")
    finite(fail_under, "--fail-under")
    plans = _plan_all(
        specs,
        intervals=interval or [],
        steps=steps or [],
        gpus=gpus,
        methods=method,
        strategies=strategy,
        sets=set_ or [],
        price=gpu_hour_price,
        strict=strict,
        seed=seed,
        verify=verify,
        whole_run=not (quiet or trainer),
    )
    if quiet:
        text = "".join(f"{_number(plan)}\n" for _, plan in plans)
    else:
        text = _settings(plans, trainer, keep) if trainer else _report(plans, format_, output)
    refuse_overwriting(output, [name for spec, _ in plans for name in spec.named])
    emit(text, output)
    for spec, plan in plans:
        priced = gpu_hour_price is not None and (typed(context, "gpu_hour_price") or bool(plan.given()))
        unanswered = _unanswered(plan, quiet=quiet, bare=quiet or bool(trainer), priced=priced)
        warn([*spec.warnings, *plan.warnings, *unanswered])
    if picture is not None:
        _draw(picture, *plans[0], strategy)
    _check(plans, fail_under)


def _draw(picture: Plot, spec: Spec, plan: Plan, strategies: list[str] | None) -> None:
    from ckptplan.cli.choices import with_strategies
    from ckptplan.cli.plot_option import draw
    from ckptplan.plan.curve import goodput_curve
    from ckptplan.render.plots.optimize import optimize_figure

    curve = goodput_curve(with_strategies(spec.scenario, strategies), plan)
    draw(picture, lambda theme: optimize_figure(plan, curve, theme), spec.named)


def _settings(plans: list[tuple[Spec, Plan]], trainer: str, keep: int) -> str:
    return "\n".join(_setting(plan, trainer, keep) for _, plan in plans)


def _report(plans: list[tuple[Spec, Plan]], format_: Format, output: Path | None) -> str:
    from ckptplan.cli.formats import plans_as

    return plans_as(format_, plans, output)


def _unanswered(plan: Plan, *, quiet: bool, bare: bool, priced: bool) -> Iterator[str]:
    """What was asked for and cannot be known from the spec, and what a ``bare`` number does not say."""
    if priced and plan.duration_s is None:
        yield f"{plan.name}: no training.duration, so lost GPU-hours have no number and no price"
    if bare and not plan.makes_progress:
        yield from (f"{plan.name}: {text}" for text in plan.advice)
    if quiet and plan.tiers is not None and plan.tiers_are_best:
        yield f"{plan.name}: one number per tier: {', '.join(t.name for t in plan.tiers.tiers if t.kept)}"
    if quiet and plan.best.interval_steps is None:
        yield f"{plan.name}: no training.step_time, so the number is in seconds"


def _refuse_what_would_be_ignored(context: typer.Context, *, quiet: bool, trainer: str | None) -> None:
    """An option that does nothing here is a mistake of its user; the environment may hold defaults for all commands."""
    from ckptplan.cli.choices import typed

    def is_typed(name: str) -> bool:
        return typed(context, name)

    if quiet and trainer:
        raise UsageError("--quiet and --for exclude each other", hint="give one of them")
    if is_typed("format_") and (quiet or trainer):
        raise UsageError("--format does nothing with --quiet or --for", hint="leave --format out")
    if is_typed("gpus") and (quiet or trainer):
        hint = "plan a size that fills the layout by --set cluster.gpus=N, or any by ckptplan scale --gpus N"
        raise UsageError("--gpus does nothing with --quiet or --for", hint=hint)
    if (is_typed("interval") or is_typed("steps")) and (quiet or trainer) and not is_typed("fail_under"):
        raise UsageError("--quiet and --for give the optimum", hint="leave --interval and --steps out")
    if is_typed("keep") and not trainer:
        raise UsageError("--keep does nothing without --for", hint="add --for TRAINER")
    if is_typed("gpu_hour_price") and (quiet or trainer):
        raise UsageError("--gpu-hour-price does nothing with --quiet or --for", hint="leave --gpu-hour-price out")


def _plan_all(
    specs: list[str],
    *,
    intervals: list[str],
    steps: list[int],
    gpus: str | None,
    methods: list[str] | None,
    strategies: list[str] | None,
    sets: list[str],
    price: float | None,
    strict: bool,
    seed: int,
    verify: bool,
    whole_run: bool,
) -> list[tuple[Spec, Plan]]:
    # Here, near the top of the call stack: deeper down, Python 3.11 maps and unmaps a chunk of its stack 1,500 times
    # while numpy is imported, which takes as long as the rest of the plan.
    import numpy  # noqa: F401

    from ckptplan.cli.choices import methods_named, scales, times, with_strategies
    from ckptplan.load import load
    from ckptplan.plan import Unsure, plan

    wanted = methods_named(methods)
    intervals_s = times(intervals, "--interval")
    counts = scales(gpus)
    loaded = [load(name, sets=sets) for name in specs]
    names = [spec.scenario.name for spec in loaded]
    plans = [
        (
            spec,
            plan(
                with_strategies(spec.scenario, strategies),
                methods=wanted,
                intervals_s=intervals_s,
                steps=steps,
                gpus=counts,
                gpu_hour_price=price,
                strict=strict,
                unsure=Unsure(spec.spreads, spec.with_values) if spec.spreads else None,
                verify=verify,
                seed=seed,
                whole_run=whole_run,
            ),
        )
        for spec in loaded
    ]
    # Rows of two specs of one name could not be told apart: the file stands beside it.
    return [
        (spec, made._replace(name=f"{made.name} ({spec.file})") if names.count(made.name) > 1 else made)
        for spec, made in plans
    ]


def _number(plan: Plan) -> str:
    """The number to type: whole steps where the step time is known, else seconds; one per tier where tiers are best."""
    if plan.tiers is not None and plan.tiers_are_best:
        kept = [tier for tier in plan.tiers.tiers if tier.kept]
        return " ".join(
            f"{tier.interval_s:.6g}" if tier.every_steps is None else str(tier.every_steps) for tier in kept
        )
    if plan.best.interval_steps is not None:
        return str(plan.best.interval_steps)
    return f"{plan.best.interval_s:.6g}"


def _setting(plan: Plan, trainer: str, keep: int) -> str:
    from ckptplan.cli.choices import one_of
    from ckptplan.cli.output import warn
    from ckptplan.errors import InputError
    from ckptplan.render.trainers import TRAINERS, TrainerSetting, snippet

    name = one_of(trainer, tuple(TRAINERS), "--for")
    if plan.tiers is not None and plan.tiers_are_best:
        warn(
            [
                f"{TRAINERS[name].title} takes one interval: this is that of {plan.best.strategy!r}; saves to several "
                f"tiers would yield {100 * (plan.best_goodput - plan.best.goodput_typed):.2f} points more"
            ]
        )
    best = _best_for(plan, TRAINERS[name])
    if best.interval_steps is None:
        raise InputError(
            f"{plan.name}: a trainer counts steps, and the spec gives no step time",
            hint="add training.step_time to the spec, for example training: {step_time: 5 s}",
        )
    setting = TrainerSetting(
        steps=best.interval_steps,
        asynchronous=best.strategy in _in_background(plan),
        keep=keep,
        strategy=best.strategy,
        interval_s=best.interval_s,
    )
    return snippet(name, setting)


def _in_background(plan: Plan) -> set[str]:
    return {save.name for save in plan.saves if save.mode == "asynchronous"}


def _best_for(plan: Plan, trainer: Trainer) -> Record:
    """The best strategy that the trainer can carry out: one that cannot hide a flush needs a blocking strategy."""
    from ckptplan.cli.output import warn
    from ckptplan.plan.record import recommended

    background = {
        save.name
        for save in plan.saves
        if save.name in _in_background(plan) and not trainer.can_hide(save.flush_s, plan.step_time_s)
    }
    cannot = "hides no more than one step of a flush" if trainer.hides_one_step else "does not save in the background"
    blocking = [record for record in plan.optima() if record.strategy not in background]
    if plan.best.strategy not in background:
        return plan.best
    if blocking:
        best = max(blocking, key=recommended)
        warn([f"{trainer.title} {cannot}: this is the interval of {best.strategy!r}"])
        return best
    warn([f"{trainer.title} {cannot}: add a strategy with mode: sharded or gathered to the spec"])
    return plan.best


def _check(plans: list[tuple[Spec, Plan]], fail_under: float | None) -> None:
    """Whether the formula held, where that was asked, and whether goodput is high enough."""
    failed = [
        Problem(f"{plan.name}: the formula does not hold against the simulation (asked by --verify)")
        for _, plan in plans
        if plan.verification is not None and not plan.verification.holds
    ]
    failed += [] if fail_under is None else _below(plans, fail_under)
    if failed:
        raise CheckFailed(failed)


def _below(plans: list[tuple[Spec, Plan]], fail_under: float) -> Iterator[Problem]:
    """Judge what would be typed: the given intervals if there are any, else the best plan; at the planned scale."""
    from ckptplan.plan.record import TIERS

    for _, plan in plans:
        given = plan.given()
        if plan.tiers is not None:  # what is typed is then the interval between slots
            given = tuple(record for record in given if record.strategy == TIERS) or given
        worst = min(given or (plan.best,), key=lambda record: record.goodput_typed)
        goodput, name = worst.goodput_typed, worst.strategy
        if not plan.given() and plan.tiers_are_best:
            goodput, name = plan.best_goodput, "tiers"
        if not goodput >= fail_under:
            text = f"{plan.name}: goodput {goodput:.4f} of {name} is below {fail_under:g}"
            yield Problem(f"{text} (asked by --fail-under)")
