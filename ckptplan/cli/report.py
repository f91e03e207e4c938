"""``ckptplan report``: one file to send: what was found, what it rests on, and what to change first."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ckptplan.cli.options import (
    GpusOption,
    IntervalOption,
    PageOption,
    SeedOption,
    SetOption,
    SpecArgument,
    StepsOption,
    StrategyOption,
)
from ckptplan.cli.prices import PriceOption, unanswered
from ckptplan.errors import UsageError, printable

if TYPE_CHECKING:
    from ckptplan.render.page.content import Gathered

_LONGEST_TITLE = 200


class PageFormat(StrEnum):
    """What a report is written as."""

    HTML = "html"
    MD = "md"
    MARKDOWN = "markdown"


PageFormatOption = Annotated[
    PageFormat | None,
    typer.Option("--format", "-f", help="html, or md for pull requests and wikis; by default as FILE ends, else html."),
]
TitleOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Title; by default the name of the run.")]
DateOption = Annotated[
    str | None, typer.Option(metavar="YYYY-MM-DD", help="Date to print; by default none: same input, same bytes.")
]


def report(
    spec: SpecArgument,
    interval: IntervalOption = None,
    steps: StepsOption = None,
    gpus: GpusOption = None,
    strategy: StrategyOption = None,
    set_: SetOption = None,
    gpu_hour_price: PriceOption = None,
    seed: SeedOption = 0,
    title: TitleOption = None,
    date: DateOption = None,
    format_: PageFormatOption = None,
    output: PageOption = None,
) -> None:
    """\b
    ckptplan report llama3-405b -o report.html
    ckptplan report run.yaml --gpu-hour-price 2.50 --interval 1h -o report.html
    ckptplan report run.yaml --gpus 8192,32768 --format md > report.md

    One file to send: answer, pictures, what to change first, inputs with
    their sources, assumptions, formulas, and all of it as JSON inside. It
    needs no network and no script; --format md has no pictures.
    """
    from ckptplan.cli.choices import scales, times
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.cli.report_contents import Asked, gathered
    from ckptplan.load import load
    from ckptplan.render.page.content import found
    from ckptplan.render.plots.lettering import lost_letters, noting_lost_letters

    chosen = format_ or PageFormat.HTML
    refuse_overwriting(output, [spec])
    _refuse_title(title)
    _refuse_date(date)
    asked = Asked(strategy, times(interval or [], "--interval"), steps or [], scales(gpus), gpu_hour_price, seed)
    _refuse_a_terminal(chosen, output)
    if chosen is PageFormat.HTML:
        _refuse_without_libraries()
    loaded = load(spec, sets=set_ or [])
    refuse_overwriting(output, loaded.named)
    with noting_lost_letters() as lost:
        made = gathered(loaded, asked, drawn=chosen is PageFormat.HTML)
    emit(_written(made, chosen, title, date), output)
    without_price = unanswered(gpu_hour_price, loaded.scenario.training.work_s)
    warn([*loaded.warnings, *found(made), *without_price, *lost_letters(lost, "a picture of the report")])


def _refuse_title(title: str | None) -> None:
    if title is not None and not title.strip():
        raise UsageError("--title is empty", hint="is a variable not set? Leave --title out for the name of the run")
    if title is not None and len(title) > _LONGEST_TITLE:
        raise UsageError(f"--title has {len(title):,} characters", hint=f"at most {_LONGEST_TITLE}")


def _refuse_date(text: str | None) -> None:
    from datetime import date

    if text is None:
        return
    try:
        is_date = len(text) == len("2026-01-31") and date.fromisoformat(text).isoformat() == text
    except ValueError:
        is_date = False
    if not is_date:
        raise UsageError(f"--date {printable(text)}: not a date", hint="write for example 2026-01-31")


def _refuse_a_terminal(chosen: PageFormat, output: Path | None) -> None:
    if chosen is PageFormat.HTML and output is None and sys.stdout.isatty():
        raise UsageError("HTML is not for a terminal", hint="add -o report.html, or --format md")


def _refuse_without_libraries() -> None:
    """What HTML needs is missing before any work, not after it."""
    from ckptplan.render.plots.importing import import_matplotlib

    try:
        import_matplotlib()
        import jinja2  # noqa: F401 - refused here
    except ImportError as error:
        missing = (error.name or "one of them").partition(".")[0]
        raise UsageError(
            f"a report as HTML is made with jinja2 and matplotlib, and {missing} is not installed",
            hint="pip install '.[report]' from the source tree; --format md needs neither jinja2 nor matplotlib",
        ) from None


def _written(made: Gathered, chosen: PageFormat, title: str | None, date: str | None) -> str:
    from ckptplan.render.page.content import page

    content = page(made, title=title, date=date)
    if chosen is PageFormat.HTML:
        from ckptplan.render.page.html import html

        return html(content)
    from ckptplan.render.page.markdown import markdown

    return markdown(content)
