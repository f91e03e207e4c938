"""Quantities: what is read, what is refused with which advice, and what is printed."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ckptplan import units
from ckptplan.units import Dimension, UnitError, parse_quantity

ACCEPTED: list[tuple[object, Dimension, float]] = [
    ("5 s", "time", 5.0),
    ("1h", "time", 3600.0),
    ("3.09 h", "time", 11124.0),
    ("54 d", "time", 4_665_600.0),
    ("2 min", "time", 120.0),
    ("300 ms", "time", 0.3),
    ("5 us", "time", 5e-6),
    ("5 \N{MICRO SIGN}s", "time", 5e-6),
    ("2 weeks", "time", 1_209_600.0),
    ("1 y", "time", 8760 * 3600.0),
    ("50_000 h", "time", 1.8e8),
    ("1e3 s", "time", 1000.0),
    (" .5 s ", "time", 0.5),
    ("80 GB", "size", 80e9),
    ("80 GiB", "size", 80 * 2.0**30),
    ("1 kB", "size", 1000.0),
    ("1 KiB", "size", 1024.0),
    ("7 bytes", "size", 7.0),
    ("8 Gbit", "size", 1e9),
    ("2 TB/s", "rate", 2e12),
    ("2 TB / s", "rate", 2e12),
    ("124.5 MB/s", "rate", 124.5e6),
    ("24.3 GiB/s", "rate", 24.3 * 2.0**30),
    ("400 Gbit/s", "rate", 50e9),
    ("700 W", "power", 700.0),
    ("1.1kW", "power", 1100.0),
    ("0 W", "power", 0.0),
    ("18 MW", "power", 18e6),
    ("405e9", "number", 405e9),
    ("70_553_706_496", "number", 70_553_706_496.0),
    (1024, "number", 1024.0),
    (6.5e-3, "number", 6.5e-3),
    (0.95, "fraction", 0.95),
    ("0.95", "fraction", 0.95),
    ("95 %", "fraction", 0.95),
    ("100%", "fraction", 1.0),
    (0, "fraction", 0.0),
]

REFUSED: list[tuple[object, Dimension, str, str]] = [
    (5, "time", "has no unit", "5 s"),
    ("5", "time", "has no unit", "5 s"),
    ("10 m", "time", "minutes, months or milli", "10 min"),
    ("10 M", "time", "minutes, months or milli", "10 ms"),
    ("2 months", "time", "no fixed length", "60 d"),
    ("1h30m", "time", "several parts", "5400 s"),
    ("1 d 2 h", "time", "several parts", "93600 s"),
    ("1:30:00", "time", "several parts", "90 min"),
    ("5 H", "time", "case-sensitive", "write 5 h"),
    ("5 GB", "time", "unit of a size", "5 s"),
    ("50,000 h", "time", "comma", "50_000 h"),
    ("1,5 h", "time", "comma", "1.5 h"),
    ("-5 s", "time", "negative", "5 s"),
    ("nan", "time", "not a finite number", "5 s"),
    ("1e400 s", "time", "not a finite number", "5 s"),
    ("1e308 y", "time", "not a finite number", "5 s"),
    ("1__0 h", "time", "not a unit", "5 s"),
    ("", "time", "not a time", "5 s"),
    (None, "time", "null is not a time", "5 s"),
    (True, "number", "true is not a number", "1024"),
    ([1], "number", "a list is not a number", "1024"),
    (math.nan, "number", "not a finite number", "1024"),
    (10**400, "number", "not a finite number", "1024"),
    ("405B", "number", "not part of a number", "405e9"),
    ("70 M", "number", "not part of a number", "70e6"),
    ("16384 GPUs", "number", "no unit", "16384"),
    ("50,000", "number", "comma", "50_000"),
    ("2 Gb", "size", "bits or bytes", "2 Gbit or 2 GB"),
    ("2 TB/s", "size", "a size is wanted", "2 TB"),
    ("2 G", "size", "case-sensitive", "2 GB or 2 GiB"),
    ("2 KB", "size", "case-sensitive", "2 kB or 2 KiB"),
    ("1 Gb/s", "rate", "bits or bytes", "1 Gbit/s or 1 GB/s"),
    ("1 Gbps", "rate", "bits or bytes", "1 Gbit/s or 1 GB/s"),
    ("1 GBps", "rate", "not a unit here", "1 GB/s"),
    ("2 TB", "rate", "a rate is wanted", "2 TB/s"),
    ("2 TB/min", "rate", "not a unit of rate", "per second"),
    ("10 min", "rate", "unit of a time", "2 TB/s"),
    (700, "power", "has no unit", "700 W"),
    ("1.1 KW", "power", "case-sensitive", "write 1.1 kW"),
    ("700 w", "power", "case-sensitive", "write 700 W"),
    ("700 Wh", "power", "not a unit of power", "1.1 kW"),
    ("700 s", "power", "unit of a time, not of a power", "1.1 kW"),
    ("-1 W", "power", "negative", "700 W"),
    ("5 W", "time", "unit of a power, not of a time", "5 s"),
    (95, "fraction", "more than the whole", "95 % or 0.95"),
    ("150 %", "fraction", "more than the whole", "0.95 or 95 %"),
    ("1 s", "fraction", "not a fraction", "0.95"),
    ("1s" * 500, "time", "not a time", "5 s"),
]


@pytest.mark.parametrize(("written", "dimension", "si"), ACCEPTED)
def test_a_quantity_is_read_in_si(written: object, dimension: Dimension, si: float) -> None:
    """Numbers and units are read as written."""
    assert parse_quantity(written, dimension) == pytest.approx(si, rel=1e-15)


@pytest.mark.parametrize(("written", "dimension", "message", "hint"), REFUSED)
def test_what_can_be_misread_is_refused_with_advice(
    written: object, dimension: Dimension, message: str, hint: str
) -> None:
    """A refusal says what is wrong and what to write, in ASCII."""
    with pytest.raises(UnitError) as caught:
        parse_quantity(written, dimension)
    assert message in str(caught.value)
    assert hint in caught.value.hint
    assert (str(caught.value) + caught.value.hint).isascii()


@given(st.text(), st.sampled_from(["time", "size", "rate", "power", "number", "fraction"]))
def test_any_text_is_read_or_refused(text: str, dimension: Dimension) -> None:
    """No text ends in anything but a finite, non-negative number or a refusal."""
    try:
        value = parse_quantity(text, dimension)
    except UnitError as error:
        assert error.hint  # noqa: PT017 - either outcome is right
    else:
        assert math.isfinite(value)
        assert value >= 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (2e-9, "2 ns"),
        (0.0772, "77.2 ms"),
        (0.99996, "1 s"),
        (5.0, "5 s"),
        (1116.296, "1,116 s"),
        (9999.6, "2.78 h"),
        (11135.08, "3.09 h"),
        (356_322.7, "99 h"),
        (54 * 86400.0, "54 d"),
        (50_677 * 3600.0, "5.79 years"),
        (math.inf, "infinite"),
        (math.nan, "-"),
        (None, "-"),
    ],
)
def test_times_are_short_and_keep_their_magnitude(seconds: float | None, text: str) -> None:
    """A time is printed with three digits in the unit that a person would choose."""
    assert units.format_time(seconds) == text


def test_sizes_rates_counts_and_percents_are_short() -> None:
    """Four digits, decimal prefixes, thousands separators, ASCII."""
    assert units.format_size(987_751_890_944) == "987.8 GB"
    assert units.format_size(5.67e12) == "5.67 TB"
    assert units.format_size(346.07e6) == "346.1 MB"
    assert units.format_size(0) == "0 B"
    assert units.format_size(1e30) == "1,000,000,000,000 EB"
    assert units.format_rate(124.5e6) == "124.5 MB/s"
    assert units.format_rate(None) == "-"
    assert units.format_power(700.0) == "700 W"
    assert units.format_power(999.96) == "1 kW"
    assert units.format_power(18.25e6) == "18.25 MW"
    assert units.format_power(0.0) == "0 W"
    assert units.format_power(None) == "-"
    assert units.format_count(16384) == "16,384"
    assert units.format_count(405e9) == "405e9"
    assert units.format_count(70_553_706_496) == "70.55e9"
    assert units.format_count(0.0065) == "0.0065"
    assert units.format_percent(0.0538837) == "5.388 %"
    assert units.format_percent(0.95) == "95 %"


@pytest.mark.parametrize(
    ("low_s", "high_s", "texts"),
    [
        (8470.0, 3.11 * 3600, ("2.35 h", "3.11 h")),
        (8470.0, 9000.0, ("8,470 s", "9,000 s")),
        (0.98, 1.25, ("0.98 s", "1.25 s")),
        (0.5, 0.9996, ("0.5 s", "1 s")),
        (9 * 86400.0, 12 * 86400.0, ("9 d", "12 d")),
        (300 * 86400.0, 3 * 365 * 86400.0, ("0.822 years", "3 years")),
        (60.0, 54 * 86400.0, ("60 s", "54 d")),
        (0.0, 7200.0, ("0 s", "7,200 s")),
        (9000.0, math.inf, ("9,000 s", "infinite")),
    ],
)
def test_both_ends_of_a_range_have_one_unit(low_s: float, high_s: float, texts: tuple[str, str]) -> None:
    """That of the larger end, as it is printed alone; what would be nothing in it keeps its own."""
    assert units.format_time_ends(low_s, high_s) == texts
    assert texts[1] == units.format_time(high_s)


@given(st.floats(1e-9, 1e12), st.floats(1.0, 99.0))
def test_a_range_reads_as_what_it_is(low_s: float, ratio: float) -> None:
    """Both ends read back to three digits, in one unit."""
    low, high = units.format_time_ends(low_s, low_s * ratio)
    assert low.split()[1] == high.split()[1]
    for text, value in ((low, low_s), (high, low_s * ratio)):
        assert parse_quantity(text.replace(",", ""), "time") == pytest.approx(value, rel=0.0051)


def test_one_gpu_is_one() -> None:
    """A number of GPUs in a sentence."""
    assert [units.format_gpus(count) for count in (1, 2, 16_384)] == ["1 GPU", "2 GPUs", "16,384 GPUs"]


def test_large_shares_are_so_many_times() -> None:
    """Up to ten times a share is in percent, in the digits that are asked for; beyond, so many times the whole."""
    assert units.format_share(0.16667, "the MTBF") == "16.67 % of the MTBF"
    assert units.format_share(0.16667, "the MTBF", "{:.0%}".format) == "17% of the MTBF"
    assert units.format_share(9.99, "the MTBF") == "999 % of the MTBF"
    assert units.format_share(600.0, "the MTBF") == "600 times the MTBF"
    assert units.format_share(6e8, "the MTBF") == "600 million times the MTBF"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (10.0, "10"),
        (12.345, "12.3"),
        (999_400.0, "999,400"),
        (999_999.0, "1 million"),
        (2.5e9, "2.5 billion"),
        (7e13, "70 trillion"),
        (6e20, "6e+20"),
    ],
)
def test_multiples_are_words(ratio: float, text: str) -> None:
    """Three digits or more, in the largest unit that they reach once rounded."""
    assert units.format_times(ratio) == f"{text} times"


_POSITIVE = st.floats(min_value=1e-6, max_value=1e18)


@given(_POSITIVE)
@example(0.0099999)
@example(9999.49)
def test_a_printed_time_reads_back_within_its_digits(seconds: float) -> None:
    """Three digits: half a unit of the third one, and the separators taken out."""
    text = units.format_time(seconds).replace(",", "")
    assert parse_quantity(text, "time") == pytest.approx(seconds, rel=0.5e-2)


@given(_POSITIVE.filter(lambda size: size >= 1))
def test_a_printed_size_rate_and_power_read_back_within_their_digits(size: float) -> None:
    """Four digits: half a unit of the fourth one."""
    assert parse_quantity(units.format_size(size).replace(",", ""), "size") == pytest.approx(size, rel=0.5e-3)
    assert parse_quantity(units.format_rate(size).replace(",", ""), "rate") == pytest.approx(size, rel=0.5e-3)
    assert parse_quantity(units.format_power(size).replace(",", ""), "power") == pytest.approx(size, rel=0.5e-3)


@given(_POSITIVE)
def test_a_printed_count_reads_back_within_its_digits(count: float) -> None:
    """Four digits, and every digit of a whole number below ten million."""
    text = units.format_count(count).replace(",", "")
    assert parse_quantity(text, "number") == pytest.approx(count, rel=0.5e-3)


@given(st.floats(min_value=1e-6, max_value=1.0))
def test_a_printed_fraction_reads_back_within_its_digits(fraction: float) -> None:
    """Four digits of a percentage."""
    assert parse_quantity(units.format_percent(fraction), "fraction") == pytest.approx(fraction, rel=0.5e-3)


def test_unit_names_are_all_read() -> None:
    """Every unit that is listed is accepted, and means something."""
    for dimension in ("time", "size", "rate", "power"):
        for name in units.unit_names(dimension):
            assert parse_quantity(f"1 {name}", dimension) > 0
    assert re.fullmatch("[a-zA-Z]+", units.unit_names("time")[0])
