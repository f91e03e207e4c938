"""What the parser of options refuses, in the words of the program: what was given, and what would be accepted."""

from __future__ import annotations

import ast
import difflib
import re
from typing import Any

import typer

from ckptplan.errors import printable

# A value of a wrong kind or outside its range, as the parser says it; the value stands in front.
_SAID = re.compile(r"(.*) is not (a valid|in the range|one of) .*", re.DOTALL)
_LONGEST = 40
_NO_BOUND = 10**15  # a most that nobody meets is not worth its digits


def refusal(error: typer.TyperException) -> str:
    """The whole message, with its hint; what has no value, such as an unknown option, stays in the parser's words."""
    parameter: Any = getattr(error, "param", None)
    context: Any = getattr(error, "ctx", None)
    said = _SAID.fullmatch(error.message)
    if parameter is not None and said is not None:
        value = _value(said[1])
        words = _words(value, parameter.type, is_in_kind=said[2] == "in the range")
        if words is not None:
            return f"error: {_given(parameter, context, value)}: {words[0]}\n  hint: {words[1]}"
    command = context.command_path if context is not None else "ckptplan"
    return f"error: {error.format_message()}\n  hint: {command} --help lists what is accepted"


def _value(said: str) -> str:
    """The text that was given: quoted where it was never a number, else a number as Python writes it."""
    return str(ast.literal_eval(said)) if said[:1] in {"'", '"'} else said.removesuffix(".0")


def _given(parameter: Any, context: Any, value: str) -> str:
    """``--steps 0``, or the environment variable where the value came from there."""
    shown = printable(value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}...")
    from ckptplan.cli.choices import from_environment

    if context is not None and from_environment(context, parameter.name):
        return f"{parameter.envvar}={shown}"
    name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.human_readable_name
    return f"{name} {shown}" if value else f"{name} ''"


def _words(value: str, kind: Any, *, is_in_kind: bool) -> tuple[str, str] | None:
    """What is wrong with a value, and what to write; None for kinds that are no choice and no number."""
    choices = getattr(kind, "choices", None)
    if choices is not None:
        near = difflib.get_close_matches(value, choices, n=1)
        return "not known", f"did you mean {near[0]}?" if near else f"one of {', '.join(choices)}"
    if not kind.name.startswith(("int", "float")):
        return None
    number = "whole number" if kind.name.startswith("int") else "number"
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    hint = f"write a {number}{_between(least, most)}"
    if not is_in_kind:
        return f"not a {number}", hint
    is_low = least is not None and float(value) < least
    return f"less than {_shown(least)}" if is_low else f"more than {_shown(most)}", hint


def _between(least: Any, most: Any) -> str:
    if most is None or most >= _NO_BOUND:
        return "" if least is None else f", {_shown(least)} or more"
    return f", at most {_shown(most)}" if least is None else f" from {_shown(least)} to {_shown(most)}"


def _shown(bound: Any) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:,.12g}"
