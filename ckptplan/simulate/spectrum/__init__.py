"""Monte-Carlo of the whole spectrum of faults, event by event; shares no formula with ``interval``.

Training does W of work, then saves, on the highest level that is due; the state saved is the one at the start of the
stall, and the save is one on all levels below. A level may be reached by a drain from the level below, beside training
that goes on at a lower speed: drains from one save follow each other, drains from different saves to different levels
run together, and then their speeds multiply. A save is durable on a level at the end of the drain to it, without one at
the end of the stall. A drain must end before the next to the same level starts.

A fail-stop cause leaves the levels from some one on; training resumes from the newest durable save there, and all lower
levels hold that state, too. A drain that was under way to a level above starts anew beside training; where the next one
to the same level is due before that ends, the newer save is drained and the older given up. A cause that
strikes a recovery starts it anew, on its own terms, with the higher of the two levels needed.

A silent error makes the state and all later saves dirty, until a verification or a delay finds it: then training goes
back to the newest clean save that is kept, on a level that serves it. Verifications stand before every save, or only
before those on a level or a higher one; the levels below then hold what has not been verified. Going back further
undoes the error; a dirty save brings it back with the rest of its delay. While a state is corrupt, further errors count
for nothing. A loss spike comes with new work only, is noticed some work later, and takes training back to the newest
kept save before it. A slow node slows all of training until it is found, one at a time; its eviction, and an
interruption with notice, is a planned save, durable on all levels at the end of its stall, and a recovery without
rework. A planned save leaves the rhythm of the others as it is.

Each level keeps its newest saves; a planned one is extra, until the level has a newer one. A rollback deletes the saves
after it. The clock of errors and spikes runs with work, all others with training; they stand still in recoveries, but
for what `Strike` says of the fail-stop causes. All are exponential.

A run without end is simulated as many chains, from recovery to recovery; a run of finite work saves after every W, but
not after the last piece, and ends when all the work is done, also with a save still on its way, or with an error that
nobody found.
"""

from __future__ import annotations

from ckptplan.simulate.spectrum.causes import Cause, FailStop, Noticed, Silent, Slow, Spike
from ckptplan.simulate.spectrum.long_run import SpectrumLongRun, simulate_spectrum
from ckptplan.simulate.spectrum.process import SpectrumProcess
from ckptplan.simulate.spectrum.runs import SpectrumRuns, simulate_spectrum_runs
from ckptplan.simulate.spectrum.shares import CauseShare, SpectrumShares, SpectrumTimes

__all__ = [
    "Cause",
    "CauseShare",
    "FailStop",
    "Noticed",
    "Silent",
    "Slow",
    "SpectrumLongRun",
    "SpectrumProcess",
    "SpectrumRuns",
    "SpectrumShares",
    "SpectrumTimes",
    "Spike",
    "simulate_spectrum",
    "simulate_spectrum_runs",
]
