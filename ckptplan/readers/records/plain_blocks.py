"""Many lines of a table taken apart at once: only lines of which csv, line by line, would make the same cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ckptplan.readers.files import LONGEST_LINE

BLOCK = 4_000_000  # bytes
FEWER, MORE = "rows with fewer cells than the header", "rows with more cells than the header"
_NO_ROW = re.compile(rb"(?m)^[ \t\v\f]*(?:#[^\n]*)?\r?(?:\n|\Z)")


_OTHER_BLANKS = re.compile(rb"(?m)^[ \t\v\f]*[\x1c-\x1f\xc2\xe1-\xe3\xef]")  # perhaps blanks of Unicode, or its mark


class Parsed(NamedTuple):
    """The wanted columns of a block."""

    columns: list[Any]  # pyarrow arrays of strings
    left: Counter[str]  # rows that are none, by reason


@lru_cache(maxsize=8)
def _quoted(separator: str) -> re.Pattern[bytes]:
    """Cells in quotes that begin and end where a cell does."""
    mark = re.escape(separator).encode()
    return re.compile(rb'(?m)(?:^|(?<=%b))"(?:[^"\n]|"")*+"(?=%b|\r?$)' % (mark, mark))


def plain_block(block: bytes, separator: str) -> bytes | None:
    """Whole lines without the blank ones and comments; None where they must be read one by one.

    That is where a line is too long, where a cell in quotes goes on in the next line, where quotes stand within a cell,
    and for NUL bytes, bytes that are not UTF-8, carriage returns within a line, and blanks that only Unicode knows.
    """
    if b"\0" in block or block.count(b"\r") != block.count(b"\r\n") or not _is_text(block):
        return None
    if _OTHER_BLANKS.search(block):
        return None
    data = np.frombuffer(block, np.uint8)
    ends = np.append(np.flatnonzero(data == ord("\n")), len(data))
    if int(np.diff(ends, prepend=-1).max()) > LONGEST_LINE:
        return None
    if b'"' in block and b'"' in _quoted(separator).sub(b"", block):
        return None
    return _NO_ROW.sub(b"", block)


def _is_text(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False


def parsed(block: bytes, columns: int, separator: str, wanted: Sequence[int]) -> Parsed | None:
    """Some columns of plain lines; None where rows have empty cells too many, or pyarrow stumbles."""
    import pyarrow as pa
    from pyarrow import csv

    left: Counter[str] = Counter()
    odd = 0

    def note(row: Any) -> str:
        nonlocal odd
        few = row.actual_columns < row.expected_columns
        left[FEWER if few else MORE] += 1
        odd += not few and not row.text.rsplit(separator, 1)[-1].strip()
        return "skip"

    if not block:
        return Parsed([pa.array([], pa.string()) for _ in wanted], left)
    needed = sorted(set(wanted))
    try:
        table = csv.read_csv(
            pa.py_buffer(block),
            read_options=csv.ReadOptions(
                use_threads=False, column_names=[str(at) for at in range(columns)], block_size=len(block) + 1
            ),
            parse_options=csv.ParseOptions(
                delimiter=separator, quote_char='"' if b'"' in block else False, invalid_row_handler=note
            ),
            convert_options=csv.ConvertOptions(
                include_columns=[str(at) for at in needed],
                column_types={str(at): pa.string() for at in needed},
                check_utf8=False,
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    arrays = {at: table.column(number).combine_chunks() for number, at in enumerate(needed)}
    return None if odd else Parsed([_one(arrays[at]) for at in wanted], left)


def _one(column: Any) -> Any:
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.string())
