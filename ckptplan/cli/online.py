"""``ckptplan online``: an interval that follows the failures of the run itself."""

from __future__ import annotations

from typing import Annotated

import typer

from ckptplan.cli.options import Format, FormatOption, OutputOption, SetOption, SpecArgument


def online(
    spec: SpecArgument,
    strategy: Annotated[
        str | None, typer.Option(metavar="NAME", help="The save strategy; by default the best one.")
    ] = None,
    prior_mtbf: Annotated[
        str | None, typer.Option(metavar="TIME", help="MTBF believed in at the start; by default that of the spec.")
    ] = None,
    prior_shape: Annotated[
        float, typer.Option(metavar="N", min=0.01, max=1e6, help="How many failures this belief is worth.")
    ] = 1.0,
    budget: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0001, max=0.99, help="Share of time of the budget rules.")
    ] = 0.05,
    code: Annotated[bool, typer.Option("--code", help="Print only the training loop to paste.")] = False,
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
    from ckptplan.cli.choices import finite, one_of, times
    from ckptplan.cli.output import emit, refuse_overwriting, screen_for, warn
    from ckptplan.errors import InputError
    from ckptplan.load import load
    from ckptplan.online.snippet import training_loop_snippet
    from ckptplan.plan.adaptive import adaptive_plan
    from ckptplan.render import online_report
    from ckptplan.render.sheet import to_csv, to_json

    refuse_overwriting(output, [spec])
    finite(prior_shape, "--prior-shape")
    finite(budget, "--budget")
    prior_s = times([prior_mtbf], "--prior-mtbf")[0] if prior_mtbf is not None else None
    loaded = load(spec, sets=set_ or [])
    if strategy is not None:
        one_of(strategy, tuple(save.name for save in loaded.scenario.saves), "--strategy")
    made = adaptive_plan(
        loaded.scenario, strategy=strategy, prior_mtbf_s=prior_s, prior_shape=prior_shape, budget=budget
    )
    snippet = None
    if made.step_time_s is not None:
        snippet = training_loop_snippet(
            made.step_time_s,
            made.stall_s,
            made.prior_mtbf_s,
            prior_shape=made.prior_shape,
            flush=made.flush_s,
            speed=made.speed,
        )
    if code:
        if snippet is None:
            raise InputError(
                f"{made.name}: the loop counts steps, and the spec gives no step time",
                hint="add training.step_time to the spec, for example training: {step_time: 5 s}",
            )
        emit(snippet, output)
    elif format_ is Format.JSON:
        emit(to_json(online_report.online_document(made, loaded.si, snippet)), output)
    elif format_ is Format.CSV:
        emit(to_csv([online_report.online_sheet(made)]), output)
    elif format_ is Format.MARKDOWN:
        emit(online_report.markdown(made, snippet), output)
    else:
        emit(online_report.report(made, screen_for(output), snippet), output)
    warn(loaded.warnings)
