"""Several phases as one set of bandwidths: repetitions of one setting are averaged, other settings are named."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ckptplan.measure.phases import READ, WRITE, Phase


class Bandwidths(NamedTuple):
    """What one direction gives, [bytes/s]; the aggregate only where it is known (see `StorageFigures`)."""

    per_writer_bytes_per_s: float | None
    per_node_bytes_per_s: float | None
    aggregate_bytes_per_s: float | None
    cv: float | None
    writers: int | None
    nodes: int | None
    notes: tuple[str, ...]
    is_upper_bound: bool = False  # nothing shows that the writes left the page cache


def combined(phases: Sequence[Phase], access: str) -> Bandwidths | None:
    """The bandwidths of one direction; None if no phase of it stands.

    A write that may have stayed in the page cache counts only where there is no better one; such a read never does.
    Of several settings, that of most nodes counts, then that of most writers, then the one that moved most bytes;
    within one setting, writes that are known to have been flushed before others.
    """
    standing = [phase for phase in phases if phase.access == access and phase.stands]
    sure = [phase for phase in standing if not phase.may_be_cache]
    chosen = sure or (standing if access == WRITE else [])
    if not chosen:
        return None
    settings: dict[tuple[int, int], list[Phase]] = {}
    for phase in chosen:
        settings.setdefault((phase.nodes or 1, phase.writers or 1), []).append(phase)
    largest = settings[max(settings)]
    flushed = [phase for phase in largest if phase.is_sure] or largest
    same = _most_bytes(flushed)
    doubted = len(standing) - len(chosen) + len(largest) - len(flushed) if access == WRITE else 0
    other = len(chosen) - len(largest) + len(flushed) - len(same)
    return _averaged(same, (*_left_out(same[0], access, doubted, other), *_notes(same, access)))


def _most_bytes(phases: list[Phase]) -> list[Phase]:
    """Phases of one size: repetitions move equal bytes, and a smaller test does not pull down a larger one."""
    largest = max(phase.bytes_ or 0.0 for phase in phases)
    return [phase for phase in phases if (phase.bytes_ or 0.0) >= 0.5 * largest]


def _averaged(phases: list[Phase], notes: tuple[str, ...]) -> Bandwidths:
    mean, cv = pooled(phases)
    first = phases[0]
    nodes = first.nodes
    return Bandwidths(
        per_writer_bytes_per_s=None if first.writers is None else mean / first.writers,
        per_node_bytes_per_s=None if nodes is None else mean / nodes,
        aggregate_bytes_per_s=mean if nodes is None or nodes > 1 or _are_whole(phases) else None,
        cv=cv,
        writers=first.writers,
        nodes=nodes,
        notes=notes,
        is_upper_bound=any(phase.is_upper_bound for phase in phases),
    )


def pooled(phases: Sequence[Phase]) -> tuple[float, float | None]:
    """Mean and scatter of all repetitions, also of those of which a file gives no more than mean and scatter.

    Parameters
    ----------
    phases : sequence of Phase
        With rates; repetitions of one setting.

    Returns
    -------
    tuple of float and (float or None)
        Mean, weighted by repetitions [bytes/s]; sample standard deviation over it [1], None for one repetition.

    Notes
    -----
    The squares of deviations within and between the phases add up to those of all repetitions from their mean:
    ``(n - 1) s^2 = sum (n_i - 1) s_i^2 + sum n_i (m_i - m)^2``, the identity of the analysis of variance.
    """
    count = sum(phase.repetitions for phase in phases)
    mean = math.fsum(phase.repetitions * phase.rate_bytes_per_s for phase in phases) / count
    if count < 2:
        return mean, None
    within = [(p.repetitions - 1) * ((p.spread_cv or 0.0) * p.rate_bytes_per_s) ** 2 for p in phases]
    between = [p.repetitions * (p.rate_bytes_per_s - mean) ** 2 for p in phases]
    return mean, math.sqrt(math.fsum([*within, *between]) / (count - 1)) / mean


def _are_whole(phases: Sequence[Phase]) -> bool:
    return all(phase.is_whole for phase in phases)


def _left_out(first: Phase, access: str, doubted: int, other: int) -> Iterator[str]:
    """How many phases do not count, for their doubts and for their setting."""
    if doubted:
        yield f"{_phases(doubted, access)} that may have stayed in the page cache left out"
    if other:
        who = "one" if first.writers is None else f"{first.writers:,}"
        nodes = "" if first.nodes is None else f" on {first.nodes:,} node{'' if first.nodes == 1 else 's'}"
        verb = "writer" if access == WRITE else "reader"
        yield (
            f"{_phases(other, access)} of other settings left out: "
            f"{who} {verb}{'' if who in ('one', '1') else 's'}{nodes} count{'s' if who in ('one', '1') else ''}"
        )


def _notes(same: list[Phase], access: str) -> Iterator[str]:
    """What to know of the rate that the phases that count give together."""
    if any(phase.is_upper_bound for phase in same):
        yield "no write is known to have left the page cache: the write bandwidth is an upper bound"
    if any(phase.is_whole for phase in same) and not _are_whole(same):
        yield (
            f"not all of these {access}s are of a node that is all of the job (--whole): {access}_bandwidth is left out"
        )
    if access == READ and any("samples" in phase.name for phase in same):
        yield "the read bandwidth is what training asked for, not the most that storage gives"


def _phases(count: int, access: str) -> str:
    return f"{count:,} {access}{'' if count == 1 else 's'}"
