"""Columns of the records that were leapt over: boxes of chunks, and entries of storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ckptplan.checkpoint.formats.dcp.metadata_names import CHUNK
from ckptplan.checkpoint.formats.dcp.metadata_tables import (
    MOST_AXES,
    NO_OFFSET,
    Chunks,
    Numbering,
    Storage,
    Unreadable,
    packed_by,
)  # fmt: skip
from ckptplan.checkpoint.formats.dcp.records_lockstep import literal
from ckptplan.checkpoint.formats.dcp.records_machine import RecordMachine, Run, Unfit
from ckptplan.checkpoint.formats.dcp.records_shapes import Axes
from ckptplan.checkpoint.formats.dcp.records_sites import Sites
from ckptplan.checkpoint.manifest import Ints

Number = Callable[[str], int]


class _Sized(NamedTuple):
    """Some rows whose lengths have the same number of axes."""

    rows: Ints
    values: Ints  # [n, axes]


class _Seen(dict[bytes, int]):
    """Numbers of texts by their bytes, each decoded once."""

    def __init__(self, numbered: Number) -> None:
        super().__init__()
        self._numbered = numbered

    def __missing__(self, raw: bytes) -> int:
        try:
            number = self[raw] = self._numbered(str(raw, "utf-8", "surrogatepass"))
        except UnicodeDecodeError:
            raise Unfit from None
        return number


class Columns:
    """All records of a machine whose interpretation has ended."""

    def __init__(self, machine: RecordMachine) -> None:
        self._machine = machine
        self._bases: dict[int, Ints] = {}  # by identity of the sites: places of the memo before each record; -1: unused
        self._chunks: dict[int, tuple[dict[int, Chunks], Ints, Ints]] = {}
        self._sizes: list[tuple[Ints, Ints]] | None = None
        self._literals: list[tuple[Ints, Ints]] | None = None
        for run in machine.runs:
            sites = run.sites
            bases = self._bases.get(id(sites))
            if bases is None:
                bases = self._bases[id(sites)] = np.full(len(sites.starts), -1, np.int64)
            part = slice(run.first, run.last)
            bases[part] = run.base + sites.before[part] - sites.before[run.first]

    def chunks(self, run: Run, axes: int) -> Chunks:
        """Boxes of a run of chunks of one tensor."""
        sites = run.sites
        if run.kind != CHUNK:
            raise Unfit
        if id(sites) not in self._chunks:
            self._chunks[id(sites)] = self._boxes(sites)
        tables, axes_of, row_of = self._chunks[id(sites)]
        first, last = int(row_of[run.first]), int(row_of[run.last - 1]) + 1
        if not (axes_of[run.first] == axes == axes_of[run.last - 1] and last - first == run.last - run.first):
            raise Unfit  # the plain interpretation tells which chunk it is
        table = tables[axes]
        return Chunks(table.offsets[first:last], table.sizes[first:last])

    def _boxes(self, sites: Sites) -> tuple[dict[int, Chunks], Ints, Ints]:
        """Boxes of all chunks by number of axes; for each site its number of axes and its row."""
        used = self._bases[id(sites)] >= 0
        axes_of, row_of = np.full(len(used), -1, np.int64), np.zeros(len(used), np.int64)
        found: list[tuple[Ints, Ints, Ints]] = []
        for number, (shape, records) in enumerate(zip(sites.shapes, sites.records, strict=True)):
            rows = np.flatnonzero(used[records.rows])
            offsets = self._sized(sites, number, shape.fields["offsets"], rows)
            sizes = self._sized(sites, number, shape.fields["sizes"], rows)
            if [len(part.rows) for part in offsets] != [len(part.rows) for part in sizes]:
                raise Unfit
            for offset, size in zip(offsets, sizes, strict=True):
                if offset.values.shape != size.values.shape or not np.array_equal(offset.rows, size.rows):
                    raise Unfit
                at = records.rows[offset.rows]
                axes_of[at] = offset.values.shape[1]
                found.append((at, offset.values, size.values))
        tables = {}
        for axes in {values.shape[1] for _, values, _ in found}:
            at = np.flatnonzero(axes_of == axes)
            row_of[at] = np.arange(len(at))
            table = Chunks(np.empty((len(at), axes), np.int64), np.empty((len(at), axes), np.int64))
            for places, offset_values, size_values in found:
                if offset_values.shape[1] == axes:
                    table.offsets[row_of[places]] = offset_values
                    table.sizes[row_of[places]] = size_values
            tables[axes] = table
        return tables, axes_of, row_of

    def storage(self, runs: list[Run], name: Number, file: Number, packing: Number) -> dict[int, list[Storage]]:
        """Entries of storage of some runs, by number of axes of their offsets."""
        found: dict[int, list[Storage]] = {}
        by_sites: dict[int, tuple[Sites, Ints]] = {}
        for run in runs:
            if run.kind == CHUNK:
                raise Unfit
            if id(run.sites) not in by_sites:
                by_sites[id(run.sites)] = run.sites, np.zeros(len(run.sites.starts), np.int64)
            by_sites[id(run.sites)][1][run.first : run.last] += 1
        for sites, taken in by_sites.values():
            if taken.max() > 1:
                raise Unfit
            for number in range(len(sites.shapes)):
                rows = np.flatnonzero(taken[sites.records[number].rows])
                for axes, table in self._entries(sites, number, rows, (name, file, packing)):
                    found.setdefault(axes, []).append(table)
        return found

    def _entries(
        self, sites: Sites, number: int, rows: Ints, numbering: tuple[Number, Number, Number]
    ) -> list[tuple[int, Storage]]:
        """Entries of some records of one shape."""
        if not len(rows):
            return []
        name, file, packing = numbering
        fields, gaps = sites.shapes[number].fields, sites.records[number].gaps
        keys = self._texts(sites, number, fields["fqn"], rows, name)
        files = self._texts(sites, number, fields["relative_path"], rows, file)
        starts, sizes = gaps[fields["start"]][rows], gaps[fields["length"]][rows]
        packings = self._packings(sites, number, rows, packing)
        if fields["offset"] is None:
            empty = np.empty((len(rows), 0), np.int64)
            return [(NO_OFFSET, Storage(keys, empty, files, starts, sizes, packings))]
        found = []
        for part in self._sized(sites, number, fields["offset"], rows):
            at = np.searchsorted(rows, part.rows)
            table = Storage(keys[at], part.values, files[at], starts[at], sizes[at], packings[at])
            found.append((part.values.shape[1], table))
        return found

    def _packings(self, sites: Sites, number: int, rows: Ints, packing: Number) -> Ints:
        descriptors = sites.shapes[number].fields["descriptors"]
        texts = Numbering()
        columns = [
            np.full(len(rows), texts(each)) if isinstance(each, str) else self._texts(sites, number, each, rows, texts)
            for each in descriptors
        ]
        if not columns:
            return np.full(len(rows), packing(""))
        kinds, kind_of = np.unique(np.stack(columns), axis=1, return_inverse=True)
        known = texts.texts()
        numbers = [packing(packed_by([known[text] for text in kind])) for kind in kinds.T.tolist()]
        found: Ints = np.array(numbers, np.int64)[kind_of.reshape(-1)]
        return found

    def _recalled(self, sites: Sites, number: int, gap: int, rows: Ints) -> Ints:
        """The values of a gap; what it recalls must have been there before the record."""
        records = sites.records[number]
        values = records.gaps[gap][rows]
        if (values >= self._bases[id(sites)][records.rows[rows]]).any():
            raise Unfit
        return values

    def _texts(self, sites: Sites, number: int, gap: int, rows: Ints, numbered: Number) -> Ints:
        """Numbers of the texts in a gap."""
        values = self._recalled(sites, number, gap, rows)
        found = np.empty(len(values), np.int64)
        written = values < 0
        indices, index_of = np.unique(values[~written], return_inverse=True)
        found[~written] = self._recalled_texts(indices, numbered)[index_of]
        found[written] = self._written(values[written], numbered)
        return found

    def _recalled_texts(self, indices: Ints, numbered: Number) -> Ints:
        """Numbers of texts of the memo; of those first that were written out within runs."""
        found, open_ = np.empty(len(indices), np.int64), np.ones(len(indices), bool)
        for memos, codes in self._written_texts():
            at = np.minimum(np.searchsorted(memos, indices), len(memos) - 1)
            hit = open_ & (memos[at] == indices)
            found[hit] = self._written(codes[at[hit]], numbered)
            open_ &= ~hit
        texts = [self._machine.recalled(index) for index in indices[open_].tolist()]
        if not all(type(text) is str for text in texts):
            raise Unfit
        found[open_] = [numbered(text) for text in texts]
        return found

    def _written_texts(self) -> list[tuple[Ints, Ints]]:
        """Texts written out in runs: where in the memo, and the negative numbers that stand for them."""
        if self._literals is None:
            each = [self._text_memos(sites, number) for sites in self._sites() for number in range(len(sites.shapes))]
            self._literals = [pair for pairs in each for pair in pairs if len(pair[0])]
        return self._literals

    def _text_memos(self, sites: Sites, number: int) -> list[tuple[Ints, Ints]]:
        records = sites.records[number]
        bases = self._bases[id(sites)][records.rows]
        found = []
        before = np.zeros(len(bases), np.int64)
        for gap, memos in sites.shapes[number].texts:
            written = records.gaps[gap] < 0
            rows = np.flatnonzero(written & (bases >= 0))
            found.append((bases[rows] + memos + before[rows], records.gaps[gap][rows]))
            before += written
        return found

    def _sites(self) -> list[Sites]:
        """All sites that runs are of."""
        return list({id(run.sites): run.sites for run in self._machine.runs}.values())

    def _written(self, codes: Ints, numbered: Number) -> Ints:
        """Numbers of texts that are written out."""
        starts, ends = literal(codes)
        seen = _Seen(numbered)
        pieces = map(self._machine.data.__getitem__, map(slice, starts.tolist(), ends.tolist()))
        return np.fromiter(map(seen.__getitem__, pieces), np.int64, len(codes))

    def _sized(self, sites: Sites, number: int, axes: Axes, rows: Ints) -> list[_Sized]:
        """Lengths of some records, apart by number of axes."""
        if axes.numbers is not None:
            gaps = [sites.records[number].gaps[gap][rows] for gap in axes.numbers]
            if len(gaps) > MOST_AXES:
                raise Unreadable(f"a chunk with {len(gaps)} axes")
            return [_Sized(rows, np.stack(gaps, axis=1) if gaps else np.empty((len(rows), 0), np.int64))]
        return self._shared(rows, self._recalled(sites, number, axes.recall, rows))

    def _shared(self, rows: Ints, indices: Ints) -> list[_Sized]:
        """Lengths that are recalled: first those that were made within runs, then single ones."""
        found, open_ = [], np.ones(len(rows), bool)
        for memos, values in self._written_sizes():
            at = np.minimum(np.searchsorted(memos, indices), max(len(memos) - 1, 0))
            hit = open_ & (memos[at] == indices)
            open_ &= ~hit
            found.append(_Sized(rows[hit], values[at[hit]]))
        single: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        for row, index in zip(rows[open_].tolist(), indices[open_].tolist(), strict=True):
            value = self._machine.recalled(index)
            if type(value) is not tuple or not all(type(each) is int and abs(each) < 1 << 60 for each in value):
                raise Unfit
            single.setdefault(len(value), []).append((row, value))
        for axes, pairs in single.items():
            values = np.array([value for _, value in pairs], np.int64).reshape(len(pairs), axes)
            found.append(_Sized(np.array([row for row, _ in pairs], np.int64), values))
        return _by_axes(found)

    def _written_sizes(self) -> list[tuple[Ints, Ints]]:
        """Lengths written out in runs: where in the memo, and the lengths."""
        if self._sizes is None:
            self._sizes = []
            for sites in self._sites():
                for number, shape in enumerate(sites.shapes):
                    for axes in shape.fields.values():
                        if isinstance(axes, Axes) and axes.numbers is not None and axes.memo >= 0:
                            self._sizes.append(self._of_memo(sites, number, axes))
        return [each for each in self._sizes if len(each[0])]

    def _of_memo(self, sites: Sites, number: int, axes: Axes) -> tuple[Ints, Ints]:
        records = sites.records[number]
        bases = self._bases[id(sites)][records.rows]
        rows = np.flatnonzero(bases >= 0)
        memos = bases[rows] + axes.memo
        for gap in axes.texts:
            memos += records.gaps[gap][rows] < 0
        return memos, self._sized(sites, number, axes, rows)[0].values


def _by_axes(parts: list[_Sized]) -> list[_Sized]:
    """Parts with the same number of axes put together, rows in order."""
    found: dict[int, list[_Sized]] = {}
    for part in parts:
        if len(part.rows):
            found.setdefault(part.values.shape[1], []).append(part)
    together = []
    for same in found.values():
        rows, values = np.concatenate([part.rows for part in same]), np.concatenate([part.values for part in same])
        order = np.argsort(rows, kind="stable")
        together.append(_Sized(rows[order], values[order]))
    return together
