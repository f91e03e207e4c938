"""Arguments and options, each with its help: those that several commands share, then those of each command."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer._types import TyperChoice


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


class FormatChoice(TyperChoice[str]):
    """One of several formats; Markdown also goes by the ending of its files."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The name of the format."""
        return super().convert("markdown" if value == "md" else value, param, ctx)


SpecArgument = Annotated[
    str,
    typer.Argument(metavar="SPEC", help="A YAML file, the name of a shipped config, or - for standard input."),
]
SpecsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SPEC...", help="YAML files, names of shipped configs, or - for standard input."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key, e.g. cluster.gpus=1024. Repeatable."),
]


def format_option(formats: type[StrEnum], more: str = "; without it, the ending of -o FILE decides") -> Any:
    """``--format``, of those that a command has."""
    return typer.Option(
        "--format",
        "-f",
        envvar="CKPTPLAN_FORMAT",
        click_type=FormatChoice([one.value for one in formats]),
        help=f"How to print the result{more}.",
    )


FormatOption = Annotated[Format, format_option(Format)]
PlainFormatOption = Annotated[Format, format_option(Format, more="")]


def file_named(option: str, example: str) -> Callable[[str], Path]:
    """A parser of the name of a file, which an empty text is not: most likely a variable of a script is not set."""

    def named(text: str) -> Path:
        if not text.strip():
            from ckptplan.errors import UsageError

            hint = f"write for example {option} {example}, or leave {option} out"
            raise UsageError(f"{option} is given no file", hint=hint)
        return Path(text)

    return named


def result_option(example: str) -> Any:
    """``-o``; - is standard output, as it is standard input where a spec is named."""
    named = file_named("-o", example)

    def result_file(text: str) -> Path | None:
        return None if text == "-" else named(text)

    return typer.Option(
        "--output", "-o", metavar="FILE", parser=result_file, help="Write to FILE (whole or not at all)."
    )


OutputOption = Annotated[Path | None, result_option("plan.json")]
PageOption = Annotated[Path | None, result_option("report.html")]
SpecFileOption = Annotated[Path | None, result_option("run.yaml")]

IntervalOption = Annotated[
    list[str] | None,
    typer.Option(metavar="TIME", help="Also evaluate this interval, e.g. 1h (work between saves). Repeatable."),
]
StepsOption = Annotated[
    list[int] | None,
    typer.Option(metavar="N", min=1, max=10**12, help="Also evaluate an interval of N steps. Repeatable."),
]
GpusOption = Annotated[
    str | None, typer.Option(metavar="N,N,...", help="Further numbers of GPUs, the MTBF per GPU held.")
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        envvar="CKPTPLAN_METHOD",
        help="young, daly, exact, or renewal (other failure laws). Repeatable.",
    ),
]
StrategyOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this save strategy of the spec. Repeatable.")
]
TrainerOption = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TRAINER",
        help="Print the setting to paste: megatron, torchtitan, nemo, deepspeed, lightning, huggingface, maxtext.",
    ),
]
KeepOption = Annotated[int, typer.Option(metavar="N", min=1, help="With --for: how many checkpoints to keep.")]
FailUnderOption = Annotated[
    float | None,
    typer.Option(
        metavar="GOODPUT",
        min=0.0,
        max=1.0,
        help="Exit 3 if goodput is lower: of the given intervals, else of the best plan.",
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Refuse an interval below the flush, or buffers that do not fit.")
]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Simulate the recommended plan, and say whether the formula holds.")
]
SeedOption = Annotated[
    int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of all random numbers.", show_default=True)
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the number to type.")]

OneStrategyOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The save strategy; by default the best one.")
]
PlayedIntervalOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Work between saves, e.g. 1h; by default the recommended one.")
]
PlayedStepsOption = Annotated[int | None, typer.Option(metavar="N", min=1, max=10**12, help="The same in steps.")]
RunsOption = Annotated[
    int, typer.Option(metavar="N", min=1, max=10_000_000, help="Runs to simulate; with --precision, the least number.")
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(metavar="SHARE", help="Go on until the mean wall time is known to this, e.g. 0.1%."),
]
ReplayOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Failures as recorded: gaps or time stamps, one per line.")
]
ResampleOption = Annotated[
    bool, typer.Option("--resample", help="With --replay: draw the gaps at random, not in their order.")
]
JobsOption = Annotated[
    int, typer.Option(metavar="N", min=1, max=1024, help="Processes; the result is the same for any number.")
]

PriorMtbfOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="MTBF believed in at the start; by default that of the spec.")
]
PriorShapeOption = Annotated[
    float, typer.Option(metavar="N", min=0.01, max=1e6, help="How many failures this belief is worth.")
]
BudgetOption = Annotated[
    float, typer.Option(metavar="SHARE", min=0.0001, max=0.99, help="Share of time of the budget rules.")
]
CodeOption = Annotated[bool, typer.Option("--code", help="Print only the training loop to paste.")]

ScaleGpusOption = Annotated[
    str | None,
    typer.Option(
        "--gpus", metavar="N,N,...", help="Sizes beside the planned one; by default a series to beyond the peak."
    ),
]
EnergyOption = Annotated[bool, typer.Option("--energy", help="Also the interval of least energy; needs cluster.power.")]

ProbabilityOption = Annotated[
    str | None, typer.Option(metavar="SHARE", help="Wanted, of finding a clean save; by default that of the spec.")
]
EnoughOption = Annotated[bool, typer.Option("--strict", help="Exit 3 if the retention of the spec is not enough.")]
