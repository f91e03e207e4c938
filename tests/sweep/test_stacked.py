"""Many parts as one whose numbers are arrays, and blocks of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckptplan.cost.scenario import Mode, Save, SharedLink, Storage
from ckptplan.sweep.stacked import Mixed, stacked, within

SHAPE = (3, 4)
ROWS = [(slice(row, row + 1), slice(None)) for row in range(3)]


def test_numbers_that_differ_become_arrays_and_all_else_stays() -> None:
    """Numbers at their places, whether they are arrays along another axis or stand for all of it."""
    link = SharedLink(5e10, 0.1)
    along = np.arange(4.0).reshape(1, 4)
    saves = [Save("a", Mode.ASYNCHRONOUS, float(row), in_flight=2, shared_link=link) for row in range(3)]
    saves[1] = replace(saves[1], stall_s=along, shared_link=link._replace(bandwidth_bytes_per_s=7e10))
    found = stacked(saves, ROWS, SHAPE)
    assert (found.name, found.mode, found.flush_s, found.in_flight) == ("a", Mode.ASYNCHRONOUS, None, 2)
    assert found.stall_s.tolist() == [[0.0] * 4, [0.0, 1.0, 2.0, 3.0], [2.0] * 4]
    assert found.shared_link.bandwidth_bytes_per_s[:, 0].tolist() == [5e10, 7e10, 5e10]
    assert found.shared_link.exposed_communication == 0.1
    assert stacked([Storage(latency_s=along)], [(slice(None), slice(None))], SHAPE).latency_s is along


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Save("a", Mode.SHARDED), Save("b", Mode.SHARDED)),
        (Save("a", Mode.SHARDED), Save("a", Mode.SHARDED, 1.0)),
        (Save("a", Mode.SHARDED, 1.0), Save("a", Mode.SHARDED)),
        (Save("a", Mode.SHARDED), Save("a", Mode.SHARDED, spread_replicas=False)),
        ((Save("a", Mode.SHARDED),), ()),
        (Save("a", Mode.SHARDED), Storage()),
    ],
)
def test_parts_that_differ_in_more_than_numbers_do_not_stand_side_by_side(one: object, other: object) -> None:
    """Another name, a number that is not there, another flag, fewer parts, another kind."""
    with pytest.raises(Mixed):
        stacked([one, other], ROWS[:2], SHAPE)


def test_a_block_of_parts_is_cut_from_every_array() -> None:
    """Along axes in which an array has one element it keeps it; what is no array of the grid stays."""
    table = np.arange(12.0).reshape(3, 4)
    storage = Storage(write_bandwidth_bytes_per_s=table, latency_s=table[:1])  # type: ignore[arg-type]
    found = within((storage, {"a": table[:, :1]}, "text", np.arange(5)), (range(1, 3), range(2, 3)))
    assert found[0].write_bandwidth_bytes_per_s.tolist() == [[6.0], [10.0]]
    assert found[0].latency_s.tolist() == [[2.0]]
    assert found[0].read_bandwidth_bytes_per_s is None
    assert found[1]["a"].tolist() == [[4.0], [8.0]]
    assert found[2] == "text"
    assert found[3].tolist() == [0, 1, 2, 3, 4]
