"""Single chains whose events are set by hand: what a drain, a planned save or a verification does then."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.simulate.spectrum import FailStop, Noticed, Silent, SpectrumProcess
from ckptplan.simulate.spectrum.chains import FOUND, RUNNING, Chains
from ckptplan.simulate.spectrum.events import step
from ckptplan.simulate.spectrum.process import checked

NEVER = 1e12
TWO = SpectrumProcess(100.0, (0.0, 0.0), (5.0, 5.0), (), (1, 1), (0.0, 60.0))
THREE = SpectrumProcess(100.0, (0.0,) * 3, (5.0,) * 3, (), (1, 1, 1), (0.0, 40.0, 50.0))


def _after(process: SpectrumProcess, *, running: float = NEVER, error: float = NEVER) -> Chains:
    """One new chain after its first recovery; the running clock strikes, and the error comes, at the given times."""
    chains = Chains(checked(process), 1, np.random.default_rng(0), work_s=1e9)
    chains.clocks_s[RUNNING, 0], chains.error_s[0] = running, error
    while chains.recoveries[0] == 0:
        step(chains)
    return chains


def _seen(chains: Chains) -> tuple[float, list[float]]:
    """Position in seconds, and what is left of each drain."""
    return float(chains.worked(chains.number)[0]), chains.left_s[:, 0].tolist()


@pytest.mark.parametrize(
    ("process", "level", "failed_at", "seen"),
    [
        # The drain to level 2 goes on from 100 to 160 s; it starts anew where level 1 is left.
        (TWO, 1, 150.0, (100.0, [60.0])),
        (TWO, 2, 150.0, (0.0, [0.0])),
        (TWO, 1, 165.0, (100.0, [0.0])),
        (TWO, 2, 165.0, (100.0, [0.0])),
        # To level 2 from 100 to 140 s, from there to level 3 until 190 s, which needs what is on level 2.
        (THREE, 1, 130.0, (100.0, [40.0, 50.0])),
        (THREE, 2, 130.0, (0.0, [0.0, 0.0])),
        (THREE, 1, 150.0, (100.0, [0.0, 50.0])),
        (THREE, 2, 150.0, (100.0, [0.0, 50.0])),
        (THREE, 3, 150.0, (0.0, [0.0, 0.0])),
        # Level 3 has every save at once: level 2 gets its copy from there in the restart.
        (THREE._replace(flush_s=(0.0, 60.0, 0.0)), 1, 150.0, (100.0, [60.0])),
        (THREE._replace(flush_s=(0.0, 60.0, 0.0)), 2, 150.0, (100.0, [0.0])),
    ],
)
def test_drains_after_a_failure(process, level, failed_at, seen):
    """A drain starts anew if what it reads from is left, and comes to nothing if not."""
    crash = FailStop("crash", NEVER, level)
    assert _seen(_after(process._replace(causes=(crash,)), running=failed_at)) == seen


def test_drains_of_saves_that_are_given_up():
    """Going back behind a save ends its drains, although their level is left."""
    sdc = Silent("sdc", NEVER, 60.0, fixed=True)
    assert _seen(_after(THREE._replace(causes=(sdc,)), error=90.0)) == (0.0, [0.0, 0.0])


def test_a_newer_save_is_drained_instead():
    """A drain that is still under way when the next one is due is given up, with the one that waits for it."""
    crash = FailStop("crash", NEVER, 1)
    process = THREE._replace(every=(1, 2, 4), flush_s=(0.0, 150.0, 40.0), causes=(crash,))
    chains = _after(process, running=540.0)
    # The save at 400 s was on its way to level 2 until 550 s, and for level 3; the newest on level 1 is at 500 s.
    assert _seen(chains) == (500.0, [150.0, 40.0])
    chains.clocks_s[RUNNING, 0] = 155.0
    while chains.recoveries[0] == 1:
        step(chains)
    # At 600 s the drain had 50 s left. The newer save has now been on its way for 55 s, and starts anew.
    assert _seen(chains) == (600.0, [150.0, 0.0])
    assert [level.listed[0, 0] for level in chains.tiers.levels] == [6.0, 2.0, 0.0]


def test_a_planned_save_ends_the_drains():
    """A planned save is durable on all levels at the end of its stall: drains of older saves are not needed."""
    noticed = Noticed("maintenance", NEVER, level=1)
    chains = _after(TWO._replace(causes=(noticed,)), running=150.0)
    assert _seen(chains) == (150.0, [0.0])
    assert chains.books.planned.tolist() == [[60.0]]
    crash = chains.tiers.choose(chains.number, np.array([1.9]), np.array([np.inf]), np.array([1]))
    assert crash.position.tolist() == [1.5]


def test_delays_run_during_planned_saves():
    """The delay of an error at 50 s, 700 s, has run for 100 s of work and 40 s of a planned save."""
    causes = (Noticed("maintenance", NEVER, save_s=40.0), Silent("sdc", NEVER, 700.0, fixed=True))
    chains = _after(TWO._replace(causes=causes), running=150.0, error=50.0)
    assert chains.clocks_s[FOUND, 0] == pytest.approx(560.0)
    assert chains.corrupt[0] == 0.5


def test_an_error_in_a_planned_save_is_found():
    """The verification after a planned save finds the error that it holds, and training goes back to before that."""
    causes = (Noticed("maintenance", NEVER), Silent("sdc", NEVER))
    process = SpectrumProcess(100.0, (0.0,), (5.0,), causes, verifications=1, verify_s=10.0)
    chains = _after(process, running=80.0, error=50.0)
    assert _seen(chains)[0] == 80.0
    while chains.recoveries[0] == 1:
        step(chains)
    assert _seen(chains)[0] == 0.0
    assert chains.books.thrown_back[1, 0] == 100.0


@pytest.mark.parametrize(("struck_at", "thrown_back"), [(105.0, 100.0), (120.0, 100.0)])
def test_errors_in_pauses(struck_at, thrown_back):
    """An error during a verification is found at its end; one in the stall behind it by the next one, 100 s later."""
    process = SpectrumProcess(
        100.0, (20.0,), (5.0,), (Silent("sdc", NEVER, on_stalls=True),), verifications=1, verify_s=10.0
    )
    chains = _after(process, running=struck_at)
    assert chains.books.thrown_back[0, 0] == thrown_back
    wall_s = {105.0: 115.0, 120.0: 245.0}[struck_at]
    assert chains.books.wall_s()[0] == pytest.approx(wall_s)
