"""``ckptplan audit``: whether a run can go on from a checkpoint, or from which of a run's checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ckptplan.cli.checkpoint_options import WORDS
from ckptplan.cli.options import Format, FormatOption, OutputOption
from ckptplan.errors import EXIT_CHECK, CheckFailed, InputError, Place, Problem, UsageError

if TYPE_CHECKING:
    from ckptplan.checkpoint.audit.findings import Audit
    from ckptplan.checkpoint.audit.runs import RunAudit
    from ckptplan.checkpoint.kinds import StateKind

# Shorter words, and words for several kinds.
GROUPS = {
    "moments": ("first-moments", "second-moments"),
    "optimizer": ("first-moments", "second-moments", "optimizer-step", "hyperparameters"),
    "rng": ("random",),
    "data": ("data-position",),
    "step": ("optimizer-step",),
    "scaler": ("loss-scaler",),
}
_LISTED = ", ".join([*WORDS, *(word for word in GROUPS if word in {"moments", "optimizer"})])

PathArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="A checkpoint: its folder or file; or the folder of a run with several.")
]
RequireOption = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND", help=f"Also ask for this state: {_LISTED}. Repeatable, or with commas."),
]
AllowOption = Annotated[
    list[str] | None, typer.Option(metavar="KIND", help="Go on without this state. Repeatable, or with commas.")
]
CrcOption = Annotated[
    bool, typer.Option("--crc", help="Also read all data and compare it with the checksums in the files.")
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Do not open the stored items: look at metadata and lengths of files only.")
]
SilentOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing; of a run only the checkpoint to resume from.")
]


def audit(
    path: PathArgument,
    require: RequireOption = None,
    allow: AllowOption = None,
    crc: CrcOption = False,
    quick: QuickOption = False,
    silent: SilentOption = False,  # not ``quiet``, under which a file has no format: here it has the whole report
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan audit checkpoints/step-5000
    ckptplan audit checkpoints/step-5000 --require fp8 --allow data,rng
    CKPT=$(ckptplan audit -q checkpoints) && train --resume "$CKPT"

    Is a checkpoint whole, and does it hold all that training needs to go on
    as if never interrupted? Of a run with several: from which to resume.
    Exit code 3 if something needed is missing, or nothing is whole.
    """
    from ckptplan.checkpoint.audit.auditing import audit_path
    from ckptplan.checkpoint.audit.findings import Depth
    from ckptplan.checkpoint.audit.runs import audit_run, checkpoints_of
    from ckptplan.cli.checkpoint_files import refuse_empty

    refuse_empty(path)
    if crc and quick:
        raise UsageError("--crc and --quick contradict each other", hint="give one of them")
    depth = Depth.DATA if crc else Depth.METADATA if quick else Depth.ITEMS
    required = required_kinds(require, allow)
    root = Path(path)
    inside = checkpoints_of(root)
    if inside is None:
        _one(audit_path(root, depth, required), silent, format_, output)
    else:
        only_the_best = silent and output is None
        _run(audit_run(root, inside, depth, required, first_only=only_the_best), silent, format_, output)


def required_kinds(require: list[str] | None, allow: list[str] | None) -> frozenset[StateKind]:
    """Kinds that a checkpoint must have: those that every run needs, more and less as asked."""
    from ckptplan.checkpoint.kinds import NEEDED_BY_EVERY_RUN, StateKind

    required, allowed = _kinds(require, "--require"), _kinds(allow, "--allow")
    both = [str(kind) for kind in StateKind if kind in required & allowed]
    if both:
        raise UsageError(f"--require and --allow both name {', '.join(both)}", hint="leave it out of one of them")
    return (frozenset(NEEDED_BY_EVERY_RUN) | required) - allowed


def _kinds(texts: list[str] | None, option: str) -> frozenset[StateKind]:
    from ckptplan.cli.checkpoint_options import kinds_named
    from ckptplan.cli.choices import one_of

    words = [word.strip() for text in texts or () for word in text.split(",")]
    named = [one_of(word, (*WORDS, *GROUPS), option) for word in words]
    return kinds_named([inner for word in named for inner in GROUPS.get(word, (word,))], option)


def _one(found: Audit, silent: bool, format_: Format, output: Path | None) -> None:
    from ckptplan.cli.checkpoint_files import refuse_inside
    from ckptplan.cli.output import emit, text_as
    from ckptplan.render import audit_report, audit_sheet

    if found.manifest is not None:
        refuse_inside(output, found.manifest)
    if output is not None or not silent:
        text = text_as(
            format_,
            output,
            document=lambda: audit_sheet.audit_document(found),
            sheets=lambda: [audit_sheet.state_sheet(found)],
            markdown=lambda: audit_report.markdown(found),
            report=lambda screen: audit_report.report(found, screen),
        )
        emit(text, output)
    if not found.usable:
        _fail(audit_report.answer(found), silent)


def _run(run: RunAudit, silent: bool, format_: Format, output: Path | None) -> None:
    from ckptplan.cli.checkpoint_files import refuse_inside
    from ckptplan.cli.output import emit, text_as
    from ckptplan.render import audit_run_report, audit_sheet

    for one in run.audits:
        if one.manifest is not None:
            refuse_inside(output, one.manifest)
    if output is not None or not silent:
        text = text_as(
            format_,
            output,
            document=lambda: audit_sheet.run_document(run),
            sheets=lambda: [audit_sheet.run_sheet(run)],
            markdown=lambda: audit_run_report.markdown(run),
            report=lambda screen: audit_run_report.report(run, screen),
        )
        emit(text, output)
    if silent and run.best is not None:
        _print_path(run.best.path)
    if run.best is None:
        _fail(audit_run_report.answer(run), silent)


def _print_path(path: Path) -> None:
    """The name as the file system has it: a script must be able to open it, whatever its bytes are.

    With a line break in it, it is not one line, and a shell cuts off the one at its end: another folder might be meant.
    """
    import os
    import sys

    if "\n" in str(path):
        message = "a line break in the name of the checkpoint to resume from: no script reads it as one line"
        raise InputError(Problem(message, Place(str(path)), hint="rename it, or take resume_from of --format json"))
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(path) + b"\n")
    sys.stdout.buffer.flush()


def _fail(message: str, silent: bool) -> None:
    """Exit code 3; the report has said why, unless there is none."""
    if silent:
        raise CheckFailed(message)
    raise typer.Exit(EXIT_CHECK)
