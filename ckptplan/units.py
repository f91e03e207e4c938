"""Quantities as people write them ("2 TB/s", "3.09 h", "95 %") to SI floats, and back.

Names are case-sensitive: ``GB`` is 1e9 bytes, ``GiB`` is 2^30 bytes, ``Gbit`` is 1e9 bits. A year has 365 d;
months have no fixed length and are refused, as is everything that two readers could read differently.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Literal

Dimension = Literal["time", "size", "rate", "power", "number", "fraction"]

HOUR_S = 3600.0
_DEAREST_GPU_HOUR = 1e9  # in any currency: beyond it sums over a run are no numbers that anybody reads
_MINUTE, _DAY = 60.0, 24 * HOUR_S
_YEAR = 365 * _DAY
_LEAST_OF_A_UNIT = 0.01  # what is less of the unit of a range is printed in its own
_MANY_TIMES = 10.0  # from here on a share of something is so many times it
COUNTLESS = 1e15  # from here on no one reads the digits

_TIMES: dict[str, float] = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), _MINUTE),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), HOUR_S),
    **dict.fromkeys(("d", "day", "days"), _DAY),
    **dict.fromkeys(("week", "weeks"), 7 * _DAY),
    **dict.fromkeys(("y", "yr", "year", "years"), _YEAR),
}
_SIZES: dict[str, float] = {
    **dict.fromkeys(("B", "byte", "bytes"), 1.0),
    **{f"{prefix}B": 10.0 ** (3 * n) for n, prefix in enumerate("kMGTPE", start=1)},
    **{f"{prefix}iB": 2.0 ** (10 * n) for n, prefix in enumerate("KMGTPE", start=1)},
    "bit": 0.125,
    **{f"{prefix}bit": 10.0 ** (3 * n) / 8 for n, prefix in enumerate("kMGTPE", start=1)},
}
_RATES: dict[str, float] = {f"{name}/s": size for name, size in _SIZES.items()}
_POWERS: dict[str, float] = {"W": 1.0, "kW": 1e3, "MW": 1e6}
_UNITS: dict[str, dict[str, float]] = {"time": _TIMES, "size": _SIZES, "rate": _RATES, "power": _POWERS}

_WANTED: dict[str, str] = {
    "time": "a time with its unit, for example 5 s, 10 min, 3.09 h or 54 d",
    "size": "a size with its unit, for example 80 GB (1e9 bytes) or 80 GiB (2^30 bytes)",
    "rate": "a rate with its unit, for example 2 TB/s, 500 MB/s or 400 Gbit/s",
    "power": "a power with its unit, for example 700 W or 1.1 kW",
    "number": "a pure number, for example 1024, 70_553_706_496 or 405e9",
    "fraction": "a fraction from 0 to 1, for example 0.95 or 95 %",
}
_NOUNS = {
    "time": "a time",
    "size": "a size",
    "rate": "a rate",
    "power": "a power",
    "number": "a number",
    "fraction": "a fraction",
}
_MULTIPLIERS = {
    "k": "e3",
    "m": "e6",
    "b": "e9",
    "t": "e12",
    "bn": "e9",
    "million": "e6",
    "billion": "e9",
    "trillion": "e12",
}

_NUMBER = r"(?:[0-9]+(?:_[0-9]+)*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_QUANTITY = re.compile(rf"([+-]?{_NUMBER})\s*(.*)", re.DOTALL)
_COMPOUND = re.compile(r"(?:[0-9._]+\s*[A-Za-z]+\s*){2,}")
_PIECE = re.compile(r"([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]+)")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])")
_LETTERS_FOR_DIGITS = str.maketrans("OolI", "0011")
_LONGEST = 200  # characters; a longer text is no quantity, and is not searched


class UnitError(ValueError):
    """A text is not the quantity that was wanted; ``hint`` says what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def parse_quantity(value: object, dimension: Dimension) -> float:
    """The quantity in SI: [s], [bytes], [bytes/s], [W] or [1]; finite and not negative.

    Parameters
    ----------
    value : str, int or float
        A number, or a text of one number and one unit. A bool is not a number.
    dimension : {"time", "size", "rate", "power", "number", "fraction"}
        What is wanted. A time, size, rate or power must carry its unit; a number must not.

    Raises
    ------
    UnitError
        With a hint that says what to write.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UnitError(f"{_shown(value)} is not {_NOUNS[dimension]}", f"write {_WANTED[dimension]}")
    number, unit = _split(value, dimension) if isinstance(value, str) else (_as_float(value), "")
    if dimension == "number":
        return _finite(_pure(number, unit, value), value, dimension)
    if dimension == "fraction":
        return _fraction(number, unit, value)
    if not unit:
        raise UnitError(f"{_shown(value)} has no unit", f"write {_WANTED[dimension]}")
    factor = _UNITS[dimension].get(unit)
    if factor is None:
        raise _unknown_unit(number, unit, dimension)
    return _finite(number * factor, value, dimension)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _split(text: str, dimension: Dimension) -> tuple[float, str]:
    """The number and the unit, blanks around ``/`` removed; refuses what is not one number and one unit."""
    text = text.strip()
    if len(text) > _LONGEST:
        raise UnitError(f"{_shown(text)} is not {_NOUNS[dimension]}", f"write {_WANTED[dimension]}")
    if text.lower().lstrip("+-").lstrip(".") in {"nan", "inf", "infinity"}:
        raise UnitError(f"{_shown(text)} is not a finite number", f"write {_WANTED[dimension]}")
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise UnitError(f"{_shown(text)} is not {_NOUNS[dimension]}", f"write {_WANTED[dimension]}")
    number, unit = found.groups()
    unit = re.sub(r"\s*/\s*", "/", unit)
    if "," in unit:
        raise _comma(text)
    if dimension == "time" and (unit.startswith(":") or (_COMPOUND.fullmatch(text) and re.search("[0-9]", unit))):
        raise _compound(text)
    return float(number.replace("_", "")), unit


def _comma(text: str) -> UnitError:
    if _THOUSANDS.match(text):
        plain = _THOUSANDS.sub(lambda found: found[0].replace(",", "_"), text, count=1)
        return UnitError(f"{_shown(text)}: a comma in a number can be read in two ways", f"write {_shown(plain)}")
    return UnitError(
        f"{_shown(text)}: a comma in a number can be read in two ways",
        f"write a point before the decimals: {_shown(text.replace(',', '.', 1))}",
    )


def _compound(text: str) -> UnitError:
    """A duration of several parts; the hint adds them up where each part can be read in one way."""
    pieces = _PIECE.findall(text)
    units = [{"m": "min"}.get(unit, unit) for _, unit in pieces]
    if pieces and all(unit in _TIMES for unit in units):
        total = sum(float(number) * _TIMES[unit] for (number, _), unit in zip(pieces, units, strict=True))
        return UnitError(f"{_shown(text)} has several parts", f"write one number and one unit, here {total:.12g} s")
    return UnitError(f"{_shown(text)} has several parts", "write one number and one unit, for example 1.5 h or 90 min")


def _pure(number: float, unit: str, value: object) -> float:
    if not unit:
        return number
    if re.fullmatch(r"[^\s]*[0-9][^\s]*|[OolI]+", unit):
        meant = str(value).strip().translate(_LETTERS_FOR_DIGITS)
        digits = re.fullmatch(_NUMBER, meant) is not None
        hint = f"write {meant}, with digits only (O and l are letters)" if digits else f"write {_WANTED['number']}"
        raise UnitError(f"{_shown(value)} is not a number", hint)
    if unit.lower() in _MULTIPLIERS:
        exponent = _MULTIPLIERS[unit.lower()]
        raise UnitError(f"{_shown(value)}: {_shown(unit)} is not part of a number", f"write {number:.12g}{exponent}")
    raise UnitError(f"{_shown(value)}: a pure number has no unit", f"write {number:.12g}")


def _fraction(number: float, unit: str, value: object) -> float:
    if unit not in {"", "%", "percent"}:
        raise UnitError(f"{_shown(value)} is not a fraction", f"write {_WANTED['fraction']}")
    fraction = _finite(number / 100 if unit else number, value, "fraction")
    if fraction > 1:
        # 95 is likely a percentage; 1.5 may be anything, and a guess at 1.5 % would be a harmful one.
        percent = not unit and 2 <= number <= 100
        hint = f"write {number:.12g} % or {number / 100:.12g}" if percent else f"write {_WANTED['fraction']}"
        raise UnitError(f"{_shown(value)} is more than the whole", hint)
    return fraction


def _finite(number: float, value: object, dimension: Dimension) -> float:
    if not math.isfinite(number):
        raise UnitError(f"{_shown(value)} is not a finite number", f"write {_WANTED[dimension]}")
    if number < 0:
        raise UnitError(f"{_shown(value)} is negative", f"write {_WANTED[dimension]}")
    return number


def _unknown_unit(number: float, unit: str, dimension: Dimension) -> UnitError:
    """Why this unit is not accepted here, the most likely cause first."""
    n, shown, wanted = f"{number:.12g}", _shown(unit), _WANTED[dimension]
    trap = _time_trap(number, unit) if dimension == "time" else None
    if dimension in {"size", "rate"}:
        trap = _bytes_trap(n, unit, dimension)
    if trap is not None:
        return trap
    near = _near(unit, _UNITS[dimension])
    if near:
        choice = " or ".join(f"{n} {name}" for name in near)
        return UnitError(f"{shown} is not a unit here (names are case-sensitive)", f"write {choice}")
    for other, units in _UNITS.items():
        if unit in units:
            message = f"{shown} is the unit of {_NOUNS[other]}, not of {_NOUNS[dimension]}"
            return UnitError(message, f"write {wanted}")
    return UnitError(f"{shown} is not a unit of {_NOUNS[dimension].split()[1]}", f"write {wanted}")


def _time_trap(number: float, unit: str) -> UnitError | None:
    if unit in {"m", "M"}:
        hint = f"write {number:.12g} min, or {number:.12g} ms for milliseconds"
        return UnitError(f"{unit} can mean minutes, months or milli", hint)
    if unit.lower() in {"mo", "month", "months"}:
        return UnitError("a month has no fixed length", f"write days: {number * 30:.12g} d if a month is 30 days")
    return None


def _bytes_trap(n: str, unit: str, dimension: Dimension) -> UnitError | None:
    bits = re.fullmatch(r"([kKMGTPE])b(/s|ps)?", unit)
    per = "/s" if dimension == "rate" else ""
    if bits:
        base = bits[1].replace("K", "k")
        return UnitError(f"{unit} can mean bits or bytes", f"write {n} {base}bit{per} or {n} {base}B{per}")
    if dimension == "size":
        stem = unit.removesuffix("/s")
        return UnitError(f"{unit} is a rate, a size is wanted", f"write {n} {stem}") if unit in _RATES else None
    if unit in _SIZES:
        return UnitError(f"{unit} is a size, a rate is wanted", f"write {n} {unit}/s")
    spelled = re.sub(r"(/sec|/second|ps)$", "/s", unit)
    if spelled in _RATES:
        return UnitError(f"{unit} is not a unit here", f"write {n} {spelled}")
    if unit.partition("/")[0] in _SIZES:
        return UnitError(f"{_shown(unit)} is not a unit of rate", f"rates are per second: write {_WANTED['rate']}")
    return None


def _near(unit: str, known: dict[str, float]) -> list[str]:
    """Units that differ in case only, or by a forgotten B."""
    if unit in {"KB", "KB/s"}:
        return [unit.replace("K", "k"), unit.replace("K", "Ki")]
    per_second = re.fullmatch("([kmgtpe])b(/s|ps)", unit)
    if per_second and "B/s" in known:
        prefix = per_second[1].upper().replace("K", "k")
        return [f"{prefix}bit/s", f"{prefix}B/s"]
    found = [name for name in known if name.lower() == unit.lower()]
    stem, per, _ = unit.partition("/s")
    return found or [name for ending in ("B", "iB") if (name := f"{stem}{ending}{per}") in known]


def _shown(value: object) -> str:
    """The value as it can be printed anywhere: ASCII, one line, not long."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10**18:
        return "this number"
    text = str(value) if isinstance(value, str | int | float) else f"a {type(value).__name__}"
    text = text if len(text) <= 40 else f"{text[:37]}..."
    return text if text.isascii() and text.isprintable() and text else ascii(text)


def format_time(seconds: float | None) -> str:
    """``77.2 ms``, ``5 s``, ``1,116 s``, ``3.09 h``, ``54 d``, ``5.79 years``: three digits or more."""
    if seconds is None or not math.isfinite(seconds) or abs(seconds) < 9999.5:
        return _scaled(seconds, ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")), 3)
    longer = ((_YEAR, "years", 2 * _YEAR), (_DAY, "d", 10 * _DAY), (HOUR_S, "h", 0.0))
    size, unit, _ = next(step for step in longer if abs(seconds) >= step[2])
    return f"{_digits(seconds / size, 3)} {unit}"


def format_time_ends(low_s: float, high_s: float) -> tuple[str, str]:
    """``2.35 h`` and ``3.11 h``: both ends of a range in the unit of the larger, if the smaller is something in it."""
    low, high = format_time(low_s), format_time(high_s)
    unit = high.rpartition(" ")[2]
    size = _TIMES.get(unit, math.inf)  # "infinite" has none
    return (f"{_digits(low_s / size, 3)} {unit}" if low_s >= _LEAST_OF_A_UNIT * size else low), high


def format_size(size_bytes: float | None) -> str:
    """``346.1 MB``, ``987.8 GB``, ``5.67 TB``: four digits, decimal prefixes."""
    return _scaled(size_bytes, [*((_SIZES[f"{p}B"], f"{p}B") for p in "EPTGMk"), (1.0, "B")], 4)


def format_rate(rate_bytes_per_s: float | None) -> str:
    """``124.5 MB/s``, ``2 TB/s``: four digits, decimal prefixes."""
    text = format_size(rate_bytes_per_s)
    return f"{text}/s" if text.endswith("B") else text


def format_power(power_w: float | None) -> str:
    """``700 W``, ``1.1 kW``, ``18 MW``: four digits."""
    if power_w == 0:
        return "0 W"
    return _scaled(power_w, [(size, name) for name, size in reversed(_POWERS.items())], 4)


def format_count(count: float | None) -> str:
    """``16,384``, ``70.55e9``, ``0.0065``: a number without unit."""
    if count is None or math.isnan(count):
        return "-"
    if math.isinf(count) or abs(count) >= 1e24:
        return f"{count:.4g}"
    if abs(count) < 1e7:
        return f"{count:,.0f}" if count == int(count) else _digits(count, 4)
    power = 3 * int(math.log10(float(f"{abs(count):.3e}")) // 3)
    return f"{_digits(count / 10.0**power, 4)}e{power}"


def format_gpus(count: int) -> str:
    """``1 GPU``, ``16,384 GPUs``: a number of GPUs in a sentence."""
    return f"{count:,} GPU{'' if count == 1 else 's'}"


def format_percent(fraction: float | None) -> str:
    """``95 %``, ``5.388 %``: a fraction of one in percent, four digits."""
    if fraction is None or math.isnan(fraction):
        return "-"
    return f"{_digits(100 * fraction, 4)} %"


def format_share(fraction: float, whole: str, percent: Callable[[float], str] = format_percent) -> str:
    """``16.67 % of the MTBF``; from ten times on ``600 times the MTBF``, ``60 million times the MTBF``."""
    return f"{format_times(fraction)} {whole}" if fraction >= _MANY_TIMES else f"{percent(fraction)} of {whole}"


def format_times(ratio: float) -> str:
    """``3 times``, ``1,234 times``, ``60 million times``, ``6e+20 times``: three digits or more."""
    if not ratio < COUNTLESS:
        return f"{ratio:.3g} times"
    sizes = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1.0, ""))
    size, unit = next((step for step in sizes if float(f"{ratio:.2e}") >= step[0]), sizes[-1])
    return f"{_digits(ratio / size, 3)}{unit} times"


def no_price(price: float) -> str | None:
    """Why a number is not the price of a GPU-hour; None if it can be one."""
    if not math.isfinite(price):
        return "not a finite number"
    return "more than a billion for one GPU-hour" if price > _DEAREST_GPU_HOUR else None


def _scaled(value: float | None, units: Sequence[tuple[float, str]], digits: int) -> str:
    """The value in the largest unit that it reaches once it is rounded (999.96 ms is 1 s)."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite"
    if value == 0:
        return "0 B" if units[-1][1] == "B" else "0 s"
    rounded = abs(float(f"{value:.{digits - 1}e}"))
    size, unit = next((step for step in units if rounded >= step[0]), units[-1])
    return f"{_digits(value / size, digits)} {unit}"


def _digits(value: float, digits: int) -> str:
    """``digits`` significant digits, all digits of the integer part, no trailing zeros, separators."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e15 or abs(value) < 1e-4:
        return f"{value:.{digits}g}"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    decimals = max(0, digits - 1 - magnitude)
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def unit_names(dimension: Dimension) -> tuple[str, ...]:
    """Every unit that ``parse_quantity`` knows for a time, size, rate or power."""
    return tuple(_UNITS[dimension])
