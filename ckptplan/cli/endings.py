"""The ending of the file of ``-o`` chooses the format, and must not promise another one; held before any work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from typer.core import TyperCommand

from ckptplan.cli.output import is_same
from ckptplan.cli.places import refuse_place
from ckptplan.errors import UsageError, printable

# Endings of formats that no command has.
_OTHERS = (
    ".jsonl", ".tsv", ".xlsx", ".xls", ".ods", ".pdf", ".docx", ".svg", ".png", ".jpg", ".xml",
    ".gz", ".bz2", ".xz", ".zst", ".zip",
)  # fmt: skip
# What a name promises. Any other ending promises nothing, and text of every format may be called .txt.
_PROMISED: Mapping[str, str] = MappingProxyType(
    {
        ".txt": "table",
        ".json": "json",
        ".csv": "csv",
        ".md": "markdown",
        ".markdown": "markdown",
        ".parquet": "parquet",
        ".html": "html",
        ".htm": "html",
        ".yaml": "yaml",
        ".yml": "yaml",
        **{ending: ending for ending in _OTHERS},
    }
)
_ENDING_OF: Mapping[str, str] = MappingProxyType(
    {"md": ".md", **{format_: ending for ending, format_ in reversed(list(_PROMISED.items()))}}
)
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "table": "a table",
        "json": "JSON",
        "csv": "CSV",
        "markdown": "Markdown",
        "parquet": "Parquet",
        "html": "HTML",
        "yaml": "YAML",
    }
)
_OF_ANOTHER_KIND = ("quiet", "trainer", "code")  # options under which neither a format nor an ending counts


class ResultCommand(TyperCommand):
    """A command whose file of ``-o`` is looked at when all options are known, and before the command begins."""

    formats: tuple[str, ...] = ()  # of a command without --format

    def invoke(self, ctx: Any) -> Any:
        """Refuse a file that cannot be written or that promises another format; then the command."""
        output = ctx.params.get("output")
        # A file that an option or an argument names is refused by the command, which knows what it is.
        if isinstance(output, Path) and not any(_is_one(output, name) for name in _named(ctx.params)):
            refuse_place(output, "-o")
            self._settle(ctx, output)
        return super().invoke(ctx)

    def _settle(self, context: Any, output: Path) -> None:
        types: list[Any] = [one.type for one in self.params if one.name == "format_"]
        formats = tuple(types[0].choices) if types else self.formats
        if not formats or any(context.params.get(name) for name in _OF_ANOTHER_KIND):
            return
        source = context.get_parameter_source("format_")
        is_typed = source is not None and source.name == "COMMANDLINE"  # the environment holds a default
        asked = self.formats[0] if self.formats else str(context.params["format_"]) if is_typed else None
        promised = promised_format(output, formats, asked, str(context.command_path))
        if promised is not None:
            context.params["format_"] = promised


class JsonCommand(ResultCommand):
    """A command that prints JSON."""

    formats = ("json",)


class YamlCommand(ResultCommand):
    """A command that prints YAML."""

    formats = ("yaml",)


def _named(params: Mapping[str, Any]) -> list[str]:
    """Every text that may be the name of a file, apart from that of ``-o``."""
    values = [value for name, value in params.items() if name != "output"]
    every = [one for value in values for one in (value if isinstance(value, list | tuple) else [value])]
    return [str(one) for one in every if isinstance(one, str | Path) and str(one) and "\0" not in str(one)]


def _is_one(output: Path, name: str) -> bool:
    return output.absolute() == Path(name).absolute() or is_same(output, Path(name))


def promised_format(output: Path, formats: Sequence[str], asked: str | None, command: str) -> str | None:
    """The format that the name of the file chooses; None where it is asked for, or the name says nothing.

    Raises
    ------
    UsageError
        If the name promises a format that is not the one asked for, or that the command does not have.
    """
    promised = _PROMISED.get(output.suffix.lower())
    if promised is None or (promised == "table" and asked not in {None, "parquet"}):
        return None
    shown = f"-o {printable(str(output))}"
    if promised not in formats:
        raise UsageError(f"{shown}: {command} writes {_either(_names(formats))}", hint=_hint(promised, formats))
    if asked is None:
        return promised
    if _ENDING_OF[asked] != _ENDING_OF[promised]:
        raise UsageError(
            f"{shown} with --format {asked}: the name promises the other format",
            hint=f"name a file that ends in {_ENDING_OF[asked]}, or leave --format out",
        )
    return None


def _names(formats: Sequence[str]) -> list[str]:
    return [_NAMES[one] for one in formats if one in _NAMES]


def _hint(promised: str, formats: Sequence[str]) -> str:
    ending = _either(list(dict.fromkeys(_ENDING_OF[one] for one in formats)))
    text = f"name a file that ends in {ending}"
    if "html" in formats:
        return f"{text}; a browser prints the HTML as PDF" if promised == ".pdf" else text
    if promised in {".svg", ".png"}:
        return f"{text}; pictures are drawn by --plot, where a command has it"
    return f"{text}; HTML is written by ckptplan report" if promised in {"html", ".pdf"} else text


def _either(words: Sequence[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
