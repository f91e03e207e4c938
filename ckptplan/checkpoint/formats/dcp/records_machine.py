"""An interpretation that leaps over records which were read in lockstep."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ckptplan.checkpoint.formats.dcp.metadata_names import CHUNK, INDEX, STORAGE
from ckptplan.checkpoint.formats.dcp.records_frames import Unframed
from ckptplan.checkpoint.formats.dcp.records_learning import shape_of
from ckptplan.checkpoint.formats.dcp.records_lockstep import words_of
from ckptplan.checkpoint.formats.dcp.records_shapes import GET1, GET4, MEMOIZE, Shape
from ckptplan.checkpoint.formats.dcp.records_sites import Chain, Sites
from ckptplan.checkpoint.pickles.limits import Limits
from ckptplan.checkpoint.pickles.loading import OPERATIONS
from ckptplan.checkpoint.pickles.machine import Machine, Operation, Refused, not_an_opcode
from ckptplan.checkpoint.pickles.names import Names
from ckptplan.checkpoint.pickles.values import Built, Global

_RECORDS = frozenset((CHUNK, STORAGE))
_MARK, _BUILD = ord("("), ord("b")
MOST_SHAPES = 64
MOST_HEADS = 8
MOST_TRIALS = 1_000  # records that are looked at for their shape


class Unfit(Exception):  # noqa: N818 - the file is read opcode by opcode instead
    """The file does what honest ones do not do, or what only the plain interpretation follows."""


class Run:
    """Records that were leapt over, on the stack in place of their values; for pairs it stands as key and as value."""

    __slots__ = ("base", "first", "last", "sites")

    def __init__(self, sites: Sites, chain: Chain, base: int) -> None:
        self.sites = sites
        self.first = chain.first
        self.last = chain.last
        self.base = base  # how many places of the memo were taken before

    @property
    def kind(self) -> Global:
        """The class of its records; of pairs that of their values."""
        return self.sites.shapes[int(self.sites.shape_of[self.first])].kind


class _Region(NamedTuple):
    """Where the next element of a list or pair of a dict begins."""

    position: int
    height: int  # of the stack
    memo: int


_NOWHERE = _Region(-1, -1, -1)


class RecordMachine(Machine):
    """A pickle of protocol 4 or 5 without its frames. Its memo is written once at each place, in order."""

    __slots__ = ("_bases", "_ends", "_heads", "_lists", "_shapes", "_trials", "_unframed", "_words", "expanded", "next",
                 "regions", "runs", "starts")  # fmt: skip

    def __init__(self, unframed: Unframed, where: str, allowed: Names, limits: Limits) -> None:
        super().__init__(unframed.data, where, allowed, limits)
        self._unframed = unframed
        self._ends = np.array(unframed.ends[:-1], np.int64)
        self._words = words_of(unframed.data)
        self._heads: dict[bytes, Sites] = {}
        self._shapes: set[tuple[Any, ...]] = set()
        self._trials = 0
        self._lists = _NOWHERE  # the list that was begun last
        self.regions: list[_Region] = []  # one for each mark
        self.starts: dict[int, tuple[Sites, Chain]] = {}
        self.next = 0  # places of the memo that are taken
        self.runs: list[Run] = []
        self._bases: list[int] = []
        self.expanded: set[int] = set()  # identities of values that stand for parts of runs

    def place(self, position: int) -> int:
        """Where a position is in the file."""
        return self._unframed.place(position)

    def crossed(self, end: int) -> NoReturn:
        """An opcode goes across the end of a frame, which only some unpicklers mind."""
        if end < len(self.data):
            raise Unfit
        super().crossed(end)

    def region(self, at: int) -> _Region:
        """A region that begins here."""
        return _Region(at, len(self.stack), self.next)

    def list_begun(self, at: int) -> None:
        """Note that a list was put on the stack, whose one element may follow without a mark."""
        self._lists = self.region(at)

    def list_goes_on(self, at: int) -> None:
        """Note that a mark was set: right behind the beginning of a list its elements follow with a mark."""
        if self._lists.position == at - 1:
            self._lists = _NOWHERE

    def finished(self, call: Any, at: int) -> None:
        """Learn from a record that was read opcode by opcode, so that those behind it can be leapt over."""
        height = len(self.stack)
        region, self._lists = self._lists, _NOWHERE
        if region.height + 1 != height and self.regions:
            region = self.regions[-1]
            self.regions[-1] = self.region(at)
        pair = call == STORAGE and height == region.height + 2 and getattr(self.stack[-2], "call", None) == INDEX
        if pair or (call == CHUNK and height == region.height + 1):
            self._learn(region, at)

    def _learn(self, region: _Region, end: int) -> None:
        start = region.position
        if self._trials >= MOST_TRIALS or self.data[start] not in (GET1, GET4):
            return
        if any(sites.known(start) for sites in self._heads.values()):
            return
        self._trials += 1
        shape = shape_of(self.data, start, end, self.recalled, region.memo)
        if shape is not None and len(self._shapes) < MOST_SHAPES and (shape.head, shape.parts) not in self._shapes:
            self._shapes.add((shape.head, shape.parts))
            self._look_ahead(shape, end)

    def _look_ahead(self, shape: Shape, position: int) -> None:
        """Read all records of a shape from here on."""
        sites = self._heads.get(shape.head)
        if sites is None:
            if len(self._heads) == MOST_HEADS:
                return
            sites = self._heads[shape.head] = Sites(self.data, self._words, shape.head, position)
        if sites.read(shape, position):
            self.starts = {
                start: (each, chain)
                for each in self._heads.values()
                for start, chain in each.chains(position, self._ends).items()
            }

    def leap(self, at: int) -> int:
        """Leap over the chain of records that begins at a position, if one does."""
        found = self.starts.get(at)
        if found is None:
            return at
        sites, chain = found
        run = Run(sites, chain, self.next)
        self.runs.append(run)
        self._bases.append(self.next)
        self.stack.extend((run,) if run.kind == CHUNK else (run, run))
        self.next += int(sites.before[chain.last] - sites.before[chain.first])
        if self.regions:
            self.regions[-1] = self.region(chain.end)
        return chain.end

    def recalled(self, index: int) -> Any:
        """A value of the memo; one within a run is made now."""
        if index not in self.memo:
            self._expand(index)
        return self.memo[index]

    def _expand(self, index: int) -> None:
        """Interpret the one record of a run in which a place of the memo was taken."""
        number = bisect_right(self._bases, index) - 1
        if not 0 <= index < self.next or number < 0:
            raise Refused(f"the memo holds nothing at {index:,}")
        run = self.runs[number]
        before = run.sites.before
        place = index - run.base + int(before[run.first])
        site = int(np.searchsorted(before, place, "right")) - 1
        if not run.first <= site < run.last:
            raise Unfit
        base = run.base + int(before[site] - before[run.first])
        text = run.sites.text(site, index - base)
        if text is not None:
            self.memo[index] = text
            return
        self._interpret(int(run.sites.starts[site]), int(run.sites.ends[site]), base)

    def _interpret(self, start: int, end: int, base: int) -> None:
        kept = self.stack, self.marks, self.regions, self.next, self.starts
        self.stack, self.marks, self.regions, self.next, self.starts = [], [], [], base, {}
        at = start
        while at < end:
            at = _PLAIN[self.data[at]](self, at + 1)
        self.expanded.update(id(self.memo[index]) for index in range(base, self.next) if index in self.memo)
        self.stack, self.marks, self.regions, self.next, self.starts = kept

    def _top_mark(self) -> int:
        self.regions.pop()
        return super()._top_mark()


def _memoize(m: Any, at: int) -> int:
    m.memo[m.next] = m.stack[-1]
    m.next += 1
    return at


def _memoize_and_note(m: Any, at: int) -> int:
    """A list that is kept in the memo may be followed by its only element, without a mark."""
    m.memo[m.next] = top = m.stack[-1]
    m.next += 1
    if type(top) is list and not top:
        m.list_begun(at)
        return m.leap(at) if at in m.starts else at
    return at


def _mark(m: Any, at: int) -> int:
    m.marks.append(len(m.stack))
    m.regions.append(m.region(at))
    m.list_goes_on(at)
    return m.leap(at) if at in m.starts else at


def _get1(m: Any, at: int) -> int:
    index = m.data[at]
    m.stack.append(m.memo[index] if index in m.memo else m.recalled(index))
    return at + 1


def _get4(m: Any, at: int) -> int:
    index = int.from_bytes(m.data[at : at + 4], "little")
    m.stack.append(m.memo[index] if index in m.memo else m.recalled(index))
    return at + 4


def _build(m: Any, at: int) -> int:
    built = m.stack[-2]
    if type(built) is not Built or built.state is not None:
        raise Unfit
    built.state = m.stack.pop()
    return at


def _build_and_leap(m: Any, at: int) -> int:
    _build(m, at)
    call = m.stack[-1].call
    if call in _RECORDS:
        m.finished(call, at)
        return m.leap(at) if at in m.starts else at
    return at


def _unfit(_: Any, __: int) -> int:
    raise Unfit


def _not_of_runs(code: int) -> Operation:
    """An operation that would take a run for one value."""
    plain = OPERATIONS[code]

    def operation(m: Machine, at: int) -> int:
        if m.stack and type(m.stack[-1]) is Run:
            raise Unfit
        return plain(m, at)

    return operation


def _not_of_marked_runs(code: int) -> Operation:
    """An operation that would take runs for so many values."""
    plain = OPERATIONS[code]

    def operation(m: Machine, at: int) -> int:
        if m.marks and _have_runs(m.stack[m.marks[-1] :]):
            raise Unfit
        return plain(m, at)

    return operation


def _have_runs(values: list[Any]) -> bool:
    return any(type(each) is Run for each in values)


def _append(m: Any, at: int) -> int:
    top = m.stack[-1]
    if (type(top) is Run and top.last - top.first != 1) or id(m.stack[-2]) in m.expanded:
        raise Unfit
    return _PLAIN_APPEND(m, at)


def _appends(m: Any, at: int) -> int:
    if m.expanded and m.marks and id(m.stack[m.marks[-1] - 1]) in m.expanded:
        raise Unfit
    return _PLAIN_APPENDS(m, at)


def _set_items(m: Any, at: int) -> int:
    """Fill a dict; of storage entries it may be runs that fill it."""
    height = m.marks[-1] if m.marks else 0
    if height and id(m.stack[height - 1]) in m.expanded:
        raise Unfit
    if height and _have_runs(m.stack[height:]):
        _set_runs(m)
        return at
    return _PLAIN_SET_ITEMS(m, at)


def _set_runs(m: Any) -> None:
    found = m.since_mark()
    target = m.stack[-1]
    if type(target) is not dict or len(found) % 2:
        raise Unfit
    for key, value in zip(found[::2], found[1::2], strict=True):
        if type(key) is not Run:
            m.check_key(key)
        if (type(key) is Run or type(value) is Run) and key is not value:
            raise Unfit
        target[key] = value


_PLAIN_APPEND, _PLAIN_APPENDS, _PLAIN_SET_ITEMS = (OPERATIONS[code] for code in b"aeu")
_COMMON: dict[int, Operation] = OPERATIONS | {
    MEMOIZE: _memoize, _MARK: _mark, GET1: _get1, GET4: _get4, _BUILD: _build, ord("u"): _set_items,
    ord("a"): _append, ord("e"): _appends,
    **{code: _not_of_runs(code) for code in b"02s\x85\x86\x87."},
    **{code: _not_of_marked_runs(code) for code in b"1tldoi\x90\x91"},
    **dict.fromkeys(b"pqrgPQ", _unfit),
}  # fmt: skip
_PLAIN: Sequence[Operation] = tuple(_COMMON.get(code, not_an_opcode) for code in range(256))
_LEAPING = _COMMON | {_BUILD: _build_and_leap, MEMOIZE: _memoize_and_note}
LEAPING: Sequence[Operation] = tuple(_LEAPING.get(code, not_an_opcode) for code in range(256))
