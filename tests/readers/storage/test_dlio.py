"""DLIO and MLPerf Storage: checkpoints are writes, samples are reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckptplan.errors import InputError
from ckptplan.readers.storage.imports import combine, import_file, read_storage
from tests.readers.storage.samples import dlio

GIB = 1024**3
SAVES: dict[str, Any] = {
    "save_checkpoint_io_mean_GB_per_second": 64.0,
    "save_checkpoint_io_stdev_GB_per_second": 3.2,
    "save_checkpoint_duration_mean_seconds": 80.0,
    "load_checkpoint_io_mean_GB_per_second": 128.0,
    "load_checkpoint_io_stdev_GB_per_second": 0.0,
    "load_checkpoint_duration_mean_seconds": 40.0,
    "checkpoint_size_GB": 5120.0,
}


def _write(folder: Path, text: str) -> Path:
    path = folder / "summary.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_saves_of_checkpoints_are_write_rates(tmp_path: Path) -> None:
    """What DLIO calls GB is 2^30 bytes; 8 hosts of 8 accelerators share the rate."""
    found = read_storage(_write(tmp_path, dlio(SAVES)))
    assert found.write_bandwidth_bytes_per_s == pytest.approx(64 * GIB)
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(8 * GIB)
    assert found.write_bandwidth_per_writer_bytes_per_s == pytest.approx(GIB)
    assert found.write_cv == pytest.approx(0.05)


def test_checkpoints_larger_than_memory_are_no_matter_of_the_page_cache(tmp_path: Path) -> None:
    """640 GiB a node with 512 GiB of memory cannot have stayed there; with 1 TiB they may have."""
    small = import_file(_write(tmp_path, dlio(SAVES, host_memory_GB=[512.0, 0.0])))
    large = import_file(_write(tmp_path, dlio(SAVES, host_memory_GB=[1024.0] * 8)))
    assert [phase.may_be_cache for phase in small.phases] == [False, False]
    assert [phase.may_be_cache for phase in large.phases] == [True, True]
    assert combine([small]).read_bandwidth_bytes_per_s == pytest.approx(128 * GIB)
    assert combine([large]).read_bandwidth_bytes_per_s is None


def test_samples_are_read_only(tmp_path: Path) -> None:
    """A training workload gives no write rate, and no read rate where memory may have given it."""
    path = _write(tmp_path, dlio({"train_io_mean_MB_per_second": 33_870.0, "train_au_mean_percentage": 70.0}))
    with pytest.raises(InputError, match="a read rate is no write rate"):
        read_storage(path)


def test_a_read_rate_by_itself_is_taken_with_a_warning(tmp_path: Path) -> None:
    """16 hosts read 100 GiB each with 64 GiB of memory: their rate is one of storage, and no write rate is said so."""
    samples = {"train_io_mean_MB_per_second": 33_870.0}
    path = _write(tmp_path, dlio(samples, num_hosts=16, data_size_per_host_GB=100.0, host_memory_GB=[64.0]))
    found = read_storage(path)
    assert found.read_bandwidth_bytes_per_s == pytest.approx(33_870 * 1024**2)
    assert found[:3] == (None, None, None)
    assert found.warnings[0] == (
        f"{path}: gives no write bandwidth: it has read rates only, and a read rate is no write rate"
    )


def test_saves_of_which_no_flush_is_known_are_an_upper_bound(tmp_path: Path) -> None:
    """80 s of saving may be in memory, for DLIO does not say that it flushes; what does not fit there is not."""
    found = read_storage(_write(tmp_path, dlio(SAVES)))
    assert found.write_is_upper_bound
    assert "checkpoint save: the write of 80 s may be in the page cache of the node" in found.warnings[0]
    assert "whether it was flushed is not said" in found.warnings[0]
    assert not read_storage(_write(tmp_path, dlio(SAVES, host_memory_GB=[512.0]))).write_is_upper_bound


def test_runs_without_saves_write_nan(tmp_path: Path) -> None:
    """The mean of no save is NaN, which is no rate; loads beside it still count."""
    metric = {**SAVES, "save_checkpoint_io_mean_GB_per_second": float("nan")}
    phases = import_file(_write(tmp_path, dlio(metric))).phases
    assert [phase.access for phase in phases] == ["read"]
