"""The Typer application: the commands and the options that stand before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from ckptplan import __version__

_EPILOG = (
    "Exit codes: 0 ok; 1 the input is wrong or has no answer; 2 usage; 3 a requested check failed; 70 a bug; "
    "130 interrupted. Results go to standard output, warnings to standard error."
)

# Each is the function of its name in the module of its name, or a group of commands, the ``app`` of that module.
_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "optimize": "How often to save, and where every hour goes.",
        "simulate": "Whole runs played out, failure by failure.",
        "report": "One file to send: answer, pictures, levers, sources.",
        "levers": "What to change first, and what each change would gain.",
        "scale": "How many GPUs: where more of them stop helping, or paying.",
        "sweep": "A grid over any numeric keys, of one spec or several.",
        "compare": "Two runs side by side, and what makes the difference.",
        "retain": "How many saves to keep, and which.",
        "online": "An interval that follows the failures of the run itself.",
        "fit": "From a record of failures to a rate one may trust.",
        "size": "What a checkpoint must hold, and its bytes.",
        "inspect": "What a checkpoint on disk holds.",
        "audit": "Whether a run can go on from a checkpoint, or from which.",
        "reshard": "Which rank of a new layout reads what, and how long it takes.",
        "average": "The mean of neighbouring checkpoints, and whether it makes sense.",
        "methods": "The formulas, and when to believe them.",
        "configs": "The shipped specs of published runs.",
    }
)
_GROUPS = ("measure", "spec")


class _Commands(Mapping[str, Any]):
    """Commands by name. Each is made when it is asked for: to make all takes a fifth of the time of an ``optimize``."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*_COMMANDS, *_GROUPS))

    def __len__(self) -> int:
        return len(_COMMANDS) + len(_GROUPS)


def _made(name: str) -> Any:
    if name in _GROUPS:
        group = get_group(import_module(f"ckptplan.cli.{name}").app)
        group.name = name
        return group
    from ckptplan.cli.endings import ResultCommand

    short_help = _COMMANDS[name]  # a KeyError for names that are no command
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    alone.command(name, cls=ResultCommand, short_help=short_help)(getattr(import_module(f"ckptplan.cli.{name}"), name))
    return get_command(alone)


class _Group(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = cast("MutableMapping[str, Any]", _Commands())  # nothing adds to it


app = typer.Typer(
    name="ckptplan",
    cls=_Group,
    rich_markup_mode=None,  # markup would delete [s] and [min]
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=_EPILOG,
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"ckptplan {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """\b
    ckptplan optimize llama3-405b

    How often to save a training checkpoint, what that costs, and what to change first.
    """
