"""Several phases as one set of bandwidths: repetitions of one setting are averaged, other settings are named."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from ckptplan.measure.phases import READ, WRITE, Phase


class Bandwidths(NamedTuple):
    """What one direction gives, [bytes/s]; the aggregate only where several nodes took part."""

    per_writer_bytes_per_s: float | None
    per_node_bytes_per_s: float | None
    aggregate_bytes_per_s: float | None
    cv: float | None
    writers: int | None
    nodes: int | None
    notes: tuple[str, ...]


def combined(phases: Sequence[Phase], access: str) -> Bandwidths | None:
    """The bandwidths of one direction; None if no phase of it stands.

    A write that may have stayed in the page cache counts only where there is no better one; such a read never does.
    Of several settings, that of most nodes counts, then that of most writers, then the one that moved most bytes.
    """
    standing = [phase for phase in phases if phase.access == access and phase.stands]
    sure = [phase for phase in standing if not phase.may_be_cache]
    chosen = sure or (standing if access == WRITE else [])
    if not chosen:
        return None
    settings: dict[tuple[int, int], list[Phase]] = {}
    for phase in chosen:
        settings.setdefault((phase.nodes or 1, phase.writers or 1), []).append(phase)
    key = max(settings)
    same = _most_bytes(settings[key])
    return _averaged(same, _notes(standing, sure, chosen, same, access))


def _most_bytes(phases: list[Phase]) -> list[Phase]:
    """Phases of one size: repetitions move equal bytes, and a smaller test does not pull down a larger one."""
    largest = max(phase.bytes_ or 0.0 for phase in phases)
    return [phase for phase in phases if (phase.bytes_ or 0.0) >= 0.5 * largest]


def _averaged(phases: list[Phase], notes: tuple[str, ...]) -> Bandwidths:
    rates = [rate for phase in phases for rate in phase.rates_bytes_per_s]
    mean = math.fsum(rates) / len(rates)
    cv = statistics.stdev(rates) / mean if len(rates) > 1 else phases[0].cv
    first = phases[0]
    nodes = first.nodes
    return Bandwidths(
        per_writer_bytes_per_s=None if first.writers is None else mean / first.writers,
        per_node_bytes_per_s=None if nodes is None else mean / nodes,
        aggregate_bytes_per_s=mean if nodes is None or nodes > 1 else None,
        cv=cv,
        writers=first.writers,
        nodes=nodes,
        notes=notes,
    )


def _notes(
    standing: list[Phase], sure: list[Phase], chosen: list[Phase], same: list[Phase], access: str
) -> tuple[str, ...]:
    said = []
    if access == WRITE and not sure:
        said.append("no write is known to have left the page cache: the write bandwidth is an upper bound")
    if sure and len(sure) < len(standing) and access == WRITE:
        said.append(f"{_phases(len(standing) - len(sure), WRITE)} that may have stayed in the page cache left out")
    if len(same) < len(chosen):
        first = same[0]
        who = "one" if first.writers is None else f"{first.writers:,}"
        nodes = "" if first.nodes is None else f" on {first.nodes:,} node{'' if first.nodes == 1 else 's'}"
        verb = "writer" if access == WRITE else "reader"
        said.append(
            f"{_phases(len(chosen) - len(same), access)} of other settings left out: "
            f"{who} {verb}{'' if who in ('one', '1') else 's'}{nodes} count{'s' if who in ('one', '1') else ''}"
        )
    if access == READ and same and any("samples" in phase.name for phase in same):
        said.append("the read bandwidth is what training asked for, not the most that storage gives")
    return tuple(said)


def _phases(count: int, access: str) -> str:
    return f"{count:,} {access}{'' if count == 1 else 's'}"
