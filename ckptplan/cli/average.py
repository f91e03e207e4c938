"""``ckptplan average``: the mean of neighbouring checkpoints, and whether it is likely to make sense."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ckptplan.cli.checkpoint_options import OverwriteOption
from ckptplan.cli.options import Format, PlainFormatOption
from ckptplan.errors import InputError, UsageError, printable

if TYPE_CHECKING:
    from ckptplan.checkpoint.average.averaging import Averaged
    from ckptplan.checkpoint.average.matching import Choice
    from ckptplan.checkpoint.average.weighting import Weighting

DTYPES = ("float32", "bfloat16", "float16")
INCLUDED = ("buffers", "masters")
# Ends of names of other things than folders of weights: of reports, and of weights that are not safetensors.
PathsArgument = Annotated[
    list[str], typer.Argument(metavar="PATH PATH...", help="Two checkpoints or more: folders, or files.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="OUT", help="The weights, not the report: a name.safetensors, or else a new folder."
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Read and judge, and write nothing.")]
WeightsOption = Annotated[
    str | None, typer.Option(metavar="W,W,...", help="A weight for each checkpoint as given; they sum to 1.")
]
EmaOption = Annotated[
    float | None,
    typer.Option("--ema", metavar="DECAY", help="Each older checkpoint weighs DECAY times the next, e.g. 0.9."),
]
DtypeOption = Annotated[
    str | None, typer.Option("--dtype", metavar="TYPE", help="float32, bfloat16 or float16; by default as stored.")
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--include", metavar="STATE", help="Average buffers too, or write averaged masters beside. Repeatable."
    ),
]
NoMastersOption = Annotated[
    bool, typer.Option("--no-masters", help="Average parameters as stored where there are fp32 masters of them.")
]
StripOption = Annotated[
    str, typer.Option("--strip-prefix", metavar="TEXT", help="Leave this out in front of names, e.g. model.")
]
CrcOption = Annotated[
    bool, typer.Option("--crc", help="First read all that is averaged and compare it with the checksums in the files.")
]
ShardSizeOption = Annotated[
    str, typer.Option("--shard-size", metavar="SIZE", help="In a folder: the most that one file holds.")
]


def average(
    context: typer.Context,
    paths: PathsArgument,
    out: OutOption = None,
    dry_run: DryRunOption = False,
    weights: WeightsOption = None,
    ema: EmaOption = None,
    dtype: DtypeOption = None,
    include: IncludeOption = None,
    no_masters: NoMastersOption = False,
    strip_prefix: StripOption = "",
    shard_size: ShardSizeOption = "5GB",
    overwrite: OverwriteOption = False,
    crc: CrcOption = False,
    format_: PlainFormatOption = Format.TABLE,
) -> None:
    """\b
    ckptplan average step-9000 step-9500 step-10000 -o averaged
    ckptplan average run/checkpoint-* -o mean.safetensors --dtype bfloat16
    ckptplan average step-9000 step-10000 --dry-run

    Writes the element-wise mean of the parameters as safetensors, from any
    format and layout, and says whether averaging is likely to make sense:
    how far apart the checkpoints are, whether they still travel in one
    direction, and at what learning rates. Moments, steps and random states
    are never averaged. Checkpoints are put in the order of their steps.
    """
    from ckptplan.checkpoint.average.averaging import average as averaged
    from ckptplan.cli.checkpoint_files import readable, refuse_empty, refuse_ending
    from ckptplan.cli.choices import quantity, typed
    from ckptplan.cli.output import emit, warn
    from ckptplan.cli.places import refuse_name
    from ckptplan.cli.stopping import tidy

    for path in paths:
        refuse_empty(path)
    _refuse_usage(paths, out, dry_run=dry_run, weights=weights, ema=ema)
    if out is not None and str(out) in {"-", "."}:  # Path("") is the latter
        raise UsageError("-o wants a name for the weights", hint="write -o mean.safetensors, or -o and a new folder")
    if out is not None:
        refuse_ending(out, "-o", "the report is printed: --format json > FILE")
        refuse_name(out, "-o")
    choice = _choice(dtype, include, strip_prefix, masters=not no_masters)
    weigh = _weighing(weights, ema, len(paths))
    shard_bytes = int(quantity(shard_size, "size", "--shard-size"))
    with tidy(), _bar() as progress:
        done = averaged(
            [readable(path) for path in paths],
            None if dry_run else out,
            weigh,
            choice,
            labels=paths,
            by_step=weights is None,
            shard_bytes=max(1, shard_bytes),
            overwrite=overwrite,
            crc=crc,
            progress=progress,
        )
    emit(_as(format_, done), None)
    warn(_idle(out, shard_size=typed(context, "shard_size"), overwrite=overwrite))
    warn(done.warnings)


def _refuse_usage(paths: list[str], out: Path | None, *, dry_run: bool, weights: str | None, ema: float | None) -> None:
    if len(paths) < 2:
        raise UsageError("one checkpoint has no mean", hint="name at least two")
    if out is None and not dry_run:
        raise UsageError("nothing says where the mean is to be written", hint="-o OUT, or --dry-run")
    if out is not None and dry_run:
        raise UsageError("--dry-run writes nothing, and -o says where", hint="leave one of them out")
    if weights is not None and ema is not None:
        raise UsageError("--weights and --ema exclude each other", hint="leave one of them out")


def _idle(out: Path | None, *, shard_size: bool, overwrite: bool) -> Iterator[str]:
    """Options about files that have no effect."""
    if shard_size and (out is None or out.suffix == ".safetensors"):
        yield "--shard-size changes nothing: it is for a folder" + ("" if out else ", and nothing was written")
    if overwrite and out is None:
        yield "--overwrite changes nothing: nothing was written"


def _choice(dtype: str | None, include: list[str] | None, strip_prefix: str, *, masters: bool) -> Choice:
    from ckptplan.checkpoint.average.matching import Choice
    from ckptplan.checkpoint.kinds import StateKind
    from ckptplan.cli.checkpoint_options import WORDS
    from ckptplan.cli.choices import one_of

    of_word = dict(zip(WORDS, StateKind, strict=True))
    words = [word.strip() for text in include or () for word in text.split(",")]
    for word in words:
        if word == "moments" or (word in WORDS and word not in (*INCLUDED, "parameters")):
            raise UsageError(
                f"--include {printable(word)}: never averaged. Moments are estimates at the point where they were "
                "saved, steps and positions count; a mean of them belongs to no point of the run",
                hint="after averaging, start the optimizer anew or go on from one of the checkpoints",
            )
    kinds = frozenset(of_word[one_of(word, (*INCLUDED, "parameters"), "--include")] for word in words)
    type_ = None if dtype is None else one_of(dtype, DTYPES, "--dtype")
    return Choice(type_, kinds - {StateKind.PARAMETER}, masters, strip_prefix)


def _weighing(weights: str | None, ema: float | None, checkpoints: int) -> Callable[[int], Weighting]:
    """The weights, tried at once: what is wrong with them is wrong with the command line."""
    from ckptplan.checkpoint.average.weighting import exponential, given, uniform

    if weights is None and ema is None:
        return uniform
    option = f"--weights {printable(weights)}" if weights is not None else f"--ema {ema:g}"
    try:
        values = [float(text) for text in (weights or "1").split(",")]
    except ValueError:
        raise UsageError(f"{option}: not numbers", hint="write 0.5,0.3,0.2") from None
    try:
        found = given(values, checkpoints) if ema is None else exponential(ema, checkpoints)
    except InputError as error:
        (problem,) = error.problems
        raise UsageError(f"{option}: {problem.message}", hint=problem.hint) from None
    return lambda _: found


def _bar() -> AbstractContextManager[Callable[[str, int, int], object] | None]:
    """A bar on a terminal, else nothing."""
    if not sys.stderr.isatty():
        return nullcontext()
    from ckptplan.render.measure_progress import RateBar

    return RateBar(sys.stderr)


def _as(format_: Format, done: Averaged) -> str:
    from ckptplan.cli.output import text_as
    from ckptplan.render import average_report, average_sheet

    return text_as(
        format_,
        None,
        document=lambda: average_sheet.average_document(done),
        sheets=lambda: [average_sheet.checkpoint_sheet(done)],
        markdown=lambda: average_report.markdown(done),
        report=lambda screen: average_report.report(done, screen),
    )
