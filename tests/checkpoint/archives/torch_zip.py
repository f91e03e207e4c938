"""Archives as torch.save writes them, put together byte by byte, so that each part can be made wrong."""

from __future__ import annotations

import pickle
import struct
import zlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ckptplan.checkpoint.folder import CheckpointFolder

STORAGES = {
    "float32": ("torch", "FloatStorage"), "float64": ("torch", "DoubleStorage"), "int64": ("torch", "LongStorage"),
    "uint8": ("torch", "ByteStorage"), "bool": ("torch", "BoolStorage"), "int32": ("torch", "IntStorage"),
}  # fmt: skip


class Call(NamedTuple):
    """A call that a pickle makes: module and name, and the arguments."""

    module: str
    name: str
    args: tuple[Any, ...]


class Thing(NamedTuple):
    """An object with its attributes, as the pickle module writes one."""

    module: str
    name: str
    state: dict[str, Any]


class Name(NamedTuple):
    """A name that a pickle mentions."""

    module: str
    name: str


class Storage(NamedTuple):
    """A persistent id of a storage."""

    dtype: str
    key: str
    elements: int
    view: Any = None
    legacy: bool = False


def tensor(storage: Storage, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> Call:
    """What torch.save writes for a tensor."""
    return Call("torch._utils", "_rebuild_tensor_v2", (storage, offset, shape, strides, False, {}))


def dumped(value: Any) -> bytes:
    """A pickle of protocol 2 of plain values, names, calls and storages, written without the pickle module."""
    return b"\x80\x02" + _body(value) + b"."


def _body(value: Any) -> bytes:
    if isinstance(value, Name):
        return f"c{value.module}\n{value.name}\n".encode()
    if isinstance(value, Call):
        return _body(Name(value.module, value.name)) + _body(value.args) + b"R"
    if isinstance(value, Thing):
        return _body(Call(value.module, value.name, ())) + _body(value.state) + b"b"
    if isinstance(value, Storage):
        parts: tuple[Any, ...] = ("storage", Name(*STORAGES[value.dtype]), value.key, "cpu", value.elements)
        return _body((*parts, value.view) if value.legacy else parts) + b"Q"
    if isinstance(value, dict):
        return b"}(" + b"".join(_body(key) + _body(held) for key, held in value.items()) + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(map(_body, value)) + b"e"
    if type(value) is tuple:
        return b"(" + b"".join(map(_body, value)) + b"t"
    return pickle.dumps(value, 2)[2:-1]


class Part(NamedTuple):
    """One record, with what its headers claim where that differs from the truth."""

    name: str
    data: bytes
    deflated: bool = False
    size: int | None = None
    packed: int | None = None
    place: int | None = None
    local_name: str | None = None
    flags: int = 0x0808


def packed(data: bytes) -> bytes:
    """Deflated without a header."""
    work = zlib.compressobj(9, zlib.DEFLATED, -15)
    return work.compress(data) + work.flush()


def archive(parts: Iterable[Part], *, zip64: bool = False, comment: bytes = b"", entries: int | None = None) -> bytes:
    """A zip archive as torch writes it: zero sizes in local headers, the true ones in the directory."""
    out, directory, count = BytesIO(), BytesIO(), 0
    for part in parts:
        place = out.tell() if part.place is None else part.place
        raw, held = part.name.encode(), packed(part.data) if part.deflated else part.data
        local = (part.local_name or part.name).encode()
        pad = -(out.tell() + 30 + len(local) + 4) % 64
        method = 8 if part.deflated else 0
        out.write(struct.pack("<4s5H3I2H", b"PK\3\4", 0, part.flags, method, 0, 0, 0, 0, 0, len(local), 4 + pad))
        out.write(local + struct.pack("<2sH", b"FB", pad) + b"Z" * pad + held)
        size = len(part.data) if part.size is None else part.size
        length = len(held) if part.packed is None else part.packed
        extra = struct.pack("<2H3Q", 1, 24, size, length, place) if zip64 else b""
        marked = (0xFFFFFFFF,) * 3 if zip64 else (length, size, place)
        head = (b"PK\1\2", 0, 0, part.flags, method, 0, 0, zlib.crc32(part.data), marked[0], marked[1], len(raw))
        directory.write(struct.pack("<4s6H3I5H2I", *head, len(extra), 0, 0, 0, 0, marked[2]) + raw + extra)
        count += 1
    start, listed = out.tell(), directory.getvalue()
    count = count if entries is None else entries
    out.write(listed)
    if zip64:
        end = out.tell()
        out.write(struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 0, 0, 0, 0, count, count, len(listed), start))
        out.write(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
    few = min(count, 0xFFFF)
    out.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, few, few, len(listed), start, len(comment)) + comment)
    return out.getvalue()


def saved(value: Any, storages: dict[str, bytes], *, prefix: str = "archive", **more: Any) -> bytes:
    """A whole file of torch.save."""
    parts = [Part(f"{prefix}/data.pkl", dumped(value)), Part(f"{prefix}/byteorder", b"little")]
    parts += [Part(f"{prefix}/data/{key}", data) for key, data in storages.items()]
    return archive([*parts, Part(f"{prefix}/version", b"3\n")], **more)


def legacy(
    value: Any, storages: dict[str, tuple[str, bytes]], *, system: Any = None, magic: int = 0x1950A86A20F9469CFC6C
) -> bytes:
    """A stream of torch.save before 1.6; storages with the type of their elements."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}} if system is None else system
    out = b"".join(dumped(one) for one in (magic, 1001, system, value, sorted(storages)))
    for key in sorted(storages):
        dtype, data = storages[key]
        out += (len(data) // np.dtype(dtype).itemsize).to_bytes(8, "little") + data
    return out


def folder_of(tmp_path: Path, data: bytes, name: str = "file.pt") -> CheckpointFolder:
    """A folder with one file."""
    (tmp_path / name).write_bytes(data)
    return CheckpointFolder(tmp_path)
