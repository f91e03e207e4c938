from __future__ import annotations

import csv

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ckptplan.readers.records import delimited
from ckptplan.readers.records.delimited import Delimited
from ckptplan.readers.records.plain_blocks import plain_block

HEADER = "time,host,cause\n"
CELLS = st.sampled_from(
    ["", " ", "a", " b ", '"c"', '"d,e"', '"f""g"', "h;i", "1.5", "# no comment", "é", '5" disk', "x" * 600]
)
LINES = st.lists(CELLS, max_size=5).map(",".join) | st.sampled_from(
    ["", "  ", "# comment", "#", "\t", "a,b,c,,", '"torn,b,c']
)
ENDS = st.sampled_from(["\n", "\r\n"])


def _rows(table, way):
    chunks = getattr(table, way)([0, 2])
    return [row for chunk in chunks for row in zip(*(list(map(str, column)) for column in chunk), strict=True)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(LINES, max_size=12), ENDS, st.booleans())
@example(["a,b,c", '"x', 'y",b,c', "d,e,f"], "\n", True)
def test_blocks_give_the_cells_that_single_lines_give(tmp_path, lines, end, ended):
    """Taken apart together or one by one, a table has the same cells, and the same rows that are none."""
    path = tmp_path / "table.csv"
    path.write_text(HEADER + end.join(lines) + (end if ended else ""), newline="")
    singly, together = Delimited(str(path)), Delimited(str(path))
    expected = _rows(singly, "columns")
    assert _rows(together, "arrays") == expected
    assert sorted(together.left_out()) == sorted(singly.left_out())
    assert together.warnings() == singly.warnings()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=300) | st.text(alphabet='ab,"\n\r#; \0\ufeff\xa0\x1c', max_size=120).map(str.encode))
def test_any_bytes_give_the_same_either_way(tmp_path, content):
    """NUL bytes, bytes that are not UTF-8 and quotes anywhere make no difference."""
    path = tmp_path / "table.csv"
    path.write_bytes(HEADER.encode() + content)
    singly, together = Delimited(str(path)), Delimited(str(path))
    expected = _rows(singly, "columns")
    assert _rows(together, "arrays") == expected
    assert sorted(together.left_out()) == sorted(singly.left_out())
    assert together.warnings() == singly.warnings()


@pytest.mark.parametrize("size", [1, 7, 20, 64, 1000])
def test_blocks_of_any_size_give_the_same_rows(tmp_path, monkeypatch, size):
    """Where a block ends changes nothing: neither in a quoted cell of two lines nor in a line that is too long."""
    path = tmp_path / "table.csv"
    table = [("a", "b", "c"), ("d, e", "f", 'g"h'), ("i\nj", "k", "l"), ("m", "n", "o")]
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([("time", "host", "cause"), *table[:2]])
        stream.write("x" * 1_100_000 + "\n# comment\n\n")
        csv.writer(stream, lineterminator="\n").writerows(table[2:])
    monkeypatch.setattr(delimited, "BLOCK", size)
    found = Delimited(str(path))
    assert _rows(found, "arrays") == [(row[0], row[2]) for row in table]
    assert [(one.reason, one.rows) for one in found.left_out()] == [("lines of more than 1,000,000 bytes", 1)]


def test_only_plain_lines_are_taken_together():
    """Comments and blank lines go; what only a reader of single lines can tell is left to it."""
    assert plain_block(b"a,b\n\n  \n# c\r\nd,\xc3\xa9\r\n", ",") == b"a,b\nd,\xc3\xa9\r\n"
    for block in (
        b"a\0\n",
        b"\xff\n",
        b"a\rb\n",
        b'"a\nb"\n',
        b'a",b"\n',
        b"\xef\xbb\xbfa\n",
        b" \xc2\xa0\n",
        b"x" * 1_000_001,
    ):
        assert plain_block(block, ",") is None
