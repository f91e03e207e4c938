"""Numbers as the reports print them, at both ends of what there is."""

from __future__ import annotations

import pytest

from ckptplan.render.comparison_sheet import price as compared_price
from ckptplan.render.numbers import duration, hundredths, percent, points, seconds, whole
from ckptplan.render.scale_sheets import price as scale_price


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.1667, "16.67"),
        (9.99, "999.00"),
        (600.0, "60,000"),
        (99_999.0, "9,999,900"),
        (6e8, "6e+10"),
        (0.0, "0.00"),
    ],
)
def test_shares_keep_their_magnitude(share: float, text: str) -> None:
    """Two digits after the point where they can be read, none from 1,000 % on, an exponent beyond ten million."""
    assert hundredths(share) == text
    assert percent(share) == f"{text} %"


@pytest.mark.parametrize(
    ("share", "cell", "alone"),
    [
        (0.00006, "0.01", "0.01 %"),
        (0.000049, "<0.01", "0.005 %"),
        (6e-7, "<0.01", "6e-05 %"),
        (4e-266, "<0.01", "4e-264 %"),
        (-5e-7, ">-0.01", "-5e-05 %"),
        (-0.00006, "-0.01", "-0.01 %"),
    ],
)
def test_a_share_below_the_digits_of_its_column_is_less_than_the_last_of_them(
    share: float, cell: str, alone: str
) -> None:
    """Among others it is neither nothing nor a number of other digits; alone it keeps its magnitude."""
    assert hundredths(share) == cell
    assert percent(share) == alone


def test_what_no_one_can_count_has_an_exponent() -> None:
    """GPU-hours, times and money of a run without end are no columns of 270 digits."""
    assert whole(6.01e272) == "6.01e+272"
    assert duration(1.5e300) == "1.74e+295 d"
    assert compared_price(-1.2e273) == "-1.2e+273"
    assert scale_price(5.66e265) == "5.66e+265"
    assert whole(999_999_999_999_999.0) == "999,999,999,999,999"
    assert compared_price(1234.4) == scale_price(1234.4) == "1,234"


def test_a_time_below_two_hours_has_separators_as_every_other_number() -> None:
    """5,316.8 s, with five digits and without trailing zeros; what is tiny keeps its magnitude."""
    assert [duration(value) for value in (5316.8123, 812.4, 60.0, 0.5)] == ["5,316.8 s", "812.4 s", "60 s", "0.5 s"]
    assert duration(1.2e-9) == "1.2e-09 s"


def test_what_rounds_to_one_has_the_larger_unit() -> None:
    """1 s and 1 ms, not 1,000 of the smaller; and a small difference is less than the last digit, not nothing."""
    assert [seconds(value) for value in (0.9994, 0.9996, 0.9994e-3, 0.9996e-3)] == ["999 ms", "1 s", "999 us", "1 ms"]
    assert [points(value) for value in (0.0, 1e-6, -1e-6, 0.0653)] == [
        "0.00 points", "<0.01 points", ">-0.01 points", "6.53 points",
    ]  # fmt: skip
