"""Axes of a sweep: lists and ranges of values, read by the rules of their keys."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckptplan.errors import Problem
from ckptplan.spec.axes import MOST_POINTS, WrittenAxis, axes_from_flags, refuse_too_many
from ckptplan.units import parse_quantity


def _axis(text: str) -> WrittenAxis:
    problems: list[Problem] = []
    (found,) = axes_from_flags([text], problems) or [None]
    assert not problems, problems[0].render()
    assert found is not None
    return found


def _faults(*texts: str) -> list[Problem]:
    problems: list[Problem] = []
    axes_from_flags(texts, problems)
    return problems


def test_a_list_holds_its_values_in_si_and_as_written():
    """Each value is read as in a spec; all texts are in one unit of those that were typed."""
    axis = _axis("storage.write_bandwidth=10 GB/s, 400 Gbit/s ,2 TB/s").axis
    assert axis.key == "storage.write_bandwidth"
    assert axis.values == (1e10, 5e10, 2e12)
    assert axis.texts == ("10 GB/s", "50 GB/s", "2,000 GB/s")
    assert axis.unit == "bytes/s"


def test_a_logarithmic_range_of_powers_of_two_is_exact():
    """Whole numbers are whole, and times have no last digit too many."""
    assert _axis("cluster.gpus=1024..131072:log:8").axis.values == tuple(2**n for n in range(10, 18))
    assert _axis("save[0].stall=1..1024 s:log:11").axis.values == tuple(float(2**n) for n in range(11))


def test_a_linear_range_includes_both_ends():
    """The unit may stand behind both; lin is the default."""
    wanted = (10.0, 20.0, 30.0, 40.0, 50.0, 60.0)
    assert _axis("save[0].stall=10 s..60 s:6").axis.values == wanted
    assert _axis("save[0].stall=10 .. 60 s : lin : 6").axis.values == wanted
    assert _axis("training.scaling_exponent=90..95 %:6").axis.values == (0.9, 0.91, 0.92, 0.93, 0.94, 0.95)


def test_lists_mix_ranges_and_values():
    """In their order."""
    axis = _axis("cluster.gpus=8, 1024..4096:log:3, 100_000").axis
    assert axis.values == (8, 1024, 2048, 4096, 100_000)
    assert axis.texts == ("8", "1,024", "2,048", "4,096", "100,000")


def test_values_that_are_equal_after_rounding_count_once():
    """And it is said how many were dropped."""
    found = _axis("cluster.gpus=1..4:10")
    assert found.axis.values == (1, 2, 3, 4)
    assert "6 of 10 values repeat others once rounded to whole numbers" in found.notes[0]


def test_texts_tell_values_apart():
    """Two values that three digits would show alike get all of theirs."""
    texts = _axis("failures.mtbf=100000..100001 s:3").axis.texts
    assert len(set(texts)) == 3


def test_repeated_values_count_once_and_nothing_is_said_of_rounding():
    """Where nothing was rounded; 1 h is three times here."""
    (note,) = _axis("failures.mtbf=1 h,1h,60 min").notes
    assert note == "failures.mtbf: 2 of 3 values repeat others, and the first alone counts"
    assert _axis("cluster.gpus=8,16,8").notes == (
        "cluster.gpus: 1 of 3 values repeats another, and the first alone counts",
    )
    assert not _axis("failures.mtbf=1 h..3 h:3").notes


TEXTS = {
    "a range keeps its unit": ("failures.mtbf_per_gpu=10000 h..40000 h:log:3", ("10,000 h", "20,000 h", "40,000 h")),
    "also below the next unit": ("failures.mtbf=2 h..32 h:log:3", ("2 h", "8 h", "32 h")),
    "a unit behind both ends": ("restart.total=1..10 min:5", ("1 min", "3.25 min", "5.5 min", "7.75 min", "10 min")),
    "a list has separators": ("failures.mtbf=10000 h,1 h", ("10,000 h", "1 h")),
    "the smaller unit": ("save[0].stall=500 ms,1 s,2 s", ("500 ms", "1,000 ms", "2,000 ms")),
    "the larger unit, where no value is a fraction": ("save[0].stall=1000 ms,2 s", ("1 s", "2 s")),
    "two spellings": ("restart.total=1 hour,2 h", ("1 h", "2 h")),
    "what was typed, in full": ("failures.mtbf=3.09123 h,4 h", ("3.09123 h", "4 h")),
    "the ends too": ("failures.mtbf=1.2345 h..3 h:3", ("1.2345 h", "2.12 h", "3 h")),
    "digits that tell apart": ("failures.mtbf=100000..100001 s:3", ("100,000 s", "100,000.5 s", "100,001 s")),
    "blanks in a unit": ("storage.write_bandwidth=1 GB / s,2 GB/s", ("1 GB/s", "2 GB/s")),
    "fractions": ("model.trainable_fraction=0.9,0.95", ("0.9", "0.95")),
    "percent": ("model.trainable_fraction=7 %..95 %:3", ("7 %", "51 %", "95 %")),
    "both": ("model.trainable_fraction=0.9,95 %", ("90 %", "95 %")),
    "an exponent is no share": ("training.scaling_exponent=90 %,0.95123", ("0.9", "0.95123")),
    "nor in a range": ("training.scaling_exponent=90 %..100 %:3", ("0.9", "0.95", "1")),
    "counts": ("cluster.gpus=100_000,1024", ("100,000", "1,024")),
    "large counts": ("model.parameters=405e9,7e9", ("405e9", "7e9")),
    "large counts that are alike": ("model.parameters=70553706496,70553706497", ("70,553,706,496", "70,553,706,497")),
    "zero": ("storage.latency=0 s,1 s", ("0 s", "1 s")),
}


@pytest.mark.parametrize(("text", "wanted"), TEXTS.values(), ids=list(TEXTS))
def test_texts_are_in_one_unit(text, wanted):
    """That which was typed, with separators, and with the digits that it takes to tell the values apart."""
    assert _axis(text).axis.texts == wanted


@given(st.lists(st.floats(1e-5, 1e8), min_size=1, max_size=20, unique=True))
def test_different_values_have_different_texts(values):
    """However near they are to each other."""
    axis = _axis(f"failures.mtbf={','.join(f'{value!r} s' for value in values)}, 5 s..6 s:17").axis
    assert len(set(axis.texts)) == len(axis.values)


def test_entries_of_lists_stand_in_brackets_as_typed():
    """By name or by number."""
    problems: list[Problem] = []
    axes = axes_from_flags(["save[blocking].stall=1 s", "save.0.stall=1 s", "failures.law.shape=0.7"], problems)
    assert [axis.axis.key for axis in axes] == ["save[blocking].stall", "save[0].stall", "failures.law.shape"]


def test_a_given_interval_is_an_axis_of_its_own():
    """A time, though no key of a spec."""
    axis = _axis("interval=30 min,1 h").axis
    assert axis == ("interval", (1800.0, 3600.0), ("30 min", "60 min"), "s")


def test_values_are_what_set_would_take():
    """In SI with the unit of the key, exact to the last digit."""
    for text in ("failures.mtbf=3.09 h,4 h", "storage.write_bandwidth=0.1..0.3 GB/s:3"):
        found = _axis(text)
        for value in found.axis.values:
            written = found.as_set(value).partition("=")[2]
            assert parse_quantity(written, "time" if "mtbf" in text else "rate") == value


@given(
    low=st.floats(1e-3, 1e9, allow_nan=False),
    ratio=st.floats(1.001, 1e6),
    count=st.integers(2, 200),
    scale=st.sampled_from(["lin", "log"]),
)
def test_ranges_agree_with_numpy(low, ratio, count, scale):
    """Every value is that of linspace or geomspace to 14 digits, the ends exactly, and they rise."""
    high = low * ratio
    values = _axis(f"failures.mtbf={low!r} s..{high!r} s:{scale}:{count}").axis.values
    wanted = (np.linspace if scale == "lin" else np.geomspace)(low, high, count)
    assert values[0] == low
    assert values[-1] == high
    assert list(values) == sorted(values)
    if len(values) == count:  # neighbours that agree in 15 digits count once
        assert np.allclose(values, wanted, rtol=1e-13, atol=0.0)


BAD = {
    "no equals sign": ("cluster.gpus", "KEY=VALUES is wanted", "cluster.gpus=1024..131072:log:8"),
    "no key": ("=3", "KEY=VALUES is wanted", "write for example"),
    "unknown key": ("cluster.gpu=3", "unknown key", "did you mean gpus?"),
    "key without its group": ("gpus=3", "unknown key", "did you mean cluster.gpus?"),
    "key of another group": ("stall=3 s", "unknown key", "save"),
    "group": ("restart=3", "names a group", "restart.total"),
    "list without an index": ("save.stall=3 s", "which entry of the list", "save[0].stall"),
    "below a key": ("cluster.gpus.x=3", "below a key", "write for example"),
    "text": ("model.config=a,b", "is no number", "--set"),
    "choice": ("save[0].mode=sharded,gathered", "is no number", "--set"),
    "list of numbers": ("cluster.layout.layers_per_stage=3", "is no number", "--set"),
    "date": ("training.start=2026-01-01", "is no number", "--set"),
    "preset": ("cluster.preset=3", "is no number", "--set"),
    "sweep": ("sweep.seed=1,2", "is no key of a run", "write for example"),
    "no values": ("cluster.gpus=", "no values are given", "16384"),
    "blank": ("cluster.gpus=8, ", "a value is missing", "1024"),
    "one missing": ("cluster.gpus=1,,2", "a value is missing", "1024"),
    "thousands": ("cluster.gpus=1,024", "a comma divides values", "1,024"),
    "no unit": ("failures.mtbf=3", "has no unit", "mtbf: 3.09 h"),
    "wrong unit": ("failures.mtbf=3 GB", "GB is the unit of a size", "a time"),
    "negative": ("failures.mtbf=-3 h", "is negative", "a time"),
    "zero": ("save[0].stall=0 s", "zero makes no sense", "copy-out"),
    "beyond reason": ("failures.mtbf=1e30 s", "outside all reason", "mtbf"),
    "not whole": ("cluster.gpus=1.5", "not a whole number", "write 1 or 2"),
    "too many GPUs": ("cluster.gpus=1e10", "more than 1,000,000,000", "digit"),
    "more than all": ("training.scaling_exponent=1.5", "more than the whole", "0.95"),
    "nan": ("failures.mtbf=nan", "not a finite number", "a time"),
    "auto": ("restart.load=auto,3 s", "auto is no number", "2 min"),
    "reversed": ("cluster.gpus=20..10:3", "not below the second", "lower one first"),
    "no width": ("cluster.gpus=10..10:3", "not below the second", "lower one first"),
    "no count": ("cluster.gpus=10..20", "how many values is not said", "LOW..HIGH:COUNT"),
    "scale without count": ("cluster.gpus=10..20:log", "how many values is not said", "LOW..HIGH:COUNT"),
    "one value": ("cluster.gpus=10..20:1", "not between 2 and 1,000,000", "LOW..HIGH:COUNT"),
    "a thousand million": ("failures.mtbf=1..2 h:1000000000", "not between 2 and 1,000,000", "LOW..HIGH:COUNT"),
    "endless count": (f"failures.mtbf=1..2 h:{'9' * 150}", "not between 2 and 1,000,000", "LOW..HIGH:COUNT"),
    "count in words": ("cluster.gpus=10..20:ten", "not a number of values", "LOW..HIGH:COUNT"),
    "other digits": ("cluster.gpus=10..20:\u0663", "not a number of values", "LOW..HIGH:COUNT"),
    "scale": ("cluster.gpus=10..20:logg:3", "logg is not lin or log", "did you mean log?"),
    "three options": ("cluster.gpus=10..20:log:3:4", "is not a range", "LOW..HIGH:COUNT"),
    "three ends": ("cluster.gpus=1..2..3:4", "is not a range", "LOW..HIGH:COUNT"),
    "no low end": ("cluster.gpus=..3:4", "is not a range", "LOW..HIGH:COUNT"),
    "no high end": ("cluster.gpus=3..:4", "is not a range", "LOW..HIGH:COUNT"),
    "from zero": ("restart.total=0..10 min:log:3", "cannot begin at zero", "begin above zero"),
    "long": (f"cluster.gpus=1..{'2' * 300}:3", "is not a range", "LOW..HIGH:COUNT"),
    "unit behind the first": ("failures.mtbf=1 h..20:3", "has no unit", "mtbf"),
    "interval for ever": ("interval=200000 years", "100,000 years", "30 min"),
    "NUL": ("cluster.gpus=1\0", "a pure number has no unit", "write 1"),
}


@pytest.mark.parametrize(("text", "message", "hint"), BAD.values(), ids=list(BAD))
def test_bad_axes_are_refused(text, message, hint):
    """One clear error each: the option, the key, what is wrong and what would be accepted."""
    (fault,) = _faults(text)
    assert message in fault.message
    assert hint in (fault.hint or "")
    assert str(fault.place).startswith("--over ")
    assert "\0" not in fault.render()


def test_all_faults_are_said_at_once():
    """Of several axes, and of several values of one."""
    faults = _faults("cluster.gpus=1.5,x,3", "foo=1", "failures.mtbf=3")
    assert [fault.key for fault in faults] == ["cluster.gpus", "cluster.gpus", "foo", "failures.mtbf"]


def test_the_number_of_points_has_a_bound():
    """The product of all axes and specs."""
    axis = _axis("failures.mtbf=1..2 h:10000").axis
    problems: list[Problem] = []
    refuse_too_many([axis, axis], 1, problems)
    assert not problems
    assert math.prod([10_000, 10_000]) == MOST_POINTS
    refuse_too_many([axis, axis], 2, problems)
    assert "200,000,000 points" in problems[0].message
