"""Names that repeat in a column, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ckptplan.errors import printable
from ckptplan.fit.record import Codes

_MOST_NAMES = 100_000
_LONGEST_NAME = 120
OTHERS = "(others)"


class Numbered:
    """Texts to numbers in the order in which they come; past a great many, all others are one."""

    def __init__(self, most: int = _MOST_NAMES) -> None:
        self._number: dict[str, int] = {}
        self.most = most

    def code(self, text: str) -> int:
        """The number of a text."""
        found = self._number.get(text)
        if found is None:
            if len(self._number) >= self.most:
                text = OTHERS
            found = self._number.setdefault(text, len(self._number))
        return found

    def codes(self, texts: Any) -> Codes:
        """The numbers of many texts, a pyarrow array of strings or a sequence of str, cut to 120 characters each."""
        if hasattr(texts, "dictionary_encode"):
            encoded = texts.dictionary_encode()
            indices: Codes = encoded.indices.to_numpy()
            return np.asarray(self.codes(encoded.dictionary.to_pylist())[indices])
        return np.fromiter((self.code(text[:_LONGEST_NAME]) for text in texts), np.int32, len(texts))

    def is_full(self) -> bool:
        """Whether names came that have no number of their own."""
        return OTHERS in self._number

    def names(self) -> tuple[str, ...]:
        """The texts by number, fit to print."""
        return tuple(printable(text) for text in self._number)
