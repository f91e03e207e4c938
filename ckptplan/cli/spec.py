"""``ckptplan spec``: the YAML file itself: its schema, a starter, a check, and every value in force."""

from __future__ import annotations

from typing import Annotated

import typer

from ckptplan.cli.endings import JsonCommand, ResultCommand, YamlCommand
from ckptplan.cli.options import (
    Format,
    FormatOption,
    OutputOption,
    SetOption,
    SpecArgument,
    SpecFileOption,
    SpecsArgument,
)
from ckptplan.errors import InputError, Problem

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The YAML spec: schema, starter, check, values.")

DOCUMENTS = (
    "spec",
    "plan",
    "plans",
    "size",
    "simulation",
    "online",
    "scaling",
    "sweep",
    "retention",
    "comparison",
    "levers",
    "fit",
    "storage",
    "saving",
    "benchmarks",
    "manifest",
    "audit",
    "audits",
    "reshard",
    "average",
    "extraction",
)


@app.command(cls=JsonCommand, short_help="The JSON Schema of the spec, or of an output.")
def schema(
    document: Annotated[
        str,
        typer.Argument(
            metavar="[DOCUMENT]",
            help="spec (the default), or the output: plan, plans, size, simulation, online, scaling, sweep, retention, "
            "comparison, levers, fit, storage, saving, benchmarks, manifest, audit, audits, reshard, average, "
            "extraction.",
        ),
    ] = "spec",
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan spec schema > ckptplan.schema.json
    ckptplan spec schema plan

    Prints the JSON Schema of the spec file, or of what a command prints.
    """
    from ckptplan.cli.choices import one_of
    from ckptplan.cli.output import emit
    from ckptplan.render.sheet import to_json

    name = one_of(document, DOCUMENTS, "document")
    if name == "spec":
        from ckptplan.spec.reading import spec_json_schema

        emit(to_json(spec_json_schema()), output)
        return
    from ckptplan.render.schemas import output_schema

    emit(to_json(output_schema(name)), output)


@app.command(cls=YamlCommand, short_help="A commented spec to start from.")
def init(output: SpecFileOption = None) -> None:
    """\b
    ckptplan spec init > run.yaml

    Prints a commented spec to start from; it runs as it is.
    """
    from ckptplan.cli.output import emit
    from ckptplan.spec.starter import STARTER

    emit(STARTER, output)


@app.command(cls=ResultCommand, short_help="Every value in force, and where it came from.")
def show(
    spec: SpecArgument,
    set_: SetOption = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan spec show run.yaml --set cluster.gpus=1024

    Prints every value in force, in SI and for people, and where it came from.
    """
    from ckptplan import __version__
    from ckptplan.cli.formats import sheet_as
    from ckptplan.cli.output import emit, refuse_overwriting, warn
    from ckptplan.load import load
    from ckptplan.render.sheet import Column, Sheet

    refuse_overwriting(output, [spec])
    loaded = load(spec, sets=set_ or [])
    refuse_overwriting(output, loaded.named)
    warn(loaded.warnings)
    columns = (
        Column("key", "key", str, right=False),
        Column("value", "value", show=None),
        Column("unit", "unit", show=None),
        Column("text", "value", str, right=False),
        Column("si", "SI", str, right=False),
        Column("origin", "from", str, right=False),
    )
    rows = tuple((v.key, v.si, v.unit, v.text, _si(v.si, v.unit), v.origin) for v in loaded.values)
    sheet = Sheet(columns, rows)
    document: dict[str, object] = {
        "schema": "ckptplan.spec/1",
        "ckptplan": __version__,
        "spec": loaded.si,
        "values": sheet.records(),
    }
    emit(sheet_as(format_, sheet, document, output), output)


def _si(value: object, unit: str) -> str:
    """A quantity in its SI unit; what has no unit stands in the column for people already."""
    if value is None or not unit:
        return ""
    return f"{value:.10g} {unit}"


@app.command(short_help="All faults of a spec at once.")
def check(specs: SpecsArgument, set_: SetOption = None) -> None:
    """\b
    ckptplan spec check run.yaml

    Reads the specs, reports all their faults at once, and exits 1 if there
    are any.
    """
    from ckptplan.cli.output import emit, warn
    from ckptplan.load import load
    from ckptplan.spec.sweep_group import unknown_names_in

    problems: list[Problem] = []
    for name in specs:
        try:
            loaded = load(name, sets=set_ or [])
        except InputError as error:
            problems += error.problems
            continue
        warn(loaded.warnings)
        unknown = unknown_names_in(loaded)
        problems += unknown
        if not unknown:
            emit(f"{name}: ok\n", None)
    if problems:
        raise InputError(problems)
