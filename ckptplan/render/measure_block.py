"""The blocks of a spec that a measurement gives, to paste."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ckptplan.errors import printable
from ckptplan.measure.figures import StorageFigures
from ckptplan.measure.reading import Past
from ckptplan.measure.saving import SavingMeasured
from ckptplan.measure.storage import StorageMeasured
from ckptplan.units import format_rate, format_size, format_time

_LEAST_CV = 0.005  # a smaller scatter changes no digit of a plan
_LARGEST_CV = 10.0
_COLUMNS = 60  # of comments
_FAR = 10.0  # times: a rate of so much fewer bytes may be one of buffers


class Figure(NamedTuple):
    """A bandwidth [bytes/s] and its scatter [1], as a key of ``storage`` takes them."""

    bytes_per_s: float
    cv: float | None = None


class Block(NamedTuple):
    """Keys of ``storage`` with their figures, and what must be said beside them."""

    keys: Mapping[str, Figure]
    comments: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """YAML to paste; empty if there is no key."""
        if not self.keys:
            return ""
        lines = ["storage:", *_commented(self.comments)]
        lines += [f"  {key}: {_spread(format_rate(one.bytes_per_s), one.cv)}" for key, one in self.keys.items()]
        return "\n".join(lines) + "\n"


def measured_block(found: StorageMeasured, *, whole: bool) -> Block:
    """The keys that one node gives; the aggregate ones only if this node is all that writes."""
    rate, cv, writers = found.sustained.mean, found.sustained.cv, found.setting.writers
    keys = {"write_bandwidth": Figure(rate, cv)} if whole else {}
    keys |= {
        "write_bandwidth_per_node": Figure(rate, cv),
        "write_bandwidth_per_writer": Figure(rate / writers, cv),
    }
    comments = [f"{found.by}: {writers:,} writer{'' if writers == 1 else 's'} of one node at one time"]
    if whole and found.burst is not None and found.burst.mean > rate:
        if found.burst_is_memory:
            comments.append(
                f"no peak_write_bandwidth: the burst of {format_rate(found.burst.mean)} is what memory took"
            )
        else:
            keys["peak_write_bandwidth"] = Figure(found.burst.mean)
    if found.file_system.is_memory:
        comments.append(f"{found.file_system.kind}: this is memory, not storage")
    if found.read is not None and found.past is not Past.CACHE:
        if whole:
            keys["read_bandwidth"] = Figure(found.read.mean, found.read.cv)
        else:
            comments.append(
                f"this node read {format_rate(found.read.mean)}; read_bandwidth is that of all nodes together"
            )
    if not whole:
        comments.append("write_bandwidth, of all nodes together, does not follow from one node")
    return Block(keys, tuple(comments))


def imported_block(found: StorageFigures) -> Block:
    """The keys that results of benchmarks give."""
    given = {
        "write_bandwidth": (found.write_bandwidth_bytes_per_s, found.write_cv),
        "write_bandwidth_per_node": (found.write_bandwidth_per_node_bytes_per_s, found.write_cv),
        "write_bandwidth_per_writer": (found.write_bandwidth_per_writer_bytes_per_s, found.write_cv),
        "read_bandwidth": (found.read_bandwidth_bytes_per_s, found.read_cv),
    }
    keys = {key: Figure(rate, cv) for key, (rate, cv) in given.items() if rate is not None}
    settings = {"writer": found.write_setting}
    if found.read_bandwidth_bytes_per_s is not None:
        settings["reader"] = found.read_setting
    comments = [_at_once(who, *setting) for who, setting in settings.items() if setting[0] is not None]
    if found.write_is_upper_bound:
        comments.append("not known to be flushed: the writes may be in the page cache of the node, an upper bound")
    if found.read_bandwidth_bytes_per_s is None and found.read_bandwidth_per_node_bytes_per_s is not None:
        rate = format_rate(found.read_bandwidth_per_node_bytes_per_s)
        comments.append(f"one node read {rate}; read_bandwidth is that of all nodes together")
    return Block(keys, tuple(comments))


def _at_once(who: str, count: int | None, nodes: int | None) -> str:
    where = "" if nodes is None else f" on {nodes:,} node{'' if nodes == 1 else 's'}"
    return f"{count:,} {who}{'' if count == 1 else 's'}{where} at one time"


def saving_block(found: SavingMeasured, planned_bytes: float | None, *, whole: bool = False) -> str:
    """The ``save:`` entry that a measured save gives.

    Parameters
    ----------
    found : SavingMeasured
        What was measured.
    planned_bytes : float or None
        What each writer writes in the plan, to which the times are scaled; None where there is no plan. [bytes]
    whole : bool
        This node is all that writes.
    """
    scale = 1.0 if planned_bytes is None else planned_bytes / found.setting.size_bytes
    stall = _spread(_time(found.stall.mean * scale), found.stall.cv)
    flush = _spread(_time(found.flush.mean * scale), found.flush.cv)
    times = [*([f"stall: {stall}"] if found.is_gpu else []), f"flush: {flush}"]
    lines = ["- name: asynchronous", "  mode: asynchronous"]
    if planned_bytes is not None:  # keys count whatever the shards are: times of other shards are none
        lines += [f"  {one}" for one in times]
    if found.speed is not None:
        lines.append(f"  training_speed_while_flushing: {min(found.speed.mean, 1.0):.4g}")
    comments = [*_scaling(found, planned_bytes, times), *_saving_doubts(found, stall, whole=whole)]
    return "\n".join(["save:", *_commented(comments), *(f"  {line}" for line in lines)]) + "\n"


def _scaling(found: SavingMeasured, planned_bytes: float | None, times: list[str]) -> Iterable[str]:
    """Which bytes the times are for."""
    size_bytes = found.setting.size_bytes
    size = format_size(size_bytes)
    if planned_bytes is None:
        yield from times
        yield f"this is for {size} of each writer, as measured, and no key; give --spec to have it for its shards"
        return
    if round(planned_bytes) != size_bytes:
        yield f"times scaled from {size} of each writer, as measured, to {format_size(planned_bytes)}"
    if planned_bytes > _FAR * size_bytes:
        yield (
            f"caution: {planned_bytes / size_bytes:,.0f} times what was measured, in a flush of "
            f"{format_time(found.flush.mean)}: buffers may have taken all of that; measure with a larger --size"
        )


def _saving_doubts(found: SavingMeasured, stall: str, *, whole: bool) -> Iterable[str]:
    if not whole:
        yield "the flush of one node by itself: where all flush at one time, the aggregate bandwidth may bind"
    if not found.is_gpu:
        yield (
            f"no stall: measured was a copy within host memory ({stall}); that of a GPU follows from copy_bandwidth, "
            "the rate of its link"
        )
    if found.file_system.is_memory:
        yield f"{found.file_system.kind}: this is memory, not storage"


def _commented(comments: Iterable[str]) -> Iterable[str]:
    """Comments as lines of YAML; what is written in them breaks no line."""
    for comment in comments:
        yield from textwrap.wrap(
            printable(comment),
            _COLUMNS,
            initial_indent="  # ",
            subsequent_indent="  #   ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _time(seconds: float) -> str:
    """A time without separators, as a spec takes it."""
    return f"{seconds:.4g} s"


def _spread(text: str, cv: float | None) -> str:
    if cv is None or not _LEAST_CV <= cv <= _LARGEST_CV:
        return text
    return f"{{mean: {text}, cv: {cv:.2g}}}"
