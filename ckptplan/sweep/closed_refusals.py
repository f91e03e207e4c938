"""Points of a block that closed forms do not answer: why their scenario is refused, and rows put in their place."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ckptplan.sweep.built import FINE, UNSURE
from ckptplan.sweep.closed_costs import Inputs
from ckptplan.sweep.columns import Column, Labels

_NOTHING = Labels(np.array([-1], dtype=np.int32), ())


def refusals(inputs: Inputs, shape: tuple[int, ...]) -> Labels:
    """Why the scenario of each point is refused: a reason where there is only one, else none.

    Of several reasons the first one by place in the spec is said, which the scenario of all values together shows.
    """
    found = np.full(shape, FINE, dtype=np.int32)
    for codes in inputs.refused:
        here = np.broadcast_to(codes, shape)
        both = (found != FINE) & (here != FINE) & (found != here)
        found = np.where(both, UNSURE, np.where(found == FINE, here, found)).astype(np.int32)
    return Labels(np.where(found == UNSURE, -1, found).astype(np.int32).reshape(-1), inputs.reasons)


def without_numbers(columns: Mapping[str, Column], refused: Labels, naming: tuple[str, ...]) -> dict[str, Column]:
    """Columns in which rows that are refused have neither numbers nor names, but those of ``naming``, and say why."""
    rows = refused.codes >= 0
    reasons = Labels(refused.codes[rows], refused.names)
    return {
        name: column if name in naming else replaced(column, reasons if name == "status" else _NOTHING, rows)
        for name, column in columns.items()
    }


def replaced(column: Column, others: Column, rows: npt.NDArray[np.bool_]) -> Column:
    """A column with some of its rows replaced."""
    if not isinstance(column, Labels) or not isinstance(others, Labels):
        found = np.array(column, dtype=np.float64)
        found[rows] = np.nan if isinstance(others, Labels) else others
        return found
    names = tuple(dict.fromkeys((*column.names, *others.names)))
    of_name = {name: place for place, name in enumerate(names)}
    places = [of_name[name] for name in others.names]
    codes = column.codes.copy()
    codes[rows] = np.array([*places, -1], dtype=np.int32)[others.codes]
    return Labels(codes, names)
