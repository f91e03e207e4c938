"""``ckptplan configs``: the published clusters and runs that ship with the program."""

from __future__ import annotations

from ckptplan.cli.options import Format, FormatOption, OutputOption


def configs(format_: FormatOption = Format.TABLE, output: OutputOption = None) -> None:
    """\b
    ckptplan configs

    Lists the shipped specs, one line each; each name works wherever a SPEC is
    asked for.
    """  # noqa: D301, D400
    from ckptplan import __version__  # noqa: PLC0415
    from ckptplan.cli.formats import sheet_as  # noqa: PLC0415
    from ckptplan.cli.output import emit, screen_for  # noqa: PLC0415
    from ckptplan.load import shipped_configs  # noqa: PLC0415
    from ckptplan.render.sheet import Column, Sheet  # noqa: PLC0415

    columns = (Column("name", "name", str, right=False), Column("description", "description", str, right=False))
    sheet = Sheet(columns, tuple((config.name, config.description) for config in shipped_configs()))
    document = {"schema": "ckptplan.configs/1", "ckptplan": __version__, "configs": sheet.records()}
    emit(sheet_as(format_, sheet, document, screen_for(output)), output)
