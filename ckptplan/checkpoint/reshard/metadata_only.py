"""A checkpoint of which only the metadata is at hand: planned by what it says, item by item."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.metadata import read_metadata
from ckptplan.checkpoint.formats.dcp.placing import rank_of_file
from ckptplan.checkpoint.manifest import File, Flaw, Format, Ints, Manifest, Tensor
from ckptplan.checkpoint.reshard.no_bytes import NoBytes
from ckptplan.errors import InputError

_FORMATS = (Format.DCP, Format.MEGATRON_DIST)
REMARK = "none of the data files is here: reads are of whole items, and runs are counted as if shards were row-major"


def with_absent_files(manifest: Manifest) -> Manifest:
    """The same, if no data file of a DCP checkpoint is there, with the files that its metadata names.

    Any other checkpoint is given back as it is: where some files are there, a missing one is a hole.
    """
    stored = [tensor for tensor in manifest.tensors if tensor.shards.number]
    names = [file.name for file in manifest.files if PurePosixPath(file.name).name == ".metadata"]
    if manifest.format not in _FORMATS or len(names) != 1 or any((t.shards.files >= 0).any() for t in stored):
        return manifest
    with CheckpointFolder(manifest.root) as folder:
        metadata = read_metadata(folder.read(names[0], 0, folder.size(names[0])), str(manifest.root / names[0]))
    absent = tuple(File(name, 0, rank_of_file(name), holds="not here") for name in metadata.file_names)
    first = len(manifest.files)
    tensors = []
    for tensor in manifest.tensors:
        found = metadata.tensors.get(tensor.key)
        if found is None or len(found.files) != tensor.shards.number:
            raise InputError(f"{tensor.key}: the metadata cannot be planned from alone", hint="bring the data files")
        tensors.append(_with_files(tensor, np.where(found.files >= 0, found.files + first, -1)))
    faults = tuple(fault for fault in manifest.faults if fault.flaw is not Flaw.MISSING_FILE)
    return manifest._replace(
        tensors=tuple(tensors),
        files=(*manifest.files, *absent),
        faults=faults,
        source=NoBytes("its data file is not here"),
        remarks=(*manifest.remarks, REMARK),
    )


def _with_files(tensor: Tensor, files: Ints) -> Tensor:
    return tensor._replace(shards=tensor.shards._replace(files=files))
