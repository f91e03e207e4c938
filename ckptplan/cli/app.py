"""The Typer application: the commands and the options that stand before them."""

from __future__ import annotations

from typing import Annotated

import typer

from ckptplan import __version__
from ckptplan.cli import (
    audit,
    average,
    compare,
    configs,
    fit,
    inspect,
    levers,
    measure,
    methods,
    online,
    optimize,
    report,
    reshard,
    retain,
    scale,
    simulate,
    size,
    spec,
    sweep,
)

_EPILOG = (
    "Exit codes: 0 ok; 1 the input is wrong or has no answer; 2 usage; 3 a requested check failed; 70 a bug; "
    "130 interrupted. Results go to standard output, warnings to standard error."
)

app = typer.Typer(
    name="ckptplan",
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


app.command("optimize", short_help="How often to save, and where every hour goes.")(optimize.optimize)
app.command("simulate", short_help="Whole runs played out, failure by failure.")(simulate.simulate)
app.command("report", short_help="One file to send: answer, pictures, levers, sources.")(report.report)
app.command("levers", short_help="What to change first, and what each change would gain.")(levers.levers)
app.command("scale", short_help="How many GPUs: where more of them stop helping, or paying.")(scale.scale)
app.command("sweep", short_help="A grid over any numeric keys, of one spec or several.")(sweep.sweep)
app.command("compare", short_help="Two runs side by side, and what makes the difference.")(compare.compare)
app.command("retain", short_help="How many saves to keep, and which.")(retain.retain)
app.command("online", short_help="An interval that follows the failures of the run itself.")(online.online)
app.command("fit", short_help="From a record of failures to a rate one may trust.")(fit.fit)
app.command("size", short_help="What a checkpoint must hold, and its bytes.")(size.size)
app.command("inspect", short_help="What a checkpoint on disk holds.")(inspect.inspect)
app.command("audit", short_help="Whether a run can go on from a checkpoint, or from which.")(audit.audit)
app.command("reshard", short_help="Which rank of a new layout reads what, and how long it takes.")(reshard.reshard)
app.command("average", short_help="The mean of neighbouring checkpoints, and whether it makes sense.")(average.average)
app.command("methods", short_help="The formulas, and when to believe them.")(methods.methods)
app.command("configs", short_help="The shipped specs of published runs.")(configs.configs)
app.add_typer(measure.app, name="measure")
app.add_typer(spec.app, name="spec")
