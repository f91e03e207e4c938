"""Arguments and options of ``ckptplan fit``: how a record is read, and what is counted in it."""

from __future__ import annotations

from typing import Annotated

import typer

RecordsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RECORD...",
        help="Files of one record of failures, or - for standard input; kernel or NCCL logs beside it give causes.",
    ),
]
ReaderOption = Annotated[
    str | None, typer.Option("--as", metavar="FORMAT", help="What the files are; by default recognised by content.")
]
ZoneOption = Annotated[
    str | None,
    typer.Option("--tz", metavar="ZONE", help="Zone of stamps that have none, e.g. America/Denver. Default UTC."),
]
PerOption = Annotated[
    str | None, typer.Option(metavar="UNIT", help="job, node or gpu; by default node where nodes are known.")
]
CountOption = Annotated[
    list[str] | None,
    typer.Option(metavar="WHAT", help="failures (default), preemptions, maintenance. Repeatable: they add up."),
]
MergeOption = Annotated[
    str, typer.Option(metavar="TIME", help="Interruptions closer than this are one; 0s counts each.")
]
RecentOption = Annotated[
    bool, typer.Option("--recent", help="Plan with the latest part alone, if the rate changes over the record.")
]
LevelOption = Annotated[str, typer.Option(metavar="SHARE", help="Level of confidence of the intervals.")]
PlannedGpusOption = Annotated[
    int | None, typer.Option("--gpus", metavar="N", min=1, max=10**9, help="GPUs of the planned job.")
]
RecordedGpusOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=10**9, help="GPUs of the recorded job, where the record does not say."),
]
GpusPerNodeOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=10**6, help="GPUs of a node, where the record does not say.")
]
NodesOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=10**9, help="Nodes that were watched, failed or not.")
]
SinceOption = Annotated[
    str | None, typer.Option(metavar="WHEN", help="When watching began: 2026-01-01, or a time from the start: 3 d.")
]
UntilOption = Annotated[str | None, typer.Option(metavar="WHEN", help="When it ended, and the record was printed.")]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(metavar="ROLE=NAME", help="A column by what it holds: time, start, end, gap, cause, ... Repeatable."),
]
UnitOption = Annotated[str | None, typer.Option(metavar="UNIT", help="Of times that are plain numbers: s, ms, h, ...")]
DateOrderOption = Annotated[str | None, typer.Option(metavar="ORDER", help="Of dates such as 1/2/2026: mdy or dmy.")]
MinimumRunOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Slurm: what ends as FAILED sooner has failed by itself. Default 10 min."),
]
ExitCodeOption = Annotated[
    list[str] | None, typer.Option(metavar="CODE", help="Slurm: FAILED counts with this exit code only. Repeatable.")
]
JobNameOption = Annotated[str | None, typer.Option(metavar="NAME", help="Slurm: only jobs of this name.")]
UserOption = Annotated[str | None, typer.Option(metavar="NAME", help="Slurm: only jobs of this user.")]
AccountOption = Annotated[str | None, typer.Option(metavar="NAME", help="Slurm: only jobs of this account.")]
PartitionOption = Annotated[str | None, typer.Option(metavar="NAME", help="Slurm: only jobs of this partition.")]
