"""The ledger of a checkpoint: named ledgers, additions, a user's own list, and their bytes per parameter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ckptplan.cost.ledgers import ADDITIONS, FROZEN_WEIGHTS, LEDGERS, NOT_SAVED, SMALL_STATES, named_ledger
from ckptplan.cost.scenario import Kind, Ledger, Model, Scope, State
from ckptplan.errors import InputError

DEFAULT_LEDGER = "adam-14"


def ledger_names() -> tuple[str, ...]:
    """Names that ``ledger`` accepts."""
    return tuple(LEDGERS)


def addition_names() -> tuple[str, ...]:
    """Names that ``addition`` accepts."""
    return tuple(ADDITIONS)


def ledger(name: str, *, matrix_fraction: float = 0.95) -> Ledger:
    """A ledger by name, small states included.

    Parameters
    ----------
    name : str
        One of ``ledger_names()``.
    matrix_fraction : float
        Part of the parameters that Muon updates: the hidden matrices. Embeddings, the output head and all
        vectors keep Adam. Other ledgers ignore it. [1]

    Returns
    -------
    Ledger

    Raises
    ------
    InputError
        If there is no such ledger, or the fraction lies outside 0 to 1.
    """
    if name not in LEDGERS:
        raise _unknown("ledger", name, LEDGERS)
    if not 0.0 <= matrix_fraction <= 1.0:
        raise InputError(
            f"matrix_fraction is {matrix_fraction:g}, but it is a part of all parameters",
            hint="write a number from 0 to 1, for example 0.95",
        )
    return named_ledger(name, matrix_fraction)


def addition(name: str) -> State:
    """A state that some runs save on top of a ledger, by name: one of ``addition_names()``."""
    if name not in ADDITIONS:
        raise _unknown("addition", name, ADDITIONS)
    return ADDITIONS[name]


def compose(name: str, states: Sequence[State], additions: Iterable[State | str] = ()) -> Ledger:
    """A ledger from a list of states, with the small states that every checkpoint needs.

    Parameters
    ----------
    name : str
        Name of the ledger.
    states : sequence of State
        The large states. A small state of the same name as one of them is not added again,
        nor random-number state or loss scaling where one of them is of that kind.
    additions : iterable of State or str
        Further states, or names of them.

    Returns
    -------
    Ledger

    Raises
    ------
    InputError
        If there is no state at all, two states share a name, or an addition is unknown.
    """
    large = [*states, *(addition(item) if isinstance(item, str) else item for item in additions)]
    if not large:
        raise InputError("a checkpoint must hold at least one state", hint="name a ledger, for example adam-14")
    names = [state.name for state in large]
    twice = next((item for item in names if names.count(item) > 1), None)
    if twice is not None:
        raise InputError(f"the state {twice!r} is listed twice", hint="give every state its own name")
    own = {state.kind for state in large} & {Kind.RANDOM, Kind.SCALER}
    small = tuple(state for state in SMALL_STATES if state.name not in names and state.kind not in own)
    omits = () if any(state.kind is Kind.GRADIENT for state in large) else (NOT_SAVED["gradients"],)
    rest = (NOT_SAVED["activations"], NOT_SAVED["communication buffers"])
    return Ledger(name, (*large, *small), source="the states as listed", omits=(*omits, *rest))


def saved_states(model: Model) -> tuple[State, ...]:
    """States of a model's checkpoint, each ``share`` now counted over *all* parameters.

    A trainable fraction scales every state that is kept per parameter; the frozen rest is saved as weights
    alone, and only if ``frozen_weights_saved``.
    """
    fraction = model.trainable_fraction
    states = tuple(
        replace(state, share=state.share * fraction) if state.scope is Scope.PARAMETER else state
        for state in model.ledger.states
    )
    if fraction < 1.0 and model.frozen_weights_saved:
        weights = (state.bytes_each for state in model.ledger.states if state.kind is Kind.WEIGHTS)
        each = next(weights, FROZEN_WEIGHTS.bytes_each)
        states += (replace(FROZEN_WEIGHTS, bytes_each=each, share=1.0 - fraction),)
    return states


def bytes_per_parameter(model: Model) -> float:
    """Bytes that a checkpoint holds per parameter of the model, frozen ones counted too [bytes]."""
    return sum(s.bytes_each * s.share for s in saved_states(model) if s.scope is Scope.PARAMETER)


def _unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    from difflib import get_close_matches  # only an error needs it

    names = tuple(known)
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(names)}"
    return InputError(f"there is no {what} named {name!r}", hint=hint)
