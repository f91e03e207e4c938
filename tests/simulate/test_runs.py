from __future__ import annotations

import pickle

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.errors import InputError
from ckptplan.simulate import Process, law, nodes, recorded, simulate_runs

PROCESS = Process(1000.0, 50.0, 300.0, 0.8, 100.0, 400.0)
GAPS = law("exponential", 6000.0)


def _bytes(runs) -> bytes:
    return pickle.dumps((runs.wall_s, runs.clock_s, runs.failures, runs.saves_begun, runs.kept, runs.gross))


@pytest.mark.parametrize("strike", list(Strike))
@pytest.mark.parametrize("survives", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("gaps", [GAPS, law("weibull", 6000.0, 0.6), nodes(law("weibull", 6e4, 0.6), 10)])
def test_parts_sum_to_the_clock(strike, survives, gaps):
    """In every run both ledgers sum to the wall time by the clock of failures."""
    runs = simulate_runs(PROCESS._replace(strike=strike, host_copy_survives=survives), gaps, 50_300.0, runs=300, seed=1)
    for total in (sum(runs.kept), sum(runs.gross), runs.wall_s):
        assert total == pytest.approx(runs.clock_s, rel=1e-9)
    for part in (*runs.kept, *runs.gross):
        assert (part >= -1e-9).all()
    assert (runs.saves_begun >= runs.pieces.saves).all()
    assert sum(runs.shares(runs.kept)) == pytest.approx(1.0, rel=1e-12)
    assert sum(runs.shares(runs.gross)) == pytest.approx(1.0, rel=1e-12)


def test_replay_by_hand():
    """Three given failures: the run equals the one worked out on paper."""
    process = Process(100.0, 10.0, 40.0, 0.5, 5.0, 20.0, Strike.R)  # P = 130, durable at 150, 280, ...
    runs = simulate_runs(process, recorded([160.0, 15.0, 200.0, 1e6], in_order=True), 330.0)
    # From 0 to 160: save 1 is durable. Then 5 s down, restart struck after 15 s; 5 s down, 20 s of restart and 180 s
    # of training, in which save 2 becomes durable; 25 s of recovery. Left are 130 s of work with one save: 160 s.
    assert runs.wall_s == [160.0 + 20.0 + 205.0 + 25.0 + 160.0]
    assert list(runs.failures) == [3]
    assert runs.pieces == (3, 30.0)
    kept = [float(part[0]) for part in runs.kept]
    assert kept == [330.0, 90.0, 30.0 + 50.0, 70.0]
    # By phases: at 160 s the save has cost 30 s and 30 s of work are at risk; at 180 s again, and 50 s of work.
    gross = [float(part[0]) for part in runs.gross]
    assert gross == [330.0, 30.0 + 30.0 + 30.0, 30.0 + 50.0, 70.0]
    assert list(runs.saves_begun) == [3]


def test_struck_in_a_save():
    """A failure in the stall and one in the flush: the ledgers differ by what those saves had cost."""
    process = Process(100.0, 10.0, 40.0, 0.5, restart_s=20.0, strike=Strike.SAFE)
    runs = simulate_runs(process, recorded([106.0, 120.0, 1e6], in_order=True), 200.0)
    assert [float(part[0]) for part in runs.kept] == [200.0, 30.0, 226.0, 40.0]
    assert [float(part[0]) for part in runs.gross] == [200.0, 6.0 + 15.0 + 30.0, 100.0 + 105.0, 40.0]
    assert list(runs.saves_begun) == [3]


def test_soft_failure_resumes_from_the_copy():
    """A soft failure in the flush keeps the copy; its flush is done anew, beside training."""
    process = Process(100.0, 10.0, 40.0, 0.5, restart_s=20.0, strike=Strike.SAFE, host_copy_survives=1.0)
    runs = simulate_runs(process, recorded([120.0, 30.0, 1e6], in_order=True), 180.0)
    # 110 s up to the copy count, 10 s do not; 30 s of the second flush do not; then 40 s at half speed and 60 s.
    assert runs.wall_s == [120.0 + 20.0 + 30.0 + 20.0 + 40.0 + 60.0]
    assert [float(part[0]) for part in runs.kept] == [180.0, 30.0, 40.0, 40.0]
    assert [float(part[0]) for part in runs.gross] == [180.0, 10.0 + 5.0 + 15.0 + 20.0, 5.0 + 15.0, 40.0]


def test_no_failure():
    """Without failures a run takes its work and its saves."""
    runs = simulate_runs(PROCESS, law("exponential", 1e15), 10_000.0, runs=5)
    assert runs.pieces == (9, 1000.0)
    assert (runs.wall_s == 10_000.0 + 9 * 110.0).all()
    assert (runs.failures == 0).all()
    assert runs.precision == 0.0


def test_failure_in_the_first_second():
    """A failure at once costs that second and a recovery, nothing else."""
    runs = simulate_runs(PROCESS, recorded([0.5, 1e9], in_order=True), 10_000.0)
    assert runs.wall_s == [0.5 + 500.0 + 10_000.0 + 990.0]
    assert runs.kept.rework == [0.5]


def test_shorter_than_one_interval():
    """Work below one interval is done without a save."""
    runs = simulate_runs(PROCESS, recorded([700.0, 1e9], in_order=True), 900.0)
    assert runs.pieces == (0, 900.0)
    assert runs.wall_s == [700.0 + 500.0 + 900.0]
    assert runs.gross.save == [0.0]


@pytest.mark.parametrize(
    ("work", "pieces"),
    [(3000.0, (2, 1000.0)), (3239.0, (2, 1239.0)), (3240.0, (3, 240.0)), (3300.0, (3, 300.0)), (1000.0, (0, 1000.0))],
)
def test_a_save_that_would_not_end_is_left_out(work, pieces):
    """The flush takes 240 s of work: with less than that left, the save before is not begun."""
    runs = simulate_runs(PROCESS, law("exponential", 1e15), work, runs=1)
    assert runs.pieces == pieces
    assert runs.wall_s == pytest.approx([work + pieces[0] * 110.0], rel=1e-15)


def test_jobs_give_the_same_bytes():
    """Two processes give the bytes of one, also when a wanted precision decides how many runs there are."""
    short = {"gaps": GAPS, "work_s": 20_000.0, "seed": 7}
    one, two = (simulate_runs(PROCESS, **short, runs=9000, jobs=jobs) for jobs in (1, 2))
    assert one.wall_s.size == 9000
    assert _bytes(one) == _bytes(two)
    one, two = (simulate_runs(PROCESS, **short, precision=0.0016, jobs=jobs) for jobs in (1, 2))
    assert one.precision_reached
    assert one.wall_s.size > 4096
    assert _bytes(one) == _bytes(two)


def test_precision():
    """A wanted precision ends the simulation as soon as the interval is that narrow, or says that it is not."""
    seen = []
    runs = simulate_runs(
        PROCESS, GAPS, 20_000.0, precision=0.002, seed=8, progress=lambda done, total: seen.append((done, total))
    )
    wall = runs.wall
    assert (wall.high - wall.low) / 2 / wall.mean == pytest.approx(runs.precision, rel=1e-9)
    assert runs.precision <= 0.002
    assert seen[-1] == (runs.wall_s.size, runs.wall_s.size)
    short = simulate_runs(PROCESS, GAPS, 20_000.0, runs=100, precision=1e-6, max_runs=500, seed=8)
    assert not short.precision_reached
    assert short.wall_s.size == 500


def test_interval_of_the_mean_covers():
    """The 95 % interval holds the mean of a large sample in about 95 of 100 repetitions."""
    true = simulate_runs(PROCESS, GAPS, 20_000.0, runs=100_000, seed=9).wall.mean
    walls = [simulate_runs(PROCESS, GAPS, 20_000.0, runs=200, seed=seed).wall for seed in range(100, 300)]
    covered = np.mean([wall.low <= true <= wall.high for wall in walls])
    assert 0.90 <= covered <= 0.99
    assert all(wall.p5 < wall.p50 < wall.p95 for wall in walls)


def test_no_progress_ends():
    """A run that never keeps a save ends with a sentence, not with a hang."""
    with pytest.raises(InputError, match="does not get on: 20,000 failures in a row"):
        simulate_runs(PROCESS, law("exponential", 20.0), 1e6, runs=4)
    with pytest.raises(InputError, match="does not get on"):
        simulate_runs(PROCESS, law("exponential", 20.0), 1e6, runs=4, jobs=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"work_s": 0.0}, "work of a run must be a positive number"),
        ({"work_s": float("inf")}, "work of a run must be a positive number"),
        ({"runs": 0}, "runs must be a whole number of at least 1; got 0"),
        ({"jobs": 0}, "jobs must be a whole number"),
        ({"max_runs": 1.5}, "max_runs must be a whole number"),
        ({"precision": 0.0}, "precision must lie between 0 and 1"),
    ],
)
def test_bad_arguments(arguments, message):
    """Arguments without meaning are refused in one sentence."""
    with pytest.raises(InputError, match=message):
        simulate_runs(PROCESS, GAPS, **{"work_s": 10_000.0, **arguments})
