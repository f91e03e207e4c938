"""fio: groups, units, options, errors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ckptplan.errors import InputError
from ckptplan.measure.phases import Phase
from ckptplan.readers.storage.imports import import_file, read_storage
from tests.readers.storage.samples import fio, fio_job

SYNCED = {"end_fsync": "1"}
FAILURES = Path(__file__).parents[4] / "shared" / "data" / "failures" / "storage"


def _write(folder: Path, text: str) -> Path:
    path = folder / "fio.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_jobs_of_one_group_run_at_one_time(tmp_path: Path) -> None:
    """Three jobs of 60, 60 and 80 s end with the slowest: all bytes over 80 s, not the sum of three rates."""
    jobs = [fio_job(6_000_000_000, ms=ms, options={**SYNCED, "numjobs": "3"}) for ms in (60_000, 60_000, 80_000)]
    found = read_storage(_write(tmp_path, fio(*jobs)))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(18e9 / 80)
    assert found.write_bandwidth_per_writer_bytes_per_s == pytest.approx(6e9 / 80)
    assert found.write_setting == (3, 1)
    assert found.write_bandwidth_bytes_per_s is None
    assert found.warnings == ()


def test_group_reporting_makes_one_entry_of_several_writers(tmp_path: Path) -> None:
    """One entry with numjobs 4 is four writers; the rate of the entry is that of all."""
    job = fio_job(40_000_000_000, ms=40_000, options={**SYNCED, "numjobs": "4", "group_reporting": ""})
    found = read_storage(_write(tmp_path, fio(job)))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(1e9)
    assert found.write_bandwidth_per_writer_bytes_per_s == pytest.approx(0.25e9)


def test_groups_run_one_after_another(tmp_path: Path) -> None:
    """Two groups are two phases, whose rates are not added but are repetitions of one setting."""
    jobs = [fio_job(40_000_000_000, ms=ms, group=group, options=SYNCED) for group, ms in enumerate((40_000, 50_000))]
    found = read_storage(_write(tmp_path, fio(*jobs)))
    assert len(found.files[0].phases) == 2
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx((1e9 + 0.8e9) / 2)
    assert found.write_cv == pytest.approx(0.1414214e9 / 0.9e9, rel=1e-6)


def test_rates_of_old_versions_are_kib(tmp_path: Path) -> None:
    """Version 2 has no bw_bytes, a rate in KiB/s, and calls KiB io_bytes."""
    old = fio_job(options=SYNCED)
    old["write"] = {"io_bytes": 62_500_000, "bw": 1_562_500, "runtime": 40_000}
    found = read_storage(_write(tmp_path, fio(old, **{"fio version": "fio-2.1.10"})))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(1_562_500 * 1024)
    assert found.warnings == ()
    with pytest.raises(InputError, match="differ by 100 % in ckpt"):
        read_storage(_write(tmp_path, fio(old)))


EIGHT = [fio_job(40_000_000_000, ms=40_000, options={**SYNCED, "numjobs": "8"}) for _ in range(8)]


def _damaged(tmp_path: Path, **values: Any) -> Phase:
    """The phase of eight writers of 1 GB/s each, the first with other values; None takes a value out."""
    changed = {**EIGHT[0]["write"], **values}
    first = {**EIGHT[0], "write": {key: value for key, value in changed.items() if value is not None}}
    return import_file(_write(tmp_path, fio(first, *EIGHT[1:]))).phases[0]


@pytest.mark.parametrize("rate", [None, math.nan, -5, "many"])
@pytest.mark.parametrize("kib", [{}, {"io_kbytes": None}])
def test_a_damaged_rate_makes_no_kib_of_bytes(tmp_path: Path, rate: Any, kib: dict[str, None]) -> None:
    """Without a bw_bytes that can be read, the bytes of fio 3 stay bytes: 8 GB/s; what cannot be read is named."""
    phase = _damaged(tmp_path, bw_bytes=rate, **kib)
    assert phase.rate_bytes_per_s == pytest.approx(8e9)
    assert (phase.writers, phase.is_sure) == (8, True)
    assert any("bw_bytes" in note and "ckpt (entry 1)" in note for note in phase.notes) is (rate is not None)


@pytest.mark.parametrize(
    "values", [{"io_bytes": 40_000_000_000_000}, {"io_bytes": 40_000_000}, {"runtime": 40}, {"bw_bytes": 1_200_000_000}]
)
def test_bytes_that_the_rate_of_the_file_contradicts_do_not_stand(tmp_path: Path, values: dict[str, int]) -> None:
    """More than 10 % between bytes over time and the rate of the file is said of its job, and the phase is not used."""
    phase = _damaged(tmp_path, **values)
    assert not phase.stands
    assert "differ by" in phase.faults[0]
    assert "in ckpt (entry 1): one of them is wrong" in phase.faults[0]


@pytest.mark.parametrize(
    "values", [{"io_bytes": -1, "io_kbytes": -1, "bw_bytes": -5, "bw": -5}, {"io_bytes": 0, "bw_bytes": -5, "bw": -5}]
)
def test_a_job_of_negative_values_is_named(tmp_path: Path, values: dict[str, int]) -> None:
    """It counts as a writer, its values are said, and the rate of the others alone does not stand."""
    phase = _damaged(tmp_path, **values)
    assert (phase.writers, phase.stands) == (8, False)
    assert "ckpt (entry 1)" in phase.faults[0]
    assert "bw_bytes -5" in phase.faults[0]


def test_a_missing_run_time_is_said(tmp_path: Path) -> None:
    """Bytes over the rate stand for the run time of a job, and that is noted."""
    phase = _damaged(tmp_path, runtime=None)
    assert phase.rate_bytes_per_s == pytest.approx(8e9)
    assert phase.notes == ("no run time of ckpt (entry 1): its bytes over its rate are taken for it",)


def test_several_documents_and_text_around_them(tmp_path: Path) -> None:
    """Text before, between and after documents does not hide them; what fio says of errors is passed on."""
    one = fio(fio_job(40_000_000_000, ms=40_000, options=SYNCED))
    text = (
        f"note: both iodepth >= 1\nfio: io_u error on file x: err=5\n{one}\nsome text {{\n{one}\n\nRun status group 0\n"
    )
    imported = import_file(_write(tmp_path, text))
    assert [phase.access for phase in imported.phases] == ["write", "write"]
    assert imported.notes == ("fio says 'fio: io_u error on file x: err=5'",)


def test_a_rate_beside_reads_is_one_of_writes_alone(tmp_path: Path) -> None:
    """In a mixed run the bytes written count, and it is said that reads ran beside them."""
    job = fio_job(30_000_000_000, read=70_000_000_000, ms=40_000, options={**SYNCED, "rw": "rw"})
    found = read_storage(_write(tmp_path, fio(job)))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(0.75e9)
    assert any("reads ran beside these writes" in warning for warning in found.warnings)


def test_jobs_that_failed_do_not_count(tmp_path: Path) -> None:
    """An error inside a job takes its phase out, and if there is no other one, the file is refused for it."""
    good = fio_job(40_000_000_000, ms=40_000, options=SYNCED)
    bad = fio_job(80_000_000_000, ms=40_000, error=28, group=1, name="full", options=SYNCED)
    found = read_storage(_write(tmp_path, fio(good, bad)))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(1e9)
    assert any("error 28 for full" in warning for warning in found.warnings)
    with pytest.raises(InputError, match="no write that stands: fio reports error 28"):
        read_storage(_write(tmp_path, fio(bad)))


def test_reads_and_writes_reported_as_one_give_no_rate(tmp_path: Path) -> None:
    """unified_rw_reporting=mixed cannot be told apart."""
    job = fio_job(extra={"mixed": {"io_bytes": 1, "bw_bytes": 1, "runtime": 1}})
    del job["read"], job["write"]
    with pytest.raises(InputError, match="unified_rw_reporting"):
        read_storage(_write(tmp_path, fio(job)))


@pytest.mark.parametrize(
    ("options", "phrase"),
    [
        ({}, "may have stayed in the page cache"),
        ({"end_fsync": "0"}, "may have stayed in the page cache"),
        ({"end_fsync": "1", "time_based": ""}, "again and again"),
        ({"end_fsync": "1", "loops": "5"}, "again and again"),
        ({"end_fsync": "1", "rw": "randwrite"}, "a save writes in sequence"),
        ({"end_fsync": "1", "zero_buffers": ""}, "compresses"),
    ],
)
def test_what_makes_a_rate_too_good_is_said(tmp_path: Path, options: dict[str, str], phrase: str) -> None:
    """Options that flatter, or that no save has, are named."""
    short = fio_job(1_000_000_000, ms=5_000, options=options)
    found = read_storage(_write(tmp_path, fio(short)))
    said = " ".join(found.warnings).replace("too short to have left", "may have stayed in")
    assert phrase in said


@pytest.mark.parametrize(
    "options", [{"end_fsync": "1"}, {"direct": "1"}, {"fsync": "32"}, {"buffered": "0"}, {"sync": "1"}]
)
def test_flushed_or_direct_writes_of_some_length_need_no_warning(tmp_path: Path, options: dict[str, str]) -> None:
    """What has left the page cache within the time, and lasted 30 s, stands as it is."""
    assert read_storage(_write(tmp_path, fio(fio_job(40_000_000_000, ms=40_000, options=options)))).warnings == ()


def test_global_options_count_for_every_job(tmp_path: Path) -> None:
    """A flush that is asked for before all jobs is one of each."""
    text = fio(fio_job(40_000_000_000, ms=40_000), **{"global options": SYNCED})
    assert import_file(_write(tmp_path, text)).phases[0].synced is True


def test_a_short_run_is_flagged(tmp_path: Path) -> None:
    """Five seconds of flushed writing may end in buffers of the storage."""
    found = read_storage(_write(tmp_path, fio(fio_job(5_000_000_000, ms=5_000, options=SYNCED))))
    assert [w for w in found.warnings if "too short: 5 s" in w]


def test_an_unflushed_write_gives_way_to_a_flushed_one(tmp_path: Path) -> None:
    """Of a fast write into memory and a slow one to storage, the slow one counts."""
    cached = fio_job(100_000_000_000, ms=10_000, options={"numjobs": "1"})
    flushed = fio_job(40_000_000_000, ms=40_000, group=1, options=SYNCED)
    assert read_storage(_write(tmp_path, fio(cached, flushed))).write_bandwidth_per_node_bytes_per_s == pytest.approx(
        1e9
    )


def test_several_machines_of_one_run(tmp_path: Path) -> None:
    """A run of fio on two machines gives the aggregate of both; its sum over all clients is not counted again."""
    jobs = [fio_job(40_000_000_000, ms=40_000, options=SYNCED, extra={"hostname": host}) for host in ("a", "b")]
    everything = fio_job(80_000_000_000, ms=40_000, name="All clients")
    document = {"fio version": "fio-3.33", "client_stats": [*jobs, everything]}
    found = read_storage(_write(tmp_path, json.dumps(document)))
    assert found.write_bandwidth_bytes_per_s == pytest.approx(2e9)
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(1e9)


def test_a_small_difference_is_said(tmp_path: Path) -> None:
    """Where bytes over time and the rate of the file differ by 8 %, bytes over time is used, and said."""
    job = fio_job(40_000_000_000, ms=40_000, options=SYNCED)
    job["write"]["bw_bytes"] = 920_000_000
    found = read_storage(_write(tmp_path, fio(job)))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(1e9)
    assert any("differ: bytes over run time is used" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("options", "stands"), [({}, True), ({"invalidate": "0"}, False), ({"time_based": "1"}, False)]
)
def test_reads_count_only_if_the_cache_was_dropped(tmp_path: Path, options: dict[str, str], stands: bool) -> None:
    """By default fio drops its files from the page cache before it reads them once."""
    job = fio_job(read=40_000_000_000, ms=40_000, options={"rw": "read", **options})
    phase = import_file(_write(tmp_path, fio(job))).phases[0]
    assert phase.may_be_cache is not stands


@pytest.mark.skipif(not FAILURES.is_dir(), reason="the results of fio are not here")
@pytest.mark.parametrize(
    ("name", "node", "writers"),
    [
        ("fio-write-3jobs.json", 3 * 67_108_864 / 0.119, 3),
        ("fio-write-grouped.json", 268_435_456 / 0.536, 2),
        ("fio-write-then-read.json", 67_108_864 / 0.062, 1),
        ("fio-normal-and-json.txt", 67_108_864 / 0.055, 1),
    ],
)
def test_files_that_fio_wrote(name: str, node: float, writers: int) -> None:
    """Bytes over the time of the slowest, counted by hand from what fio 3.33 wrote; all of them are too short."""
    found = read_storage(FAILURES / name)
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(node)
    assert found.write_bandwidth_per_writer_bytes_per_s == pytest.approx(node / writers)
    assert any("too short" in warning for warning in found.warnings)


@pytest.mark.skipif(not FAILURES.is_dir(), reason="the results of fio are not here")
@pytest.mark.parametrize("name", ["fio-read-only.json", "dlio_test_summary.json"])
def test_rates_of_reading_are_no_rates_of_writing(name: str) -> None:
    """Files with read rates of one node only have nothing that a spec takes, and are refused."""
    with pytest.raises(InputError, match="read rates only"):
        read_storage(FAILURES / name)


def test_odd_values_are_not_taken_for_numbers(tmp_path: Path) -> None:
    """Text, negative and endless values where numbers belong leave a job out instead of ending the reading."""
    odd: list[Any] = ["many", -1, None, [], {}, True, 1e300]
    jobs = [fio_job(options=SYNCED, group=n, extra={"write": {"io_bytes": v, "runtime": v}}) for n, v in enumerate(odd)]
    found = read_storage(_write(tmp_path, fio(*jobs, fio_job(40_000_000_000, ms=40_000, group=99, options=SYNCED))))
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(1e9)
