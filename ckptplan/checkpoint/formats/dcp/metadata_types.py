"""What the metadata file of torch DCP is read into."""

from __future__ import annotations

from typing import NamedTuple

from ckptplan.checkpoint.manifest import Fault, Ints

Path = tuple[str | int, ...]


class DcpTensor(NamedTuple):
    """One logical tensor; the arrays have a row for each chunk, in the order of the file."""

    key: str
    dtype: str  # one of dtypes.BITS
    shape: tuple[int, ...]
    offsets: Ints  # [n, axes], elements
    sizes: Ints  # [n, axes], elements
    files: Ints  # [n], numbers of file_names; -1: no storage entry
    item_offsets: Ints  # [n], bytes; -1 without an entry
    item_bytes: Ints  # [n], bytes; 0 without an entry
    packed: str | None  # "zstd"; another text are descriptors that are not known


class DcpItem(NamedTuple):
    """Where an object is stored."""

    file: int  # number of file_names
    offset: int  # bytes
    length: int  # bytes
    packed: str | None


class DcpMetadata(NamedTuple):
    """All of a metadata file."""

    tensors: dict[str, DcpTensor]
    objects: dict[str, DcpItem | None]  # None: no storage entry
    file_names: tuple[str, ...]
    paths: dict[str, Path] | None  # of planner_data; None where the state was not flattened
    version: str | None
    entries: int  # of storage, each key once
    faults: tuple[Fault, ...]
    has_local_plans: bool  # Megatron's own addition
