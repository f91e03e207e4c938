"""What a part of a sweep comes out as: named columns of equal length, in memory that grows with the part alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt


class Labels(NamedTuple):
    """A column of texts: each row names one of a few by its number. -1 stands for none."""

    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]

    def texts(self) -> list[str | None]:
        """The texts, row by row."""
        return [self.names[code] if code >= 0 else None for code in self.codes.tolist()]


# Numbers are float64, nan for what is not known, or int64 where every row has a whole number.
Column: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.int64] | Labels
Columns: TypeAlias = Mapping[str, Column]


def length(columns: Columns) -> int:
    """Rows of a part."""
    for column in columns.values():
        return len(column.codes) if isinstance(column, Labels) else len(column)
    return 0


def joined(parts: Sequence[Columns]) -> dict[str, Column]:
    """Parts one after another; the names of texts are put together in the order of their first use."""
    return {name: _joined([part[name] for part in parts]) for name in parts[0]} if parts else {}


def _joined(columns: Sequence[Column]) -> Column:
    first = columns[0]
    if not isinstance(first, Labels):
        return np.concatenate([column for column in columns if not isinstance(column, Labels)])
    labels = [column for column in columns if isinstance(column, Labels)]
    names = tuple(dict.fromkeys(name for column in labels for name in column.names))
    places = {name: index for index, name in enumerate(names)}
    codes = []
    for column in labels:
        table = np.array([*(places[name] for name in column.names), -1], dtype=np.int32)
        codes.append(table[column.codes])
    return Labels(np.concatenate(codes), names)
