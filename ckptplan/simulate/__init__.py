"""Monte-Carlo of whole runs: the process itself, played failure by failure; shares no formula with ``interval``.

Training starts, and resumes after each recovery, at full speed with nothing in flight. After W of useful work a save
starts: training stalls for d (the state saved is the one at the start of the stall), then a flush of length F runs in
the background while training goes on at speed om. The save is durable when the flush ends; the next one starts after
another W of work, and ``W >= om F``. On the clock that starts at the resume, with ``P = W + d + (1 - om) F``, save
j = 1, 2, ... starts at ``W + (j - 1) P``, its copy is complete d later, and it is durable F after that, at
``j P + om F``. A synchronous save has F = 0.

A failure goes back to the newest durable save; recovery is a downtime D, then a restart R. With `Strike.SAFE` the
clock of failures stands still in both and is renewed when training resumes; with `Strike.R` it stands still in D, is
renewed at the start of R and may strike in R; with `Strike.DR` it is renewed at the failure and may strike in both. A
recovery that is struck starts again with D.

A fraction phi of the failures is soft and leaves the copy in host memory: training resumes from the newest save whose
copy is complete. If that save was not durable, its flush starts anew beside training, and until it ends a hard failure
goes back to the durable save before.

A run of finite work saves after every W, but not after the last piece, and leaves a save out whose flush would not end
before the run does. It ends when all the work is done.
"""

from __future__ import annotations

from ckptplan.simulate.cycles import LongRun, Share, Shares, simulate_cycles
from ckptplan.simulate.gaps import Gaps, gaps_of, law, nodes, recorded
from ckptplan.simulate.process import Process
from ckptplan.simulate.runs import Runs, simulate_runs
from ckptplan.simulate.summary import Breakdown, MeanShares, Summary, standard_errors

__all__ = [
    "Breakdown",
    "Gaps",
    "LongRun",
    "MeanShares",
    "Process",
    "Runs",
    "Share",
    "Shares",
    "Summary",
    "gaps_of",
    "law",
    "nodes",
    "recorded",
    "simulate_cycles",
    "simulate_runs",
    "standard_errors",
]
