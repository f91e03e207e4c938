"""The edge: every error of the program ends here, as one message and one exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import typer

from ckptplan.errors import EXIT_BUG, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, CkptplanError, printable


def run(arguments: Sequence[str]) -> int:
    """Run the command line; returns the exit code."""
    if not _make_streams_safe():
        return _say("error: standard output is closed", EXIT_INPUT)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return EXIT_OK  # the reader has gone (``| head``): that is no error
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except OSError as error:
        # Files are handled where they are opened: what fails here is standard output itself, or a file that vanished.
        if error.filename is not None:
            return _say(f"error: {printable(str(error.filename))}: {error.strerror}", EXIT_INPUT)
        _forget_output()
        return _say(f"error: cannot write to standard output: {error.strerror or error}", EXIT_INPUT)
    return _say("interrupted", code) if code == EXIT_INTERRUPTED else code


def _dispatch(arguments: Sequence[str]) -> int:
    from ckptplan.cli.app import app  # nothing is imported before the streams are safe

    try:
        result = app(args=list(arguments), prog_name="ckptplan", standalone_mode=False)
    except CkptplanError as error:
        placed = bool(error.problems) and error.problems[0].place is not None
        return _say(error.render() if placed else f"error: {error.render()}", error.exit_code)
    except typer.Abort:
        return EXIT_INTERRUPTED
    except typer.TyperException as error:
        return _say(_usage(error), EXIT_USAGE)
    except (OSError, KeyboardInterrupt):
        raise
    except SystemExit as error:  # typer's answer to a reader that has gone, with an exit code of its own
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        raise
    except MemoryError:
        return _say("error: out of memory", EXIT_INPUT)
    except Exception as error:
        return _bug(error)
    return result if isinstance(result, int) else EXIT_OK


def _usage(error: typer.TyperException) -> str:
    if type(error).__name__ == "NoArgsIsHelpError":
        return error.format_message()  # the help page itself
    from ckptplan.cli.refused import refusal

    return refusal(error)


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


def _make_streams_safe() -> bool:
    """A name that the locale cannot show is escaped, not fatal; False if there is no standard output at all."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - lives as long as the process
    if sys.stdout is None:
        return False
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    return True


def _forget_output() -> None:
    """What could not be written must not be tried again, and complained about, when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
