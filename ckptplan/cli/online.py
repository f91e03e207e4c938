"""``ckptplan online``: an interval that follows the failures of the run itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ckptplan.cli.options import (
    BudgetOption,
    CodeOption,
    Format,
    FormatOption,
    OneStrategyOption,
    OutputOption,
    PriorMtbfOption,
    PriorShapeOption,
    SetOption,
    SpecArgument,
)
from ckptplan.errors import UsageError

if TYPE_CHECKING:
    from ckptplan.plan.adaptive import AdaptivePlan
    from ckptplan.spec.reading import Spec


def online(
    context: typer.Context,
    spec: SpecArgument,
    strategy: OneStrategyOption = None,
    prior_mtbf: PriorMtbfOption = None,
    prior_shape: PriorShapeOption = 1.0,
    budget: BudgetOption = 0.05,
    code: CodeOption = False,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan online llama3-405b
    ckptplan online run.yaml --code > loop.py

    What it yields to adapt the interval to the failures that the run sees,
    and the lines to paste into a training loop.
    """
    from ckptplan.cli.choices import finite, one_of, times, typed
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.load import load
    from ckptplan.plan.adaptive import adaptive_plan

    refuse_overwriting(output, [spec])
    if code and typed(context, "format_"):
        raise UsageError("--format does nothing with --code", hint="leave --format out")
    finite(prior_shape, "--prior-shape")
    finite(budget, "--budget")
    prior_s = times([prior_mtbf], "--prior-mtbf")[0] if prior_mtbf is not None else None
    loaded = load(spec, sets=set_ or [])
    refuse_overwriting(output, loaded.named)
    if strategy is not None:
        one_of(strategy, tuple(save.name for save in loaded.scenario.saves), "--strategy")
    made = adaptive_plan(
        loaded.scenario, strategy=strategy, prior_mtbf_s=prior_s, prior_shape=prior_shape, budget=budget
    )
    snippet = _snippet(made)
    emit(_code(made, snippet) if code else _as(format_, made, snippet, loaded, output), output)
    warn([*loaded.warnings, *(f"the rules do not know {key}: it is left out of every row" for key in made.left_out)])


def _snippet(made: AdaptivePlan) -> str | None:
    """The training loop, which counts steps; None where their time is not known."""
    if made.step_time_s is None:
        return None
    from ckptplan.online.snippet import training_loop_snippet

    return training_loop_snippet(
        made.step_time_s,
        made.stall_s,
        made.prior_mtbf_s,
        prior_shape=made.prior_shape,
        flush=made.flush_s,
        speed=made.speed,
    )


def _code(made: AdaptivePlan, snippet: str | None) -> str:
    from ckptplan.errors import InputError

    if snippet is None:
        raise InputError(
            f"{made.name}: the loop counts steps, and the spec gives no step time",
            hint="add training.step_time to the spec, for example training: {step_time: 5 s}",
        )
    return snippet


def _as(format_: Format, made: AdaptivePlan, snippet: str | None, loaded: Spec, output: Path | None) -> str:
    from ckptplan.cli.output import text_as
    from ckptplan.render import online_report

    return text_as(
        format_,
        output,
        document=lambda: online_report.online_document(made, loaded.si, snippet),
        sheets=lambda: [online_report.online_sheet(made)],
        markdown=lambda: online_report.markdown(made, snippet),
        report=lambda screen: online_report.report(made, screen, snippet),
    )
