"""Rows of sweeps as CSV, JSON, Markdown and Parquet."""

from __future__ import annotations

import csv
import io
import json
import math

import jsonschema
import numpy as np
import pyarrow.parquet as pq
import pytest

from ckptplan.render.schemas import output_schema
from ckptplan.render.sweep_columns import shown_columns
from ckptplan.render.sweep_document import head, tail_of
from ckptplan.render.sweep_writers import write, write_parquet, writer_for
from ckptplan.sweep.columns import Columns, Labels, length
from ckptplan.sweep.study import Axis, Study
from tests.render.sweeps import BANDWIDTH, COLUMNS, GIVEN, GPUS, columns_of, study


def _cut(columns: Columns, sizes: list[int]) -> list[Columns]:
    parts, start = [], 0
    for size in sizes:
        rows = slice(start, start + size)
        parts.append(
            {
                name: Labels(column.codes[rows], column.names) if isinstance(column, Labels) else column[rows]
                for name, column in columns.items()
            }
        )
        start += size
    return parts


def _written(format_: str, asked: Study, parts: list[Columns]) -> bytes:
    shown = shown_columns(asked, tuple(parts[0]))
    file = io.BytesIO()
    if format_ == "parquet":
        write_parquet(parts, shown, head(asked, shown), file)
    else:
        write(parts, writer_for(format_, shown, head(asked, shown)), tail_of(["a warning"]), file)
    return file.getvalue()


def _expected(columns: Columns) -> list[list]:
    """Row by row, by a loop: texts, whole numbers as such, None for what is not known."""
    rows = []
    for row in range(length(columns)):
        cells = []
        for column in columns.values():
            value = column.texts()[row] if isinstance(column, Labels) else column[row].item()
            cells.append(None if isinstance(value, float) and math.isnan(value) else value)
        rows.append(cells)
    return rows


@pytest.mark.parametrize("axes", [(GPUS,), (GPUS, BANDWIDTH), (GIVEN, GPUS, BANDWIDTH)], ids=len)
def test_csv_says_what_a_loop_with_the_csv_module_reads(axes):
    """Every value to the last digit, texts quoted where they must be, nothing where it is not known."""
    asked = study(*axes)
    columns = columns_of(asked)
    text = _written("csv", asked, [columns]).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert text.endswith("\n")
    assert "\r" not in text
    assert header[len(axes) :] == list(COLUMNS)
    for row, wanted in zip(rows, _expected(columns), strict=True):
        for cell, value in zip(row, wanted, strict=True):
            if value is None:
                assert cell == ""
            elif isinstance(value, str):
                assert cell == value
            else:
                assert float(cell) == value
                assert not cell.endswith(".0")


def test_headers_carry_the_unit():
    """That of an axis behind its key; a given interval has another name than the one in force."""
    asked = study(GIVEN, BANDWIDTH, Axis("model.state[0].bytes_per_parameter", (4.0,), ("4 B",), "bytes"))
    header = _written("csv", asked, [columns_of(asked)]).split(b"\n")[0].decode()
    assert header.startswith(
        "given_interval_s,storage.write_bandwidth_bytes_per_s,model.state[0].bytes_per_parameter,strategy,interval_s"
    )


@pytest.mark.parametrize("format_", ["csv", "json", "markdown"])
def test_parts_do_not_show(format_):
    """However a sweep is parted, and however its threads take turns, the text is the same."""
    asked = study(GPUS, GIVEN, BANDWIDTH)
    columns = columns_of(asked)
    whole = _written(format_, asked, [columns])
    for sizes in ([1] * 18, [5, 5, 8], [0, 17, 1]):
        assert _written(format_, asked, _cut(columns, sizes)) == whole


def test_the_json_document_holds_against_its_schema():
    """Also without any row; the rows are those of the columns, null where a number is not known."""
    asked = study(GPUS, BANDWIDTH)
    columns = columns_of(asked)
    document = json.loads(_written("json", asked, _cut(columns, [4, 2])))
    jsonschema.validate(document, output_schema("sweep"))
    assert document["rows"] == _expected(columns)
    assert [axis["column"] for axis in document["axes"]] == [one["name"] for one in document["columns"][:2]]
    empty = json.loads(_written("json", asked, _cut(columns, [0])))
    jsonschema.validate(empty, output_schema("sweep"))
    assert empty["rows"] == []


def test_parquet_read_back_is_the_result():
    """Values, types, units and meanings; a row group for each part."""
    asked = study(GPUS, BANDWIDTH)
    columns = columns_of(asked)
    data = _written("parquet", asked, _cut(columns, [4, 2]))
    table = pq.read_table(io.BytesIO(data))
    assert [list(row.values()) for row in table.to_pylist()] == _expected(columns)
    assert [str(field.type) for field in table.schema] == [
        "int64", "double", "string", "double", "int64", "double", "double", "string",
    ]  # fmt: skip
    assert table.schema.field("interval_s").metadata[b"unit"] == b"s"
    assert json.loads(table.schema.metadata[b"ckptplan"])["schema"] == "ckptplan.sweep/1"
    assert pq.ParquetFile(io.BytesIO(data)).num_row_groups == 2


def test_parquet_of_equal_parts_is_the_same_file():
    """Nothing in it tells when it was made."""
    asked = study(GPUS, BANDWIDTH)
    parts = _cut(columns_of(asked), [4, 2])
    assert _written("parquet", asked, parts) == _written("parquet", asked, parts)


def test_names_cannot_steer_a_terminal_or_break_a_row():
    """Control characters are ? in CSV and Markdown, escaped in JSON; quotes, commas and bars do no harm."""
    name = 'a\x1b[31m,"b"\n| <script> [red]'
    asked = study(GPUS)
    columns = columns_of(asked, statuses=("ok", name))
    columns["status"] = Labels(np.ones(3, dtype=np.int32), ("ok", name))
    rows = list(csv.reader(io.StringIO(_written("csv", asked, [columns]).decode())))
    assert rows[1][-1] == 'a?[31m,"b"?| <script> [red]'
    assert json.loads(_written("json", asked, [columns]))["rows"][0][-1] == name
    markdown = _written("markdown", asked, [columns]).decode()
    assert "\x1b" not in markdown
    assert len(markdown.splitlines()) == 5
    assert "\\| &lt;script&gt; \\[red\\]" in markdown


def test_names_are_no_formulas_in_csv():
    """An apostrophe stands before those that a spreadsheet would carry out; numbers below zero are numbers."""
    asked = study(GPUS)
    columns = columns_of(asked, statuses=("ok", '=HYPERLINK("http://a.b")'))
    columns["status"] = Labels(np.ones(3, dtype=np.int32), ("ok", '=HYPERLINK("http://a.b")'))
    columns["size_bytes"] = np.array([-1.5, 2.0, 3.0])
    rows = list(csv.DictReader(io.StringIO(_written("csv", asked, [columns]).decode())))
    assert rows[0]["status"] == '\'=HYPERLINK("http://a.b")'
    assert rows[0]["size_bytes"] == "-1.5"
    assert json.loads(_written("json", asked, [columns]))["rows"][0][-1] == '=HYPERLINK("http://a.b")'


def test_markdown_shows_values_as_people_read_them():
    """With units, and aligned by kind."""
    asked = study(BANDWIDTH, GPUS)
    lines = _written("markdown", asked, [columns_of(asked)]).decode().splitlines()
    assert lines[0].startswith("| storage.write\\_bandwidth | GPUs | strategy | interval | steps | goodput % |")
    assert lines[1].startswith("| ---: | ---: | --- | ---: |")
    assert lines[2].startswith("| 10 GB/s | 8 | one |")


def test_many_distinct_values_of_an_axis_are_formatted_alike():
    """Beyond the number up to which values are looked up, the text does not change its form."""
    values = tuple(float(number) + 0.5 for number in range(70_000))
    asked = study(
        Axis("failures.mtbf", values, tuple(f"{value} s" for value in values), "s"), columns=("goodput_typed",)
    )
    rows = csv.DictReader(io.StringIO(_written("csv", asked, [columns_of(asked)]).decode()))
    assert [float(row["failures.mtbf_s"]) for row in rows] == list(values)
