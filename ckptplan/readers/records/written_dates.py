"""Dates as people write them by words and signs -> seconds on the wall clock: 7/13/2024 5 PM, 13 Jul 2024, RFC 2822."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

_CLOCK = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?(?: ?([AaPp])\.?[Mm]\.?)?"
SLASHED = re.compile(rf"([0-9]{{1,2}})([/.])([0-9]{{1,2}})\2([0-9]{{4}}|[0-9]{{2}})(?:[ T,]+{_CLOCK})?")
C_TIME = re.compile(
    r"(?:[A-Z][a-z]{2},? )?([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) (?:([A-Z]{1,5}) )?([0-9]{4})"
)
NAMED = re.compile(
    r"(?:[A-Za-z]{3,9},? )?"
    r"(?:([0-9]{1,2})[ -]([A-Za-z]{3,9})\.?[ -]([0-9]{4})|([A-Za-z]{3,9})\.? ([0-9]{1,2}),? ([0-9]{4}))"
    rf"(?:,? (?:at )?{_CLOCK})?(?: ?(Z|UTC|GMT|[+-][0-9]{{2}}:?[0-9]{{2}}))?"
)
_COMPACT = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})[T ]([0-9]{2})([0-9]{2})([0-9]{2})?(?:\.[0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NO_SECONDS = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2})(Z|[+-][0-9]{2}:?[0-9]{2})")
_MIDNIGHT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}[T ])24:00(?::00(?:\.0+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "sept",
]


class WrittenTime(NamedTuple):
    """One time: on the wall clock as though it were UTC, or in UTC where it names its zone; nan for none."""

    seconds: float
    zoned: bool = False


NONE = WrittenTime(np.nan)


def as_iso(text: str) -> str:
    """ISO 8601 with the hour and the minute for what differs from it by signs; any other text as it is.

    Slashes, no time of day, no seconds, no signs at all (20260101T080910Z), and 24:00:00, the end of a day.
    """
    if len(text) > 7 and text[4] == text[7] == "/":
        text = f"{text[:4]}-{text[5:7]}-{text[8:]}"
    if _DAY.fullmatch(text):
        return f"{text} 00:00"
    if found := _COMPACT.fullmatch(text):
        year, month, day, hour, minute, second, zone = found.groups()
        text = f"{year}-{month}-{day}T{hour}:{minute}:{second or '00'}{zone or ''}"
    if found := _MIDNIGHT.fullmatch(text):
        return f"{found[1]}23:59:60{found[2] or ''}"  # the same second
    short = _NO_SECONDS.fullmatch(text)
    return f"{short[1]}:00{short[2]}" if short else text


def is_iso(text: str) -> bool:
    """Whether a text begins as ISO 8601 does."""
    return re.match(r"[0-9]{4}([-/])[0-9]{2}\1[0-9]{2}", text) is not None or _COMPACT.fullmatch(text) is not None


def slashed(text: str, day_first: bool) -> WrittenTime:
    """7/13/2024 5:00 PM, or 13.7.2024 17:00 with the day first."""
    found = SLASHED.fullmatch(text)
    if found is None:
        return NONE
    first, second, year = int(found[1]), int(found[3]), int(found[4])
    day, month = (first, second) if day_first else (second, first)
    return WrittenTime(_at(year + 2000 if year < 100 else year, month, day, found.group(5, 6, 7, 8)))


def c_time(text: str) -> WrittenTime:
    """Sun Feb 23 16:24:18 2025, as dmesg -T and date write it."""
    found = C_TIME.fullmatch(text)
    if found is None or (month := _month(found[1])) is None:
        return NONE
    return WrittenTime(_at(int(found[7]), month, int(found[2]), (*found.group(3, 4, 5), None)))


def named(text: str) -> WrittenTime:
    """01-Jan-2026 08:09:10, Jan 01, 2026 08:09, or Thu, 01 Jan 2026 08:09:10 +0000 as in RFC 2822."""
    found = NAMED.fullmatch(text)
    if found is None or (month := _month(found[2] or found[4])) is None:
        return NONE
    seconds = _at(int(found[3] or found[6]), month, int(found[1] or found[5]), found.group(7, 8, 9, 10))
    return WrittenTime(seconds - _offset(found[11]), found[11] is not None)


def _month(name: str) -> int | None:
    short = name.lower()
    return _MONTHS.index(short[:3]) + 1 if short in _MONTHS or short in _NAMES else None


def _offset(zone: str | None) -> float:
    if zone is None or zone[0] not in "+-":
        return 0.0
    digits = zone[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0
    return -seconds if zone[0] == "-" else seconds


def _at(year: int, month: int, day: int, clock: tuple[str | None, ...]) -> float:
    """Seconds as though the wall clock were UTC; nan for the 31st of June."""
    hour, minute, second = (int(part or 0) for part in clock[:3])
    half = clock[3]
    if half:
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + (12 if half in "pP" else 0)
    leap = 1 if second == 60 else 0
    end = 1 if (hour, minute, second) == (24, 0, 0) else 0
    try:
        at = datetime(year, month, day, 0 if end else hour, minute, second - leap, tzinfo=UTC)
    except ValueError:
        return np.nan
    return at.timestamp() + leap + 86_400 * end
