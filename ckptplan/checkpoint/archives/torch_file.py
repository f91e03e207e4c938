"""What torch.save wrote, read without torch: plain values, and where each tensor's elements lie."""

from __future__ import annotations

from typing import Any, NamedTuple

from ckptplan.checkpoint.archives.legacy import is_legacy, read_legacy
from ckptplan.checkpoint.archives.resolving import resolved
from ckptplan.checkpoint.archives.storages import Storage, Tensors
from ckptplan.checkpoint.archives.zip_records import Record, read_record, read_records
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.checkpoint.pickles.values import Global

LARGEST_PICKLE = 256 << 20  # bytes
_MOST_EXPANSION = 16  # of a packed pickle: torch packs none, and a small file must not become much work
_FREE_EXPANSION = 1 << 17  # bytes
_FIRST_RECORDS = (
    b"data.pkl",
    b"data/",
    b"byteorder",
    b"version",
    b".format_version",
    b".data/",
    b"constants",
    b"code/",
)
_BYTE_ORDERS = (b"little", b"")
_HINT = "the file is damaged; copy it again or take an older one"
_TAR = 257  # where a tar archive has its mark


class TorchFile(NamedTuple):
    """One file of torch.save, or one item of a file."""

    value: Any  # a tree of plain values; tensors are StoredTensors
    foreign: tuple[Global, ...]  # names that reading it with torch would import or call, beyond the harmless ones
    records: dict[str, Record]  # of the archive; of a legacy stream its storages
    legacy: bool


def read_torch(
    folder: CheckpointFolder,
    name: str,
    start: int = 0,
    length: int | None = None,
    allowed: frozenset[tuple[str, str]] | None = None,
) -> TorchFile:
    """Read what torch.save wrote, without its data.

    Parameters
    ----------
    folder : CheckpointFolder
        Where the file is.
    name : str
        The file.
    start, length : int
        The part of the file that is the archive; the whole file if not given. [bytes]
    allowed : frozenset of (module, name), optional
        The only names that the pickle may mention; if not given, every name is taken and none is imported.

    Returns
    -------
    TorchFile

    Raises
    ------
    InputError
        If it is no such file, or its parts contradict each other.
    """
    size = folder.size(name)
    end = size if length is None else start + length
    if not 0 <= start <= end <= size:
        raise folder.refused(name, f"an archive at bytes {start:,} to {end:,} of a file of {size:,}", _HINT)
    head = folder.read(name, start, min(512, end - start))
    if head.startswith(b"PK\x03\x04"):
        return _read_zip(folder, name, start, end - start, allowed)
    if is_legacy(head):
        value, foreign, records = read_legacy(folder, name, start, end, allowed)
        return TorchFile(value, foreign, records, legacy=True)
    if head[_TAR : _TAR + 5] == b"ustar":
        message = "a tar archive, as torch wrote before 0.1.10"
        raise folder.refused(name, message, "load it with an old torch and save it again")
    raise folder.refused(name, "nothing that torch.save writes", "is this the right file?")


def is_torch(folder: CheckpointFolder, name: str) -> bool:
    """Whether a file begins as torch.save writes, whatever it is called; also the tar archives of the oldest torch."""
    size = folder.size(name)
    head = folder.read(name, 0, min(512, size))
    return _begins_archive(head) or is_legacy(head) or head[_TAR : _TAR + 5] == b"ustar"


def _begins_archive(head: bytes) -> bool:
    """Whether the first record of a zip archive is one that torch writes: other programs write zips too."""
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    return head.startswith(b"PK\x03\x04") and name.partition(b"/")[2].startswith(_FIRST_RECORDS)


def _read_zip(
    folder: CheckpointFolder, name: str, start: int, length: int, allowed: frozenset[tuple[str, str]] | None
) -> TorchFile:
    records = read_records(folder, name, start, length)
    prefix = _prefix(folder, name, records)
    order = records.get(prefix + "byteorder")
    if order is not None and read_record(folder, name, order, 16).strip() not in _BYTE_ORDERS:
        raise folder.refused(name, "written by a big-endian machine", "load it with torch and save it again")
    pickled = records[prefix + "data.pkl"]
    most = LARGEST_PICKLE
    if pickled.deflated:
        most = min(most, _FREE_EXPANSION + _MOST_EXPANSION * pickled.packed_bytes)
    data = read_record(folder, name, pickled, most)
    loaded = load_pickle(data, str(folder.root / name), allowed)
    tensors = Tensors(folder, name, _storages(records, prefix))
    return TorchFile(resolved(loaded.value, tensors.resolved, tensors.whole), loaded.foreign, records, legacy=False)


def _prefix(folder: CheckpointFolder, name: str, records: dict[str, Record]) -> str:
    """The folder of the archive that holds everything: any name, often that of the file."""
    found = [record.removesuffix("data.pkl") for record in records if record.endswith("/data.pkl")]
    found = [prefix for prefix in found if prefix.count("/") == 1]
    if len(found) != 1:
        message = "a zip archive without a data.pkl" if not found else "a zip archive with several data.pkl"
        raise folder.refused(name, f"{message}: torch.save writes one", "is this a checkpoint?")
    return found[0]


def _storages(records: dict[str, Record], prefix: str) -> dict[str, Storage]:
    held = f"{prefix}data/"
    return {
        record.removeprefix(held): Storage(
            found.offset, found.size_bytes, found.crc, found.packed_bytes if found.deflated else None
        )
        for record, found in records.items()
        if record.startswith(held)
    }
