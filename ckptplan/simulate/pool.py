"""The pool of nodes, played event by event: spares, waiting for a node, going on with fewer replicas.

A job needs ``nodes`` nodes; ``spares`` more are there. Each node that fails is repaired at once, beside all others, for
a time drawn from any law, and is then as good as new. A failure of a node in use stops the job for a restart.

`Mode.WAIT`: while more nodes are down than there are spares the job waits, and restarts when a node is back.
`Mode.SHRINK`: each node is a replica. A failure beyond the spares removes one, which takes a reshard after the restart;
a repair that brings one back takes a reshard. The job waits only while no replica is left.

When nodes fail: `Failing.WORK`, at a given rate while the job works; `Failing.RUN`, also in restarts, which then begin
again; `Failing.ALWAYS`, every node that is up, spares included, at its share of that rate.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ckptplan.errors import InputError
from ckptplan.simulate.cycles import Share

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_WARM_UP = 20.0  # mean repairs; what was down at the start is back, and its effect forgotten
_SLOTS = 4  # rows for nodes under repair, to begin with


class Mode(StrEnum):
    """What the job does once its spares are used up."""

    WAIT = "wait"
    SHRINK = "shrink"


class Failing(StrEnum):
    """When nodes fail."""

    WORK = "work"
    RUN = "run"
    ALWAYS = "always"


class Repair(Protocol):
    """A law of repairs: any of `ckptplan.simulate.law`, `Constant`, or another."""

    @property
    def mean_s(self) -> float:
        """Mean repair. [s]."""
        ...

    def fill(self, rng: np.random.Generator, gaps_s: Floats) -> None:
        """Draw repairs. [s]."""
        ...


class Constant(NamedTuple):
    """Every repair takes the same time. [s]."""

    mean_s: float

    def fill(self, rng: np.random.Generator, gaps_s: Floats) -> None:
        """Write the time. [s]."""
        gaps_s.fill(self.mean_s)


class Pool(NamedTuple):
    """A job and its pool of nodes; ``failure_rate_per_s`` is that of all nodes in use at full size."""

    failure_rate_per_s: float
    repair: Repair
    spares: int = 0
    nodes: int = 1
    mode: Mode = Mode.WAIT
    failing: Failing = Failing.WORK
    restart_s: float = 0.0
    reshard_s: float = 0.0


class PoolRun(NamedTuple):
    """What many repairs say: shares of wall time [1], and the mean of the waits that began [s]."""

    pool: Pool
    failures: int
    waits: int
    waiting: Share  # no work for want of a node
    throughput: Share  # of that without failures
    mean_wait_s: float  # nan if there was none
    mean_wait_error_s: float


def simulate_pool(pool: Pool, *, repairs: float = 500.0, chains: int = 1000, seed: int = 0) -> PoolRun:
    """Simulate the pool in the long run.

    Parameters
    ----------
    pool : Pool
        The job and its pool.
    repairs : float
        Length of each chain in mean repairs, after a warm-up of 20 of them. [1]
    chains : int
        Independent chains, side by side. [1]
    seed : int
        The same seed gives the same result.

    Returns
    -------
    PoolRun
        Standard errors are those of means over the chains, and for the mean wait of a ratio of sums over them.

    Raises
    ------
    InputError
        A number is outside its domain, or the combination is not simulated.
    """
    pool = _checked(pool)
    if not (math.isfinite(repairs) and repairs > 0.0) or chains != int(chains) or chains < 2:
        raise InputError("repairs must be a positive number, and chains a whole number of at least 2")
    state = _State(pool, int(chains), np.random.default_rng(np.random.SeedSequence(seed)))
    warm_up = _WARM_UP * pool.repair.mean_s
    end = warm_up + repairs * pool.repair.mean_s
    while (state.now < end).any():
        _step(pool, state, warm_up, end)
    length = end - warm_up
    mean_wait, error = _ratio(state.waited, state.waits)
    return PoolRun(
        pool,
        int(state.failures.sum()),
        int(state.waits.sum()),
        _mean(state.waited / length),
        _mean(state.worked / length),
        mean_wait,
        error,
    )


class _State:
    """Chains side by side, each with all nodes up at first."""

    def __init__(self, pool: Pool, count: int, rng: np.random.Generator) -> None:
        self.rng, self.count = rng, count
        self.now = np.zeros(count)
        self.down = np.zeros(count, dtype=np.intp)
        self.back = np.full((_SLOTS, count), np.inf)  # when each node under repair is; the first ``down`` rows count
        self.stop = np.zeros(count)  # left of restart and reshards
        self.waited, self.worked = np.zeros(count), np.zeros(count)
        self.waits, self.failures = np.zeros(count), np.zeros(count)

    def add_repair(self, failed: Flags, repair: Repair) -> None:
        """Take a node down in these chains."""
        rows = np.flatnonzero(failed)
        if self.down[rows].max(initial=0) == len(self.back):
            self.back = np.vstack([self.back, np.full_like(self.back, np.inf)])
        times = np.empty(rows.size)
        repair.fill(self.rng, times)
        self.back[self.down[rows], rows] = self.now[rows] + times
        self.down[rows] += 1

    def end_repair(self, repaired: Flags, slot: npt.NDArray[np.intp]) -> None:
        """Bring back the node in this slot; the last one under repair moves there."""
        rows = np.flatnonzero(repaired)
        self.down[rows] -= 1
        self.back[slot[rows], rows] = self.back[self.down[rows], rows]
        self.back[self.down[rows], rows] = np.inf


def _step(pool: Pool, state: _State, start: float, end: float) -> None:
    """The next event of each chain: a failure, a repair, or the end of a stop."""
    up = _share_up(pool, state.down)
    waits = up == 0.0
    works = ~waits & (state.stop == 0.0)
    rate = _failure_rate(pool, state.down, waits, works)
    with np.errstate(divide="ignore"):
        to_failure = state.rng.standard_exponential(state.count) / rate
    slot = state.back.argmin(axis=0)
    to_repair = state.back[slot, np.arange(state.count)] - state.now
    to_start = np.where(waits | works, np.inf, state.stop)
    step = np.minimum(np.minimum(to_failure, to_repair), to_start)
    then = state.now + step
    counted = np.maximum(np.minimum(then, end) - np.maximum(state.now, start), 0.0)
    state.waited += np.where(waits, counted, 0.0)
    state.worked += np.where(works, counted * up, 0.0)
    repaired = to_repair <= step
    failed = (to_failure <= step) & ~repaired
    state.stop = np.where(to_start <= step, 0.0, np.where(waits, state.stop, np.maximum(state.stop - step, 0.0)))
    state.now = np.where(repaired, state.back[slot, np.arange(state.count)], then)
    _fail(pool, state, failed & _in_use(pool, state, waits), failed, (start <= then) & (then < end))
    _repair(pool, state, repaired, slot)


def _share_up(pool: Pool, down: npt.NDArray[np.intp]) -> Floats:
    """Speed of the job by the number of nodes down, 1 at full size."""
    missing = np.maximum(down - pool.spares, 0)
    if pool.mode is Mode.SHRINK:
        return np.asarray(1.0 - missing / pool.nodes)
    return np.where(missing > 0, 0.0, 1.0)


def _failure_rate(pool: Pool, down: npt.NDArray[np.intp], waits: Flags, works: Flags) -> Floats:
    match pool.failing:
        case Failing.WORK:
            return np.where(works, pool.failure_rate_per_s, 0.0)
        case Failing.RUN:
            return np.where(waits, 0.0, pool.failure_rate_per_s)
        case Failing.ALWAYS:
            return np.asarray((pool.nodes + pool.spares - down) * (pool.failure_rate_per_s / pool.nodes))


def _in_use(pool: Pool, state: _State, waits: Flags) -> Flags:
    """Whether a failure now would be that of a node in use."""
    if pool.failing is not Failing.ALWAYS:
        return ~waits
    up = np.maximum(pool.nodes + pool.spares - state.down, 1)
    return ~waits & (state.rng.random(state.count) * up < pool.nodes)


def _fail(pool: Pool, state: _State, stops: Flags, failed: Flags, counted: Flags) -> None:
    """Take the node down; one in use stops the job."""
    beyond = failed & (state.down >= pool.spares)
    lost = pool.restart_s + np.where(beyond, pool.reshard_s, 0.0)
    state.stop = np.where(stops, lost, state.stop)
    ran = _share_up(pool, state.down) > 0.0
    state.add_repair(failed, pool.repair)
    state.failures += failed & counted
    state.waits += failed & counted & ran & (_share_up(pool, state.down) == 0.0)


def _repair(pool: Pool, state: _State, repaired: Flags, slot: npt.NDArray[np.intp]) -> None:
    """Bring the node back; a replica that grows again takes a reshard."""
    grows = repaired & (state.down > pool.spares)
    state.stop = np.where(grows, state.stop + pool.reshard_s, state.stop)
    state.end_repair(repaired, slot)


def _mean(values: Floats) -> Share:
    return Share(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size))


def _ratio(parts: Floats, counts: Floats) -> tuple[float, float]:
    """Ratio of sums over independent chains, with its standard error."""
    total = float(counts.sum())
    if total == 0.0:
        return math.nan, math.nan
    value = float(parts.sum()) / total
    return value, float(np.std(parts - value * counts, ddof=1)) * math.sqrt(parts.size) / total


def _checked(pool: Pool) -> Pool:
    """The pool itself, if it has a meaning."""
    pool = pool._replace(mode=Mode(pool.mode), failing=Failing(pool.failing))
    for name, value in (("failure_rate_per_s", pool.failure_rate_per_s), ("the mean repair", pool.repair.mean_s)):
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"{name} must be a positive number; got {value:g}")
    for name in ("restart_s", "reshard_s"):
        value = getattr(pool, name)
        if not (math.isfinite(value) and value >= 0.0):
            raise InputError(f"{name} must be a number of seconds, not negative; got {value:g}")
    for name, least in (("spares", 0), ("nodes", 1)):
        value = getattr(pool, name)
        if value != int(value) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}; got {value:g}")
    if pool.mode is Mode.SHRINK and pool.failing is not Failing.WORK:
        raise InputError("shrinking is simulated for nodes that fail while the job works only")
    if pool.mode is Mode.WAIT and pool.reshard_s > 0.0:
        raise InputError("a job that waits does not reshard", hint="leave reshard_s out")
    return pool
