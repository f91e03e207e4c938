"""Where failures come from: gaps on the clock of failures, drawn from a law, a record, or many nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ckptplan.cost import scenario
from ckptplan.cost.scenario import LawName
from ckptplan.errors import InputError
from ckptplan.simulate.streams import Drawn, Independent, InOrder, Stream, Superposed

Floats = npt.NDArray[np.float64]

MAX_NODES = 65_536  # every failure looks at every node


class Gaps(Protocol):
    """A source of failures."""

    @property
    def mean_s(self) -> float:
        """Mean gap, the MTBF of the whole job. [s]."""
        ...

    @property
    def state_size(self) -> int:
        """Numbers that one run has to remember. [1]."""
        ...

    @property
    def is_random(self) -> bool:
        """Whether two runs can differ."""
        ...

    def start(self, rng: np.random.Generator, rows: int) -> Stream:
        """Begin ``rows`` runs."""
        ...


class Law(NamedTuple):
    """Independent gaps from a distribution with a given mean. [s]; ``shape`` [1]."""

    name: LawName
    mean_s: float
    shape: float = 1.0

    @property
    def state_size(self) -> int:
        """None: each gap is drawn anew. [1]."""
        return 0

    @property
    def is_random(self) -> bool:
        """Whether two runs can differ."""
        return True

    def start(self, rng: np.random.Generator, rows: int) -> Stream:
        """Begin runs; independent gaps have no memory."""
        return Independent(self, rng)

    def fill(self, rng: np.random.Generator, gaps_s: Floats) -> None:
        """Draw gaps. [s]."""
        match self.name:
            case LawName.WEIBULL:
                rng.standard_exponential(out=gaps_s)
                np.power(gaps_s, 1.0 / self.shape, out=gaps_s)
                gaps_s *= self._weibull_scale()
            case LawName.GAMMA:
                rng.standard_gamma(self.shape, out=gaps_s)
                gaps_s *= self.mean_s / self.shape
            case LawName.LOGNORMAL:
                self._lognormal(rng, gaps_s, -0.5)
            case _:
                rng.standard_exponential(out=gaps_s)
                gaps_s *= self.mean_s

    def fill_residual(self, rng: np.random.Generator, gaps_s: Floats) -> None:
        """Draw the time to the next failure seen from any moment of a long operation. [s].

        The gap around such a moment is met in proportion to its length, and the moment lies anywhere in it.
        """
        match self.name:
            case LawName.WEIBULL:
                rng.standard_gamma(1.0 + 1.0 / self.shape, out=gaps_s)
                np.power(gaps_s, 1.0 / self.shape, out=gaps_s)
                gaps_s *= self._weibull_scale()
            case LawName.GAMMA:
                rng.standard_gamma(self.shape + 1.0, out=gaps_s)
                gaps_s *= self.mean_s / self.shape
            case LawName.LOGNORMAL:
                self._lognormal(rng, gaps_s, 0.5)
            case _:
                rng.standard_gamma(2.0, out=gaps_s)
                gaps_s *= self.mean_s
        gaps_s *= rng.random(gaps_s.shape)

    def _weibull_scale(self) -> float:
        return self.mean_s * math.exp(-math.lgamma(1.0 + 1.0 / self.shape))

    def _lognormal(self, rng: np.random.Generator, gaps_s: Floats, variances: float) -> None:
        """Draw with the log-mean moved from that of the mean by a multiple of the log-variance."""
        rng.standard_normal(out=gaps_s)
        gaps_s *= self.shape
        gaps_s += math.log(self.mean_s) + variances * self.shape**2
        np.exp(gaps_s, out=gaps_s)


class Resampled(NamedTuple):
    """Recorded gaps drawn with replacement. [s]."""

    gaps_s: tuple[float, ...]

    @property
    def state_size(self) -> int:
        """None: each gap is drawn anew. [1]."""
        return 0

    @property
    def is_random(self) -> bool:
        """Whether two runs can differ."""
        return True

    @property
    def mean_s(self) -> float:
        """Mean of the record. [s]."""
        return math.fsum(self.gaps_s) / len(self.gaps_s)

    def start(self, rng: np.random.Generator, rows: int) -> Stream:
        """Begin runs; independent gaps have no memory."""
        return Drawn(np.asarray(self.gaps_s), rng)


class Replayed(NamedTuple):
    """Recorded gaps in their order, the same for every run; a run that outlasts the record starts it over. [s]."""

    gaps_s: tuple[float, ...]

    @property
    def state_size(self) -> int:
        """None: all runs are at the same gap. [1]."""
        return 0

    @property
    def is_random(self) -> bool:
        """Whether two runs can differ."""
        return False

    @property
    def mean_s(self) -> float:
        """Mean of the record. [s]."""
        return math.fsum(self.gaps_s) / len(self.gaps_s)

    def start(self, rng: np.random.Generator, rows: int) -> Stream:
        """Begin all runs at the first gap."""
        return InOrder(np.asarray(self.gaps_s))


class Nodes(NamedTuple):
    """Nodes that keep their age when another one fails; the one that failed is renewed.

    ``each`` is the law of one of ``number`` nodes. ``are_new``: all of them are new when the run starts; otherwise they
    have been in use for long.
    """

    each: Law
    number: int
    are_new: bool = False

    @property
    def is_random(self) -> bool:
        """Whether two runs can differ."""
        return True

    @property
    def mean_s(self) -> float:
        """Mean gap of the whole job in the long run. [s]."""
        return self.each.mean_s / self.number

    @property
    def state_size(self) -> int:
        """The next failure of each node."""
        return self.number

    def start(self, rng: np.random.Generator, rows: int) -> Stream:
        """Draw the first failure of every node of every run."""
        return Superposed(self.each, self.number, rng, rows, are_new=self.are_new)


def law(name: LawName | str, mean_s: float, shape: float = 1.0) -> Law:
    """Gaps of the whole job from a distribution.

    Parameters
    ----------
    name : LawName
        Exponential, Weibull, gamma or log-normal.
    mean_s : float
        Mean gap, M. [s]
    shape : float
        Shape of Weibull and gamma, sigma of the log-normal; the exponential has none. [1]

    Returns
    -------
    Law
        The source.

    Raises
    ------
    InputError
        The mean or the shape is not a positive number, or the law has no formula.
    """
    name = LawName(name)
    if name is LawName.RECORDED:
        raise InputError("recorded gaps have no formula", hint="give the gaps themselves")
    for what, value in (("the mean gap", mean_s), ("the shape", shape)):
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"{what} must be a positive number; got {value:g}")
    return Law(name, float(mean_s), float(shape))


def recorded(gaps_s: Sequence[float] | Floats, *, in_order: bool = False) -> Resampled | Replayed:
    """Gaps of the whole job from a record.

    Parameters
    ----------
    gaps_s : sequence of float
        Times between failures on the clock of failures, the first one from the start of training. [s]
    in_order : bool
        Replay them as they were; a run that outlasts the record starts it over. Otherwise draw with replacement.

    Returns
    -------
    Resampled or Replayed
        The source.

    Raises
    ------
    InputError
        No gap, a gap that is not a number or negative, or all of them 0.
    """
    gaps = tuple(float(gap) for gap in gaps_s)
    if not gaps:
        raise InputError("the record holds no gap between failures")
    for number, gap in enumerate(gaps, start=1):
        if not (math.isfinite(gap) and gap >= 0.0):
            raise InputError(f"gap {number} of the record must be a number of seconds, not negative; got {gap:g}")
    if not any(gaps):
        raise InputError("all gaps of the record are 0")
    return Replayed(gaps) if in_order else Resampled(gaps)


def nodes(each: Law, count: int, *, are_new: bool = False) -> Nodes:
    """Failures of many nodes that keep their age when another one fails.

    Parameters
    ----------
    each : Law
        The law of one node; its mean is that of one node.
    count : int
        Nodes, N. [1]
    are_new : bool
        All nodes are new when a run starts. Otherwise they have been in use for long.

    Returns
    -------
    Nodes
        The source. Each failure costs a look at all nodes.

    Raises
    ------
    InputError
        Not a whole number of nodes, or too many.
    """
    if count != int(count) or not 1 <= count <= MAX_NODES:
        raise InputError(f"the number of nodes must be a whole number from 1 to {MAX_NODES:,}; got {count:g}")
    return Nodes(each, int(count), are_new)


def gaps_of(law_of_job: scenario.Law, mtbf_s: float, *, node_count: int = 1, in_order: bool = False) -> Gaps:
    """The source that a scenario describes.

    Parameters
    ----------
    law_of_job : Law
        Law of the gaps, of the whole job or of each node.
    mtbf_s : float
        Mean gap of the whole job, M; recorded gaps are stretched to it. [s]
    node_count : int
        Nodes, N, for a law of each node. [1]
    in_order : bool
        Replay recorded gaps as they were.

    Returns
    -------
    Gaps
        The source.

    Raises
    ------
    InputError
        As `law`, `recorded` and `nodes`; and for a record taken as the law of each node.
    """
    if law_of_job.name is LawName.RECORDED:
        if law_of_job.of_nodes:
            raise InputError("recorded gaps are those of the whole job, not of each node")
        source = recorded(law_of_job.gaps_s, in_order=in_order)
        stretch = mtbf_s / source.mean_s
        if abs(stretch - 1.0) < 1e-9:
            return source
        return recorded([gap * stretch for gap in source.gaps_s], in_order=in_order)
    if law_of_job.of_nodes:
        return nodes(law(law_of_job.name, mtbf_s * node_count, law_of_job.shape), node_count)
    return law(law_of_job.name, mtbf_s, law_of_job.shape)
