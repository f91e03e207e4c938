from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import pytest

from ckptplan.errors import InputError
from ckptplan.readers.records import standard_input
from ckptplan.readers.records.failures import read_record

TABLE = b"time,cause\n2026-01-01T00:00:00Z,a\n2026-01-02T00:00:00Z,b\n"


class _Terminal(io.BytesIO):
    def isatty(self):
        return True


@pytest.fixture
def piped(monkeypatch, tmp_path):
    """Put bytes on standard input, and keep what is spooled in a folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def piping(content, kind=io.BytesIO):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(kind(content)))
        return tmp_path

    return piping


def test_a_table_on_standard_input_is_a_record(piped):
    """It is read as a file of the same bytes, is called standard input, and leaves no file behind."""
    folder = piped(TABLE)
    record = read_record("-")
    path = folder / "table.csv"
    path.write_bytes(TABLE)
    assert record.file == "standard input"
    assert record.content.start_s.tolist() == read_record(path).content.start_s.tolist()
    assert list(folder.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "is empty"), (b"a,b\n1,2\n", "no known"), (b"time\nx\n", "'x'")]
)
def test_faults_name_standard_input_and_leave_nothing(piped, content, message):
    """The file in which it was kept is nowhere in the error, and is gone."""
    folder = piped(content)
    with pytest.raises(InputError, match=message) as caught:
        read_record("-")
    assert caught.value.render().count("standard input:") == 1
    assert str(folder) not in caught.value.render()
    assert not list(folder.iterdir())


def test_more_than_is_taken_is_refused(piped, monkeypatch):
    """A pipe without an end is stopped, and what was kept of it is removed."""
    folder = piped(b"x" * 5_000_000)
    monkeypatch.setattr(standard_input, "MOST_BYTES", 2_000_000)
    with pytest.raises(InputError, match="more than 2,000,000 bytes"):
        read_record("-")
    assert not list(folder.iterdir())


def test_nobody_is_waited_for(piped, monkeypatch):
    """At a terminal, and where there is no standard input, the error says how to pipe."""
    piped(b"", _Terminal)
    with pytest.raises(InputError, match="nothing is piped") as caught:
        read_record("-")
    assert "sacct" in caught.value.problems[0].hint
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="nothing is piped"):
        read_record("-")


def test_a_file_of_that_name_is_still_a_file(tmp_path, monkeypatch):
    """A path with a folder, or a Path, is a file whatever its name."""
    (tmp_path / "-").write_bytes(TABLE)
    monkeypatch.chdir(tmp_path)
    assert read_record("./-").rows == 2
    assert read_record(Path("-")).rows == 2
