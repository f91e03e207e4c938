"""Results of sweeps as files that grow part by part: CSV, JSON, Markdown and Parquet."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

from ckptplan.render.sheet import json_ready, markdown_row
from ckptplan.render.sweep_columns import Shown, cells
from ckptplan.render.sweep_rows import CSV, JSON, csv_header, encoded
from ckptplan.sweep.columns import Columns, Labels

_THREADS = 2  # that make texts of parts, while others evaluate
_MOST_WHOLE = 2.0**63
_AHEAD = 3  # parts of which the texts wait to be written


class Writer(ABC):
    """A format. `encode` is called by several threads, the others in the order of the rows."""

    def __init__(self, columns: Sequence[Shown]) -> None:
        self.columns = tuple(columns)

    @abstractmethod
    def begin(self) -> bytes:
        """What stands before all rows."""

    @abstractmethod
    def encode(self, part: Columns) -> Iterable[bytes | memoryview]:
        """The rows of a part."""

    @abstractmethod
    def end(self, tail: Mapping[str, Any]) -> bytes:
        """What stands behind all rows; ``tail`` is what is known then only."""


class CsvWriter(Writer):
    """One header, then a line per row (RFC 4180 quoting, line feeds); empty is not known."""

    def begin(self) -> bytes:
        """The header, whose line feed comes with the first row."""
        return csv_header(self.columns)

    def encode(self, part: Columns) -> Iterable[bytes | memoryview]:
        """The rows, each with the line feed before it."""
        return encoded(part, self.columns, CSV)

    def end(self, tail: Mapping[str, Any]) -> bytes:
        """The last line feed."""
        return b"\n"


class JsonWriter(Writer):
    """One document: ``head``, rows as arrays in the order of the columns, and the tail."""

    def __init__(self, columns: Sequence[Shown], head: Mapping[str, Any]) -> None:
        super().__init__(columns)
        self._head = head

    def begin(self) -> bytes:
        """All before the rows; the bracket that closes it is left out."""
        text = json.dumps(json_ready(dict(self._head)), indent=2, ensure_ascii=True, allow_nan=False)
        return f'{text[:-2]},\n  "rows": ['.encode()

    def encode(self, part: Columns) -> Iterable[bytes | memoryview]:
        """The rows, each with the comma before it."""
        return encoded(part, self.columns, JSON)

    def end(self, tail: Mapping[str, Any]) -> bytes:
        """The rest of the document."""
        text = json.dumps(json_ready(dict(tail)), indent=2, ensure_ascii=True, allow_nan=False)
        return f"\n  ],\n{text[2:]}\n".encode()


class MarkdownWriter(Writer):
    """One table, cells as people read them."""

    def begin(self) -> bytes:
        """The titles."""
        rule = ["---" if column.text else "---:" for column in self.columns]
        return f"{markdown_row([column.title for column in self.columns])}\n{markdown_row(rule)}".encode()

    def encode(self, part: Columns) -> Iterable[bytes | memoryview]:
        """The rows."""
        rows = zip(*(cells(column, part[column.name]) for column in self.columns), strict=True)
        yield "".join(f"\n{markdown_row(row)}" for row in rows).encode()

    def end(self, tail: Mapping[str, Any]) -> bytes:
        """The last line feed."""
        return b"\n"


def writer_for(name: str, columns: Sequence[Shown], head: Mapping[str, Any]) -> Writer:
    """The writer of ``csv``, ``json`` or ``markdown``."""
    if name == "json":
        return JsonWriter(columns, head)
    return CsvWriter(columns) if name == "csv" else MarkdownWriter(columns)


def write(parts: Iterable[Columns], writer: Writer, tail: Mapping[str, Any], file: BinaryIO) -> None:
    """Write parts as they come, in memory that does not grow with their number. ``tail`` may change meanwhile."""
    file.write(writer.begin())
    is_first = isinstance(writer, JsonWriter)  # before its first row stands no comma
    for blocks in _encoded_ahead(parts, writer):
        for block in blocks:
            file.write(block[1:] if is_first else block)
            is_first = False
    file.write(writer.end(tail))


def _encoded_ahead(parts: Iterable[Columns], writer: Writer) -> Iterator[list[bytes | memoryview]]:
    """The rows of each part, made by threads while the next ones are evaluated."""
    waiting: deque[Future[list[bytes | memoryview]]] = deque()
    pool = ThreadPoolExecutor(_THREADS)
    try:
        for part in parts:
            waiting.append(pool.submit(lambda one: list(writer.encode(one)), part))
            if len(waiting) > _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def write_parquet(parts: Iterable[Columns], columns: Sequence[Shown], about: Mapping[str, Any], file: BinaryIO) -> None:
    """Write a Parquet file, one row group per part; the same study gives the same bytes.

    Units and meanings are metadata of the fields, ``about`` of the file.
    """
    import pyarrow.parquet as pq

    schema = parquet_schema(columns, about)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for part in parts:
            writer.write_table(_table(part, columns, schema))


def parquet_schema(columns: Sequence[Shown], about: Mapping[str, Any]) -> Any:
    """Texts, whole numbers and floating-point numbers, each with its unit and meaning."""
    import pyarrow as pa

    fields = []
    for column in columns:
        kind = pa.string() if column.text else pa.int64() if column.whole else pa.float64()
        fields.append(pa.field(column.header, kind, metadata={"unit": column.unit, "about": column.about}))
    return pa.schema(fields, metadata={"ckptplan": json.dumps(json_ready(dict(about)), allow_nan=False)})


def _table(part: Columns, columns: Sequence[Shown], schema: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    arrays = []
    for column in columns:
        values = part[column.name]
        if isinstance(values, Labels):
            arrays.append(pa.array(values.texts(), pa.string()))
        elif column.whole and values.dtype.kind == "f":
            unknown = ~(np.abs(values) < _MOST_WHOLE)
            arrays.append(pa.array(np.where(unknown, 0.0, values).astype(np.int64), mask=unknown))
        else:
            arrays.append(pa.array(values, mask=~np.isfinite(values)))
    return pa.table(arrays, schema=schema)
