"""What a checkpoint holds, whatever its format: logical tensors with the boxes that are stored, objects, files.

Boxes are in elements of the logical tensor. Shards are arrays, one row for each, since a checkpoint of a large run has
a million of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ckptplan.checkpoint.dtypes import size_bytes
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.errors import Place, Problem, printable

Ints = NDArray[np.int64]

UNKNOWN = -1  # a place in a file that is known only once the stored item is looked into


class Format(StrEnum):
    """How a checkpoint is written; the words are those of reports."""

    DCP = "torch DCP"
    DCP_RANK_LOCAL = "torch DCP, metadata per rank"
    DCP_SAFETENSORS = "torch DCP in safetensors"
    MEGATRON_DIST = "Megatron torch_dist"
    MEGATRON_LEGACY = "Megatron legacy"
    DEEPSPEED = "DeepSpeed ZeRO"
    DEEPSPEED_UNIVERSAL = "DeepSpeed universal"
    FSDP1_FLAT = "FSDP1 flat, one file per rank"
    TORCH = "torch.save"
    TORCH_LEGACY = "torch.save, before 1.6"
    TRAINER = "Hugging Face Trainer"
    ACCELERATE = "Hugging Face accelerate"
    SAFETENSORS = "safetensors"
    ORBAX = "Orbax"


class Flaw(StrEnum):
    """What can be wrong with a checkpoint."""

    UNCOMMITTED = "uncommitted"
    CORRUPT = "corrupt"  # metadata, headers or archives that contradict themselves
    FOREIGN_CODE = "foreign code"  # reading the file with its own library could run a program
    MISSING_FILE = "missing file"
    TRUNCATED = "truncated file"
    MISSING_ENTRY = "missing entry"  # a shard that the metadata lists and stores nowhere
    OUTSIDE = "outside its tensor"
    HOLE = "hole"
    OVERLAP = "overlap"
    MISMATCH = "item unlike its metadata"
    CHECKSUM = "checksum"
    UNREADABLE = "unreadable"
    NOT_RESHARDABLE = "not reshardable"


# Flaws that leave the data where it is and as it was: nothing of a file is executed here.
DATA_INTACT = frozenset({Flaw.FOREIGN_CODE, Flaw.NOT_RESHARDABLE})


class Fault(NamedTuple):
    """One thing that is wrong: a sentence, and where."""

    flaw: Flaw
    message: str
    file: str | None = None  # relative to the root of the checkpoint
    key: str | None = None
    hint: str | None = None


class File(NamedTuple):
    """One file of a checkpoint; `name` is relative to its root, with slashes."""

    name: str
    size_bytes: int
    rank: int | None = None  # that wrote it, where the name tells
    referenced: bool = True  # False: nothing in the checkpoint refers to it
    holds: str = ""  # what is in it, in a few words: metadata, tensors and objects, random-number states of rank 3


class Mesh(NamedTuple):
    """The ranks that saved, as a grid with named axes."""

    shape: tuple[int, ...]
    names: tuple[str, ...]


class Shards(NamedTuple):
    """The stored shards of one tensor: arrays with one row for each.

    ``flat``: boxes are ranges of the tensor's elements in row-major order (one axis), not boxes of its own axes.
    ``files`` are indices of ``Manifest.files`` (-1: stored nowhere). An item is what the format stores as one piece:
    for DCP a whole archive, else the data itself. ``data_offsets`` is the place of the first element in the file,
    UNKNOWN until ``Source.raw`` has looked into the item.
    """

    offsets: Ints  # [n, axes], elements
    sizes: Ints  # [n, axes], elements
    files: Ints  # [n]
    item_offsets: Ints  # [n], bytes
    item_bytes: Ints  # [n], bytes
    data_offsets: Ints  # [n], bytes
    flat: bool = False

    @property
    def number(self) -> int:
        """How many shards are listed, the empty ones included."""
        return len(self.files)


class Tensor(NamedTuple):
    """One logical tensor."""

    key: str  # as the format names it
    kind: StateKind
    dtype: str  # one of dtypes.BITS
    shape: tuple[int, ...]
    shards: Shards
    path: tuple[str | int, ...] = ()
    parameter: str | None = None  # key of the parameter that this state belongs to; for a parameter its own key
    rank: int | None = None  # the rank whose own it is: random-number states

    @property
    def elements(self) -> int:
        """Elements of the logical tensor."""
        return math.prod(self.shape)

    @property
    def logical_bytes(self) -> int:
        """Bytes of the logical tensor, counted once. [bytes]."""
        return size_bytes(self.dtype, self.elements)

    @property
    def stored_bytes(self) -> int:
        """Bytes that its items take in the files. [bytes]."""
        return int(self.shards.item_bytes.sum())


class Object(NamedTuple):
    """One stored state that is no tensor. Without an item of its own (part of a pickle) its bytes are 0."""

    key: str
    kind: StateKind
    file: int  # index of Manifest.files, -1: nowhere
    item_offset: int = UNKNOWN
    item_bytes: int = 0
    path: tuple[str | int, ...] = ()
    rank: int | None = None
    type: str | None = None  # float, dict, argparse.Namespace, where known without looking into the item


class Raw(NamedTuple):
    """Where and how the elements of one shard lie in a file."""

    file: int
    offset: int  # of the first element, bytes; within the unpacked item if packed
    dtype: str
    shape: tuple[int, ...]  # of the stored shard, by its own description
    strides: tuple[int, ...]  # elements, one for each axis of `shape`
    packed: str | None = None  # "zstd": only the whole item can be read
    data_bytes: int = 0  # of the stored record: all that the storage holds


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a shard whose last axis lies closest. [elements]."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(1, length)
    return tuple(reversed(strides))


class Source(Protocol):
    """The files behind a manifest. Every method raises InputError for what the files do not hold."""

    def raw(self, tensor: Tensor, row: int) -> Raw:
        """Where the elements of a shard lie."""
        ...

    def read(self, tensor: Tensor, row: int) -> NDArray[np.uint8]:
        """The bytes of a whole shard, its elements in row-major order."""
        ...

    def value(self, entry: Object) -> Any:
        """An object as inert values (numbers, texts, lists, tuples, dicts, pickles.values.Built)."""
        ...


class Manifest(NamedTuple):
    """All that is known of a checkpoint without reading its data."""

    format: Format
    root: Path
    tensors: tuple[Tensor, ...]
    objects: tuple[Object, ...]
    files: tuple[File, ...]
    source: Source
    step: int | None = None
    world_size: int | None = None  # ranks that saved
    mesh: Mesh | None = None
    writer_ranks: tuple[int, ...] = ()
    faults: tuple[Fault, ...] = ()  # found while reading it
    remarks: tuple[str, ...] = ()  # sentences on what is doubtful without being wrong
    # Kinds that are there without a tensor or object of their own, with where: Megatron's step within common.pt.
    elsewhere: tuple[tuple[StateKind, str], ...] = ()
    producer: str = ""  # library and version, where the files tell
    only: str | None = None  # the file that was named, where one file of the root was, and not the folder

    @property
    def path(self) -> Path:
        """The checkpoint by its name: the folder, or the one file that was named."""
        return self.root if self.only is None else self.root / self.only

    @property
    def committed(self) -> bool:
        """Whether the save ended."""
        return all(fault.flaw is not Flaw.UNCOMMITTED for fault in self.faults)


def problem_of(fault: Fault, manifest: Manifest) -> Problem:
    """A fault as the error that a user reads."""
    file = manifest.root / printable(fault.file) if fault.file else manifest.root
    return Problem(fault.message, Place(str(file)), key=fault.key, hint=fault.hint)
