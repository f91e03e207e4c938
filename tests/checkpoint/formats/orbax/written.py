"""Orbax checkpoints and OCDBT databases put together byte by byte, so that each part can be made wrong."""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]

MANIFEST, NODE = "0cdb3a2a", "0cdb20de"


def varint(number: int) -> bytes:
    """Seven bits per byte, lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def column(numbers: list[int]) -> bytes:
    """Varints one after another."""
    return b"".join(map(varint, numbers))


def framed(magic: str, body: bytes) -> bytes:
    """A manifest or node that is not packed."""
    length = 4 + 8 + 2 + len(body) + 4
    return bytes.fromhex(magic) + length.to_bytes(8, "little") + b"\0\0" + body + b"\0\0\0\0"


def file_table(names: list[str]) -> bytes:
    """Names without shared prefixes and without a base."""
    raw = [name.encode() for name in names]
    lengths = column([0] * (len(raw) - 1)) + column([len(name) for name in raw]) + column([0] * len(raw))
    return varint(len(raw)) + lengths + b"".join(raw)


def key_columns(keys: list[bytes], common: list[int] | None = None) -> bytes:
    """Keys with what each shares with the one before left out."""
    shared = [0]
    for before, key in itertools.pairwise(keys):
        same = 0
        while same < min(len(before), len(key)) and before[same] == key[same]:
            same += 1
        shared.append(same)
    rest = [key[same:] for key, same in zip(keys, shared, strict=True)]
    more = column(common) if common is not None else b""
    return varint(len(keys)) + column(shared[1:]) + column([len(one) for one in rest]) + more + b"".join(rest)


def leaf(values: dict[str, bytes | tuple[int, int]], data: str) -> bytes:
    """A node of values: bytes inline, or offset and length in the data file."""
    items = sorted(values.items())
    keys = [key.encode() for key, _ in items]
    lengths = [len(value) if isinstance(value, bytes) else value[1] for _, value in items]
    inline = [value for _, value in items if isinstance(value, bytes)]
    outside = [value for _, value in items if not isinstance(value, bytes)]
    kinds = bytes(not isinstance(value, bytes) for _, value in items)
    places = column([0] * len(outside)) + column([offset for offset, _ in outside])
    body = b"\0" + file_table([data]) + key_columns(keys) + column(lengths) + kinds + places + b"".join(inline)
    return framed(NODE, body)


def interior(children: list[tuple[str, int, int]], data: str, height: int = 1) -> bytes:
    """A node of nodes: first key below, offset and length of each."""
    keys = [key.encode() for key, _, _ in children]
    number = len(children)
    places = column([0] * number) + column([one[1] for one in children]) + column([one[2] for one in children])
    body = bytes([height]) + file_table([data]) + key_columns(keys, [0] * number) + places + column([1] * 3 * number)
    return framed(NODE, body)


def manifest(data: str, offset: int, length: int, height: int = 0) -> bytes:
    """A manifest of one version."""
    settings = bytes(16) + column([0, 1024, 10**8]) + b"\4" + varint(0)
    version = column([1, 1]) + bytes([height]) + column([0, offset, length, 1, 1, 1]) + bytes(8)
    return framed(MANIFEST, settings + file_table([data]) + version + varint(0))


def write_database(folder: Path, values: dict[str, bytes], longest_inline: int = 64, per_node: int = 1000) -> None:
    """A database of one level, or of two where the values do not go into one node."""
    name = "d/0123456789abcdef"
    data = bytearray()
    held: dict[str, bytes | tuple[int, int]] = {}
    for key, value in values.items():
        held[key] = value if len(value) <= longest_inline else (len(data), len(value))
        data += b"" if len(value) <= longest_inline else value
    keys = sorted(held)
    children: list[tuple[str, int, int]] = []
    for first in range(0, len(keys), per_node):
        node = leaf({key: held[key] for key in keys[first : first + per_node]}, name)
        children.append((keys[first], len(data), len(node)))
        data += node
    height = 0
    if len(children) > 1:
        node = interior(children, name)
        children = [("", len(data), len(node))]
        data += node
        height = 1
    (folder / "d").mkdir(parents=True)
    (folder / name).write_bytes(data)
    (folder / "manifest.ocdbt").write_bytes(manifest(name, children[0][1], children[0][2], height))


def zarr_values(
    name: str, array: np.ndarray[Any, Any], chunks: tuple[int, ...], *, packed: bool = False, **other: Any
) -> dict[str, bytes]:
    """The description of an array and its chunks, those at the end of an axis filled up."""
    described = {
        "zarr_format": 2, "shape": list(array.shape), "chunks": list(chunks), "dtype": array.dtype.str, "order": "C",
        "compressor": {"id": "zlib", "level": 1} if packed else None, "fill_value": None, "filters": None,
        "dimension_separator": ".", **other,
    }  # fmt: skip
    values = {f"{name}/.zarray": json.dumps(described).encode()}
    for place in np.ndindex(*[-(-size // chunk) for size, chunk in zip(array.shape, chunks, strict=True)]):
        box = tuple(slice(at * size, (at + 1) * size) for at, size in zip(place, chunks, strict=True))
        part = np.zeros(chunks, array.dtype)
        inside = array[box]
        part[tuple(slice(0, size) for size in inside.shape)] = inside
        raw = part.tobytes()
        values[f"{name}/{'.'.join(map(str, place)) or '0'}"] = zlib.compress(raw) if packed else raw
    return values


def tree_metadata(names: list[str], **other: Any) -> str:
    """The names of all arrays, as Orbax writes them."""
    entries = {
        str(tuple(name.split("."))): {
            "key_metadata": [{"key": part, "key_type": 2} for part in name.split(".")],
            "value_metadata": {"value_type": "jax.Array", "skip_deserialize": False, "write_shape": [2, 3]},
        }
        for name in names
    }
    return json.dumps(
        {"tree_metadata": entries, "use_ocdbt": False, "store_array_data_equal_to_fill_value": True, **other}
    )


def sharding(names: list[str], mesh: tuple[int, ...] = (2, 2), spec: list[Any] | None = None) -> str:
    """One layout for all arrays."""
    layout = {
        "sharding_type": "NamedSharding", "shape": list(mesh), "axis_names": ["fsdp", "tp"][: len(mesh)],
        "partition_spec": ["fsdp", "tp"] if spec is None else spec,
    }  # fmt: skip
    return json.dumps({base64.b64encode(name.encode()).decode(): json.dumps(layout) for name in names})


def write_step(root: Path, arrays: Arrays, *, ocdbt: bool = False, step: str = "7", packed: bool = False) -> Path:
    """A whole checkpoint of one item, `state`; the folder of that item."""
    state = root / step / "state"
    state.mkdir(parents=True)
    stamps = {"init_timestamp_nsecs": 1, "commit_timestamp_nsecs": 2, "item_handlers": {}}
    (root / step / "_CHECKPOINT_METADATA").write_text(json.dumps(stamps))
    (state / "_METADATA").write_text(tree_metadata(list(arrays)))
    (state / "_sharding").write_text(sharding(list(arrays)))
    values: dict[str, bytes] = {}
    for name, array in arrays.items():
        chunks = tuple(max(1, -(-size // 2)) for size in array.shape)
        values |= zarr_values(name, array, chunks, packed=packed)
    if ocdbt:
        write_database(state, values, per_node=7)
        return state
    for key, value in values.items():
        (state / key).parent.mkdir(exist_ok=True)
        (state / key).write_bytes(value)
    return state
