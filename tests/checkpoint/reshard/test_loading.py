"""Load times of a plan: sums over nodes by hand, and the line to paste read back by the spec."""

import math

import numpy as np
import pytest

from ckptplan.checkpoint.reshard.loading import loading, restart_line
from ckptplan.cost.read import ReadRates, ReadTime
from ckptplan.errors import InputError
from ckptplan.units import parse_quantity


def test_nodes_are_consecutive_ranks_and_the_last_may_be_smaller() -> None:
    """Ten ranks on nodes of four: 6, 22 and 17 bytes; the busiest rank may be on another node than the busiest."""
    found = loading([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], np.arange(10) * 10, ReadRates(1.0, 2.0, 3.0), 4)
    ranges, items = found.ranges, found.whole_items
    assert (ranges.total_bytes, ranges.busiest_node_bytes, ranges.busiest_rank_bytes) == (45, 22, 9)
    assert (ranges.busiest_node, ranges.busiest_rank) == (1, 9)
    assert ranges.time is not None
    assert ranges.time.seconds == 45.0
    assert items.total_bytes == 450
    assert items.time is not None
    assert [seconds for _, seconds in items.time.candidates] == [450.0, 110.0, 30.0]


def test_without_bandwidth_there_are_bytes_and_no_time() -> None:
    """One rank alone is node, rank and all."""
    found = loading([7], [70], ReadRates(), 8)
    assert found.ranges.time is None
    assert found.ranges.busiest_node_bytes == found.ranges.total_bytes == 7
    with pytest.raises(InputError, match="node of 0"):
        loading([7], [70], ReadRates(), 0)


@pytest.mark.parametrize("seconds", [0.0, 0.0123456, 0.9999, 1.0, 41.96, 999.1, 12345.6, 1e7])
def test_the_line_to_paste_is_the_time_rounded_up(seconds: float) -> None:
    """To three digits at least, never below the time, in a form that the units of a spec take."""
    line = restart_line(ReadTime(seconds, "", ()))
    assert line.startswith("restart: {load: ")
    value = parse_quantity(line.removeprefix("restart: {load: ").removesuffix("}"), "time")
    assert seconds <= value <= max(seconds * 1.01, 1e-3)
    assert math.isfinite(value)
