"""Names that repeat in a column, as numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ckptplan.errors import printable
from ckptplan.fit.record import Codes

_MOST_NAMES = 100_000
_LONGEST_NAME = 120
_OTHERS = "(others)"


class Numbered:
    """Texts to numbers in the order in which they come; past a great many, all others are one."""

    def __init__(self, most: int = _MOST_NAMES) -> None:
        self._number: dict[str, int] = {}
        self._most = most

    def code(self, text: str) -> int:
        """The number of a text."""
        found = self._number.get(text)
        if found is None:
            if len(self._number) >= self._most:
                text = _OTHERS
            found = self._number.setdefault(text, len(self._number))
        return found

    def codes(self, texts: Sequence[str]) -> Codes:
        """The numbers of many texts, cut to 120 characters each."""
        if max(map(len, texts), default=0) > _LONGEST_NAME:
            texts = [text[:_LONGEST_NAME] for text in texts]
        for text in dict.fromkeys(texts):
            self.code(text)
        other = self._number.get(_OTHERS, 0)
        return np.fromiter((self._number.get(text, other) for text in texts), np.int32, len(texts))

    def names(self) -> tuple[str, ...]:
        """The texts by number, fit to print."""
        return tuple(printable(text) for text in self._number)
