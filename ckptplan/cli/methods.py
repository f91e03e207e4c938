"""``ckptplan methods``: the formulas, and when to believe them."""

from __future__ import annotations

from typing import Annotated

import typer

from ckptplan.cli.options import Format, FormatOption, OutputOption


def methods(
    name: Annotated[str | None, typer.Argument(metavar="[METHOD]", help="Show one method in full.")] = None,
    format_: FormatOption = Format.TABLE,
    output: OutputOption = None,
) -> None:
    """\b
    ckptplan methods
    ckptplan methods daly

    Lists the optimizers, or prints one with its equation, assumptions,
    validity and source.
    """
    from ckptplan.cli.choices import one_of
    from ckptplan.cli.formats import sheet_as
    from ckptplan.cli.output import emit, screen_for
    from ckptplan.interval.methods import METHODS
    from ckptplan.render.method_page import method_page, methods_document, methods_sheet

    shown = tuple(METHODS.values()) if name is None else (METHODS[one_of(name, tuple(METHODS), "method")],)
    if name is not None and format_ is Format.TABLE:
        emit(method_page(shown[0], screen_for(output)), output)
        return
    emit(sheet_as(format_, methods_sheet(shown), methods_document(shown), output), output)
