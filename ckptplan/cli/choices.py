"""Values of options: parsed by the same rules as the spec, refused with the nearest valid one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import typer

from ckptplan.cost.scenario import Scenario
from ckptplan.errors import UsageError
from ckptplan.units import Dimension, UnitError, parse_quantity

_LONGEST_S = 1e5 * 365 * 86400
_MOST_GPUS = 1_000_000_000


def one_of(value: str, valid: Sequence[str], option: str) -> str:
    """The value, if it is valid."""
    if value in valid:
        return value
    import difflib

    near = difflib.get_close_matches(value, valid, n=1)
    hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(valid)}"
    raise UsageError(f"{option} {value}: not known", hint=hint)


def typed(context: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line, and not by the environment or by default."""
    return _comes_from(context, name, "COMMANDLINE")


def from_environment(context: typer.Context, name: str) -> bool:
    """Whether the value of an option is that of its environment variable."""
    return _comes_from(context, name, "ENVIRONMENT")


def _comes_from(context: typer.Context, name: str, where: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == where


def methods_named(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The methods asked for, in the registry's order; None by default: those that say something about the run."""
    from ckptplan.plan import METHOD_NAMES

    if not names:
        return None
    wanted = {one_of(name, METHOD_NAMES, "--method") for name in names}
    return tuple(name for name in METHOD_NAMES if name in wanted)


def quantity(text: str, dimension: Dimension, option: str, hint: str | None = None) -> float:
    """A quantity in SI; ``hint`` stands for that of the parser."""
    try:
        return parse_quantity(text, dimension)
    except UnitError as error:
        raise UsageError(f"{option} {text}: {error}", hint=hint or error.hint) from error


def times(texts: Sequence[str], option: str) -> list[float]:
    """Positive times, in seconds."""
    found = []
    for text in texts:
        value = quantity(text, "time", option)
        if not 0 < value <= _LONGEST_S:
            raise UsageError(f"{option} {text}: not between zero and 100,000 years", hint="write for example 30min")
        found.append(value)
    return found


def finite(value: float | None, option: str) -> None:
    """Nan and infinity are numbers to the parser of options; they are no answer to anything."""
    if value is not None and not math.isfinite(value):
        raise UsageError(f"{option} {value}: not a finite number", hint="write a plain number, for example 2.5")


def scales(text: str | None) -> list[int]:
    """Numbers of GPUs, separated by commas."""
    if text is None:
        return []
    found = []
    for part in text.split(","):
        try:
            count = int(part.strip().replace("_", ""))
        except ValueError:
            count = 0
        if not 1 <= count <= _MOST_GPUS:
            raise UsageError(
                f"--gpus {text}: {part.strip()!r} is not a number of GPUs",
                hint=f"write digits only, at most {_MOST_GPUS:,}, for example 1024,16384",
            )
        found.append(count)
    return found


def with_strategies(scenario: Scenario, names: Sequence[str] | None) -> Scenario:
    """The scenario with only the strategies asked for."""
    if not names:
        return scenario
    from ckptplan.plan.chosen import ways_of_saving

    # Without tiers the names are known before any cost is.
    valid = ways_of_saving(scenario) if scenario.storage.tiers else tuple(save.name for save in scenario.saves)
    wanted = tuple(dict.fromkeys(one_of(name, valid, "--strategy") for name in names))
    return replace(scenario, saves=tuple(save for save in scenario.saves if save.name in wanted), strategies=wanted)
