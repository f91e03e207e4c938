"""``ckptplan fit``: from a record of failures to a rate one may trust."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ckptplan.cli.options import Format, FormatOption, OutputOption
from ckptplan.cli.plot_option import PlotOption, ThemeName, ThemeOption, draw, plot_to
from ckptplan.cli.record_options import (
    AccountOption,
    ColumnOption,
    CountOption,
    DateOrderOption,
    ExitCodeOption,
    GpusPerNodeOption,
    JobNameOption,
    LevelOption,
    MergeOption,
    MinimumRunOption,
    NodesOption,
    PartitionOption,
    PerOption,
    PlannedGpusOption,
    ReaderOption,
    RecentOption,
    RecordedGpusOption,
    RecordsArgument,
    SinceOption,
    UnitOption,
    UntilOption,
    UserOption,
    ZoneOption,
)
from ckptplan.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ckptplan.fit.counting import Counting
    from ckptplan.fit.fitting import Fitted
    from ckptplan.fit.record import Outcome
    from ckptplan.render.fit_report import FitPage
    from ckptplan.render.plots.style import Theme


def fit(
    context: typer.Context,
    records: RecordsArgument,
    reader: ReaderOption = None,
    tz: ZoneOption = None,
    per: PerOption = None,
    count: CountOption = None,
    merge: MergeOption = "60s",
    recent: RecentOption = False,
    gpus: PlannedGpusOption = None,
    recorded_gpus: RecordedGpusOption = None,
    gpus_per_node: GpusPerNodeOption = None,
    nodes: NodesOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    column: ColumnOption = None,
    unit: UnitOption = None,
    date_order: DateOrderOption = None,
    minimum_run: MinimumRunOption = None,
    exit_code: ExitCodeOption = None,
    job_name: JobNameOption = None,
    user: UserOption = None,
    account: AccountOption = None,
    partition: PartitionOption = None,
    level: LevelOption = "95%",
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
    plot: PlotOption = None,
    theme: ThemeOption = ThemeName.LIGHT,
) -> None:
    """\b
    ckptplan fit sacct.txt --gpus 16384
    ckptplan fit failures.csv --column time=failed_at --tz Europe/Paris
    ckptplan fit sacct.txt dmesg.log --per node --minimum-run 30min

    Reads a record of failures, says what was counted and what was left out,
    and fits its rate, its law and its trend; prints the keys to paste into a
    spec. A spec that says failures: {record: sacct.txt} does the same in
    place.
    """
    from ckptplan.cli.choices import one_of
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.render.fit_block import block
    from ckptplan.render.fit_report import FitPage

    refuse_overwriting(output, records)
    picture = plot_to(context, plot, output=output, inputs=records)
    counting = _counting(per, count, merge, recent, recorded_gpus, gpus_per_node, nodes, level)
    keys = {
        "format": reader,
        "zone": tz,
        "since": since,
        "until": until,
        "nodes": nodes,
        "columns": _columns(column),
        "unit": _unit(unit),
        "date_order": None if date_order is None else one_of(date_order, ("mdy", "dmy"), "--date-order"),
        "minimum_run": _time(minimum_run, "--minimum-run", zero=True),
        "exit_codes": tuple(exit_code) if exit_code else None,
        "job_name": job_name,
        "user": user,
        "account": account,
        "partition": partition,
    }
    fitted, found = _fitted(records, {key: value for key, value in keys.items() if value is not None}, counting)
    emit(_as(format_, FitPage(fitted, found, gpus, block(found, gpus)), output), output)
    warn(found.warnings)
    draw(picture, lambda colours: _figure(fitted, colours))


def _figure(fitted: Fitted, theme: Theme) -> Figure:
    from ckptplan.render.plots.survival import survival_figure

    return survival_figure(fitted, theme)


def _fitted(records: list[str], keys: dict[str, Any], counting: Counting) -> tuple[Any, Any]:
    from ckptplan.fit.combining import combined
    from ckptplan.fit.fitting import fit_record
    from ckptplan.fit.planning import recorded_failures
    from ckptplan.readers.records.asked import record_options
    from ckptplan.readers.records.failures import read_record

    options = record_options(keys)
    fitted = fit_record(combined([read_record(name, options) for name in records]), counting)
    return fitted, recorded_failures(fitted, counting)


def _counting(
    per: str | None,
    count: list[str] | None,
    merge: str,
    recent: bool,
    gpus: int | None,
    gpus_per_node: int | None,
    nodes: int | None,
    level: str,
) -> Counting:
    from ckptplan.cli.choices import one_of
    from ckptplan.fit.counting import Counting, Per

    return Counting(
        per=None if per is None else Per(one_of(per, tuple(Per), "--per")),
        outcomes=_outcomes(count),
        merge_s=_time(merge, "--merge", zero=True) or 0.0,
        gpus=gpus,
        gpus_per_node=gpus_per_node,
        nodes=nodes,
        recent=recent,
        level=_level(level),
    )


def _outcomes(names: list[str] | None) -> frozenset[Outcome] | None:
    from ckptplan.cli.choices import one_of
    from ckptplan.fit.counting import COUNTED

    if not names:
        return None
    words = [word.strip() for name in names for word in name.split(",")]
    return frozenset(COUNTED[one_of(word, tuple(COUNTED), "--count")] for word in words)


def _time(text: str | None, option: str, *, zero: bool = False) -> float | None:
    from ckptplan.cli.choices import quantity

    if text is None:
        return None
    value = quantity(text, "time", option)
    if value == 0.0 and not zero:
        raise UsageError(f"{option} {text}: zero makes no sense here", hint="write for example 10min")
    return value


def _unit(text: str | None) -> str | None:
    from ckptplan.readers.records.asked import no_unit

    why = no_unit(text)
    if why is not None:
        raise UsageError(f"--unit {why[0]}", hint=why[1])
    return text


def _level(text: str) -> float:
    from ckptplan.cli.choices import quantity

    value = quantity(text, "fraction", "--level")
    if not 0.0 < value < 1.0:
        raise UsageError(f"--level {text}: not between 0 and 100 %", hint="write for example 95%")
    return value


def _columns(texts: list[str] | None) -> tuple[tuple[str, str], ...] | None:
    from ckptplan.cli.choices import one_of
    from ckptplan.spec.schema_record import ROLES

    if not texts:
        return None
    found = []
    for text in texts:
        role, equals, name = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--column {text}: no ROLE=NAME", hint="write for example --column time=failed_at")
        found.append((one_of(role.strip(), ROLES, "--column"), name.strip()))
    return tuple(found)


def _as(format_: Format, page: FitPage, output: Path | None) -> str:
    from ckptplan.cli.output import text_as
    from ckptplan.render import fit_report, fit_sheet

    return text_as(
        format_,
        output,
        document=lambda: fit_sheet.fit_document(page.fitted, page.found, page.planned_gpus, page.block),
        sheets=lambda: [fit_sheet.summary_sheet(page.fitted)],
        markdown=lambda: fit_report.markdown(page),
        report=lambda screen: fit_report.report(page, screen),
    )
