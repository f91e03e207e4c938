"""Time stamps as text -> seconds since 1970 in UTC, a whole column at once, with daylight saving of any zone.

Stamps without a zone are wall-clock times: ``parse_stamps`` gives them as though they were UTC, ``to_utc`` moves them
by the offset that a ``Clock`` had. A wall-clock time that came twice is the first of the two unless ``later`` says so.
"""

from __future__ import annotations

import difflib
import re
import zoneinfo
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.errors import InputError, Place, Problem, printable

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FIRST_YEAR, LAST_YEAR = 1900, 2200  # stamps outside are no times
_TABLE = range(1970, 2101)  # years in which changes of an offset are looked for
_DAY_S = 86_400
_FIXED = re.compile(r"(?:UTC|GMT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?")
_SUFFIX = re.compile(rb"(?:[.,]([0-9]{1,9}))? ?(Z|z|UTC|([+-])([0-9]{2}):?([0-9]{2}))?")
_SHORT = 16  # 2026-11-30T02:43
_FULL = 19  # 2026-11-30T02:43:28
_EPOCH = (9, 12)  # digits of plain seconds since 1970


# Abbreviations and a zone that is meant by most who write them.
_ABBREVIATED = {
    **dict.fromkeys(("CET", "CEST", "MEZ", "MESZ"), "Europe/Berlin"),
    **dict.fromkeys(("WET", "WEST"), "Europe/Lisbon"),
    **dict.fromkeys(("EET", "EEST"), "Europe/Helsinki"),
    **dict.fromkeys(("BST",), "Europe/London"),
    **dict.fromkeys(("MSK", "MSD"), "Europe/Moscow"),
    **dict.fromkeys(("ET", "EST", "EDT"), "America/New_York"),
    **dict.fromkeys(("CT", "CST", "CDT"), "America/Chicago"),
    **dict.fromkeys(("MT", "MST", "MDT"), "America/Denver"),
    **dict.fromkeys(("PT", "PST", "PDT"), "America/Los_Angeles"),
    **dict.fromkeys(("AKST", "AKDT"), "America/Anchorage"),
    **dict.fromkeys(("AST", "ADT"), "America/Halifax"),
    **dict.fromkeys(("BRT",), "America/Sao_Paulo"),
    **dict.fromkeys(("JST",), "Asia/Tokyo"),
    **dict.fromkeys(("KST",), "Asia/Seoul"),
    **dict.fromkeys(("IST",), "Asia/Kolkata"),
    **dict.fromkeys(("SGT",), "Asia/Singapore"),
    **dict.fromkeys(("HKT",), "Asia/Hong_Kong"),
    **dict.fromkeys(("AEST", "AEDT"), "Australia/Sydney"),
    **dict.fromkeys(("NZST", "NZDT"), "Pacific/Auckland"),
}


class Clock(NamedTuple):
    """The offsets of one zone: ``offsets_s[k]`` is in force until ``edges_s[k]``, the last one for ever."""

    name: str
    edges_s: Floats  # UTC
    offsets_s: Floats  # one more; local time less UTC


class Stamps(NamedTuple):
    """Times of a column; nan where the text is none."""

    seconds: Floats  # UTC where zoned, otherwise wall-clock time as though it were UTC
    zoned: Flags


def clock(zone: str | None, place: Place | None = None) -> Clock:
    """The clock of an IANA zone, of an offset such as +02:00, or of UTC for None; InputError for anything else."""
    name = (zone or "UTC").strip()
    if name.upper() in ("UTC", "Z", "GMT"):
        return _steady("UTC", 0.0)
    fixed = _FIXED.fullmatch(name)
    if fixed:
        sign, hours, minutes = fixed[1], int(fixed[2]), int(fixed[3] or 0)
        if hours <= 14 and minutes < 60:
            return _steady(name, (-1.0 if sign == "-" else 1.0) * (hours * 3600.0 + minutes * 60.0))
        raise _unknown(name, place)
    try:
        return _clock_of(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):  # OSError: the name of a folder
        raise _unknown(name, place) from None


def _steady(name: str, offset_s: float) -> Clock:
    return Clock(name, np.empty(0), np.array([offset_s]))


def _unknown(name: str, place: Place | None) -> InputError:
    if example := _ABBREVIATED.get(name.upper()):
        shown = printable(name[:60])
        hint = f"write the zone itself, for example {example}, which knows when its clocks change; an offset is +02:00"
        return InputError(Problem(f"{shown} is an abbreviation: such names are ambiguous", place, hint=hint))
    known = zoneinfo.available_timezones()
    near = difflib.get_close_matches(name, known, 1) or [z for z in sorted(known) if z.endswith(f"/{name}")][:1]
    hint = f"did you mean {near[0]}?" if near else "write an IANA zone such as America/Los_Angeles, or an offset"
    shown = printable(name[:60])
    return InputError(Problem(f"{shown} is no time zone", place, hint=f"{hint}; an offset is written +02:00"))


@lru_cache(maxsize=8)
def _clock_of(name: str) -> Clock:
    """The changes of a zone, each found to the second between two days with different offsets."""
    zone = zoneinfo.ZoneInfo(name)

    def offset(at_s: int) -> float:
        shift = datetime.fromtimestamp(at_s, UTC).astimezone(zone).utcoffset()
        return shift.total_seconds() if shift is not None else 0.0

    first, last = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (_TABLE.start, _TABLE.stop))
    edges: list[int] = []
    offsets = [offset(first)]
    for day in range(first, last, _DAY_S):
        after = offset(day + _DAY_S)
        if after != offsets[-1]:
            low, high = day, day + _DAY_S
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
            edges.append(high)
            offsets.append(after)
    return Clock(name, np.array(edges, float), np.array(offsets, float))


def to_utc(stamps: Stamps, by: Clock, later: Flags | bool = False) -> Floats:
    """Seconds since 1970 in UTC; ``later`` picks the second of two equal wall-clock times."""
    return np.where(stamps.zoned, stamps.seconds, local_to_utc(stamps.seconds, by, later))


def local_to_utc(local_s: Floats, by: Clock, later: Flags | bool = False) -> Floats:
    """Wall-clock seconds less the offset in force; a time that a change skips is read by the offset before it."""
    first, second = _offsets(local_s, by)
    # As in PEP 495: of a skipped hour the first reading is by the offset before the change, too.
    return np.asarray(local_s - np.where(later, second, first))


def is_repeated(local_s: Floats, by: Clock) -> Flags:
    """Where a wall-clock time came twice, when clocks were put back."""
    first, second = _offsets(local_s, by)
    return np.asarray(first > second)


def is_skipped(local_s: Floats, by: Clock) -> Flags:
    """Where a wall-clock time never came, when clocks were put forward: a sign that the zone is another one."""
    first, second = _offsets(local_s, by)
    return np.asarray(first < second)


def _offsets(local_s: Floats, by: Clock) -> tuple[Floats, Floats]:
    """The offset in force by the reading before a change, and by the one after it; they differ close to a change."""
    before, after = by.offsets_s[:-1], by.offsets_s[1:]
    highest, lowest = by.edges_s + np.maximum(before, after), by.edges_s + np.minimum(before, after)
    return (
        by.offsets_s[np.searchsorted(highest, local_s, side="right")],
        by.offsets_s[np.searchsorted(lowest, local_s, side="right")],
    )


def as_text(utc_s: float, by: Clock | None = None) -> str:
    """A time as people write it, in the zone of the clock or in UTC."""
    if not np.isfinite(utc_s):
        return "unknown"
    by = by or _steady("UTC", 0.0)
    shift = float(by.offsets_s[np.searchsorted(by.edges_s, utc_s, side="right")])
    return (datetime(1970, 1, 1) + timedelta(seconds=utc_s + shift)).isoformat(timespec="seconds")


def parse_stamps(texts: Any) -> Stamps:
    """A column of ISO 8601 times, or of whole seconds since 1970, as numbers.

    Parameters
    ----------
    texts : pyarrow array, or iterable of str or bytes
        ``2026-11-30T02:43:28``, with a blank for the T, without seconds, with a fraction, with Z or an offset; 9 to 12
        digits are seconds since 1970. Everything else, None too, becomes nan.
    """
    lengths, start, data = _bytes_of(texts)
    seconds, zoned = np.full(len(lengths), np.nan), np.zeros(len(lengths), bool)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        if _EPOCH[0] <= length <= _EPOCH[1]:
            seconds[rows], zoned[rows] = _epochs(_columns(data, start[rows], length))
        elif length == _SHORT or _FULL <= length <= 40:
            seconds[rows], zoned[rows] = _iso(_columns(data, start[rows], length))
    return Stamps(seconds, zoned)


def _bytes_of(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Length and place of every text in one buffer."""
    import pyarrow as pa

    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
        if isinstance(texts, pa.ChunkedArray):  # more than one array can hold, or none
            texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], texts.type)
    if not isinstance(texts, pa.Array):
        texts = pa.array(_as_bytes(texts), pa.binary())
    texts = texts.cast(pa.large_binary())
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    if len(texts) == 0:
        offsets = np.zeros(1, np.int64)
    held = texts.buffers()[2]
    data = np.frombuffer(held, np.uint8) if held is not None else np.empty(0, np.uint8)
    lengths = np.diff(offsets)
    if texts.null_count:
        lengths = np.where(np.asarray(texts.is_null()), 0, lengths)
    return lengths, offsets[:-1], data


def _as_bytes(texts: Iterable[str | bytes | None]) -> list[bytes | None]:
    return [text.encode("utf-8", "replace") if isinstance(text, str) else text for text in texts]


def _columns(data: NDArray[np.uint8], start: NDArray[np.int64], length: int) -> NDArray[np.uint8]:
    """Characters of texts of one length, one row per position: contiguous, so that arithmetic on them is fast."""
    if len(start) and start[-1] - start[0] == length * (len(start) - 1) and bool(np.all(np.diff(start) == length)):
        return np.ascontiguousarray(data[start[0] : start[0] + length * len(start)].reshape(-1, length).T)
    return np.stack([data[start + place] for place in range(length)])


def _digits(text: NDArray[np.uint8], good: Flags) -> NDArray[np.int64]:
    """The number that rows of digits write; ``good`` is cleared where one is no digit."""
    number = np.zeros(text.shape[1], np.int64)
    for row in text:
        digit = row - np.uint8(48)
        good &= digit <= 9
        number *= 10
        number += digit
    return number


def _epochs(text: NDArray[np.uint8]) -> tuple[Floats, Flags]:
    good = np.ones(text.shape[1], bool)
    number = _digits(text, good)
    return np.where(good, number, np.nan), good


def _iso(text: NDArray[np.uint8]) -> tuple[Floats, Flags]:
    good = (text[4] == ord("-")) & (text[7] == ord("-")) & (text[13] == ord(":"))
    good &= (text[10] == ord("T")) | (text[10] == ord(" "))
    year, month, day = (_digits(text[a:b], good) for a, b in ((0, 4), (5, 7), (8, 10)))
    hour, minute = _digits(text[11:13], good), _digits(text[14:16], good)
    second = np.zeros_like(hour)
    if len(text) >= _FULL:
        good &= text[16] == ord(":")
        second = _digits(text[17:19], good)
    good &= (hour < 24) & (minute < 60) & (second < 61) & (month >= 1) & (month <= 12)
    good &= (year >= FIRST_YEAR) & (year < LAST_YEAR) & (day >= 1)
    starts = _month_starts()
    at = np.where(good, (year - FIRST_YEAR) * 12 + month - 1, 0)
    good &= day <= starts[at + 1] - starts[at]
    seconds = ((starts[at] + day - 1) * _DAY_S + hour * 3600 + minute * 60 + second).astype(float)
    zoned = np.zeros(len(good), bool)
    if len(text) > _FULL:
        added, zoned, fits = _suffixes(text[_FULL:])
        seconds += added
        good &= fits
    return np.where(good, seconds, np.nan), zoned & good


@lru_cache(maxsize=1)
def _month_starts() -> NDArray[np.int64]:
    """Days from 1970 to the first of every month of the years that count."""
    months = np.arange((FIRST_YEAR - 1970) * 12, (LAST_YEAR - 1970) * 12 + 1).astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64)


def _suffixes(text: NDArray[np.uint8]) -> tuple[Floats, Flags, Flags]:
    """Seconds to add for what follows the seconds, whether it names a zone, and whether it is understood."""
    joined = np.ascontiguousarray(text.T).view(f"V{len(text)}").ravel()
    kinds, at = np.unique(joined, return_inverse=True)
    added, zoned, fits = np.zeros(len(kinds)), np.zeros(len(kinds), bool), np.zeros(len(kinds), bool)
    for number, kind in enumerate(kinds):
        found = _SUFFIX.fullmatch(kind.tobytes())
        if found is None or (found[4] and int(found[5]) > 59):
            continue
        fits[number], zoned[number] = True, found[2] is not None
        added[number] = float(b"0." + found[1]) if found[1] else 0.0
        if found[4]:
            added[number] -= (1 if found[3] == b"+" else -1) * (int(found[4]) * 3600 + int(found[5]) * 60)
    return added[at], zoned[at], fits[at]
