"""IOR: table, CSV, JSON."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from ckptplan.readers.storage.imports import import_file, read_storage
from tests.readers.storage.samples import IOR_CSV, IOR_TABLE

MIB = 1024**2


def _write(folder: Path, text: str) -> Path:
    path = folder / "ior.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_table_gives_every_repetition(tmp_path: Path) -> None:
    """Three writes of 32 tasks on 4 nodes: their mean, their scatter, and shares of nodes and writers."""
    found = read_storage(_write(tmp_path, IOR_TABLE))
    rates = [40_000 * MIB, 42_000 * MIB, 38_000 * MIB]
    assert found.write_bandwidth_bytes_per_s == pytest.approx(statistics.mean(rates))
    assert found.write_cv == pytest.approx(statistics.stdev(rates) / statistics.mean(rates))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(10_000 * MIB)
    assert found.write_bandwidth_per_writer_bytes_per_s == pytest.approx(1_250 * MIB)


def test_the_flush_of_the_command_line_is_known(tmp_path: Path) -> None:
    """-e on the command line means that the time includes a flush; without it that is not so."""
    write, read = import_file(_write(tmp_path, IOR_TABLE)).phases
    assert (write.access, write.synced, write.writers, write.nodes) == ("write", True, 32, 4)
    assert (read.access, read.synced) == ("read", None)
    assert write.bytes_ == 2 * 1024**4
    without = import_file(_write(tmp_path, IOR_TABLE.replace(" -e ", " "))).phases[0]
    assert without.synced is False
    assert import_file(_write(tmp_path, IOR_TABLE.replace(" -e ", " -wreFY "))).phases[0].synced is True


def test_reads_after_writes_are_not_trusted(tmp_path: Path) -> None:
    """IOR reads back what it has just written, from memory unless it goes past it."""
    assert read_storage(_write(tmp_path, IOR_TABLE)).read_bandwidth_bytes_per_s is None
    direct = IOR_TABLE.replace(" -e ", " -e --posix.odirect ")
    assert read_storage(_write(tmp_path, direct)).read_bandwidth_bytes_per_s == pytest.approx(80_000 * MIB)


def test_reads_of_what_other_nodes_wrote_count(tmp_path: Path) -> None:
    """With -C every task reads the file of a task on another node; on one node that helps nothing."""
    text = IOR_TABLE.replace("no tasks offsets", "constant task offset")
    assert read_storage(_write(tmp_path, text)).read_bandwidth_bytes_per_s == pytest.approx(80_000 * MIB)
    one = text.replace("nodes               : 4", "nodes               : 1").replace(": 32", ": 8")
    assert read_storage(_write(tmp_path, one)).read_bandwidth_per_node_bytes_per_s is None


def test_runs_one_after_another_in_one_file(tmp_path: Path) -> None:
    """A sweep writes several outputs into one file: each is a phase of its own, with its own command line."""
    text = IOR_TABLE + IOR_TABLE.replace(" -e ", " ").replace("40000 ", "90000 ")
    phases = [phase for phase in import_file(_write(tmp_path, text)).phases if phase.access == "write"]
    assert [phase.synced for phase in phases] == [True, False]
    assert [phase.rates_bytes_per_s[0] / MIB for phase in phases] == [40_000, 90_000]


def test_a_table_that_was_indented(tmp_path: Path) -> None:
    """Pasted into a report, the table is read all the same."""
    text = "\n".join(f"    {line}" for line in IOR_TABLE.splitlines())
    assert read_storage(_write(tmp_path, text))[:3] == read_storage(_write(tmp_path, IOR_TABLE))[:3]


def test_a_summary_without_its_tests(tmp_path: Path) -> None:
    """Where a script kept the summary only, its mean and its scatter count."""
    row = {"operation": "write", "API": "POSIX", "numTasks": 32, "tasksPerNode": 8, "MeanTime": 52.5}
    row |= {"bwMaxMIB": 42_000.0, "bwMinMIB": 38_000.0, "bwMeanMIB": 40_000.0, "bwStdMIB": 2_000.0}
    text = "IOR-3.3.0: MPI Coordinated Test\n" + json.dumps({"summary": [row]}, indent=2)
    found = read_storage(_write(tmp_path, text))
    assert found.write_bandwidth_bytes_per_s == pytest.approx(40_000 * MIB)
    assert found.write_cv == pytest.approx(0.05)
    assert found.write_setting == (32, 4)


def test_a_printed_summary_by_itself(tmp_path: Path) -> None:
    """The table under "Summary of all tests" gives what the rows above it give: mean, scatter, writers and nodes."""
    rows = read_storage(_write(tmp_path, IOR_TABLE))
    header = IOR_TABLE[IOR_TABLE.index("Summary of all") : IOR_TABLE.index("write       42000")].rstrip()
    more = "Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP API RefNum"
    values = "42000.00   38000.00   40000.00    1632.99    2625.00    2375.00    2500.00     102.06   52.51667"
    text = f"{header} {more}\nwrite  {values} NA NA 0 32 8 3 1 POSIX 0\n\nwrite  {values.replace('40000', '9')}\n"
    found = read_storage(_write(tmp_path, text))
    assert found[:3] == pytest.approx(rows[:3])
    assert found.write_cv == pytest.approx(rows.write_cv, rel=1e-5)
    assert (found.write_setting, found.files[0].phases[0].repetitions) == ((32, 4), 3)


def test_a_long_write_without_a_flush_is_an_upper_bound(tmp_path: Path) -> None:
    """52 s without -e are used with a warning; with -e there is none."""
    without = read_storage(_write(tmp_path, IOR_TABLE.replace(" -e ", " ")))
    assert without.write_is_upper_bound
    assert any("an upper bound; repeat it with fsync" in warning for warning in without.warnings)
    assert without.write_bandwidth_bytes_per_s == pytest.approx(40_000 * MIB)
    flushed = read_storage(_write(tmp_path, IOR_TABLE))
    assert not flushed.write_is_upper_bound
    assert not any("upper bound" in warning for warning in flushed.warnings)


def test_several_tests_of_one_run(tmp_path: Path) -> None:
    """A second test has options of its own; the one of most nodes counts."""
    second = IOR_TABLE[IOR_TABLE.index("TestID") : IOR_TABLE.index("Max Write")]
    second = second.replace("TestID              : 0", "TestID              : 1")
    second = second.replace(": 4\ntasks               : 32", ": 8\ntasks               : 64").replace(
        "  : 2 TiB", "  : 4 TiB"
    )
    text = IOR_TABLE[: IOR_TABLE.index("Max Write")] + second
    phases = import_file(_write(tmp_path, text)).phases
    assert [(phase.nodes, phase.writers) for phase in phases if phase.access == "write"] == [(4, 32), (8, 64)]
    assert read_storage(_write(tmp_path, text)).write_bandwidth_per_node_bytes_per_s == pytest.approx(5_000 * MIB)


def test_csv_has_no_nodes(tmp_path: Path) -> None:
    """From CSV the aggregate and the share of a writer follow, not that of a node."""
    found = read_storage(_write(tmp_path, IOR_CSV))
    assert found.write_bandwidth_bytes_per_s == pytest.approx(1_000 * MIB)
    assert found.write_bandwidth_per_writer_bytes_per_s == pytest.approx(125 * MIB)
    assert found.write_bandwidth_per_node_bytes_per_s is None


def test_json_summary(tmp_path: Path) -> None:
    """The JSON of IOR gives what its table gives."""
    rows = [[{"access": "write", "bwMiB": rate, "totalTime": 50.0}] for rate in (40_000.0, 42_000.0, 38_000.0)]
    options = {"api": "POSIX", "nodes": 4, "tasks": 32, "clients per node": 8, "aggregate filesize": "2 TiB"}
    test = {"TestID": 0, "Parameters": {"fsync": 1, "tasksPerNode": 8}, "Options": options, "Results": rows}
    text = json.dumps({"Version": "4.1.0", "Command line": "ior -w", "tests": [test]})
    found, table = read_storage(_write(tmp_path, text)), read_storage(_write(tmp_path, IOR_TABLE))
    assert found[:3] == pytest.approx(table[:3])
    assert found.files[0].phases[0].synced is True


def test_only_the_maximum_is_left(tmp_path: Path) -> None:
    """Where the rows are cut away the best repetition is used, and called that."""
    text = "IOR-3.3.0: MPI Coordinated Test\nCommand line        : ior -e\nnodes               : 2\n" + (
        "tasks               : 16\n\nMax Write: 42000.00 MiB/sec (44040.19 MB/sec)\n"
    )
    found = read_storage(_write(tmp_path, text))
    assert found.write_bandwidth_bytes_per_s == pytest.approx(42_000 * MIB)
    assert any("best of the repetitions" in warning for warning in found.warnings)


def test_one_shared_file_is_said(tmp_path: Path) -> None:
    """A save writes files of its own; one shared file is slower."""
    text = IOR_TABLE.replace("file-per-process", "single-shared-file")
    assert any("one file shared" in warning for warning in read_storage(_write(tmp_path, text)).warnings)
