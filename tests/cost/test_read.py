"""Time to read a checkpoint back, by the slowest of three limits."""

import pytest

from ckptplan.cost.read import ReadRates, read_time
from ckptplan.cost.restart import load_time


def test_the_slowest_limit_holds() -> None:
    """Each limit is its bytes over its bandwidth; the largest is the time, and it is named."""
    found = read_time(1000e9, 100e9, 20e9, ReadRates(50e9, 4e9, 1e9))
    assert found is not None
    assert dict(found.candidates) == {
        "aggregate read bandwidth": 20.0,
        "read bandwidth of the busiest node": 25.0,
        "read bandwidth of the busiest rank": 20.0,
    }
    assert (found.seconds, found.binds) == (25.0, "read bandwidth of the busiest node")


def test_what_is_not_known_does_not_count() -> None:
    """Without any bandwidth there is no time; with one of them that one counts."""
    assert read_time(1e9, 1e9, 1e9, ReadRates()) is None
    found = read_time(8e9, 4e9, 2e9, ReadRates(per_reader_bytes_per_s=1e9))
    assert found is not None
    assert found.candidates == (("read bandwidth of the busiest rank", 2.0),)


def test_the_latency_counts_once() -> None:
    """As in the load time of a restart that is computed."""
    found = read_time(6e9, 6e9, 6e9, ReadRates(3e9, latency_s=0.5))
    assert found is not None
    assert found.seconds == pytest.approx(float(load_time(6e9, 3e9, 0.5)))
    assert found.seconds == 2.5
