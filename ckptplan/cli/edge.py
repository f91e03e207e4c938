"""The edge: every error of the program ends here, as one message and one exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import typer

from ckptplan.errors import EXIT_BUG, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, CkptplanError


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    _make_streams_safe()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return _after_broken_pipe()
    except KeyboardInterrupt:
        return _say("interrupted", EXIT_INTERRUPTED)
    return code


def _dispatch(arguments: Sequence[str]) -> int:
    from ckptplan.cli.app import app  # nothing is imported before the streams are safe

    try:
        result = app(args=list(arguments), prog_name="ckptplan", standalone_mode=False)
    except CkptplanError as error:
        return _say(error.render(), error.exit_code)
    except typer.Abort:
        return _say("interrupted", EXIT_INTERRUPTED)
    except typer.TyperException as error:
        return _say(_usage(error), EXIT_USAGE)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except MemoryError:
        return _say("error: out of memory", EXIT_INPUT)
    except Exception as error:
        return _bug(error)
    return result if isinstance(result, int) else EXIT_OK


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "ckptplan"
    return f"error: {error.format_message()}\n  hint: {command} --help lists what is accepted"


def _bug(error: Exception) -> int:
    if os.environ.get("CKPTPLAN_DEBUG"):
        raise error
    kind = type(error).__name__
    text = f"error: a bug in ckptplan ({kind}: {error}); CKPTPLAN_DEBUG=1 shows where. Please report it."
    return _say(text, EXIT_BUG)


def _say(text: str, code: int) -> int:
    with suppress(OSError):
        print(text, file=sys.stderr)  # noqa: T201 - the one place that speaks without a renderer
    return code


def _make_streams_safe() -> None:
    """A name that the locale cannot show is escaped, not fatal."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _after_broken_pipe() -> int:
    """The reader has gone (``| head``): that is no error, and the interpreter must not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_OK
