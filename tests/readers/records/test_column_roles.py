from __future__ import annotations

import pytest

from ckptplan.errors import InputError
from ckptplan.readers.records.column_roles import plain, roles_of, unit_of


def _names(*names, **given):
    return {role: column.name for role, column in roles_of(names, given, "file").items()}


def test_names_are_compared_without_case_blanks_and_signs():
    """A name is its words in lower case; words run together are told apart by their capitals."""
    assert [plain(text) for text in ("Down Time (min)", "startTime", " End-Time ", "MTBF", "")] == [
        "down_time_min", "start_time", "end_time", "mtbf", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gap_s", ("gap", "s")),
        ("Downtime (hours)", ("downtime", "h")),
        ("ttf-min", ("ttf", "min")),
        ("time_ms", ("time", "ms")),
        ("hours", ("hours", "h")),
        ("system_age_hours", ("system_age", "h")),
        ("cause", ("cause", None)),
        ("status", ("status", None)),
        ("megacycles", ("megacycles", None)),
    ],
)
def test_a_unit_at_the_end_of_a_name(name, expected):
    """The unit is the last word, if that is one."""
    assert unit_of(name) == expected


def test_roles_are_guessed_by_the_most_telling_name():
    """Of several columns of times the one that names failures counts; each column has one role."""
    assert _names("date", "failed_at", "host", "reason") == {"time": "failed_at", "node": "host", "cause": "reason"}
    assert _names("start_time", "end_time", "service") == {"start": "start_time", "end": "end_time", "node": "service"}
    assert _names("x", "y") == {}
    assert _names("type", "error_type") == {"cause": "error_type", "category": "type"}


def test_what_the_user_names_outranks_the_guess():
    """A named column has its role and no other."""
    assert _names("time", "seen", time="seen")["time"] == "seen"
    assert _names("A b", "c", time="a_B") == {"time": "A b"}
    with pytest.raises(InputError, match="no column is called tme") as caught:
        _names("time", "node", time="tme")
    assert caught.value.problems[0].hint == "did you mean time?"
    with pytest.raises(InputError, match="when is no role"):
        _names("time", when="time")
