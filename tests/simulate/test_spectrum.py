from __future__ import annotations

import numpy as np
import pytest

from ckptplan.cost.scenario import Strike
from ckptplan.errors import InputError
from ckptplan.simulate.spectrum import (
    FailStop,
    Noticed,
    Silent,
    Slow,
    SpectrumProcess,
    Spike,
    recoveries,
    runs,
    simulate_spectrum,
    simulate_spectrum_runs,
)
from ckptplan.simulate.spectrum.chains import Chains
from ckptplan.simulate.spectrum.events import step
from ckptplan.simulate.spectrum.process import checked
from tests.simulate.test_spectrum_event_loop import PROCESSES

ONE = SpectrumProcess(1000.0, (50.0,), (400.0,), (FailStop("crash", 6000.0),), downtime_s=100.0)
EVERYTHING = PROCESSES["everything"]


@pytest.mark.parametrize("name", ["two levels", "everything", "late detection"])
def test_parts_sum_to_wall_time(name):
    """Both ledgers sum to one, and what the causes take is the rework, the restarts and the slow time."""
    run = simulate_spectrum(PROCESSES[name], failures=3000, seed=1)
    for ledger in (run.kept, run.gross):
        assert sum(share.value for share in ledger) == pytest.approx(1.0, rel=1e-12)
    assert run.kept.useful == run.gross.useful == (run.goodput, run.goodput_error)
    for part in ("rework", "restart", "slow"):
        by_cause = sum(getattr(cause, part).value for cause in run.causes)
        assert by_cause == pytest.approx(getattr(run.gross, part).value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", list(PROCESSES))
def test_jumping_is_gliding(name, monkeypatch):
    """A chain that jumps from event to event does what it does going from one change of phase to the next."""
    books = []
    for jumps in (True, False):
        with monkeypatch.context() as patch:
            if not jumps:
                patch.setattr(Chains, "enter", lambda self, chains: self.regular.put(chains, False))
            chains = Chains(checked(PROCESSES[name]), 1, np.random.default_rng(1))
            while chains.recoveries[0] < 40:
                step(chains)
        books.append(np.concatenate([part.ravel() for part in (*chains.books, chains.position(chains.number * 0))]))
    np.testing.assert_allclose(books[0], books[1], rtol=1e-9, atol=1e-6)


def test_standard_error_is_that_of_repetition():
    """Over 40 seeds the goodput scatters as its standard error says."""
    sample = [simulate_spectrum(ONE, failures=4096, seed=seed) for seed in range(40)]
    scatter = np.std([run.goodput for run in sample], ddof=1)
    # The standard deviation of a sample of 40 is known to 11 %.
    assert scatter == pytest.approx(np.mean([run.goodput_error for run in sample]), rel=0.4)


def test_same_seed_same_numbers():
    """A seed fixes the result, another seed changes it."""
    first, again, other = (simulate_spectrum(EVERYTHING, failures=300, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.goodput != other.goodput
    first, again = (simulate_spectrum_runs(EVERYTHING, 5000.0, runs=50, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.wall_s, again.wall_s)


def test_a_run_without_an_event_by_hand():
    """Six segments of 100 s, saves on level 2 after the second and fourth, a drain of 30 s at half speed after each."""
    quiet = SpectrumProcess(
        100.0, (2.0, 5.0), (0.0, 0.0), (), (1, 2), (0.0, 30.0), (1.0, 0.5), verifications=2, verify_s=1.0
    )
    run = simulate_spectrum_runs(quiet, 600.0, runs=2)
    # Saves end segments 1 to 5; verifications end all halves but the last one, behind which nothing comes.
    np.testing.assert_allclose(run.gross.save, 3 * 2.0 + 2 * 5.0 + 2 * 15.0)
    np.testing.assert_allclose(run.gross.verify, 11.0)
    np.testing.assert_allclose(run.wall_s, 600.0 + 46.0 + 11.0)
    assert run.kept.rework.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("lost_s", [None, 450.0])
def test_a_rollback_for_which_no_save_is_left(lost_s):
    """The error at 250 s found at 950 s goes back to 200 s as if archived, or by the given loss to 500 s at most."""
    sdc = Silent("sdc", 1.0, 700.0, fixed=True, restart_s=10.0)
    process = checked(SpectrumProcess(100.0, (0.0,), (0.0,), (sdc,), keep=2, unkept_lost_s=lost_s))
    chains = Chains(process, 1, np.random.default_rng(0), work_s=1000.0)
    chains.error_s[0] = 250.0
    step(chains)
    assert chains.corrupt[0] == 2.5
    step(chains)
    # 450 s before 950 s is past the error: the state must be clean, so that it is the save at 200 s in any case.
    assert chains.worked(chains.number)[0] == 200.0
    assert chains.books.thrown_back.tolist() == [[750.0]]
    assert chains.books.unkept.tolist() == [[1.0]]
    assert chains.corrupt[0] == np.inf


def test_a_given_loss():
    """Where the given loss of 820 s reaches further back than the error, it decides: from 950 s to 100 s."""
    sdc = Silent("sdc", 1.0, 700.0, fixed=True)
    process = checked(SpectrumProcess(100.0, (0.0,), (0.0,), (sdc,), keep=2, unkept_lost_s=820.0))
    chains = Chains(process, 1, np.random.default_rng(0), work_s=1000.0)
    chains.error_s[0] = 250.0
    step(chains)
    step(chains)
    assert chains.worked(chains.number)[0] == 100.0


def test_a_dirty_save_keeps_the_error():
    """A failure that goes back to a dirty save leaves the error and its delay; one to a clean save ends it."""
    process = SpectrumProcess(100.0, (0.0,), (0.0,), (FailStop("crash", 1e9), Silent("sdc", 1e9, 700.0, fixed=True)))
    for failed_at, is_dirty in ((550.0, True), (280.0, False)):
        chains = Chains(checked(process), 1, np.random.default_rng(0), work_s=1e6)
        chains.error_s[0], chains.clocks_s[0, 0] = 250.0, failed_at
        step(chains)
        step(chains)
        assert chains.worked(chains.number)[0] == 100.0 * (failed_at // 100.0)
        if is_dirty:
            assert (chains.corrupt[0], chains.clocks_s[1, 0]) == (2.5, pytest.approx(400.0))
        else:
            assert np.isinf([chains.corrupt[0], chains.clocks_s[1, 0]]).all()


def test_precision():
    """With a wanted precision runs go on until it is there, and no further."""
    loose = simulate_spectrum_runs(ONE, 20_000.0, runs=50, precision=0.05)
    tight = simulate_spectrum_runs(ONE, 20_000.0, runs=50, precision=0.002, max_runs=30_000)
    assert loose.precision_reached
    assert tight.precision_reached
    assert loose.wall_s.size < tight.wall_s.size < 30_000
    assert tight.precision <= 0.002
    assert not simulate_spectrum_runs(ONE, 20_000.0, runs=50, precision=1e-6, max_runs=60).precision_reached


def test_runs_that_end_on_an_error():
    """An error whose detection would come after the end of the run stays in its result, and is counted."""
    process = SpectrumProcess(100.0, (0.0,), (0.0,), (Silent("sdc", 1000.0, 1e6, fixed=True),))
    ended = simulate_spectrum_runs(process, 1000.0, runs=4000)
    assert ended.wall.sd == pytest.approx(0.0, abs=1e-9)
    share = 1 - np.exp(-1)
    assert abs(ended.corrupt_at_end - 4000 * share) < 4 * np.sqrt(4000 * share * (1 - share))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"interval_s": 0.0}, "interval_s must be a positive number"),
        ({"slot_stall_s": (1.0, 2.0)}, "slot_stall_s must have one number per level, 1; got 2"),
        ({"restart_s": (-1.0,)}, "restart_s must be finite, not negative; got -1"),
        ({"every": (2,)}, "every must begin with 1"),
        ({"speed": (1.5,)}, "speed must lie between 0 and 1"),
        ({"flush_s": (2000.0,)}, "the drain to level 1 needs 950 s more"),
        ({"downtime_s": float("nan")}, "downtime_s must be finite"),
        ({"verifications": 1.5}, "verifications must be a whole number"),
        ({"verify_s": 5.0}, "verify_s without verifications"),
        ({"keep": 0}, "keep must be whole numbers of at least 1"),
        ({"keep": (1, 1)}, "one for each of 1 levels"),
        ({"archive_every": -1}, "archive_every must be a whole number"),
        ({"unkept_lost_s": -1.0}, "unkept_lost_s must be finite"),
        ({"causes": ()}, "nothing goes wrong"),
        ({"causes": (FailStop("a", 1.0), FailStop("a", 2.0))}, "every cause needs a name of its own; got a, a"),
        ({"causes": (FailStop("a", 0.0),)}, "a: mtbf_s must be positive"),
        ({"causes": (FailStop("a", 1.0, 2),)}, "a: level must be a whole number from 1 to 1; got 2"),
        ({"causes": (FailStop("a", 1.0, (0.5,)),)}, "a: level must give one probability for each of 1 levels"),
        ({"causes": (FailStop("a", 1.0, restart_s=(1.0, 2.0)),)}, "a: restart_s must be one number, or one for each"),
        ({"causes": (FailStop("a", 1.0, restart_s=(-1.0,)),)}, "a: restart_s must be a finite number, not negative"),
        ({"causes": (Silent("a", 1.0),)}, "nothing finds the silent causes"),
        ({"causes": (Silent("a", 1.0), Silent("b", 1.0, 3.0)), "verifications": 1}, "not some by each"),
        ({"causes": (Spike("a", 1.0, -1.0),)}, "a: back_s must be a finite number"),
        ({"causes": (Slow("a", 1.0, float("inf"), 1.0),)}, "a: slowdown must be a finite number"),
        ({"causes": (Noticed("a", 1.0, notice_s=-1.0),)}, "a: notice_s must not be negative"),
    ],
)
def test_bad_processes(changes, message):
    """A process without meaning is refused in one sentence."""
    with pytest.raises(InputError, match=message):
        simulate_spectrum(ONE._replace(**changes))


def test_other_bad_arguments(monkeypatch):
    """Bad numbers of runs, and runs that do not get on, are refused."""
    with pytest.raises(InputError, match="at least 2; got 1"):
        simulate_spectrum(ONE, failures=1)
    with pytest.raises(InputError, match="the work of a run must be a positive number"):
        simulate_spectrum_runs(ONE, 0.0)
    with pytest.raises(InputError, match="runs must be a whole number"):
        simulate_spectrum_runs(ONE, 1.0, runs=0)
    with pytest.raises(InputError, match="precision must lie between 0 and 1"):
        simulate_spectrum_runs(ONE, 1.0, precision=2.0)
    monkeypatch.setattr(runs, "PATIENCE", 200)
    monkeypatch.setattr(recoveries, "MOST_STRIKES", 200)
    short = ONE._replace(causes=(FailStop("crash", 1.0),), strike=Strike.SAFE)
    with pytest.raises(InputError, match="no progress in 1,054 recoveries"):
        simulate_spectrum(short, failures=1000)
    with pytest.raises(InputError, match="the run does not get on: 200 recoveries"):
        simulate_spectrum_runs(short, 5000.0, runs=2)
    with pytest.raises(InputError, match="a recovery was struck 200 times in a row"):
        simulate_spectrum_runs(short._replace(strike=Strike.DR), 5000.0, runs=1)
