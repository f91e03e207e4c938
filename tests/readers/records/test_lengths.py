from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.readers.records.lengths import is_separated, length_s


@given(st.integers(0, 99), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_lengths_of_several_parts_add_up(days, hours, minutes, seconds):
    """A clock with days, as Slurm prints it, and numbers with their units are what timedelta makes of them."""
    expected = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds).total_seconds()
    assert length_s(f"{days}-{hours:02d}:{minutes:02d}:{seconds:02d}") == expected
    assert length_s(f"{24 * days + hours}:{minutes:02d}:{seconds:02d}") == expected
    assert length_s(f"{days} d {hours} h {minutes} min {seconds} s") == expected
    assert length_s(f"{days}d{hours}h{minutes}m{seconds}s") == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "12:30",
        "12:60:00",
        "1-24:00:00",
        "5 m",
        "30 min 2 h",
        "2 h 3 h",
        "1 h soon",
        "7,338",
        "-1:00:00",
        "2 GB 1 s",
    ],
)
def test_what_can_be_read_in_two_ways_is_none(text):
    """Two numbers may be minutes or hours, units must fall, and what is left over makes it no length."""
    assert np.isnan(length_s(text))


def test_commas_in_numbers_are_known():
    """Separated thousands and decimal commas are told from other texts."""
    assert [is_separated(text) for text in ("7,338", "19,20", "1,234,567.5", "5", "a,b")] == [True] * 3 + [False] * 2
