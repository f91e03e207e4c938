"""Sheets of ``ckptplan reshard``: the ways to read, every rank, the reads of one rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ckptplan.checkpoint.reshard.file_reads import FileRead
from ckptplan.checkpoint.reshard.loading import Loads
from ckptplan.render.numbers import box, place, seconds, whole
from ckptplan.render.reshard_page import RankReads, ReshardPage
from ckptplan.render.sheet import Column, Sheet
from ckptplan.units import format_size

RANGES, WHOLE_ITEMS = "wanted bytes", "whole items"


def _order(value: Sequence[int] | None) -> str:
    return "" if value is None else box(value)


_WAYS = (
    Column("way", "reads", str, right=False),
    Column("total_bytes", "in all", format_size),
    Column("busiest_node_bytes", "busiest node", format_size),
    Column("busiest_rank_bytes", "busiest rank", format_size),
    Column("busiest_node", show=None),
    Column("busiest_rank", show=None),
    Column("requests", "requests", whole),
    Column("time_s", "time", seconds),
    Column("binds", show=None),
)
_RANKS = (
    Column("rank", "rank", str),
    Column("wanted_bytes", "wanted", format_size),
    Column("whole_item_bytes", "whole items", format_size),
    Column("items", "items", whole),
    Column("runs", "runs", whole),
    Column("files", "files", whole),
)
_READS = (
    Column("rank", show=None),
    Column("key", "tensor", str, right=False),
    Column("dst", "to", box, right=False, named=True),
    Column("length", "size", box, right=False, named=True),
    Column("file", "file", str, right=False),
    Column("item_offset", "item at byte", place),
    Column("item_bytes", "item bytes", place),
    Column("at", "at byte", place),
    Column("run_bytes", "bytes", place),
    Column("every", "every", place),
    Column("times", "times", place),
    Column("order", "order of axes", _order, right=False, named=True),
    Column("shard", show=None),
    Column("src", show=None),
    Column("bytes", show=None),
)


def way_sheet(page: ReshardPage) -> Sheet:
    """One row for each way to read; the usual one of the format is stressed."""
    ways = (
        (RANGES, page.loading.ranges, int(page.runs.of_ranks.sum())),
        (WHOLE_ITEMS, page.loading.whole_items, int(page.plan.totals.reads.sum())),
    )
    rows = tuple(_way(name, loads, requests) for name, loads, requests in ways)
    idle = {"time_s"} if page.as_usual.time is None else set()
    if page.loading.ranges.busiest_node_bytes == page.loading.ranges.total_bytes:
        idle.add("busiest_node_bytes")  # all ranks are on one node
    columns = tuple(column._replace(show=None) if column.key in idle else column for column in _WAYS)
    return Sheet(columns, rows, frozenset({1 if page.in_whole_items else 0}))


def _way(name: str, loads: Loads, requests: int) -> tuple[Any, ...]:
    return (
        name,
        loads.total_bytes,
        loads.busiest_node_bytes,
        loads.busiest_rank_bytes,
        loads.busiest_node,
        loads.busiest_rank,
        requests,
        None if loads.time is None else loads.time.seconds,
        None if loads.time is None else loads.time.binds,
    )


def rank_sheet(page: ReshardPage) -> Sheet:
    """One row for each rank."""
    totals = page.plan.totals
    columns = (totals.wanted_bytes, totals.whole_item_bytes, totals.reads, page.runs.of_ranks, totals.files)
    return Sheet(_RANKS, tuple(zip(range(len(columns[0])), *(column.tolist() for column in columns), strict=True)))


def read_sheet(page: ReshardPage, one: RankReads) -> Sheet:
    """One row for each run pattern of each read of a rank."""
    names = [file.name for file in page.plan.manifest.files]
    rows = tuple(row for read in one.reads for row in _rows(one.rank, read, names))
    known = [row for row in rows if row[7] is not None]
    hidden = set() if any(row[9] for row in known) else {"every", "times"}
    hidden |= {"item_offset", "item_bytes"} if len(known) == len(rows) else set()
    hidden |= set() if known else {"at", "run_bytes"}
    hidden |= set() if any(read.order is not None for read in one.reads) else {"order"}
    return Sheet(tuple(c._replace(show=None) if c.key in hidden else c for c in _READS), rows)


def _rows(rank: int, read: FileRead, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    item_offset = read.item_offset if read.item_offset >= 0 else None
    head = (rank, read.key, read.dst, read.length, names[read.file], item_offset, read.item_bytes)
    tail = (read.order, read.shard, read.src, read.bytes)
    for run in read.runs or ((None, None, None, None),):
        yield (*head, *run, *tail)
