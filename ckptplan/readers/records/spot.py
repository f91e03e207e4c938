"""Traces of spot instances: when each node came and went, in milliseconds from the start, without a header."""

from __future__ import annotations

import re
from array import array

import numpy as np

from ckptplan.fit.record import Allocations, FailureRecord, Outcome
from ckptplan.readers.files import TextLines, refused
from ckptplan.readers.records.moments import UNITS_S
from ckptplan.readers.records.numbered import Numbered
from ckptplan.readers.records.options import RecordOptions
from ckptplan.readers.records.report import Report
from ckptplan.readers.records.stamps import clock
from ckptplan.readers.records.windows import asked_window

NAME = "spot-instance trace"
_ROW = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*,\s*(add|remove)\s*,\s*(\S.{0,119}?)\s*")
_MOST_NODES = 5_000_000


def looks_like(head: bytes) -> bool:
    """Whether the first lines are a time, add or remove, and a node."""
    lines = [line for line in head.decode("utf-8-sig", "replace").splitlines()[:5] if line.strip()]
    return bool(lines) and all(_ROW.fullmatch(line) for line in (lines[:-1] or lines))


class _Market:
    """Nodes that are there, and the stretches of those that left."""

    def __init__(self) -> None:
        self.nodes = Numbered(_MOST_NODES)
        self.since: dict[int, float] = {}
        self.start, self.end, self.node, self.outcome = array("d"), array("d"), array("i"), array("i")
        self.again = self.unknown = self.back = 0
        self.latest = -np.inf

    def take(self, at_s: float, what: str, name: str) -> None:
        """One row."""
        node = self.nodes.code(name)
        self.back += at_s < self.latest
        self.latest = max(self.latest, at_s)
        if what == "add":
            self.again += node in self.since
            self.since.setdefault(node, at_s)
        elif node not in self.since:
            self.unknown += 1
        else:
            self.stretch(self.since.pop(node), at_s, node, Outcome.PREEMPTED)

    def stretch(self, start_s: float, end_s: float, node: int, outcome: Outcome) -> None:
        """One stretch of one node."""
        self.start.append(start_s)
        self.end.append(end_s)
        self.node.append(node)
        self.outcome.append(outcome)


def read(path: str, options: RecordOptions) -> FailureRecord:
    """Each node from its arrival to its removal, which is a preemption; what is there at the end is still running."""
    lines = TextLines(path)
    market, rows, odd = _Market(), 0, 0
    factor = UNITS_S.get(options.unit or "ms", 1e-3)
    for line in lines:
        if not line.text.strip():
            continue
        rows += 1
        match = _ROW.fullmatch(line.text)
        if match is None:
            odd += 1
            continue
        market.take(float(match[1]) * factor, match[2], match[3])
    if not len(market.nodes.names()):
        raise refused(path, "no line is a time, add or remove, and a node", "write them as 60000,add,node19")
    report = Report(lines.left_out(), lines.warnings())
    report.leave(odd, "lines that are not a time, add or remove, and a node")
    report.leave(market.again, "nodes added that were there already")
    report.leave(market.unknown, "nodes removed that were not there")
    report.count(market.back, "{} earlier than a row before: times were taken as they stand.")
    return _record(path, market, rows + lines.too_long, report, options)


def _record(path: str, market: _Market, rows: int, report: Report, options: RecordOptions) -> FailureRecord:
    removed, remaining = len(market.start), len(market.since)
    since, until = options.watched_from, options.watched_until
    window = asked_window(since, until, 0.0, clock(None), path)
    end_s = window.until_s if np.isfinite(window.until_s) else market.latest
    for node, since in market.since.items():
        market.stretch(since, max(since, end_s), node, Outcome.CENSORED)
    start_s, ends_s = np.array(market.start), np.array(market.end)
    outcome, nodes = np.array(market.outcome, np.int32), np.array(market.node, np.int32)
    report.count(
        int((ends_s < start_s).sum()), "{} of nodes removed before they were added: their times are exchanged."
    )
    left = "1 node was removed, a preemption" if removed == 1 else f"{removed:,} nodes were removed, each a preemption"
    report.facts.append(f"{left}; {remaining:,} {'was' if remaining == 1 else 'were'} there at the end.")
    if np.isinf(window.until_s):
        report.facts.append("The trace is taken to end with its last row.")
    ones = np.ones(len(start_s))
    causes = ("still there", "removed from the spot market")
    cause = (outcome == Outcome.PREEMPTED).astype(np.int32)
    low, high = np.minimum(start_s, ends_s), np.maximum(start_s, ends_s)
    content = Allocations(low, high, outcome, ones, np.full(len(ones), np.nan), nodes, cause, causes)
    return report.record(path, NAME, rows, report.watched(content, window, path, causes[0]).runs)
