"""elbencho: CSV and JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptplan.errors import InputError
from ckptplan.readers.storage.imports import import_file, read_storage
from tests.readers.storage.samples import ELBENCHO_COLUMNS, elbencho_json, elbencho_row

MIB = 1024**2


def _csv(folder: Path, *rows: str) -> Path:
    path = folder / "elbencho.csv"
    path.write_text("\n".join([ELBENCHO_COLUMNS, *rows]) + "\n", encoding="utf-8")
    return path


def test_direct_writes(tmp_path: Path) -> None:
    """MiB of the last thread over its time, of 16 threads on each of 2 hosts."""
    found = read_storage(_csv(tmp_path, elbencho_row("WRITE", 40_000, 400_000, direct=1)))
    assert found.write_bandwidth_bytes_per_s == pytest.approx(10_000 * MIB)
    assert found.write_bandwidth_per_node_bytes_per_s == pytest.approx(5_000 * MIB)
    assert found.write_bandwidth_per_writer_bytes_per_s == pytest.approx(10_000 * MIB / 32)
    assert found.warnings == ()


def test_a_sync_belongs_to_the_write_before_it(tmp_path: Path) -> None:
    """40 s of writing into memory and 10 s of flushing are 50 s of writing to storage."""
    rows = elbencho_row("WRITE", 40_000, 400_000), elbencho_row("SYNC", 10_000, None)
    found = read_storage(_csv(tmp_path, *rows))
    assert found.write_bandwidth_bytes_per_s == pytest.approx(8_000 * MIB)
    assert found.files[0].phases[0].synced is True


def test_without_a_sync_memory_may_have_taken_it(tmp_path: Path) -> None:
    """Ten seconds of writing that nobody flushed are flagged."""
    found = read_storage(_csv(tmp_path, elbencho_row("WRITE", 10_000, 400_000)))
    assert any("page cache" in warning for warning in found.warnings)


def test_reads_count_after_the_cache_was_dropped(tmp_path: Path) -> None:
    """A read stands after DROPCACHE, or if it is direct, and not otherwise."""
    write = elbencho_row("WRITE", 40_000, 400_000, direct=1)
    read = elbencho_row("READ", 40_000, 400_000)
    assert read_storage(_csv(tmp_path, write, read)).read_bandwidth_bytes_per_s is None
    dropped = _csv(tmp_path, write, elbencho_row("DROPCACHE", 100, None), read)
    assert read_storage(dropped).read_bandwidth_bytes_per_s == pytest.approx(10_000 * MIB)


def test_mixed_phases_give_the_rate_of_their_writes(tmp_path: Path) -> None:
    """RWMIX reports writes in the main columns, beside which reads ran."""
    row = elbencho_row("RWMIX30", 40_000, 400_000, direct=1, mixed="1000")
    assert any("reads ran beside" in warning for warning in read_storage(_csv(tmp_path, row)).warnings)


def test_json_gives_what_csv_gives(tmp_path: Path) -> None:
    """Documents one after another, every number as text."""
    path = tmp_path / "elbencho.json"
    lines = elbencho_json("WRITE", 40_000, 400_000 * MIB), elbencho_json("SYNC", 10_000, None)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = elbencho_row("WRITE", 40_000, 400_000), elbencho_row("SYNC", 10_000, None)
    assert read_storage(path)[:3] == pytest.approx(read_storage(_csv(tmp_path, *rows))[:3])


def test_phases_that_move_no_bytes(tmp_path: Path) -> None:
    """Making folders is no phase of writing: a file of only that is refused."""
    with pytest.raises(InputError, match="no phase that wrote or read"):
        import_file(_csv(tmp_path, elbencho_row("MKDIRS", 100, None), elbencho_row("RMFILES", 100, None)))
