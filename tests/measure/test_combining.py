"""Several phases as one set of bandwidths."""

from __future__ import annotations

import pytest

from ckptplan.measure.combining import combined
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
