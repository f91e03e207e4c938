"""Optimizer states by numbers: which parameter each is of can only be guessed from the order, checked by shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.naming.entries import Entry, Named, spelling
from ckptplan.checkpoint.naming.optimizer import STATE

_OWNED = frozenset(
    {StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT, StateKind.OPTIMIZER_STEP, StateKind.MASTER, StateKind.OTHER}
)
_SHAPED = frozenset({StateKind.FIRST_MOMENT, StateKind.MASTER, StateKind.SECOND_MOMENT})


def guess_by_order(entries: Sequence[Entry], named: Sequence[Named]) -> tuple[list[Named], str | None]:
    """Parameters of numbered states, if as many parameters have just these shapes in this order.

    Parameters
    ----------
    entries : sequence of Entry
        Of one optimizer and one model, parameters in the order in which they were saved.
    named : sequence of Named
        What they were found to be.

    Returns
    -------
    list of Named
        With the guessed parameters, or unchanged.
    str or None
        A sentence on the guess, or on why there is none; None if no state is numbered.
    """
    numbers = {at: n for at, entry in enumerate(entries) if (n := _number(entry, named[at])) is not None}
    if not numbers:
        return list(named), None
    parameters = [entry for entry, name in zip(entries, named, strict=True) if name.kind is StateKind.PARAMETER]
    wrong = _contradiction(entries, named, numbers, parameters)
    if wrong:
        return list(named), f"optimizer states are numbered, not named; {wrong}, so that no state has a known parameter"
    found = list(named)
    for at, number in numbers.items():
        found[at] = named[at]._replace(parameter=parameters[number].key)
    return found, _remark(parameters)


def _number(entry: Entry, named: Named) -> int | None:
    """The number in ``state.<number>.<slot>``."""
    if named.kind not in _OWNED or named.parameter is not None:
        return None
    parts = spelling(entry).parts
    if len(parts) < 3 or parts[-3] != STATE:
        return None
    digits = parts[-2]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 8 else None


def _contradiction(
    entries: Sequence[Entry], named: Sequence[Named], numbers: dict[int, int], parameters: list[Entry]
) -> str | None:
    different = set(numbers.values())
    if different != set(range(len(parameters))):
        return f"{len(different):,} are there for {len(parameters):,} parameters"
    for at, number in numbers.items():
        entry, parameter = entries[at], parameters[number]
        if entry.is_tensor and named[at].kind in _SHAPED and entry.shape != parameter.shape:
            return f"in the order saved, {entry.key} has not the shape of {parameter.key}"
    return None


def _remark(parameters: list[Entry]) -> str:
    alike = sum(count for count in Counter(entry.shape for entry in parameters).values() if count > 1)
    return (
        f"optimizer states are numbered, not named: their parameters are a guess from the order saved, which the "
        f"shapes agree with; {alike:,} of {len(parameters):,} parameters share their shape with another, and there "
        f"the order alone decides"
    )
