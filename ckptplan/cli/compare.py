"""``ckptplan compare``: two specs side by side, and which difference makes how much of that in goodput."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ckptplan.cli.options import Format, FormatOption, OutputOption
from ckptplan.cli.prices import PriceOption, unanswered
from ckptplan.errors import UsageError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckptplan.cost.scenario import Scenario
    from ckptplan.render.comparison_report import Compared
    from ckptplan.spec.reading import Spec, Value

_SPEC = "a YAML file, the name of a shipped config, or - for standard input (once)."
FirstArgument = Annotated[str, typer.Argument(metavar="A", help=f"The first run: {_SPEC}")]
SecondArgument = Annotated[str, typer.Argument(metavar="B", help="The run to hold against it, in the same form.")]
BothSetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of both, e.g. cluster.gpus=1024. Repeatable."),
]
WaysOption = Annotated[
    list[str] | None,
    typer.Option("--strategy", metavar="NAME", help="Only this save strategy of whichever has it. Repeatable."),
]


def compare(
    first: FirstArgument,
    second: SecondArgument,
    strategy: WaysOption = None,
    gpu_hour_price: PriceOption = None,
    set_: BothSetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan compare rsc-1 rsc-2
    ckptplan compare run.yaml faster.yaml --gpu-hour-price 2.50
    ckptplan compare run.yaml faster.yaml --strategy synchronous

    Which of two runs loses less, what differs in their inputs and results,
    and how many points of goodput each difference makes: they add up.
    """
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.load import load

    if first == second == "-":
        raise UsageError("standard input can be read once, and both are -", hint="give one of them as a file")
    refuse_overwriting(output, [first, second])
    specs = load(first, sets=set_ or []), load(second, sets=set_ or [])
    refuse_overwriting(output, [name for spec in specs for name in spec.named])
    compared = _compared(specs, strategy, gpu_hour_price)
    emit(_as(format_, compared, output), output)
    warn(dict.fromkeys(warning for spec in specs for warning in spec.warnings))
    warn([*compared.made.warnings, *_unanswered(compared)])


def _compared(specs: tuple[Spec, Spec], strategy: list[str] | None, price: float | None) -> Compared:
    from ckptplan.plan.comparison.comparing import compare as compared
    from ckptplan.plan.comparison.inputs import differing_inputs
    from ckptplan.render.comparison_report import Compared

    scenarios = _with_strategies(specs, strategy)
    made = compared(*scenarios, gpu_hour_price=price)
    made = made._replace(notes=(*made.notes, *_of_ranges(specs)))
    inputs, equal = differing_inputs(*map(_values, specs, scenarios))
    return Compared(made, (specs[0].file, specs[1].file), (specs[0].si, specs[1].si), inputs, equal, price)


def _values(spec: Spec, scenario: Scenario) -> list[Value]:
    """The values in force without those of strategies that were not asked for."""
    kept = {save.name for save in scenario.saves}
    left = tuple(f"save[{place}]." for place, save in enumerate(spec.scenario.saves) if save.name not in kept)
    return [value for value in spec.values if not value.key.startswith(left)]


def _with_strategies(specs: tuple[Spec, Spec], names: list[str] | None) -> tuple[Scenario, Scenario]:
    """Each with those of the strategies asked for that it has."""
    scenarios = specs[0].scenario, specs[1].scenario
    if not names:
        return scenarios
    from ckptplan.cli.choices import with_strategies
    from ckptplan.plan.chosen import ways_of_saving

    ways = [ways_of_saving(one) if one.storage.tiers else tuple(s.name for s in one.saves) for one in scenarios]
    listed = [f"{side} ({spec.file}) has {', '.join(has)}" for side, spec, has in zip("AB", specs, ways, strict=True)]
    for name in names:
        if not any(name in has for has in ways):
            message = (
                f"--strategy {name}: neither {' nor '.join(f'{s} ({spec.file})' for s, spec in _sides(specs))} has it"
            )
            raise UsageError(printable(message), hint=printable("; ".join(listed)))
    for (side, spec), has, told in zip(_sides(specs), ways, listed, strict=True):
        if not set(names) & set(has):
            message = f"--strategy: {side} ({spec.file}) has none of those asked for"
            raise UsageError(printable(message), hint=printable(f"{told}; add one"))
    first, second = (
        with_strategies(one, [n for n in names if n in has]) for one, has in zip(scenarios, ways, strict=True)
    )
    return first, second


def _sides(specs: tuple[Spec, Spec]) -> list[tuple[str, Spec]]:
    return list(zip("AB", specs, strict=True))


def _of_ranges(specs: Sequence[Spec]) -> Iterator[str]:
    from ckptplan.cli.uncertainty import of_ranges

    for side, spec in zip("AB", specs, strict=True):
        yield from of_ranges(spec, side)


def _unanswered(compared: Compared) -> Iterator[str]:
    """What was asked for and cannot be known from the specs."""
    for side, outcome in zip("AB", compared.made.outcomes, strict=True):
        yield from unanswered(compared.gpu_hour_price, outcome.work_s, side)


def _as(format_: Format, compared: Compared, output: Path | None) -> str:
    from ckptplan.cli.output import text_as
    from ckptplan.render import comparison_report
    from ckptplan.render.comparison_sheet import flat_sheet

    return text_as(
        format_,
        output,
        document=lambda: comparison_report.comparison_document(compared),
        sheets=lambda: [flat_sheet(compared.made, compared.inputs)],
        markdown=lambda: comparison_report.markdown(compared),
        report=lambda screen: comparison_report.report(compared, screen),
    )
