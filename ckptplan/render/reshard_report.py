"""A plan of reading for people: the answer, the ways to read, the reads of one rank, what is not carried over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ckptplan.checkpoint.reshard.batch import BatchSplits
from ckptplan.checkpoint.reshard.carry_over import NotCarried
from ckptplan.errors import printable
from ckptplan.render.marking import bullets, heading
from ckptplan.render.numbers import quantity, seconds
from ckptplan.render.reshard_page import RankReads, ReshardPage
from ckptplan.render.reshard_sheet import read_sheet, way_sheet
from ckptplan.render.screen import Screen
from ckptplan.render.sheet import Sheet, to_markdown
from ckptplan.units import format_size

_MOST_SPLITS = 12


def report(page: ReshardPage, screen: Screen) -> str:
    """The whole report for people."""
    parts = [screen.paragraph(answer(page), indent="  ", first="") + "\n"]
    for title, sheet in _sheets(page):
        parts += [screen.paragraph(title) + "\n" if title else "", screen.table(sheet)]
    parts += [screen.bullets(title, texts) for title, texts in _lists(page)]
    if page.restart is not None:
        parts.append(f"To paste into a spec:\n\n{page.restart}\n")
    return "\n".join(part for part in parts if part)


def markdown(page: ReshardPage) -> str:
    """The same as Markdown."""
    parts = [heading(answer(page))]
    for title, sheet in _sheets(page):
        parts += [heading(title, 3) if title else "", to_markdown(sheet)]
    for title, texts in _lists(page):
        parts.append(f"{heading(title, 3)}\n{bullets(texts)}" if texts else "")
    if page.restart is not None:
        parts.append(f"To paste into a spec:\n\n```yaml\n{page.restart}\n```\n")
    return "\n".join(part for part in parts if part)


def answer(page: ReshardPage) -> str:
    """Whether it loads, how much a rank reads at most, and how long that takes."""
    layout = page.plan.layout
    mesh = layout.mesh
    axes = " x ".join(f"{name} {size}" for name, size in zip(mesh.names, mesh.shape, strict=True))
    usual = page.as_usual
    reads = f"a rank reads at most {format_size(usual.busiest_rank_bytes)} of {format_size(usual.total_bytes)} in all"
    if usual.busiest_rank_bytes != page.loading.ranges.busiest_rank_bytes:
        reads += f" (of which it wants {format_size(page.loading.ranges.busiest_rank_bytes)})"
    time = "" if usual.time is None else f", and the load takes {seconds(usual.time.seconds)}"
    ranks = f"on {quantity(layout.ranks, 'rank')} ({printable(axes)})"
    return f"{printable(page.source)}{_verdict(page, ranks)}: {reads}{time}"


def _verdict(page: ReshardPage, ranks: str) -> str:
    if not page.loads:
        return f" will not load as it is {ranks}"
    if page.ends:
        return f": the weights load {ranks}, but a load of everything as saved ends at {printable(where_it_ends(page))}"
    return f" will load {ranks}" + (f" without {', '.join(page.without)}" if page.without else "")


def where_it_ends(page: ReshardPage) -> str:
    """The states at which a load of everything ends, with the ranks."""
    of_ranks: dict[str, list[str]] = {}
    for one in page.ends:
        of_ranks.setdefault(one.ranks, []).append(one.state)
    return " and ".join(f"the {' and '.join(states)} of {ranks}" for ranks, states in of_ranks.items())


def _sheets(page: ReshardPage) -> Iterator[tuple[str, Sheet]]:
    yield "", way_sheet(page)
    if page.one_rank is not None:
        yield _rank_title(page.one_rank), read_sheet(page, page.one_rank)


def _rank_title(one: RankReads) -> str:
    size = sum(read.bytes for read in one.reads)
    return f"Rank {one.rank:,} wants {format_size(size)} by {quantity(len(one.reads), 'read')}"


def _lists(page: ReshardPage) -> Iterator[tuple[str, Sequence[str]]]:
    refusals = [one for one in page.not_carried if one.refuses]
    yield "Why it will not load", [f"{printable(one.message)}: {one.remedy}" for one in refusals]
    yield "Why a load of everything as saved ends", [_told(one) for one in page.ends]
    yield "What was planned", list(_facts(page))
    losses = [one for one in page.not_carried if not one.refuses and not one.ends]
    yield (
        "What is not carried over",
        [_told(one) for one in losses],
    )
    if page.batch is not None:
        yield _batch_title(page.batch), list(_batch_facts(page.batch))


def _told(one: NotCarried) -> str:
    return f"{one.state}: {printable(one.message)}. Instead: {printable(one.remedy)}"


def _facts(page: ReshardPage) -> Iterator[str]:
    plan, totals = page.plan, page.plan.totals
    if page.saved_by is not None:
        yield f"no checkpoint was read: it is taken to be saved by {printable(page.saved_by)}, one file for each writer"
    yield (
        f"every element that a rank wants is stored exactly once: {quantity(len(plan.parts), 'tensor')} in "
        f"{quantity(totals.distinct_files, 'file')}, of which a rank opens {_range(totals.files, 'file')}"
    )
    wanted = totals.wanted_bytes
    if len(wanted) > 1 and wanted.min() == wanted.max():
        yield f"every rank wants {format_size(int(wanted[0]))}"
    elif len(wanted) > 1:
        yield f"rank {totals.busiest:,} wants the most, rank {int(np.argmin(wanted)):,} the least: {_sizes(wanted)}"
    usual = page.as_usual
    way = "stored items in full, as torch's own loader does" if page.in_whole_items else "only the bytes that it wants"
    if usual.time is not None:
        limits = ", ".join(f"{name} {seconds(value)}" for name, value in usual.time.candidates)
        yield f"time: every rank reads {way}, all at once and each by itself; {limits}"
    else:
        yield "no bandwidth is known: --read-bandwidth, --read-bandwidth-per-node or --spec would give the time"
    if not page.runs.exact:
        checked = "" if page.saved_by is not None else ", which --rank N checks for one rank"
        yield f"requests for wanted bytes: stored shards are taken to be row-major{checked}"
    if page.runs.packed:
        yield "some items are compressed: of these a range cannot be read, only the whole"
    if page.one_rank is not None and page.one_rank.assumed is not None:
        yield f"places in files are not known for all reads: {printable(page.one_rank.assumed)}"
    if page.one_rank is not None and any(read.order is not None for read in page.one_rank.reads):
        yield (
            "order of axes: what is stored otherwise than row by row comes in this order, axes from the slowest to the "
            "fastest; those not listed have one element, or the same all along"
        )
    if plan.left_out:
        first = printable(plan.left_out[0])
        yield f"{quantity(len(plan.left_out), 'tensor')} of single ranks of the old run, such as {first}: not planned"
    yield from (printable(remark) for remark in (*plan.manifest.remarks, *plan.remarks))


def _range(values: np.ndarray, noun: str) -> str:
    low, high = int(values.min()), int(values.max())
    return quantity(low, noun) if low == high else f"{low:,} to {high:,}"


def _sizes(values: np.ndarray) -> str:
    return f"{format_size(int(values.max()))} and {format_size(int(values.min()))}"


def _batch_title(found: BatchSplits) -> str:
    return (
        f"The global batch of {quantity(found.batch.sequences, 'sequence')} on {found.replicas:,} data-parallel ranks"
    )


def _batch_facts(found: BatchSplits) -> Iterator[str]:
    yield f"from {printable(found.batch.source)}"
    if found.even:
        shown = found.even[:_MOST_SPLITS]
        pairs = ", ".join(f"{one.micro_batch:,} x {one.micro_batches:,}" for one in shown)
        more = len(found.even) - len(shown)
        yield f"kept with micro-batch x micro-batches of {pairs}{f', and {more:,} smaller ones' if more else ''}"
        return
    near = [number for number in (found.nearest.below, found.nearest.above) if number is not None]
    yield (
        "cannot be divided evenly: "
        + " or ".join(f"{number:,}" for number in near)
        + " data-parallel ranks can; or let "
        "some ranks do one micro-batch more, and sum gradients over sequences instead of averaging over ranks"
    )
