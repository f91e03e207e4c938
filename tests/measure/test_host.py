"""What the machine is, read from files of the kernel's form."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptplan.measure import host
from ckptplan.measure.host import FileSystem, file_system_of, host_memory

MOUNTS = """/dev/vda / ext4 rw 0 0
tmpfs /nowhere/shm tmpfs rw 0 0
overlay /run/box overlay rw 0 0
server:/a /mnt/with\\040blank nfs4 rw 0 0
old /mnt/twice ext4 rw 0 0
new /mnt/twice xfs rw 0 0
broken
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/somewhere", FileSystem("ext4", "/dev/vda", "/")),
        ("/nowhere/shm/deep/er", FileSystem("tmpfs", "tmpfs", "/nowhere/shm")),
        ("/nowhere/shmoo", FileSystem("ext4", "/dev/vda", "/")),
        ("/mnt/with blank/a", FileSystem("nfs4", "server:/a", "/mnt/with blank")),
        ("/mnt/twice", FileSystem("xfs", "new", "/mnt/twice")),
    ],
)
def test_the_deepest_and_newest_mount_counts(tmp_path: Path, folder: str, expected: FileSystem) -> None:
    """A folder lies on the mount with the longest name above it, the last one mounted there."""
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert file_system_of(folder, str(mounts)) == expected


def test_memory_and_layers_are_told_apart(tmp_path: Path) -> None:
    """A tmpfs is memory, an overlay a layer of a container, an unknown mount neither."""
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert file_system_of("/nowhere/shm", str(mounts)).is_memory
    assert file_system_of("/run/box", str(mounts)).is_layer
    unknown = file_system_of("/x", str(tmp_path / "absent"))
    assert (unknown.kind, unknown.is_memory, unknown.is_layer) == ("unknown", False, False)


def test_the_dirty_limit_is_a_share_of_available_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dirty_bytes wins if it is set; else dirty_ratio of what is available; a limit of the group caps the memory."""
    monkeypatch.setattr(host, "_group_limit", lambda: None)
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 1000 kB\nMemFree: 3 kB\nMemAvailable: 500 kB\nOdd\n", encoding="utf-8")
    (tmp_path / "dirty_bytes").write_text("0\n", encoding="utf-8")
    (tmp_path / "dirty_ratio").write_text("40\n", encoding="utf-8")
    assert host_memory(str(meminfo), str(tmp_path)) == (1_024_000.0, 512_000.0, 204_800.0)
    (tmp_path / "dirty_bytes").write_text("4096\n", encoding="utf-8")
    assert host_memory(str(meminfo), str(tmp_path)).dirty_limit_bytes == 4096.0
    monkeypatch.setattr(host, "_group_limit", lambda: 100_000.0)
    assert host_memory(str(meminfo), str(tmp_path))[:2] == (100_000.0, 100_000.0)


def test_without_the_files_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other systems have no such files."""
    monkeypatch.setattr(host, "_group_limit", lambda: None)
    assert host_memory(str(tmp_path / "absent"), str(tmp_path)) == (None, None, None)
