"""Which rows are attempts of the same job: repeated rows, parts of heterogeneous jobs, and the gaps of requeues."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ckptplan.fit.record import Codes
from ckptplan.readers.records.stamps import Flags, Floats


class Ids(NamedTuple):
    """Numbers of jobs: ``whole`` has the parts of a heterogeneous job as one."""

    row: Codes
    whole: Codes
    part: Flags  # rows that are such parts
    texts: Any  # pyarrow array of ids as they are written, by number

    def names(self, numbers: Codes) -> tuple[str, ...]:
        """The ids of jobs; of a heterogeneous one that of its first part, which has no +."""
        import pyarrow as pa
        from pyarrow import compute

        texts = self.texts.take(pa.array(numbers)).cast(pa.string(), safe=False)
        if self.part.any():
            texts = compute.replace_substring_regex(texts, r"\+.*$", "")
        return tuple(texts.to_numpy(zero_copy_only=False).tolist())


def ids_of(job: Any) -> Ids:
    """Numbers of job ids, in the order of first appearance; 19+0 and 19+1 are parts of 19."""
    from pyarrow import compute

    coded = job.dictionary_encode()
    chunks = coded.chunks if hasattr(coded, "chunks") else [coded]
    row = np.concatenate([np.asarray(chunk.indices) for chunk in chunks] or [np.empty(0)]).astype(np.int32)
    names = chunks[-1].dictionary if chunks else job
    plus = np.asarray(compute.match_substring(names, "+")) if len(names) else np.zeros(0, bool)
    if not plus.any():
        return Ids(row, row, np.zeros(len(row), bool), names)
    first: dict[bytes, int] = {}
    bases = [text.split(b"+")[0] for text in names.to_pylist()]
    whole = np.array([first.setdefault(base, number) for number, base in enumerate(bases)], np.int32)
    return Ids(row, whole[row], plus[row], names)


class Kept(NamedTuple):
    """Rows that count, and how many were left out beside them."""

    rows: Flags
    repeated: int
    conflicting: int


def once(ids: Codes, start_s: Floats, end_s: Floats, *, state: Codes, lasting: Flags, among: Flags) -> Kept:
    """One row for each job and start: one that has ended rather than a running one, then the one with the later end."""
    at = np.flatnonzero(among)
    order = at[np.lexsort((end_s[at], ~lasting[at], start_s[at], ids[at]))]  # the row to keep is the last of equals
    same = (ids[order][1:] == ids[order][:-1]) & (start_s[order][1:] == start_s[order][:-1])
    rows = among.copy()
    rows[order[:-1][same]] = False
    alike = (state[order][1:] == state[order][:-1]) & (end_s[order][1:] == end_s[order][:-1])
    return Kept(rows, int((same & alike).sum()), int((same & ~alike).sum()))


class Following(NamedTuple):
    """For rows that count: the next attempt of the same job."""

    gap_s: Floats  # from the end to the next start; nan without one
    again: int  # jobs' later attempts
    inverted: int  # attempts that start before the former one of their job ended, or are listed before it
    jobs: int


def following(ids: Codes, start_s: Floats, end_s: Floats) -> Following:
    """Gaps from the end of each attempt to the start of the next, and what of their order is wrong."""
    order = np.lexsort((start_s, ids))
    same = ids[order][1:] == ids[order][:-1]
    gap = np.full(len(ids), np.nan)
    between = start_s[order][1:] - end_s[order][:-1]
    gap[order[:-1][same & (between >= 0.0)]] = between[same & (between >= 0.0)]
    overlapping = same & (between < 0.0)
    listed = same & (order[1:] < order[:-1])
    return Following(gap, int(same.sum()), int((overlapping | listed).sum()), len(ids) - int(same.sum()))
