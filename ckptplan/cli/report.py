"""``ckptplan report``: one file to send: what was found, what it rests on, and what to change first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ckptplan.cli.options import IntervalOption, OutputOption, SetOption, SpecArgument, StrategyOption
from ckptplan.errors import InputError, Problem, UsageError, printable

if TYPE_CHECKING:
    from ckptplan.plan import Plan
    from ckptplan.plan.levers.record import Levers
    from ckptplan.render.page.content import Gathered
    from ckptplan.render.page.ground import Input
    from ckptplan.spec.reading import Spec

_LONGEST_TITLE = 200
T = TypeVar("T")


class PageFormat(StrEnum):
    """What a report is written as."""

    HTML = "html"
    MD = "md"
    MARKDOWN = "markdown"


_ENDINGS = {
    ".html": PageFormat.HTML,
    ".htm": PageFormat.HTML,
    ".md": PageFormat.MD,
    ".markdown": PageFormat.MD,
}

PageFormatOption = Annotated[
    PageFormat | None,
    typer.Option("--format", "-f", help="html, or md for pull requests and wikis; by default as FILE ends, else html."),
]
ReportPriceOption = Annotated[
    float | None,
    typer.Option(metavar="PRICE", min=0.0, envvar="CKPTPLAN_GPU_HOUR_PRICE", help="Turns GPU-hours into money."),
]
TitleOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Title; by default the name of the run.")]
DateOption = Annotated[
    str | None, typer.Option(metavar="YYYY-MM-DD", help="Date to print; by default none: same input, same bytes.")
]


def report(
    spec: SpecArgument,
    interval: IntervalOption = None,
    strategy: StrategyOption = None,
    set_: SetOption = None,
    gpu_hour_price: ReportPriceOption = None,
    title: TitleOption = None,
    date: DateOption = None,
    format_: PageFormatOption = None,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan report llama3-405b -o report.html
    ckptplan report run.yaml --gpu-hour-price 2.50 --interval 1h -o report.html
    ckptplan report run.yaml --format md > report.md

    One file to send: answer, pictures, what to change first, inputs with
    their sources, assumptions, formulas, and all of it as JSON inside. It
    needs no network and no script; --format md has no pictures.
    """
    from ckptplan.cli.choices import finite, times
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.load import load

    chosen = _format(format_, output)
    refuse_overwriting(output, [spec])
    finite(gpu_hour_price, "--gpu-hour-price")
    _refuse_title(title)
    _refuse_date(date)
    intervals_s = times(interval or [], "--interval")
    _refuse_a_terminal(chosen, output)
    loaded = load(spec, sets=set_ or [])
    refuse_overwriting(output, loaded.named)
    made = _gathered(loaded, strategy, intervals_s, gpu_hour_price, drawn=chosen is PageFormat.HTML)
    emit(_written(made, chosen, title, date), output)
    warn([*loaded.warnings, *made.plan.warnings])


def _format(asked: PageFormat | None, output: Path | None) -> PageFormat:
    """The format asked for, else that of the file's ending; one that contradicts the other is a mistake."""
    ending = None if output is None else output.suffix.lower()
    promised = _ENDINGS.get(ending or "")
    if asked is None:
        if promised is None and ending in {".pdf", ".json", ".docx", ".txt", ".csv", ".svg", ".png"}:
            raise UsageError(
                f"-o {printable(str(output))}: a report is HTML or Markdown",
                hint="name a file that ends in .html or .md; a browser prints the HTML as PDF",
            )
        return promised or PageFormat.HTML
    is_html = asked is PageFormat.HTML
    if promised is not None and (promised is PageFormat.HTML) is not is_html:
        raise UsageError(
            f"-o {printable(str(output))} with --format {asked}: the name promises the other format",
            hint=f"name a file that ends in {'.html' if is_html else '.md'}, or leave --format out",
        )
    return asked


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


def _gathered(
    loaded: Spec, strategies: list[str] | None, intervals_s: list[float], price: float | None, *, drawn: bool
) -> Gathered:
    """Everything computed, once."""
    from ckptplan.cli.choices import with_strategies
    from ckptplan.cli.formats import defaults
    from ckptplan.plan import Unsure, plan
    from ckptplan.plan.curve import goodput_curve
    from ckptplan.plan.levers.ranking import levers
    from ckptplan.plan.scale.scaling import scaling
    from ckptplan.render.page.content import Gathered
    from ckptplan.render.page.pictures import pictures

    scenario = with_strategies(loaded.scenario, strategies)
    unsure = Unsure(loaded.spreads, loaded.with_values) if loaded.spreads else None
    made = plan(scenario, intervals_s=intervals_s, gpu_hour_price=price, unsure=unsure)
    sizes, refused = _unless_refused(lambda: scaling(scenario, gpu_hour_price=price))
    changes, left_out = _unless_refused(lambda: levers(scenario, gpu_hour_price=price))
    goodputs = goodput_curve(scenario, made)
    return Gathered(
        plan=made,
        scenario=scenario,
        inputs=_inputs(loaded),
        assumed=tuple(defaults(loaded)),
        warnings=tuple(map(_in_a_line, loaded.warnings)),
        scaling=sizes,
        scale_refused=refused,
        levers=changes,
        levers_refused=left_out,
        goodputs=goodputs,
        pictures=pictures(made, goodputs, sizes, changes) if drawn else None,
        documents=_documents(loaded, made, changes),
    )


def _in_a_line(problem: Problem) -> str:
    """A warning without the line of the spec that it shows on a terminal."""
    from dataclasses import replace

    place = None if problem.place is None else replace(problem.place, text=None)
    return "; ".join(line.strip() for line in replace(problem, place=place).render().splitlines())


def _unless_refused(made: Callable[[], T]) -> tuple[T | None, str]:
    """A part of the report, or why there is none: the others are worth having without it."""
    try:
        return made(), ""
    except InputError as error:
        return None, str(error)


def _inputs(loaded: Spec) -> tuple[Input, ...]:
    from ckptplan.render.page.ground import Input

    return tuple(Input(v.key, v.text, _si(v.si, v.unit), v.origin) for v in loaded.values)


def _si(value: object, unit: str) -> str:
    """A quantity in its SI unit; what has no unit stands in the column for people already."""
    return "" if value is None or not unit else f"{value:.10g} {unit}"


def _documents(loaded: Spec, made: Plan, changes: Levers | None) -> tuple[tuple[str, str], ...]:
    """The JSON of the commands that a report stands for."""
    from ckptplan.render.lever_document import lever_document
    from ckptplan.render.plan_document import plan_document
    from ckptplan.render.sheet import to_json

    warnings = [problem.render() for problem in loaded.warnings]
    found = [("optimize", to_json(plan_document(made, loaded.si, warnings)))]
    if changes is not None:
        found.append(("levers", to_json(lever_document(changes, loaded.si))))
    return tuple(found)


def _written(made: Gathered, chosen: PageFormat, title: str | None, date: str | None) -> str:
    from ckptplan.render.page.content import page

    content = page(made, title=title, date=date)
    if chosen is PageFormat.HTML:
        from ckptplan.render.page.html import html

        return html(content)
    from ckptplan.render.page.markdown import markdown

    return markdown(content)
