from __future__ import annotations

import gzip
import os
import tracemalloc

import pytest

from ckptplan.errors import InputError
from ckptplan.fit.record import Marks
from ckptplan.readers.records.failures import FORMATS, read_record, recognised
from ckptplan.readers.records.options import RecordOptions
from tests.readers.records.recorded import COLLECTION, left, needs_collection

# What every file of the collection is: its format, its rows, and rows left out; None for one that is no record.
FILES = {
    "human/opt175b_logbook_index.txt": ("run-log", 37, 5),
    "jobs/acme_cluster_summary.csv": (None, "totals of whole clusters"),
    "kernel/gpud_dmesg-with-xid-119.log": ("kernel", 43, 38),
    "kernel/gpud_kmsg.1.log": ("kernel", 47, 47),
    "lanl/lanl_system13.csv": ("lanl", 201, 0),
    "lanl/lanl_system19.csv": ("lanl", 3284, 0),
    "lanl/lanl_system23.csv": ("lanl", 564, 0),
    "lanl/lanl_system8.csv": ("lanl", 475, 0),
    "outages/cua_atlassian_developers_operator_reported.csv": ("outages", 136, 0),
    "outages/cua_github-status_global-status_operator_reported.csv": ("outages", 230, 0),
    "published/llama3_405b_table5.csv": ("cause-counts", 18, 0),
    "spot/bamboo_p3_trace.csv": ("spot", 344, 0),
    "storage/dlio_test_summary.json": (None, "MLPerf Storage or DLIO"),
    "storage/fio-normal-and-json.txt": (None, "the output of fio"),
    "storage/fio-read-only.json": (None, "the output of fio"),
    "storage/fio-write-3jobs.json": (None, "the output of fio"),
    "storage/fio-write-grouped.json": (None, "the output of fio"),
    "storage/fio-write-then-read.json": (None, "the output of fio"),
    "storage/mlperf_v1_ddn_summary.json": (None, "MLPerf Storage or DLIO"),
    "textbook/boot_aircondit.csv": ("csv", 12, 0),
    "textbook/lieblein_zelen_1956_bearings.csv": ("csv", 23, 0),
    "textbook/nist_8223_case1_repair_times.csv": ("csv", 10, 0),
}


@needs_collection
@pytest.mark.parametrize("name", FILES)
def test_every_file_of_the_collection_is_recognised_or_refused_by_name(name):
    """Each is read in its format with every row accounted for, or is said to be something else and what it is for."""
    path, expected = COLLECTION / name, FILES[name]
    if expected[0] is None:
        with pytest.raises(InputError, match=expected[1]) as caught:
            read_record(path)
        assert caught.value.problems[0].hint
        return
    form, rows, out = expected
    assert recognised(path.read_bytes()[:65_536]) == form
    record = read_record(path)
    assert (record.rows, sum(one.rows for one in record.left_out)) == (rows, out)


@needs_collection
def test_no_file_of_the_collection_is_forgotten():
    """The table above lists every file but those of Slurm, which have tests of their own."""
    there = {str(path.relative_to(COLLECTION)) for path in COLLECTION.glob("*/*") if path.parent.name != "slurm"}
    assert there == set(FILES)


@needs_collection
def test_a_packed_record_is_the_same_record(tmp_path):
    """Packed by gzip, a record reads as before."""
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress((COLLECTION / "spot" / "bamboo_p3_trace.csv").read_bytes()))
    packed, plain = read_record(path), read_record(COLLECTION / "spot" / "bamboo_p3_trace.csv")
    assert packed.format == plain.format
    assert packed.content.end_s.tolist() == plain.content.end_s.tolist()


def test_a_format_can_be_named(tmp_path):
    """A name outranks what a file looks like; a wrong one is one error with the nearest name."""
    path = tmp_path / "a"
    path.write_text("0,100\n200,250\n")
    assert read_record(path).format == "outages with start and end"
    path.write_text("words without an Xid\n")
    record = read_record(path, RecordOptions(format="kernel"))
    assert isinstance(record.content, Marks)
    with pytest.raises(InputError, match="kernal is no format") as caught:
        read_record(path, RecordOptions(format="kernal"))
    assert caught.value.problems[0].hint == "did you mean kernel?"


def test_columns_that_the_user_names_are_enough(tmp_path):
    """A table whose names say nothing is read once its columns are named, as CSV or as JSON."""
    path = tmp_path / "a"
    path.write_text("x,y\n2024-07-01T12:00:00Z,a\n2024-07-01T13:00:00Z,b\n")
    with pytest.raises(InputError, match="no known record"):
        read_record(path)
    assert len(read_record(path, RecordOptions(columns={"time": "x"})).content.start_s) == 2
    path.write_text('{"x": "2024-07-01T12:00:00Z"}\n{"x": "2024-07-01T13:00:00Z"}\n')
    assert len(read_record(path, RecordOptions(columns={"time": "x"})).content.start_s) == 2


@pytest.mark.parametrize("name", ["1", "column 1"])
def test_columns_without_a_header_are_named_by_their_place(tmp_path, name):
    """A column of bare numbers is read once its role and unit are said; without a unit the hint asks for that."""
    path = tmp_path / "a"
    path.write_text("10\n20\n30\n")
    record = read_record(path, RecordOptions(columns={"gap": name}, unit="h"))
    assert record.content.time_s.tolist() == [36_000, 72_000, 108_000]
    with pytest.raises(InputError, match="numbers that name no unit"):
        read_record(path, RecordOptions(columns={"gap": name}))
    with pytest.raises(InputError, match="no column is called hours") as caught:
        read_record(path, RecordOptions(columns={"gap": "hours"}, unit="h"))
    assert caught.value.problems[0].hint == "the columns are column 1"
    path.write_text("2024-07-01T12:00:00Z,a,b\n2024-07-01T13:00:00Z,b,c\n")
    assert len(read_record(path, RecordOptions(columns={"time": name})).content.start_s) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "nothing but blanks"),
        (b"Lorem ipsum dolor\nsit amet\n", "it begins with 'Lorem ipsum dolor'"),
        (b"\x1b[31mred\n", r"\\x1b\[31mred"),
        (os.urandom(3) + b"\xff" * 3000, "no known record"),
        (b"a,b,c\n1,2,3\n", "it begins with 'a,b,c'"),
        (b'{"a": 1}\n', "no known record"),
        (b"[" * 60_000, "no known record"),
    ],
)
def test_an_unknown_file_says_what_was_seen_and_what_can_be_read(tmp_path, content, message):
    """The first line is shown in printable ASCII, and the hint lists the formats."""
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_record(path)
    said = caught.value.render()
    assert said.isascii()
    assert "\x1b" not in said
    if "no known record" in said:
        assert all(name in said for name in FORMATS)


def test_what_is_no_file_never_waits(tmp_path):
    """A pipe, a folder and a missing file are one clear error, whatever the format."""
    os.mkfifo(tmp_path / "pipe")
    for name in (None, *FORMATS):
        for path, message in ((tmp_path / "pipe", "a pipe"), (tmp_path, "a folder"), (tmp_path / "x", "no such file")):
            with pytest.raises(InputError, match=message):
                read_record(path, RecordOptions(format=name))


def _refused_or_read(path, **options):
    try:
        return read_record(path, RecordOptions(**options))
    except InputError as error:
        return error


@pytest.mark.parametrize("name", [None, *FORMATS])
def test_one_line_of_a_gigabyte_takes_bounded_memory(tmp_path, name):
    """A line without an end is skipped, or the file refused, in every format, with a few megabytes of memory."""
    path = tmp_path / "a"
    with path.open("wb") as stream:
        stream.write(b"time,node\n")
        stream.truncate(200_000_000)
    tracemalloc.start()
    found = _refused_or_read(path, format=name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(found, InputError) or left(found)["lines of more than 1,000,000 bytes"] == 1
    assert peak < 150_000_000


@pytest.mark.parametrize("name", [None, *FORMATS])
def test_ten_million_columns_are_refused(tmp_path, name):
    """A line of ten million commas is no table, in any format."""
    path = tmp_path / "a"
    path.write_bytes(b"time" + b",x" * 10_000_000 + b"\n")
    found = _refused_or_read(path, format=name)
    assert isinstance(found, InputError) or left(found)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 3000 + b"\n",
        b"time\n" + b"9" * 5000 + b"\n",
        b"time,host\n1e308,a\n-1e308,b\nnan,c\ninf,d\n",
        b'{"time": ' + b"9" * 9000 + b"}\n",
        b'{"time": 1, "cycle_number": 1e999, "cycle_start_time": 5, "job_id": []}\n',
        b"0,add,\n99999999999999999999,add,a\n",
        b'"' * 5000 + b"\n",
        "\u202etime\n\ud7ff\n".encode(),
        b"time\r1\r2\r",
    ],
)
def test_hostile_content_ends_in_a_record_or_one_error(tmp_path, name, content):
    """Named as any format, such a file is counted or refused, and nothing else happens."""
    path = tmp_path / "a"
    path.write_bytes(content)
    found = _refused_or_read(path, format=name)
    assert isinstance(found, InputError) or found.rows >= 0


def test_every_format_has_a_module_and_a_sentence():
    """The list of formats is complete: each recognises nothing in an empty file, and says in a sentence what it is."""
    for name, form in FORMATS.items():
        assert form.sentence.endswith("."), name
        assert recognised(b"") is None
