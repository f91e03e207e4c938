"""Checkpoints of torch.distributed.checkpoint: which folders are some, and their manifests."""

from __future__ import annotations

from ckptplan.checkpoint.archives.foreign import hostile
from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp import rank_local
from ckptplan.checkpoint.formats.dcp.assembling import manifest_of, unread
from ckptplan.checkpoint.formats.dcp.metadata import DcpMetadata, read_metadata
from ckptplan.checkpoint.formats.dcp.placing import DATA_FILE
from ckptplan.checkpoint.formats.dcp.source import listed
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest
from ckptplan.checkpoint.pickles.loading import load_pickle
from ckptplan.checkpoint.pickles.values import Global
from ckptplan.errors import InputError

METADATA = ".metadata"
TEMPORARY = ".metadata.tmp"
LARGEST_METADATA = 1 << 31  # bytes
_UNCOMMITTED = "the metadata is written last, and it is not there: the save never ended"
_HINT = "take the checkpoint before this one; torch cannot load this one"


def recognised(folder: CheckpointFolder) -> bool:
    """Whether metadata of DCP lies in the folder, or files of items."""
    return any(_is_part(name) for name in folder.sizes())


def read(folder: CheckpointFolder) -> Manifest:
    """The manifest of one folder; metadata that cannot be read becomes a fault of a manifest of files alone."""
    if folder.has(METADATA):
        found = metadata_or_fault(folder, METADATA)
        if isinstance(found, Fault):
            return unread(folder, (found,), Format.DCP)
        return manifest_of(folder, found)
    if rank_local.metadata_files(folder):
        return rank_local.read(folder)
    file = TEMPORARY if folder.has(TEMPORARY) else None
    beside = f"; {TEMPORARY} lies there" if file else ""
    return unread(folder, (Fault(Flaw.UNCOMMITTED, _UNCOMMITTED + beside, file, hint=_HINT),), Format.DCP)


def metadata_or_fault(folder: CheckpointFolder, name: str) -> DcpMetadata | Fault:
    """The content of a metadata file, or why it cannot be used."""
    size = folder.size(name)
    if size > LARGEST_METADATA:
        message = f"{size:,} bytes; at most {LARGEST_METADATA:,} are read"
        return Fault(Flaw.CORRUPT, message, name, hint="no checkpoint has metadata that long")
    data = folder.read(name, 0, size)
    try:
        return read_metadata(data, name)
    except InputError as error:
        foreign = _foreign(data, name)
        problem = error.problems[0]
        if foreign:
            message = f"loading it with torch would call {listed(foreign)}"
            return Fault(Flaw.FOREIGN_CODE, message, name, hint="do not load it; ask where it comes from")
        return Fault(Flaw.CORRUPT, problem.message, name, problem.key, problem.hint)


def _foreign(data: bytes, name: str) -> tuple[Global, ...]:
    """Names that no honest metadata calls, of a pickle that was refused."""
    try:
        return hostile(load_pickle(data, name, None).foreign)
    except InputError:
        return ()


def _is_part(name: str) -> bool:
    return (
        name in {METADATA, TEMPORARY}
        or DATA_FILE.match(name) is not None
        or rank_local.RANK_FILE.match(name) is not None
    )
