"""Hostile files through the whole command: a clear error or the right count, in bounded memory, without waiting."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.harness import ckptplan

_MOST_BYTES = 500_000_000  # of memory
_MOST_S = 30.0  # of processor time; seen: below 2


def _sparse(path: Path, start: bytes, size: int, end: bytes = b"") -> Path:
    """A file of a size that takes no room on the disk: what is not written reads as NUL."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)
        file.seek(size - len(end))
        file.write(end)
    return path


def _refused(*arguments: object) -> str:
    ran = ckptplan(*map(str, arguments))
    assert ran.code == 1, ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert "hint: " in ran.err
    assert ran.peak_bytes < _MOST_BYTES
    assert ran.cpu_s < _MOST_S
    return ran.err


@pytest.mark.parametrize(
    "start",
    [b"", b"JobID|State|Start|End|NNodes\n1|COMPLETED|", b"time,cause\n2026-01-01,", b'{"jobs": [{"job_id": "', b"{"],
    ids=["nothing", "sacct", "csv", "sacct json", "json"],
)
def test_a_gigabyte_in_one_line_is_refused(tmp_path, start):
    """Whatever it begins as: the bound on a line is said, and the file is not kept in memory."""
    path = _sparse(tmp_path / "big", start, 1_000_000_000)
    assert str(path) in _refused("fit", path)


def test_ten_million_columns_are_refused(tmp_path):
    """A header of 100 MB is not split into names."""
    path = tmp_path / "wide.csv"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(b"column,,,," * 100_000)
    _refused("fit", path)
    path.write_bytes(b"JobID|State|" + b"c|" * 5000 + b"\n")
    assert "columns" in _refused("fit", path)


def test_nul_bytes_and_bytes_that_are_no_text_are_counted(tmp_path):
    """Rows around them count; the number of such lines is said."""
    path = tmp_path / "dirty.csv"
    rows = [f"2026-01-{day:02d}T00:00:00Z,reason".encode() for day in range(1, 21)]
    rows[5] = rows[5].replace(b"reason", b"re\0ason")
    rows[9] = rows[9].replace(b"reason", b"\xff\xfe")
    path.write_bytes(b"time,cause\n" + b"\n".join(rows) + b"\n")
    ran = ckptplan("fit", str(path), "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert document["rate"]["failures"] == 19
    said = " ".join(document["warnings"] + document["facts"])
    assert "NUL" in said
    assert "UTF-8" in said


def test_formulas_in_cells_stay_text(tmp_path):
    """A cell that a spreadsheet would run is a cause like any other, without control characters on the screen."""
    path = tmp_path / "formula.csv"
    cells = ['"=HYPERLINK(""http://x"",""y"")"', "@SUM(A1)", "+cmd|' /C calc'!A0", "\x1b[31mred"]
    rows = [f"2026-01-{day:02d}T00:00:00Z,{cells[day % 4]}" for day in range(1, 21)]
    path.write_text("time,cause\n" + "\n".join(rows) + "\n", encoding="utf-8")
    ran = ckptplan("fit", str(path))
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out + ran.err
    assert "=HYPERLINK" in ran.out


@pytest.mark.parametrize("command", [["fit"], ["measure", "import"]])
def test_pipes_devices_and_folders_are_refused_at_once(tmp_path, command):
    """Nothing waits for a writer that never comes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero")):
        assert str(path) in _refused(*command, path)


def test_links_out_of_the_folder_of_a_spec_are_not_followed(tmp_path):
    """A spec of somebody else reads no file of mine: not by .., not by a link, not by an absolute path."""
    secret = tmp_path / "secret.csv"
    secret.write_text("gap\n3 h\n4 h\n", encoding="utf-8")
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "link.csv").symlink_to(secret)
    spec = folder / "run.yaml"
    for name in ("../secret.csv", "link.csv", str(secret)):
        for key in ("failures: {record: NAME}", "failures: {mtbf: 3 h}\nstorage: {measured: NAME}"):
            rest = "\nmodel: {parameters: 1e9}\ncluster: {gpus: 8}\nsave: [{mode: sharded, stall: 1 s}]\n"
            spec.write_text(key.replace("NAME", name) + rest, encoding="utf-8")
            assert "not in the folder of the spec" in _refused("optimize", spec)
