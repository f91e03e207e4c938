"""A large table in blocks of whole lines: memory does not grow with the file, nor with a line that never ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckptplan.readers.files import open_record, refused
from ckptplan.readers.records.slurm.columns import LONGEST_HEADER, MOST_COLUMNS, Header, header_of
from ckptplan.readers.records.slurm.torn import TornLine

MOST_TORN = 400_000  # lines of a block; rows with the delimiter in every name are fewer
BLOCK = 16_000_000  # bytes; also the longest line
_STAND_INS = tuple(bytes([code]) for code in (0x1F, 0x1E, 0x1D, 0x1C, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06))


class TooTornError(Exception):
    """Most lines have another number of fields than the header: it is no header of theirs."""


class Block(NamedTuple):
    """The needed columns of a block, all as bytes, and its lines that have another number of fields."""

    columns: list[Any]  # pyarrow binary arrays
    rows: int  # lines that hold something
    torn: list[TornLine]
    undecodable: int  # lines
    delimiter: str  # in the text of torn lines: one character


def first_line(stream: BinaryIO, path: str, delimiter: str | None) -> Header | None:
    """The header; InputError where it has no end or too many columns."""
    line = stream.readline(LONGEST_HEADER + 1)
    if len(line) > LONGEST_HEADER:
        raise refused(path, f"the first line has more than {LONGEST_HEADER:,} bytes", "is this a table of sacct?", 1)
    header = header_of(line, delimiter)
    if header is not None and len(header.names) > MOST_COLUMNS:
        found = f"{len(header.names):,} columns; {MOST_COLUMNS:,} are the most"
        raise refused(path, found, "is this a table of sacct?", 1)
    return header


def blocks(stream: BinaryIO, path: str) -> Iterator[bytes]:
    """Whole lines, about 16 MB at a time."""
    rest, given = b"", 0
    while data := stream.read(BLOCK):
        cut = data.rfind(b"\n") + 1
        if cut:
            block = rest + data[:cut]
            given += len(block)
            yield block
            rest = data[cut:]
        else:
            rest += data
        if len(rest) > BLOCK:
            message = f"a line has more than {BLOCK:,} bytes"
            hint = "is this the right file? A row of sacct takes some hundred bytes"
            raise refused(path, message, hint, _line_at(path, given))
    if rest:
        yield rest


def _line_at(path: str, given: int) -> int:
    """The number of the line behind the header and so many bytes."""
    line = 2
    with open_record(path) as stream:
        stream.readline(LONGEST_HEADER + 1)
        while given > 0 and (data := stream.read(min(given, BLOCK))):
            line += data.count(b"\n")
            given -= len(data)
    return line


def parse(block: bytes, header: Header, needed: list[int]) -> Block:
    """The needed columns of a block, by pyarrow."""
    import pyarrow as pa
    from pyarrow import csv

    block, undecodable = _decodable(block)
    block, delimiter = _of_one_byte(_lines_of_feed(block), header.delimiter)
    torn: list[TornLine] = []

    def note(row: Any) -> str:
        torn.append(TornLine(row.number - 1, row.text))
        return "skip" if len(torn) <= MOST_TORN else "error"

    if not block.strip(b"\n"):
        return Block([pa.array([], pa.binary()) for _ in needed], 0, torn, undecodable, "|")
    names = [str(number) for number in range(len(header.names))]
    # An option to ignore empty lines would hide them in a table of one column, where they are rows.
    try:
        table = csv.read_csv(
            pa.py_buffer(block),
            read_options=csv.ReadOptions(use_threads=False, column_names=names, block_size=len(block) + 1),
            parse_options=csv.ParseOptions(delimiter=delimiter.decode(), quote_char=False, invalid_row_handler=note),
            convert_options=csv.ConvertOptions(
                include_columns=[names[number] for number in needed],
                column_types={names[number]: pa.binary() for number in needed},
                check_utf8=False,
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        if len(torn) > MOST_TORN:
            raise TooTornError from None
        raise
    columns = [_one(table.column(number)) for number in range(len(needed))]
    return Block(columns, table.num_rows + len(torn), torn, undecodable, delimiter.decode())


def _one(column: Any) -> Any:
    """One array of a column of one block."""
    import pyarrow as pa

    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], pa.binary())])


def _decodable(block: bytes) -> tuple[bytes, int]:
    """The block with bytes that are no UTF-8 replaced, and the lines that held some."""
    if block.isascii():
        return block, 0
    try:
        block.decode()
    except UnicodeDecodeError:
        return block.decode(errors="replace").encode(), _undecodable_lines(block)
    return block, 0


def _undecodable_lines(block: bytes) -> int:
    data = np.frombuffer(block, np.uint8)
    ends = np.append(np.flatnonzero(data == 10), len(data))
    lines = np.unique(np.searchsorted(ends, np.flatnonzero(data >= 128)))
    starts = np.concatenate([[0], ends[:-1] + 1])
    return sum(not _is_text(block[starts[line] : ends[line]]) for line in lines)


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines_of_feed(block: bytes) -> bytes:
    """Lines that end in a line feed; a carriage return within one is a blank."""
    if b"\r" not in block:
        return block
    return block.replace(b"\r\n", b"\n").replace(b"\r", b" ")


def _of_one_byte(block: bytes, delimiter: bytes) -> tuple[bytes, bytes]:
    """The block with a delimiter of one byte: a control character that it does not hold stands for a longer one."""
    if len(delimiter) == 1:
        return block, delimiter
    free = next((mark for mark in _STAND_INS if mark not in block), None)
    if free is None:
        block, free = block.replace(_STAND_INS[0], b" "), _STAND_INS[0]
    return block.replace(delimiter, free), free


def begin_with_a_digit(column: Any) -> NDArray[np.bool_]:
    """Which cells of a binary column do."""
    if len(column) == 0:
        return np.zeros(0, bool)
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    if len(data) == 0:
        return np.zeros(len(column), bool)
    first = data[np.minimum(ends[:-1], len(data) - 1)]
    return np.asarray((np.diff(ends) > 0) & (first >= ord("0")) & (first <= ord("9")))
