"""``ckptplan retain``: how many saves to keep, and which."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckptplan.cli.options import (
    EnoughOption,
    Format,
    FormatOption,
    OneStrategyOption,
    OutputOption,
    PlayedIntervalOption,
    PlayedStepsOption,
    ProbabilityOption,
    SetOption,
    SpecArgument,
)
from ckptplan.errors import CheckFailed, InputError, UsageError

if TYPE_CHECKING:
    from ckptplan.cost.scenario import Scenario
    from ckptplan.plan.retention.retaining import RetentionPlan
    from ckptplan.spec.reading import Spec


def retain(
    spec: SpecArgument,
    strategy: OneStrategyOption = None,
    interval: PlayedIntervalOption = None,
    steps: PlayedStepsOption = None,
    probability: ProbabilityOption = None,
    strict: EnoughOption = False,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan retain llama3-405b
    ckptplan retain run.yaml --probability 99.99% --steps 100

    Says how many saves to keep so that a clean one is left when corruption is
    found late or a loss spike throws training back, judges the retention of
    the spec, and accounts for the room that it takes.
    """
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.load import load
    from ckptplan.plan.retention.retaining import retention_plan
    from ckptplan.render.retain_report import raised

    refuse_overwriting(output, [spec])
    if interval is not None and steps is not None:
        raise UsageError("--interval and --steps exclude each other", hint="give one of them")
    wanted = _probability(probability)
    loaded = load(spec, sets=set_ or [])
    refuse_overwriting(output, loaded.named)
    made = retention_plan(
        loaded.scenario,
        strategy=_strategy(loaded.scenario, strategy),
        interval_s=_interval(loaded.scenario, interval, steps),
        probability=wanted,
    )
    emit(_as(format_, made, loaded, output), output)
    warn([*loaded.warnings, *raised(made)])
    if strict:
        _check(made)


def _probability(text: str | None) -> float | None:
    from ckptplan.cli.choices import quantity

    if text is None:
        return None
    value = quantity(text, "fraction", "--probability")
    if not 0.0 < value < 1.0:
        raise UsageError(
            f"--probability {text}: not between 0 and 100 %",
            hint="write for example 99.9%: an exponential delay has no upper bound",
        )
    return value


def _strategy(scenario: Scenario, name: str | None) -> str | None:
    from ckptplan.cli.choices import one_of
    from ckptplan.plan.chosen import ways_of_saving

    return None if name is None else one_of(name, ways_of_saving(scenario), "--strategy")


def _interval(scenario: Scenario, text: str | None, steps: int | None) -> float | None:
    from ckptplan.cli.choices import times

    if text is not None:
        return times([text], "--interval")[0]
    if steps is None:
        return None
    if scenario.training.step_time_s is None:
        raise InputError(
            "an interval in steps needs the time of one step",
            hint="add training.step_time to the spec, for example training: {step_time: 5 s}",
        )
    return steps * scenario.training.step_time_s


def _as(format_: Format, made: RetentionPlan, loaded: Spec, output: Path | None) -> str:
    from ckptplan.cli.output import text_as
    from ckptplan.render import retain_report, retain_sheet

    return text_as(
        format_,
        output,
        document=lambda: retain_sheet.retention_document(made, loaded.si),
        sheets=lambda: [retain_sheet.rule_sheet(made)],
        markdown=lambda: retain_report.markdown(made),
        report=lambda screen: retain_report.report(made, screen),
    )


def _check(made: RetentionPlan) -> None:
    """Whether the rule of the spec is enough."""
    from ckptplan.plan.retention.rules import certainty

    rule = made.given
    if rule is not None and not rule.is_enough:
        raise CheckFailed(
            f"{made.name}: {rule.keep} leaves a clean save for {certainty(rule.missing)} of {rule.least_sure}, less "
            f"than {100.0 * made.probability:.14g} % (asked by --strict)"
        )
