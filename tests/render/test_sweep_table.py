"""A sweep for people: the sentence that answers, the table, and pivots."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.render.screen import Screen
from ckptplan.render.sweep_columns import shown_columns
from ckptplan.render.sweep_table import Swept, report, sentence
from ckptplan.sweep.columns import Labels
from ckptplan.sweep.study import Axis, Each
from tests.render.sweeps import BANDWIDTH, GIVEN, GPUS, columns_of, study


def _swept(*axes: Axis, goodput: list[float] | None = None, hidden: tuple[str, ...] = ()) -> Swept:
    asked = study(*axes)
    columns = dict(columns_of(asked))
    if goodput is not None:
        columns["goodput_typed"] = np.array(goodput)
        columns["status"] = Labels(np.where(np.isnan(goodput), 1, 0).astype(np.int32), ("ok", "too many GPUs"))
    return Swept(asked, columns, shown_columns(asked, tuple(columns), hidden))


def test_along_one_axis_the_sentence_says_how_goodput_moves():
    """From the first to the last value, and the best one where that lies between."""
    falls = sentence(_swept(GPUS, goodput=[0.99, 0.9, 0.5]))
    assert falls == "Goodput falls from 99.00 % at cluster.gpus 8 to 50.00 % at cluster.gpus 1,024."
    peak = sentence(_swept(GPUS, goodput=[0.5, 0.9, 0.6]))
    assert peak.startswith("Goodput goes from 50.00 % at cluster.gpus 8 to 60.00 % at cluster.gpus 1,024.")
    assert "Best of 3 points: cluster.gpus 16, with 90.00 % goodput, other, saving every" in peak


FOUR = Axis("cluster.gpus", (1, 2, 3, 4), ("1", "2", "3", "4"))
MOVES = {
    "no change": ([0.9547, 0.95471, 0.95469, 0.9547], "Goodput does not change: 95.47 % from cluster.gpus 1 to"),
    "next to nothing": ([2e-6, 9e-57, 0.0, 1e-5], "Goodput does not change: 0.00 % from cluster.gpus 1 to"),
    "nothing at all": (
        [0.0, 9e-57, 0.0, 1e-9],
        "No progress is possible at any of 4 points: at most 1e-07 % goodput at cluster.gpus 4; raise the MTBF",
    ),
    "one step up": (
        [0.9, 0.7, 0.8, 0.6],
        "Goodput falls from 90.00 % at cluster.gpus 1 to 60.00 % at cluster.gpus 4, not",
    ),
    "one step down": ([0.1, 0.3, 0.2, 0.4], "to 40.00 % at cluster.gpus 4, not at every step."),
    "a step too small to be seen": ([0.9, 0.8, 0.800001, 0.6], "to 60.00 % at cluster.gpus 4."),
    "a valley": ([0.5, 0.3, 0.2, 0.6], "to 60.00 % at cluster.gpus 4. Worst: cluster.gpus 3, with 20.00 %."),
    "both": (
        [0.5, 0.9, 0.2, 0.6],
        "Goodput goes from 50.00 % at cluster.gpus 1 to 60.00 % at cluster.gpus 4. Best of 4",
    ),
    "worst too": ([0.5, 0.9, 0.2, 0.6], "; worst: cluster.gpus 3, with 20.00 %."),
    "equal ends": (
        [0.5, 0.6, 0.7, 0.5],
        "Goodput is 50.00 % at both ends, cluster.gpus 1 and cluster.gpus 4. Best of 4",
    ),
}


@pytest.mark.parametrize(("goodput", "said"), MOVES.values(), ids=list(MOVES))
def test_the_sentence_says_no_more_than_its_digits_show(goodput, said):
    """Rises and falls are plain where no step goes the other way; an extreme between the ends is named."""
    assert said in sentence(_swept(FOUR, goodput=goodput))


def test_over_several_axes_the_sentence_names_the_best_point():
    """With the values of all axes, strategy and interval."""
    said = sentence(_swept(GPUS, BANDWIDTH, goodput=[0.1, 0.2, 0.3, 0.9, 0.5, 0.4]))
    assert said.startswith("Best of 6 points: cluster.gpus 16, storage.write_bandwidth 25 GB/s, with 90.00 % goodput")


def test_points_that_could_not_be_planned_are_no_best_point():
    """And no end of the movement."""
    said = sentence(_swept(GPUS, goodput=[float("nan"), 0.9, 0.8]))
    assert said.startswith("Goodput falls from 90.00 % at cluster.gpus 16")
    assert sentence(_swept(GPUS, goodput=[float("nan")] * 3)) == "No point could be planned."


def _by_strategy(*axes: Axis, goodput: list[float], each: Each = Each.STRATEGY) -> Swept:
    """A row for each of two strategies at every point; by method, each by two methods."""
    asked = study(*axes)._replace(columns=("goodput_typed", "status"), each=each)
    rows, of_point = len(goodput), len(goodput) // asked.points
    columns = {axis.key: np.repeat(columns_of(asked)[axis.key], of_point) for axis in axes}
    columns["goodput_typed"] = np.array(goodput)
    columns["status"] = Labels(np.zeros(rows, dtype=np.int32), ("ok",))
    numbers = np.arange(rows) % of_point
    columns["strategy"] = Labels((numbers * 2 // of_point).astype(np.int32), ("first", "second"))
    if each is Each.METHOD:
        columns["method"] = Labels((numbers % 2).astype(np.int32), ("young", "exact"))
    return Swept(asked, columns, shown_columns(asked, tuple(columns)))


OF_EACH = {
    "the same best one": (
        [0.8, 0.7, 0.8, 0.6, 0.8, 0.5],
        "Goodput of the best strategy (first) does not change: 80.00 % from cluster.gpus 8 to cluster.gpus 1,024.",
    ),
    "another best one": (
        [0.9, 0.7, 0.5, 0.6, 0.4, 0.5],
        "Goodput of the best strategy falls from 90.00 % at cluster.gpus 8 to 50.00 % at cluster.gpus 1,024.",
    ),
    "both ends": ([0.9, 0.7, 0.95, 0.6, 0.9, 0.5], "Goodput of the best strategy (first) is 90.00 % at both ends"),
    "a peak": ([0.5, 0.7, 0.95, 0.6, 0.8, 0.5], "Best of 3 points by every strategy: cluster.gpus 16, with 95.00 %"),
}


@pytest.mark.parametrize(("goodput", "said"), OF_EACH.values(), ids=list(OF_EACH))
def test_with_a_row_for_each_strategy_the_sentence_says_whose_goodput_it_is(goodput, said):
    """That of the best one, whose name is said where it is the best all along."""
    assert said in sentence(_by_strategy(GPUS, goodput=goodput))


def test_with_a_row_for_each_method_the_sentence_says_so():
    """The best of all strategies and methods."""
    goodput = [0.1, 0.2, 0.3, 0.4] * 2 + [0.1, 0.2, 0.3, 0.35]
    said = sentence(_by_strategy(GPUS, goodput=goodput, each=Each.METHOD))
    assert said.startswith("Goodput of the best strategy (second) and method falls from 40.00 % at cluster.gpus 8")
    grid = sentence(_by_strategy(GPUS, BANDWIDTH, goodput=goodput * 2, each=Each.METHOD))
    assert grid.startswith("Best of 6 points by every strategy and method: cluster.gpus 8, ")
    assert grid.endswith("with 40.00 % goodput, second by exact.")


def test_one_point_of_several_strategies_is_no_movement():
    """Goodput moves between points, not between the rows of one."""
    one = Axis("cluster.gpus", (8,), ("8",))
    said = sentence(_by_strategy(one, goodput=[0.8, 0.9]))
    assert said == "Best of 1 point by every strategy: cluster.gpus 8, with 90.00 % goodput, second."


def test_two_axes_are_a_pivot_of_each_measure():
    """The first axis downwards, the second across, each value where its point is."""
    text = report(_swept(GPUS, BANDWIDTH, goodput=[0.1, 0.2, 0.3, 0.9, 0.5, float("nan")]), Screen())
    table = text[text.index("goodput %, by GPUs (down) and storage.write_bandwidth (across)") :].splitlines()
    assert table[1].split() == ["GPUs", "10", "GB/s", "25", "GB/s"]
    assert [line.split() for line in table[3:6]] == [
        ["8", "10.00", "20.00"],
        ["16", "30.00", "90.00"],
        ["1,024", "50.00", "-", "[1]"],
    ]
    assert "[1] too many GPUs" in text


def test_every_strategy_has_pivots_of_its_own():
    """Where a point has a row for each, no value hides another."""
    asked = study(GPUS, BANDWIDTH)._replace(columns=("strategy", "goodput_typed", "status"))
    once = columns_of(asked)
    columns = {name: c if isinstance(c, Labels) else np.repeat(c, 2) for name, c in once.items()}
    columns["strategy"] = Labels(np.tile([0, 1], 6).astype(np.int32), ("first", "second"))
    columns["status"] = Labels(np.zeros(12, dtype=np.int32), ("ok",))
    columns["goodput_typed"] = np.arange(12) / 100.0
    text = report(Swept(asked, columns, shown_columns(asked, tuple(columns))), Screen())
    first, second = text.index("goodput % of first"), text.index("goodput % of second")
    assert first < text.index("10.00") < second < text.rindex("11.00")


def test_a_pivot_that_does_not_fit_becomes_the_list():
    """At 60 columns no line is longer, and no digit is lost."""
    wide = Axis(
        "storage.write_bandwidth", tuple(1e9 * n for n in range(1, 13)), tuple(f"{n} GB/s" for n in range(1, 13))
    )
    goodput = [0.9 + 0.0001 * number for number in range(36)]
    text = report(_swept(GPUS, wide, goodput=goodput), Screen(60))
    assert all(len(line) <= 60 for line in text.splitlines())
    assert "(across)" not in text
    assert all(f"{100 * value:.2f}" in text for value in goodput)


def test_more_axes_are_a_list():
    """One row for each point."""
    text = report(_swept(GPUS, BANDWIDTH, GIVEN, goodput=[0.01 * n for n in range(18)]), Screen())
    assert "(across)" not in text
    assert sum("GB/s" in line for line in text.splitlines()[2:]) == 18


@pytest.mark.parametrize("screen", [Screen(60), Screen(), Screen(unicode=False), Screen(80, colour=True)])
def test_hidden_columns_stay_hidden(screen):
    """Goodput is worked out for the sentence, also where it is not shown."""
    text = report(_swept(GPUS, goodput=[0.99, 0.9, 0.5], hidden=("goodput_typed", "status")), screen)
    assert "goodput %" not in text
    assert "99.00 %" in text.splitlines()[0]


def test_names_cannot_steer_a_terminal():
    """Control characters of a reason or a key are shown as ?."""
    key = Axis("save[0\x1b].stall", (1.0, 2.0), ("1 s", "2 s"), "s")
    swept = _swept(key, goodput=[0.5, float("nan")])
    columns = {**swept.columns, "status": Labels(np.array([0, 1], dtype=np.int32), ("ok", "\x1b[31m[red]<script>"))}
    text = report(swept._replace(columns=columns), Screen())
    assert "\x1b" not in text
    assert "?[31m[red]<script>" in text
