"""``ckptplan configs``: the published clusters and runs that ship with the program."""

from __future__ import annotations

from ckptplan.cli.options import Format, FormatOption, OutputOption


def configs(format_: FormatOption = Format.TABLE, output: OutputOption = None) -> None:
    """\b
    ckptplan configs

    Lists the shipped specs, one line each; each name works wherever a SPEC is
    asked for.
    """
    from ckptplan import __version__
    from ckptplan.cli.formats import sheet_as
    from ckptplan.cli.output import emit
    from ckptplan.load import shipped_configs
    from ckptplan.render.sheet import Column, Sheet

    columns = (
        Column("name", "name", str, right=False),
        Column("description", "description", str, right=False),
    )
    sheet = Sheet(columns, tuple((config.name, config.description) for config in shipped_configs()))
    document = {"schema": "ckptplan.configs/1", "ckptplan": __version__, "configs": sheet.records()}
    emit(sheet_as(format_, sheet, document, output), output)
