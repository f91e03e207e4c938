from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.errors import InputError
from ckptplan.simulate import Process, law, nodes, recorded, simulate_cycles

PROCESS = Process(1000.0, 50.0, 300.0, 0.8, 100.0, 400.0)
GAPS = law("exponential", 6000.0)
EVENT_LOOP = Path(__file__).parents[2] / "benchmarks" / "event_loop.py"


@pytest.fixture
def event_loop(monkeypatch):
    """The plain event loop of the benchmarks."""
    spec = importlib.util.spec_from_file_location("event_loop", EVENT_LOOP)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "event_loop", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("failures", [100, 50_000])
def test_parts_sum_to_the_clock(strike, failures):
    """Both ledgers sum to the wall time that the clock of failures measured."""
    run = simulate_cycles(PROCESS._replace(strike=strike), GAPS, failures=failures, seed=1)
    assert run.wall_s == pytest.approx(run.clock_s, rel=1e-12)
    for ledger in (run.kept, run.gross):
        assert sum(share.value for share in ledger) == pytest.approx(1.0, rel=1e-12)


def test_chains_book_the_same_as_cycles():
    """Chains, used where a copy may survive, agree with independent cycles when hardly ever one does."""
    cycles = simulate_cycles(PROCESS, GAPS, failures=500_000, seed=2)
    chains = simulate_cycles(PROCESS._replace(host_copy_survives=1e-12), GAPS, failures=500_000, seed=3)
    for ledger, other in ((cycles.kept, chains.kept), (cycles.gross, chains.gross)):
        for one, two in zip(ledger, other, strict=True):
            assert abs(one.value - two.value) < 4 * np.hypot(one.error, two.error)
            assert one.error == pytest.approx(two.error, rel=0.15)


@pytest.mark.parametrize(("flush", "speed"), [(0.0, 1.0), (300.0, 0.8), (1000.0, 1.0), (400.0, 0.0)])
def test_the_plain_event_loop_agrees(event_loop, flush, speed):
    """A loop over segments, written independently, gives the same shares of wall time in every part."""
    run = simulate_cycles(Process(1000.0, 50.0, flush, speed, restart_s=500.0), GAPS, failures=400_000, seed=4)
    out = event_loop.play(event_loop.Setting(1000.0, 50.0, flush, speed, 500.0, 6000.0), 40_000, 5)
    parts = (out.useful_s, out.saving_s, out.lost_s, out.recovering_s)
    assert sum(parts) == pytest.approx(out.wall_s, rel=1e-9)
    for share, seconds in zip(run.gross, parts, strict=True):
        # The loop has a tenth of the failures: its error is sqrt(10) times that of the simulator.
        assert abs(share.value - seconds / out.wall_s) < 4 * np.sqrt(11) * share.error


def test_standard_error_is_that_of_repetition():
    """Over 200 seeds the goodput scatters as its standard error says."""
    runs = [simulate_cycles(PROCESS, GAPS, failures=4096, seed=seed) for seed in range(200)]
    scatter = np.std([run.goodput for run in runs], ddof=1)
    # The standard deviation of a sample of 200 is known to 5 %.
    assert scatter == pytest.approx(np.mean([run.goodput_error for run in runs]), rel=0.2)


def test_a_record_by_hand():
    """Gaps of 1230 s and 400 s, recovery 100 s and 200 s struck: shares follow by hand."""
    process = Process(400.0, 100.0, downtime_s=100.0, restart_s=200.0, strike=Strike.R)
    run = simulate_cycles(process, recorded([1230.0, 400.0, 150.0], in_order=True), failures=3)
    # Uptimes 1030, 200 and 0 after restarts of 200, 200 and (struck) 150, each with 100 of downtime.
    assert run.clock_s == run.wall_s == 2080.0
    assert [share.value * 2080.0 for share in run.kept] == pytest.approx([800, 200, 230, 850])
    assert run.saves == 2


def test_same_seed_same_numbers():
    """A seed fixes the result, another seed changes it."""
    first, again, other = (simulate_cycles(PROCESS, GAPS, failures=5000, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.goodput != other.goodput


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interval_s": 0.0}, "interval_s must be a positive number"),
        ({"interval_s": float("inf")}, "interval_s must be a positive number"),
        ({"stall_s": -1.0}, "stall_s must be a number of seconds, not negative; got -1"),
        ({"restart_s": float("nan")}, "restart_s must be"),
        ({"speed": 1.5}, "speed must lie between 0 and 1"),
        ({"host_copy_survives": -0.1}, "host_copy_survives must lie between 0 and 1"),
        ({"flush_s": 2000.0}, "below the floor of 1600 s"),
    ],
)
def test_bad_processes(changes, message):
    """A process without meaning is refused in one sentence."""
    with pytest.raises(InputError, match=message):
        simulate_cycles(PROCESS._replace(**changes), GAPS)


def test_other_bad_arguments():
    """Too few failures, new nodes without end, and a run that never keeps a save are refused."""
    with pytest.raises(InputError, match="at least 2; got 1"):
        simulate_cycles(PROCESS, GAPS, failures=1)
    with pytest.raises(InputError, match="new nodes have no long run"):
        simulate_cycles(PROCESS, nodes(law("weibull", 6000.0, 0.7), 4, are_new=True))
    with pytest.raises(InputError, match="no save was ever kept in 10,000 failures"):
        simulate_cycles(PROCESS, law("exponential", 1.0), failures=10_000)
