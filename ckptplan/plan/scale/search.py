"""The whole number at which a curve is highest."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_GOLDEN = 0.6180339887498949
_FALLEN = 100.0  # times below the highest value, a curve does not rise to it again


def highest(value: Callable[[int], float], most: int, *, beyond: int = 1) -> int | None:
    """Whole number from 1 to ``most`` with the highest value.

    Parameters
    ----------
    value : callable
        Rises, then falls, as seen in steps of a factor of 2.
    most : int
        Largest number of interest.
    beyond : int
        The search does not end before this number.

    Returns
    -------
    int or None
        The smallest one of those with the highest value; None if it still rises at ``most``.

    Notes
    -----
    All powers of 2, which show the curve as a whole, then the golden section (Kiefer 1953) between the neighbours of
    the best one, on whole numbers.
    """
    seen: dict[int, float] = {}

    def at(count: int) -> float:
        if count not in seen:
            seen[count] = value(count)
        return seen[count]

    best = _best(at, _powers(at, most, beyond))
    _between(at, max(best // 2, 1), min(2 * best, most))
    found = _best(at, seen)
    return None if found == most > 1 else found


def _powers(at: Callable[[int], float], most: int, beyond: int) -> list[int]:
    counts: list[int] = []
    count, top = 1, -float("inf")
    while count < most:
        counts.append(count)
        top = max(top, at(count))
        if count > beyond and at(count) < (top / _FALLEN if top > 0.0 else top * _FALLEN):
            return counts
        count *= 2
    return [*counts, most]


def _between(at: Callable[[int], float], low: int, high: int) -> None:
    """Look at the numbers that the golden section looks at."""
    left, right = _inner(low, high)
    while high - low > 3:
        if at(left) >= at(right):
            high, right = right, left
            left = min(_inner(low, high)[0], right - 1)
        else:
            low, left = left, right
            right = max(_inner(low, high)[1], left + 1)
        if not low < left < right < high:
            left, right = _inner(low, high)
    _best(at, range(low, high + 1))


def _inner(low: int, high: int) -> tuple[int, int]:
    by = round(_GOLDEN * (high - low))
    left, right = high - by, low + by
    return (left, right) if left < right else (right, left + (left == right))


def _best(at: Callable[[int], float], counts: Iterable[int]) -> int:
    return max(sorted(counts), key=at)
