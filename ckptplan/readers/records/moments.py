"""Columns of times in any of the ways that people write them -> seconds; which way it is, guessed from a sample."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ckptplan.readers.files import refused
from ckptplan.readers.records.stamps import (
    Clock,
    Flags,
    Floats,
    Stamps,
    is_repeated,
    is_skipped,
    local_to_utc,
    parse_stamps,
    to_utc,
)
from ckptplan.readers.records.written_dates import C_TIME, NAMED, SLASHED, as_iso, c_time, is_iso, named, slashed
from ckptplan.units import UnitError, parse_quantity

UNITS_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
EARLIEST_EPOCH_S = 3e8  # 1979: smaller numbers count from the start of a record
_LATEST_EPOCH_S = 7.2e9  # 2198
_LARGEST = 1e19  # nanoseconds since 1970 are 2e18


class Style(NamedTuple):
    """How the times of one column are written."""

    kind: str  # "iso", "slashed", "ctime", "named" or "number"
    factor_s: float = 1.0  # of a number
    day_first: bool = False  # of a slashed date
    calendar: bool = True  # False: numbers that count from the start of the record
    said: str = ""  # for the report


def numbers(texts: Any) -> Floats:
    """Numbers of a column, nan for everything else, infinities and what no clock shows too.

    Parameters
    ----------
    texts : pyarrow array of strings, or sequence of str
    """
    if hasattr(texts, "to_pylist"):
        found = _numbers_of_arrow(texts)
        if found is not None:
            return np.where(np.abs(found) < _LARGEST, found, np.nan)
        texts = texts.to_pylist()
    try:
        found = np.array(texts, dtype=np.float64) if len(texts) else np.empty(0)
    except (ValueError, OverflowError):
        found = np.array([_number(text) for text in texts], np.float64)
    return np.where(np.abs(found) < _LARGEST, found, np.nan)


def _numbers_of_arrow(texts: Any) -> Floats | None:
    """Numbers of a column that holds plain ones and empty texts; None for any other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        found = pc.if_else(pc.equal(texts, ""), None, texts).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return np.asarray(found.to_numpy(zero_copy_only=False), np.float64)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def style_of(sample: Sequence[str], column: str, path: str, unit: str | None, date_order: str | None) -> Style:
    """How a column of times is written, judged by a sample of it.

    Parameters
    ----------
    sample : sequence of str
        Some of its texts, empty ones left out.
    column, path : str
        For errors.
    unit : str or None
        Of plain numbers, from the name of the column or from the user.
    date_order : {"mdy", "dmy"} or None
        Of 1/2/2024.
    """
    found = numbers(sample)
    if len(sample) and np.isnan(found).mean() < 0.5:
        return _numeric(found[~np.isnan(found)], column, path, unit)
    dates = [match for text in sample if (match := SLASHED.fullmatch(text))]
    if 2 * len(dates) > len(sample):
        return Style("slashed", day_first=_day_first(dates, column, path, date_order))
    for kind, form in (("ctime", C_TIME), ("named", NAMED)):
        if 2 * sum(form.fullmatch(text) is not None for text in sample) > len(sample):
            return Style(kind)
    if not any(is_iso(text) for text in sample):
        shown = ascii(sample[0][:40]) if sample else "nothing"
        hint = "write ISO 8601 such as 2024-07-01T12:00:00Z, m/d/yyyy H:MM, or numbers with --unit"
        raise refused(path, f"the column {column} holds no times: {shown}", hint)
    return Style("iso")


def _numeric(found: Floats, column: str, path: str, unit: str | None) -> Style:
    low, high = (float(v) for v in np.quantile(found, (0.05, 0.95)))
    if unit is not None:
        if unit not in UNITS_S:
            raise refused(path, f"{unit} is no unit of time", f"write one of {', '.join(UNITS_S)}")
        factor = UNITS_S[unit]
        calendar = _on_calendar(low * factor, high * factor)
        since = "since 1970" if calendar else "from the start of the record"
        return Style("number", factor, calendar=calendar, said=f"{column}: numbers of {unit} {since}")
    for name in ("s", "ms", "us", "ns"):
        if _on_calendar(low * UNITS_S[name], high * UNITS_S[name]):
            return Style("number", UNITS_S[name], said=f"{column}: {name} since 1970, judged by size")
    said = f"{column}: no unit is named, taken as seconds from the start of the record"
    return Style("number", 1.0, calendar=False, said=said)


def _on_calendar(low_s: float, high_s: float) -> bool:
    """Whether numbers can be seconds since 1970: large, and close to each other as those of one record are."""
    return low_s >= EARLIEST_EPOCH_S and high_s <= min(_LATEST_EPOCH_S, 2.0 * low_s)


def _day_first(found: list[re.Match[str]], column: str, path: str, date_order: str | None) -> bool:
    if date_order is not None:
        if date_order not in ("mdy", "dmy"):
            raise refused(path, f"{date_order} is no order of a date", "write mdy or dmy")
        return date_order == "dmy"
    first, second = (max(int(match[k]) for match in found) for k in (1, 3))
    if first > 12 and second > 12:
        hint = "write mdy or dmy with --date-order; dates that then make no sense are left out"
        raise refused(path, f"the column {column} has dates with the day first and with the month first", hint)
    if first <= 12 and second <= 12 and any(match[1] != match[3] for match in found):
        hint = "say which with --date-order mdy (month first) or --date-order dmy"
        raise refused(path, f"{found[0][0]!r} in column {column} can be read in two ways, and all others too", hint)
    return first > 12


def read_times(texts: Any, style: Style) -> Stamps:
    """Times of one column, a pyarrow array of strings or a sequence of str; nan where the text is none."""
    if style.kind == "number":
        return Stamps(numbers(texts) * style.factor_s, np.ones(len(texts), bool))
    if style.kind == "iso":
        return _iso(texts)
    plain = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
    if style.kind == "slashed":
        found = [slashed(text, style.day_first) for text in plain]
    else:
        found = [(c_time if style.kind == "ctime" else named)(text) for text in plain]
    return Stamps(np.array([one.seconds for one in found], float), np.array([one.zoned for one in found], bool))


def _iso(texts: Any) -> Stamps:
    """ISO 8601, and what differs from it by signs, or has no seconds or no time of day."""
    found = parse_stamps(texts)
    odd = np.flatnonzero(np.isnan(found.seconds))
    if len(odd):
        plain = texts.take(odd).to_pylist() if hasattr(texts, "to_pylist") else [texts[row] for row in odd.tolist()]
        again = parse_stamps([as_iso(text) for text in plain])
        found.seconds[odd], found.zoned[odd] = again
    return found


def whole_days(texts: Any, style: Style) -> Flags:
    """Which times of a pyarrow array of strings are dates without a time of day."""
    import pyarrow.compute as pc

    if style.kind == "number":
        return np.zeros(len(texts), bool)
    form = r"^[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}$" if style.kind == "iso" else "^[^:]+$"
    return np.asarray(pc.match_substring_regex(texts, form).to_numpy(zero_copy_only=False), bool)


class Spans(NamedTuple):
    """Starts and ends in UTC, and how the change of clocks was dealt with."""

    start_s: Floats
    end_s: Floats
    twice: int  # starts or ends in an hour that came twice, which nothing decides
    decided: int  # the same, decided by the elapsed time or because an end follows its start
    skipped: int  # starts or ends at a time of the wall clock that never came


def spans(start: Stamps, end: Stamps, elapsed_s: Floats | None, by: Clock) -> Spans:
    """Starts and ends on one clock; of an hour that came twice, the reading that fits the elapsed time, if known.

    Two texts of one hour in October can lie an hour and more apart. The first reading is taken unless the second one,
    of the start, of the end or of both, comes closer to the elapsed time, or is needed for the end to follow the start.
    """
    begins, ends = to_utc(start, by), to_utc(end, by)
    open_start = is_repeated(start.seconds, by) & ~start.zoned
    open_end = is_repeated(end.seconds, by) & ~end.zoned
    skipped = (is_skipped(start.seconds, by) & ~start.zoned).sum() + (is_skipped(end.seconds, by) & ~end.zoned).sum()
    elapsed = np.full(len(begins), np.nan) if elapsed_s is None else elapsed_s
    twice = decided = 0
    for row in np.flatnonzero(open_start | open_end):
        starts, stops = (
            _readings(s.seconds[row], bool(o[row]), t[row], by)
            for s, o, t in ((start, open_start, begins), (end, open_end, ends))
        )
        known = bool(np.isfinite(elapsed[row])) and bool(np.isfinite(ends[row]))
        costs = [(_misfit(b, e, elapsed[row]), b, e) for b in starts for e in stops]
        best = min(costs, key=lambda cost: cost[0])
        begins[row], ends[row] = best[1:]
        if known or (costs[0][0] > best[0]):
            decided += 1
        else:
            twice += 1
    return Spans(begins, ends, twice, decided, int(skipped))


def _readings(local_s: float, twice: bool, utc_s: float, by: Clock) -> list[float]:
    if not twice:
        return [float(utc_s)]
    return [float(local_to_utc(np.array([local_s]), by, later)[0]) for later in (False, True)]


def _misfit(start_s: float, end_s: float, elapsed_s: float) -> float:
    if not np.isfinite(end_s):
        return 0.0
    backwards = 1e12 if end_s < start_s else 0.0
    return backwards + (abs(end_s - start_s - elapsed_s) if np.isfinite(elapsed_s) else 0.0)


def watched(value: str | float | None, name: str, start_s: float, by: Clock, path: str) -> float | None:
    """The begin or end of watching as the user gave it, in seconds.

    A stamp is on the calendar, a time with its unit is counted from ``start_s``, the start of the record, for the end
    as for the begin, and so is a number of seconds unless it is as large as seconds since 1970.
    """
    if value is None:
        return None
    text = str(value).strip()
    seconds = numbers([text])[0]
    if np.isfinite(seconds):
        return float(seconds if seconds >= EARLIEST_EPOCH_S else start_s + seconds)
    stamp = to_utc(parse_stamps([as_iso(text)]), by)[0]
    if np.isfinite(stamp):
        return float(stamp)
    try:
        return start_s + parse_quantity(text, "time")
    except UnitError as error:
        hint = "write a stamp such as 2024-07-01T12:00:00Z, or a time from the start of the record such as 1500 h"
        raise refused(path, f"{name}: {error}", hint) from None
