"""Options of ``ckptplan reshard``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PathArgument = Annotated[
    str | None,
    typer.Argument(metavar="[PATH]", help="A checkpoint: its folder or file. Without it: --from and --model."),
]
ToOption = Annotated[
    str | None,
    typer.Option("--to", metavar="LAYOUT", help="The new layout, e.g. 960, fsdp=64,tp=8 or pp=4,replicate=2,fsdp=16."),
]
LayoutFileOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="The new layout with placements by key or pattern, YAML or JSON.")
]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="LAYOUT",
        help="With --model: the layout of the run that would save; by default that of the spec.",
    ),
]
ModelOption = Annotated[
    str | None, typer.Option(metavar="SPEC|CONFIG", help="A spec with an architecture, or the config.json of a model.")
]
SpecOption = Annotated[
    str | None, typer.Option(metavar="SPEC", help="Read bandwidth, latency and GPUs per node from this spec.")
]
AggregateOption = Annotated[
    str | None, typer.Option("--read-bandwidth", metavar="RATE", help="What storage as a whole gives, e.g. 40 GB/s.")
]
PerNodeOption = Annotated[
    str | None, typer.Option("--read-bandwidth-per-node", metavar="RATE", help="What one node can read.")
]
PerRankOption = Annotated[
    str | None, typer.Option("--read-bandwidth-per-rank", metavar="RATE", help="What one rank can read.")
]
GpusPerNodeOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=1_000_000, help="Ranks of a node; by default 8.")
]
GlobalBatchOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=10**12, help="Sequences of a step to keep; by default what the files say."),
]
WithoutOption = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND", help="States that the load leaves out, e.g. random,data-position. Repeatable."),
]
RankOption = Annotated[int | None, typer.Option(metavar="N", min=0, max=2**31, help="All reads of this new rank.")]
ReadsOption = Annotated[bool, typer.Option("--reads", help="With --format json: the reads of all ranks.")]
ExtractOption = Annotated[
    Path | None,
    typer.Option(
        metavar="OUT",
        help="Write tensors whole, to OUT.safetensors or to a new folder of shards; no layout is needed.",
    ),
]
