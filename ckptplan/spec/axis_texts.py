"""The values of an axis as people read them: made when somebody reads them, for there may be a million."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from ckptplan.spec.record import for_people
from ckptplan.spec.schema import UNIT_OF_FORM


class AxisTexts(Sequence[str]):
    """As a tuple of texts, with more digits where two values would look alike."""

    def __init__(self, written: Mapping[float | int, str | None], form: str) -> None:
        self._written, self._form = written, form  # each value with its text, if it was written with its unit
        self._made: tuple[str, ...] | None = None

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...

    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        """One text, or some of them."""
        return self._all()[at]

    def __len__(self) -> int:
        """How many there are, for which none is made."""
        return len(self._written)

    def __iter__(self) -> Iterator[str]:
        """One after another."""
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        """Whether the texts are the same."""
        return isinstance(other, AxisTexts | tuple) and self._all() == tuple(other)

    def __hash__(self) -> int:
        """That of the tuple."""
        return hash(self._all())

    def __repr__(self) -> str:
        """As a tuple."""
        return repr(self._all())

    def __reduce__(self) -> tuple[type[tuple[str, ...]], tuple[tuple[str, ...]]]:
        """As a tuple."""
        return tuple, (self._all(),)

    def _all(self) -> tuple[str, ...]:
        if self._made is None:
            self._made = _told_apart(self._written, self._form)
        return self._made


def _told_apart(written: Mapping[float | int, str | None], form: str) -> tuple[str, ...]:
    shown_as = [text if text is not None else for_people(value, form) for value, text in written.items()]
    counts = Counter(shown_as)
    if len(counts) == len(shown_as):
        return tuple(shown_as)
    unit = {"bytes": "B", "bytes/s": "B/s"}.get(UNIT_OF_FORM.get(form, ""), UNIT_OF_FORM.get(form, ""))
    return tuple(
        text if counts[text] == 1 else f"{value:.15g} {unit}".strip()
        for text, value in zip(shown_as, written, strict=True)
    )
