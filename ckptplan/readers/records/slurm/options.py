"""What a user says of a Slurm record: zone, which jobs count, and how states are judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ckptplan.fit.record import Outcome
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.stamps import clock

# The columns stand last, so that one more can be added to them.
COMMAND = (
    "sacct -a -D -X -P --starttime 2026-01-01 -o "
    "JobID,JobName,State,ExitCode,Submit,Start,End,ElapsedRaw,NNodes,AllocTRES,NodeList"
)
NOT_OUR_FAULT = (2, 126, 127, 130)  # wrong usage, not executable, not found, stopped by Ctrl-C: nothing broke
SHORTEST_FAILED_S = 600.0


@dataclass(frozen=True)
class SlurmOptions:
    """Defaults suit a training cluster; ``outcomes`` judges states otherwise, by their full names.

    ``fail_exit_codes`` are the exit codes (128 + signal for a signal) with which FAILED counts as a failure; None is
    all but those of wrong usage. Names may hold the wildcards * and ?.
    """

    zone: str | None = None
    report_s: float | None = None  # when the record was printed, in UTC: running jobs are censored there
    watched_from: str | float | None = None  # as in RecordOptions
    watched_until: str | float | None = None
    fail_exit_codes: tuple[int, ...] | None = None
    minimum_run_s: float = SHORTEST_FAILED_S  # FAILED and OUT_OF_MEMORY of shorter runs are the user's own
    outcomes: tuple[tuple[str, Outcome], ...] = ()  # ("REQUEUED", Outcome.FAILURE); root's: "CANCELLED by root"
    job_name: str | None = None
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    jobs: tuple[str, ...] = ()  # job ids; of an array or a heterogeneous job also the id without its task
    nodes_least: int = 0
    delimiter: str | None = None  # of sacct; None finds it in the header
    nodes: int | None = None  # nodes of the cluster, for sacctmgr show event


def slurm_options(options: Any) -> SlurmOptions:
    """The options of this room, from themselves or from those of all readers; InputError for an unknown zone."""
    if isinstance(options, SlurmOptions):
        clock(options.zone)
        return options
    if not isinstance(options, RecordOptions):
        return SlurmOptions()
    own = options.slurm if isinstance(options.slurm, SlurmOptions) else SlurmOptions()
    zone = own.zone or options.zone
    clock(zone)
    since = options.watched_from if own.watched_from is None else own.watched_from
    until = options.watched_until if own.watched_until is None else own.watched_until
    return replace(own, zone=zone, watched_from=since, watched_until=until, nodes=own.nodes or options.units)
