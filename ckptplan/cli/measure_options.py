"""Arguments and options of ``ckptplan measure``, each with its help."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Writer(StrEnum):
    """Which program writes."""

    FIO = "fio"


class DeviceName(StrEnum):
    """Where the shards of a save lie."""

    HOST = "host"
    CUDA = "cuda"


FolderArgument = Annotated[
    str, typer.Argument(metavar="FOLDER", help="A folder on the storage that checkpoints go to.")
]
FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="Results of fio, IOR, elbencho, DLIO or MLPerf Storage.")
]
PlannedOption = Annotated[
    str | None,
    typer.Option("--spec", metavar="SPEC", help="Write what one node of this spec writes in a save."),
]
SizeOption = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Bytes of each writer, 1 GiB by default; with --spec, the most."),
]
ShardOption = Annotated[
    str | None,
    typer.Option("--size", metavar="SIZE", help="Bytes of each writer, 256 MiB by default; with --spec, the most."),
]
WritersOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=1024, help="Writers at one time; by default those of a node, else 8."),
]
BlockOption = Annotated[str, typer.Option(metavar="SIZE", help="Bytes of one write call, a multiple of 4 KiB.")]
RepeatOption = Annotated[int, typer.Option(metavar="N", min=1, max=1000, help="Repetitions, for the spread.")]
DirectOption = Annotated[bool, typer.Option("--direct", help="Direct I/O, past the page cache.")]
NoReadOption = Annotated[bool, typer.Option("--no-read", help="Do not read back.")]
DropOption = Annotated[
    bool,
    typer.Option("--drop-caches", help="Drop the page cache of the whole node if nothing else helps (root)."),
]
WholeOption = Annotated[
    bool, typer.Option("--whole", help="This node is all that writes: the block gets the aggregate rates too.")
]
WithOption = Annotated[Writer | None, typer.Option("--with", help="Let fio write, if it is installed.")]
DeviceOption = Annotated[
    DeviceName, typer.Option(help="Where the shards lie: host memory, or GPUs by the torch of your training.")
]
