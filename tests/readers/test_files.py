from __future__ import annotations

import bz2
import gzip
import lzma
import os
import socket
import tracemalloc

import pytest

from ckptplan.errors import InputError
from ckptplan.readers import files
from ckptplan.readers.files import LONGEST_LINE, TextLines, head, open_record


def _read(path):
    lines = TextLines(path)
    return lines, [tuple(line) for line in lines]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_are_numbered_whether_packed_by_gzip_or_not(tmp_path, pack):
    """A line is given with its number and without its line break; a file of gzip reads as what it holds."""
    path = tmp_path / "a"
    path.write_bytes(pack(b"\xef\xbb\xbfone\r\n\ntwo"))
    lines, found = _read(path)
    assert found == [(1, "one"), (2, ""), (3, "two")]
    assert (lines.lines, lines.unended, lines.left_out(), lines.warnings()) == (3, True, (), ())
    assert head(path, 6) == b"\xef\xbb\xbfone"


def test_bad_bytes_are_counted_by_line_and_never_fatal(tmp_path):
    """Bytes that are no UTF-8 are replaced, NUL bytes vanish, and both are counted."""
    path = tmp_path / "a"
    path.write_bytes(b"plain\nn\xe9e \xff\n\0\0\0rest\0\ng\xe9\n")
    lines, found = _read(path)
    assert found == [(1, "plain"), (2, "n\ufffde \ufffd"), (3, "rest"), (4, "g\ufffd")]
    assert (lines.undecodable, lines.first_undecodable, lines.with_nul, lines.unended) == (2, 2, 1, False)
    assert "2 lines with bytes that are not UTF-8 (first: line 2)" in lines.warnings()[0]
    assert "1 line with NUL bytes" in lines.warnings()[1]


def test_a_line_of_any_length_takes_bounded_memory(tmp_path):
    """Of a line of 300 MB nothing is kept; it is counted, and the lines around it are given."""
    path = tmp_path / "a"
    with path.open("wb") as stream:
        stream.write(b"before\nx")
        stream.truncate(300_000_000)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nafter\n")
    tracemalloc.start()
    lines, found = _read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [(1, "before"), (3, "after")]
    assert [(left.reason, left.rows) for left in lines.left_out()] == [("lines of more than 1,000,000 bytes", 1)]
    assert peak < 8 * LONGEST_LINE


def test_the_longest_line_is_given_whole(tmp_path):
    """A line of exactly the longest length counts as a line, and one byte more does not."""
    path = tmp_path / "a"
    path.write_bytes(b"abcd\nabcde\nabcde")
    lines = TextLines(path, longest=4)
    assert [line.text for line in lines] == ["abcd"]
    assert lines.too_long == 2


def test_what_is_no_file_is_refused_without_waiting(tmp_path):
    """A folder, a pipe, a socket, a device, a missing file and an impossible name end in one clear error."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path, message in (
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "is a pipe"),
        (tmp_path / "link", "is a pipe"),
        (tmp_path / "socket", "is a socket"),
        ("/dev/zero", "is a device"),
        (tmp_path / "none", "no such file"),
        ("a\0b", "cannot be a file"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            open_record(path)
        assert caught.value.problems[0].place.file == str(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bz2.compress(b"a\n"), "is packed by bzip2"),
        (lzma.compress(b"a\n"), "is packed by xz"),
        (b"\x28\xb5\x2f\xfd....", "is packed by zstd"),
        (b"PK\x03\x04....", "is packed by zip"),
        (b"PAR1....", "is a Parquet file"),
        ("time\n1\n".encode("utf-16"), "UTF-16"),
        ("time,node\n1,2\n".encode("utf-16-le"), "UTF-16"),
        ("time,node\n1,2\n".encode("utf-16-be"), "UTF-16"),
        (gzip.compress("time\n1\n".encode("utf-16"), mtime=0), "UTF-16"),
        (bytes(5000), "nothing but NUL bytes"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, content, message):
    """Other packings, binary files and UTF-16 are named, with what to do."""
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        open_record(path)
    assert caught.value.problems[0].hint


def test_gzip_that_is_cut_off_or_expands_without_end_ends_in_an_error(tmp_path, monkeypatch):
    """A damaged file says so, and a file that unpacks to far more than text does is stopped on the way."""
    path = tmp_path / "a.gz"
    packed = gzip.compress(os.urandom(200_000).hex().encode())
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="gzip cannot be unpacked"):
        list(TextLines(path))
    path.write_bytes(gzip.compress(b"x" * 5_000_000))
    monkeypatch.setattr(files, "_FREE_UNPACKED", 1_000_000)
    with pytest.raises(InputError, match="gzip expands to more than"):
        list(TextLines(path))
