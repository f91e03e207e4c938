"""The global batch: which numbers of data-parallel replicas keep it, and what the others cost.

A step reads ``replicas x micro_batches x micro_batch`` sequences. Convergence depends on that product, so a job that
loses or gains replicas has to find other factors of it, or to split it unevenly. All counts are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isqrt
from typing import NamedTuple


class EvenSplit(NamedTuple):
    """A global batch in equal parts."""

    replicas: int  # data-parallel
    micro_batch: int  # sequences in one forward and backward
    micro_batches: int  # per replica and step


class UnevenSplit(NamedTuple):
    """A global batch of which some replicas do one micro-batch more than the others."""

    replicas: int
    micro_batch: int  # sequences
    fewest: int  # micro-batches per step of a replica
    with_one_more: int  # replicas that do ``fewest + 1``; 0 if the split is even

    @property
    def most(self) -> int:
        """Micro-batches of the busiest replica, which all wait for."""
        return self.fewest + (self.with_one_more > 0)

    @property
    def useful_replicas(self) -> float:
        """Throughput, in replicas that never wait: all micro-batches over those of the busiest replica."""
        return (self.replicas * self.fewest + self.with_one_more) / self.most

    @property
    def efficiency(self) -> float:
        """Mean over maximum of the micro-batches of a replica, the share of time that replicas do not wait."""
        return self.useful_replicas / self.replicas

    @property
    def needed(self) -> int:
        """Replicas that would be as fast: the others may as well be spares."""
        return -(-(self.replicas * self.fewest + self.with_one_more) // self.most)


class Nearest(NamedTuple):
    """The closest numbers of replicas that keep the global batch; None where there is none."""

    below: int | None  # the number itself, if it is one of them
    above: int | None


def even_splits(global_batch: int, replicas: int, sizes: int | Iterable[int]) -> tuple[EvenSplit, ...]:
    """Ways to keep the global batch with a given number of replicas.

    Parameters
    ----------
    global_batch : int
        Sequences of one step. [1]
    replicas : int
        Data-parallel replicas. [1]
    sizes : int or iterable of int
        Allowed sequences of a micro-batch. [1]

    Returns
    -------
    tuple of EvenSplit
        One for each allowed size that fits, largest micro-batch first; empty if none does.
    """
    if global_batch < 1 or replicas < 1:
        return ()
    fitting = sorted((b for b in _allowed(sizes) if global_batch % (replicas * b) == 0), reverse=True)
    return tuple(EvenSplit(replicas, b, global_batch // (replicas * b)) for b in fitting)


def possible_replicas(global_batch: int, sizes: int | Iterable[int], at_most: int | None = None) -> tuple[int, ...]:
    """Numbers of replicas that keep the global batch in equal parts.

    Parameters
    ----------
    global_batch : int
        Sequences of one step. [1]
    sizes : int or iterable of int
        Allowed sequences of a micro-batch. [1]
    at_most : int, optional
        Largest number of interest. [1]

    Returns
    -------
    tuple of int
        Ascending: all divisors of ``global_batch/b`` for the sizes b that divide the global batch.
    """
    if global_batch < 1:
        return ()
    whole = (global_batch // b for b in _allowed(sizes) if global_batch % b == 0)
    found = {d for count in whole for d in _divisors(count)}
    return tuple(sorted(d for d in found if at_most is None or d <= at_most))


def impossible_replicas(global_batch: int, sizes: int | Iterable[int], at_most: int) -> tuple[int, ...]:
    """Numbers of replicas, from 1 to ``at_most``, that `possible_replicas` leaves out; ascending. [1]."""
    possible = set(possible_replicas(global_batch, sizes, at_most))
    return tuple(d for d in range(1, at_most + 1) if d not in possible)


def nearest_replicas(global_batch: int, replicas: int, sizes: int | Iterable[int]) -> Nearest:
    """Numbers of replicas next to a given one that keep the global batch in equal parts.

    Parameters
    ----------
    global_batch : int
        Sequences of one step. [1]
    replicas : int
        Data-parallel replicas that there are. [1]
    sizes : int or iterable of int
        Allowed sequences of a micro-batch. [1]

    Returns
    -------
    Nearest
        The largest one not above and the least one not below; both are ``replicas`` if that is possible.
    """
    possible = possible_replicas(global_batch, sizes)
    below = [d for d in possible if d <= replicas]
    above = [d for d in possible if d >= replicas]
    return Nearest(below[-1] if below else None, above[0] if above else None)


def uneven_split(global_batch: int, replicas: int, micro_batch: int) -> UnevenSplit | None:
    """The global batch spread over any number of replicas as evenly as whole micro-batches allow.

    Parameters
    ----------
    global_batch : int
        Sequences of one step. [1]
    replicas : int
        Data-parallel replicas. [1]
    micro_batch : int
        Sequences of a micro-batch. [1]

    Returns
    -------
    UnevenSplit or None
        None where the global batch is not a whole number of micro-batches, and for counts below 1.

    Notes
    -----
    No split of whole micro-batches of this size is faster: the busiest replica does ``ceil(G/replicas)`` of the
    ``G = global_batch/micro_batch``. So it is at least as fast as the nearest possible number of replicas below with
    the rest idle. The gradient must be the sum over sequences by the global batch: a mean of the means of replicas
    would weigh the sequences of less busy ones too much. Time is taken as proportional to micro-batches; the fill
    and drain of a pipeline makes the true loss smaller.
    """
    if min(global_batch, replicas, micro_batch) < 1 or global_batch % micro_batch:
        return None
    return UnevenSplit(replicas, micro_batch, *divmod(global_batch // micro_batch, replicas))


def _allowed(sizes: int | Iterable[int]) -> set[int]:
    """The allowed sizes, each once, without those that are no sizes."""
    given = (sizes,) if isinstance(sizes, int) else sizes
    return {b for b in given if b >= 1}


def _divisors(count: int) -> Iterator[int]:
    for small in range(1, isqrt(count) + 1):
        if count % small == 0:
            yield small
            yield count // small
