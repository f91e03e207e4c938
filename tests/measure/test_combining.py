"""Several phases as one set of bandwidths."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import pytest

from ckptplan.measure.combining import combined, pooled
from ckptplan.measure.phases import READ, WRITE, Phase, flags


def _write(rate: float, **changes: object) -> Phase:
    values: dict[str, object] = {"bytes_": 1e12, "seconds": 100.0, "writers": 8, "nodes": 1, "synced": True, **changes}
    return Phase("fio", "x", WRITE, (rate,), **values)  # type: ignore[arg-type]


def test_nothing_that_stands_gives_nothing() -> None:
    """No phase, a phase with a fault, or one without a rate."""
    assert combined([], WRITE) is None
    assert combined([_write(1e9, faults=("broken",))], WRITE) is None
    assert combined([_write(1e9)._replace(rates_bytes_per_s=())], WRITE) is None
    assert combined([_write(0.0)], WRITE) is None
    assert combined([_write(1e9)], READ) is None


def test_a_smaller_test_of_the_same_setting_does_not_pull_down_the_larger_one() -> None:
    """Of equal writers and nodes, only phases with at least half the bytes of the largest are repetitions."""
    found = combined([_write(1e9, bytes_=1e9), _write(4e9), _write(6e9)], WRITE)
    assert found is not None
    assert found.per_node_bytes_per_s == pytest.approx(5e9)
    assert "1 write of other settings left out: 8 writers on 1 node count" in found.notes


def test_writes_that_memory_may_have_taken_count_last() -> None:
    """Beside a flushed write they are left out; alone they give an upper bound, and that is said."""
    cached = _write(50e9, synced=False, seconds=5.0)
    both = combined([cached, _write(1e9)], WRITE)
    assert both is not None
    assert both.per_node_bytes_per_s == 1e9
    assert "1 write that may have stayed in the page cache left out" in both.notes
    alone = combined([cached], WRITE)
    assert alone is not None
    assert alone.per_node_bytes_per_s == 50e9
    assert "upper bound" in alone.notes[0]


@pytest.mark.parametrize(
    ("changes", "cached"),
    [
        ({"synced": True}, False),
        ({"synced": False, "direct": True}, False),
        ({"synced": False, "seconds": 100.0}, False),
        ({"synced": False, "seconds": 100.0, "host_memory_per_node_bytes": 2e12}, True),
        ({"synced": False, "seconds": 100.0, "host_memory_per_node_bytes": 5e11}, False),
        ({"synced": False, "seconds": 10.0}, True),
        ({"synced": None, "seconds": 10.0}, True),
        ({"synced": None, "seconds": None}, True),
        ({"synced": False, "seconds": 10.0, "host_memory_per_node_bytes": 5e11}, False),
    ],
)
def test_when_memory_may_have_taken_a_write(changes: dict[str, object], cached: bool) -> None:
    """Flushed, direct, or larger than memory it left the page cache; after 30 s the kernel writes back what it has."""
    assert _write(1e9, **changes).may_be_cache is cached


def test_flags_put_the_worst_first() -> None:
    """A fault stands alone before notes; cached says more than short."""
    assert flags(_write(1e9, faults=("broken",), notes=("odd",))) == ("broken", "odd")
    assert "page cache" in flags(_write(1e9, synced=False, seconds=1.0))[0]
    assert "too short" in flags(_write(1e9, seconds=1.0))[0]
    assert flags(_write(1e9)) == ()


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({"synced": True}, False),
        ({"synced": False, "direct": True}, False),
        ({"synced": False}, True),
        ({"synced": None}, True),
        ({"synced": None, "host_memory_per_node_bytes": 2e12}, True),
        ({"synced": None, "host_memory_per_node_bytes": 5e11}, False),
    ],
)
def test_a_long_write_that_nobody_flushed_is_an_upper_bound(changes: dict[str, object], bound: bool) -> None:
    """100 s of writing count, but are flagged unless they were flushed, were direct, or did not fit into memory."""
    phase = _write(1e9, **changes)
    found = combined([phase], WRITE)
    assert found is not None
    assert (phase.is_upper_bound, found.is_upper_bound, not phase.is_sure) == (bound, bound, bound)
    assert ["upper bound" in flag for flag in flags(phase)] == [True] * bound
    assert ["upper bound" in note for note in found.notes] == [True] * bound


def test_a_flushed_write_counts_before_a_long_one_of_its_setting() -> None:
    """They are no repetitions of each other: the one that memory may have taken is left out, and named so."""
    found = combined([_write(5e9, synced=False), _write(1e9)], WRITE)
    assert found is not None
    assert found.per_node_bytes_per_s == 1e9
    assert found.notes == ("1 write that may have stayed in the page cache left out",)


def _summary(values: Sequence[float]) -> Phase:
    """What a file says that gives no more than mean, scatter and count."""
    mean = statistics.mean(values)
    cv = None if len(values) < 2 else statistics.stdev(values) / mean
    return _write(mean, cv=cv, repeats=len(values))


@pytest.mark.parametrize(
    "parts",
    [
        ((3e9, 5e9, 4e9), (7e9, 9e9)),
        ((3e9, 5e9), (4e9,)),
        ((1e9, 2e9, 6e9, 3e9), (8e9, 8e9, 8e9), (2e9,)),
        ((1e9, 3e9),),
    ],
)
def test_summaries_are_pooled_as_if_every_repetition_were_known(parts: tuple[tuple[float, ...], ...]) -> None:
    """Mean and scatter are those of all values together, whether a file gives the values or their summary."""
    values = [value for part in parts for value in part]
    expected = (statistics.mean(values), statistics.stdev(values) / statistics.mean(values))
    assert pooled([_summary(part) for part in parts]) == pytest.approx(expected)
    known = [_write(1.0)._replace(rates_bytes_per_s=part) for part in parts]
    assert pooled([known[0], *map(_summary, parts[1:])]) == pytest.approx(expected)


def test_one_repetition_has_no_scatter_and_a_lone_one_is_kept() -> None:
    """One value has none; the scatter that a file gives without a count comes out as it went in."""
    assert pooled([_write(2e9)]) == (2e9, None)
    assert pooled([_write(2e9, cv=0.25)]) == pytest.approx((2e9, 0.25))


def test_one_node_is_the_whole_only_if_all_its_measurements_say_so() -> None:
    """A node that is all of the job gives the aggregate; beside one that is not, that is left out and said."""
    whole = _write(1e9, is_whole=True)
    alone = combined([whole], WRITE)
    assert alone is not None
    assert alone.aggregate_bytes_per_s == 1e9
    both = combined([whole, _write(1e9)], WRITE)
    assert both is not None
    assert both.aggregate_bytes_per_s is None
    assert "write_bandwidth is left out" in both.notes[0]
