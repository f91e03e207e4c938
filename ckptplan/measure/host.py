"""What this machine is: its memory, how much of it may hold unwritten data, and what a folder lies on."""

import os
from pathlib import Path
from typing import NamedTuple

_MEMORY = ("tmpfs", "ramfs", "devtmpfs", "hugetlbfs")
_LAYERS = ("overlay", "overlayfs", "aufs", "fuse.fuse-overlayfs")
_SERVED = (
    "nfs",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "cifs",
    "smb",
    "wekafs",
    "panfs",
    "orangefs",
    "pvfs2",
    "9p",
    "virtiofs",
)
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))
_DIRTY_RATIO = 20.0  # the default of Linux, per cent of the memory that is available


class FileSystem(NamedTuple):
    """The file system of a folder, as the kernel names it."""

    kind: str
    source: str = ""
    mount: str = ""

    @property
    def is_memory(self) -> bool:
        """Whether its files live in memory."""
        return self.kind in _MEMORY

    @property
    def is_served(self) -> bool:
        """Whether its files lie on other machines."""
        return self.kind.startswith((*_SERVED, "fuse."))

    @property
    def is_layer(self) -> bool:
        """Whether it is the writable layer of a container."""
        return self.kind in _LAYERS


class HostMemory(NamedTuple):
    """Memory of this machine, [bytes]; None where it cannot be told.

    ``dirty_limit_bytes`` is what the page cache holds unwritten before writers are slowed down.
    """

    total_bytes: float | None
    available_bytes: float | None
    dirty_limit_bytes: float | None


def file_system_of(folder: str, mounts: str = "/proc/self/mounts") -> FileSystem:
    """The file system that a folder lies on: of the mounts above it, the deepest and of those the newest."""
    inside = os.path.realpath(folder)
    best = FileSystem("unknown")
    for line in _lines(mounts):
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        mount = _unescaped(parts[1])
        if (inside == mount or inside.startswith(mount.rstrip("/") + "/")) and len(mount) >= len(best.mount):
            best = FileSystem(parts[2], _unescaped(parts[0]), mount)
    return best


def host_memory(meminfo: str = "/proc/meminfo", vm: str = "/proc/sys/vm") -> HostMemory:
    """Memory of this machine; a limit of the control group counts where it is lower."""
    sizes: dict[str, float] = {}
    for line in _lines(meminfo):
        name, _, rest = line.partition(":")
        value = rest.split()
        if value and value[0].isdecimal():
            sizes[name] = 1024.0 * float(value[0])
    total, available = sizes.get("MemTotal"), sizes.get("MemAvailable")
    limit = _group_limit()
    if limit is not None and total is not None and limit < total:
        total, available = limit, min(available or limit, limit)
    return HostMemory(total, available, _dirty_limit(available, vm))


def _dirty_limit(available_bytes: float | None, vm: str) -> float | None:
    given = _number(f"{vm}/dirty_bytes")
    if given:
        return given
    ratio = _number(f"{vm}/dirty_ratio")
    if available_bytes is None:
        return None
    return available_bytes * (_DIRTY_RATIO if ratio is None else ratio) / 100.0


def _group_limit() -> float | None:
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        limit = _number(name)
        if limit:
            return limit
    return None


def _number(name: str) -> float | None:
    text = "".join(_lines(name)[:1]).strip()
    return float(text) if text.isdecimal() else None


def _lines(name: str) -> list[str]:
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _unescaped(text: str) -> str:
    for escape, character in _ESCAPES:
        text = text.replace(escape, character)
    return text
