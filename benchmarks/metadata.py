"""Reading the metadata of a large checkpoint, as a ratio to unpickling it: ``python benchmarks/metadata.py``.

A synthetic ``.metadata`` file of torch DCP: 1,000 tensors [12288, 64] in 1,024 shards each, 1,024,000 chunks and as
many storage entries, byte for byte as torch 2.13 pickles it after a save by 1,024 ranks: names of tensors are written
out in every entry, since each rank sent its own. In turn, each in a process of its own: ``pickle.load`` with
torch's classes, where torch is installed, or else with empty classes of the same names, and ``read_metadata``. Exits
with 1 if reading is not at least 4 times faster than unpickling, or takes more than 1 GB of memory, or if what is read
is not what was written.
"""

from __future__ import annotations

import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

TENSORS, SHARDS, ROWS, COLUMNS = 1_000, 1_024, 12_288, 64
REPEATS = 3
LEAST = 4.0  # times as fast as unpickling
MOST_MEMORY = 1e9  # bytes
ITEM_OVERHEAD = 1_513  # bytes around the data of one stored item
CHECKPOINT = "torch.distributed.checkpoint"


class Size(tuple[int, ...]):
    """Like torch.Size."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


class Dtype:
    """Like torch.float32, which is pickled by its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__module__ = "".join(("tor", "ch"))  # another object than the module name of Size, as in torch

    def __reduce__(self) -> str:
        return self.name


class Layout:
    """Like torch.strided."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _get_layout, ("torch.strided",)


def _get_layout(name: str) -> Layout:
    return Layout()


class _MEM_FORMAT_ENCODING(Enum):  # noqa: N801 - torch's name
    TORCH_CONTIGUOUS_FORMAT = 0


class Fields:
    """An object with the attributes that it is given, in their order."""

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, sys.intern(name), value)


class Metadata(Fields):
    """All of a file."""


class TensorStorageMetadata(Fields):
    """One tensor."""


class BytesStorageMetadata(Fields):
    """One object."""


class ChunkStorageMetadata(Fields):
    """One chunk of a tensor."""


class MetadataIndex(Fields):
    """The key of a storage entry."""


class StorageMeta(Fields):
    """Whose save it is."""


class _StorageInfo(Fields):
    """A storage entry."""


class TensorProperties:
    """The type of a tensor's elements, and the like."""

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype

    def __getstate__(self) -> tuple[Any, ...]:
        return self.dtype, STRIDED, False, _MEM_FORMAT_ENCODING(0), False

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype = state[0]


FLOAT32, STRIDED = Dtype("float32"), Layout()
NAMED = {
    "torch": (Size, FLOAT32),
    "torch.serialization": (_get_layout,),
    f"{CHECKPOINT}.metadata": (
        Metadata, TensorStorageMetadata, BytesStorageMetadata, ChunkStorageMetadata, MetadataIndex, StorageMeta,
        TensorProperties, _MEM_FORMAT_ENCODING,
    ),
    f"{CHECKPOINT}.filesystem": (_StorageInfo,),
}  # fmt: skip


@contextmanager
def standing_in() -> Iterator[None]:
    """While it lasts the classes above are those of torch's modules, for pickle."""
    kept = {name: sys.modules.get(name) for name in NAMED}
    for name, members in NAMED.items():
        module = ModuleType(name)
        for member in members:
            if isinstance(member, Dtype):
                setattr(module, member.name, member)
            else:
                member.__module__ = name
                setattr(module, member.__name__, member)
        sys.modules[name] = module
    try:
        yield
    finally:
        for name, module in kept.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module


def pickled(value: object, protocol: int = 4) -> bytes:
    """The bytes that torch would write."""
    with standing_in():
        return pickle.dumps(value, protocol)


def tensor(shape: tuple[int, ...], boxes: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> TensorStorageMetadata:
    """One tensor of float32 with the boxes of its chunks."""
    chunks = [ChunkStorageMetadata(offsets=Size(offsets), sizes=Size(sizes)) for offsets, sizes in boxes]
    return TensorStorageMetadata(properties=TensorProperties(FLOAT32), size=Size(shape), chunks=chunks)


def index_of(name: str, offset: tuple[int, ...] | None, rank: int | None) -> MetadataIndex:
    """The key of a storage entry; without an offset that of an object."""
    index = MetadataIndex(fqn=name, index=rank)
    if offset is not None:
        index.offset = Size(offset)
    return index


def info_of(file: str, start: int, length: int) -> _StorageInfo:
    """A storage entry."""
    return _StorageInfo(relative_path=file, offset=start, length=length)


def whole(tensors: dict[str, Any], entries: dict[Any, Any], paths: dict[str, tuple[Any, ...]] | None) -> Metadata:
    """The object of a whole file."""
    meta = StorageMeta(checkpoint_id="step-1000", save_id="s", load_id=None, modules=[])
    return Metadata(
        state_dict_metadata=tensors, planner_data=paths, storage_data=entries, storage_meta=meta, version="1.0.0"
    )


def synthetic_metadata(
    path: Path, tensors: int = TENSORS, shards: int = SHARDS, rows: int = ROWS, columns: int = COLUMNS
) -> None:
    """Write the metadata of tensors [rows, columns] cut along their rows in equal shards, one for each rank."""
    names = [f"layers.{number}.weight" for number in range(tensors)]
    part = rows // shards
    boxes = [((rank * part, 0), (part, columns)) for rank in range(shards)]
    length = 4 * part * columns + ITEM_OVERHEAD
    entries = {}
    for rank in range(shards):
        file = f"__{rank}_0.distcp"
        for number, name in enumerate(names):
            own = "".join(list(name))  # another object: the names of each rank came by themselves
            entries[index_of(own, boxes[rank][0], rank)] = info_of(file, number * length, length)
    found = {name: tensor((rows, columns), boxes) for name in names}
    path.write_bytes(pickled(whole(found, entries, {name: (name,) for name in names})))


def with_torch(path: str) -> dict[str, float]:
    """pickle.load with torch's own classes."""
    import torch.distributed.checkpoint.filesystem  # noqa: F401 - else loading imports it

    start = time.perf_counter()
    with Path(path).open("rb") as stream:
        found = pickle.load(stream)  # noqa: S301 - our own file
    return {"s": time.perf_counter() - start, "entries": len(found.storage_data)}


def with_stand_ins(path: str) -> dict[str, float]:
    """pickle.load with the classes above."""
    start = time.perf_counter()
    with standing_in(), Path(path).open("rb") as stream:
        found = pickle.load(stream)  # noqa: S301 - our own file
    return {"s": time.perf_counter() - start, "entries": len(found.storage_data)}


def with_ckptplan(path: str) -> dict[str, float]:
    """read_metadata."""
    from ckptplan.checkpoint.formats.dcp.metadata import read_metadata

    start = time.perf_counter()
    found = read_metadata(Path(path).read_bytes(), path)
    spent = time.perf_counter() - start
    rows = sum(int((each.files >= 0).sum()) for each in found.tensors.values())
    return {"s": spent, "entries": found.entries, "rows": rows, "faults": len(found.faults)}


WAYS = {"torch": with_torch, "stand-ins": with_stand_ins, "ckptplan": with_ckptplan}


def measured(way: str, path: Path) -> dict[str, float] | None:
    """One way in a process of its own, with the peak of its memory; None where torch is not installed."""
    done = subprocess.run([sys.executable, __file__, way, str(path)], capture_output=True, text=True, check=False)
    if done.returncode and "No module named 'torch'" in done.stderr:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def alone(way: str, path: str) -> None:
    """One way in this process."""
    found = WAYS[way](path)
    found["bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(found))


def main() -> int:
    """Print all times; 1 if a limit is missed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ".metadata"
        made = subprocess.run([sys.executable, __file__, "write", str(path)], check=True)
        assert made.returncode == 0
        print(f"{TENSORS * SHARDS:,} chunks and storage entries, {path.stat().st_size / 1e6:.1f} MB")
        other = "torch" if measured("torch", path) else "stand-ins"
        if other != "torch":
            print("torch is not installed: compared with the C unpickler and empty classes, which is faster than torch")
        runs = [(measured(other, path), measured("ckptplan", path)) for _ in range(REPEATS)]
    theirs, own = ([run for run in column if run] for column in zip(*runs, strict=True))
    for name, found in ((other, theirs), ("ckptplan", own)):
        best, memory = min(run["s"] for run in found), max(run["bytes"] for run in found)
        print(f"{name:9}: {best:.2f} s, {memory / 1e9:.2f} GB at most")
    ratio = min(a["s"] for a in theirs) / min(b["s"] for b in own)
    memory = max(run["bytes"] for run in own)
    right = all(run["entries"] == run["rows"] == TENSORS * SHARDS and not run["faults"] for run in own)
    print(f"{ratio:.1f} times as fast as unpickling (at least {LEAST:.0f})")
    return int(ratio < LEAST or memory > MOST_MEMORY or not right)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "write":
        synthetic_metadata(Path(sys.argv[2]))
    elif len(sys.argv) == 3:
        alone(*sys.argv[1:])
    else:
        sys.exit(main())
