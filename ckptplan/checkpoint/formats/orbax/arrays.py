"""Descriptions of zarr arrays, versions 2 and 3: shape, dtype, chunks, and how a chunk is packed."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ckptplan.checkpoint.dtypes import BITS
from ckptplan.checkpoint.formats.orbax.documents import counts

MOST_CHUNKS = 2_000_000  # of one array

_NUMPY_LETTERS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


class Array(NamedTuple):
    """One zarr array."""

    shape: tuple[int, ...]
    dtype: str  # one of dtypes.BITS
    chunks: tuple[int, ...]  # of one stored value
    key: str  # beginning of the keys of its chunks
    separator: str
    packing: str  # "", "zstd", "zlib", or the name of one that is not read here
    fortran: bool = False  # column-major chunks
    big_endian: bool = False
    fill: Any = None
    inner: Inner | None = None  # chunks within a stored value, of zarr 3 shards

    @property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each axis."""
        return tuple(-(-size // chunk) for size, chunk in zip(self.shape, self.chunks, strict=True))

    @property
    def number(self) -> int:
        """Chunks in all."""
        return math.prod(self.grid)


class Inner(NamedTuple):
    """Chunks within a shard, and where its index of them stands."""

    chunks: tuple[int, ...]
    packing: str
    checksum: bool  # the index ends with a CRC-32C
    at_end: bool


class Unlike(ValueError):  # noqa: N818 - becomes a fault of the array
    """A description that is wrong, or of something that is not read here."""


def zarr2_array(name: str, found: Any) -> Array:
    """The array that a `.zarray` describes."""
    if not isinstance(found, dict) or found.get("zarr_format") != 2:
        raise Unlike("no description of a zarr 2 array")
    if found.get("filters"):
        raise Unlike("its chunks went through filters, which are not read here")
    compressor = found.get("compressor")
    packing = "" if compressor is None else _named(compressor, "id")
    text = found.get("dtype")
    return _checked(
        Array(
            shape=_sizes(found.get("shape"), "shape"),
            dtype=_dtype(text),
            chunks=_sizes(found.get("chunks"), "chunks"),
            key=name + "/",
            separator="/" if found.get("dimension_separator") == "/" else ".",
            packing={"gzip": "zlib"}.get(packing, packing),
            fortran=found.get("order") == "F",
            big_endian=isinstance(text, str) and text.startswith(">"),
            fill=found.get("fill_value"),
        )
    )


def zarr3_array(name: str, found: Any) -> Array:
    """The array that a `zarr.json` describes."""
    if not isinstance(found, dict) or found.get("zarr_format") != 3 or found.get("node_type") != "array":
        raise Unlike("no description of a zarr 3 array")
    grid = _configured(found.get("chunk_grid"), "regular")
    encoding = _configured(found.get("chunk_key_encoding"), "default")
    codecs = found.get("codecs")
    packing, big_endian, inner = _codecs(codecs)
    return _checked(
        Array(
            shape=_sizes(found.get("shape"), "shape"),
            dtype=_dtype(found.get("data_type")),
            chunks=_sizes(grid.get("chunk_shape"), "chunk_shape"),
            key=f"{name}/c",
            separator="." if encoding.get("separator") == "." else "/",
            packing=packing,
            big_endian=big_endian,
            fill=found.get("fill_value"),
            inner=inner,
        )
    )


def chunk_keys(array: Array, places: list[list[int]]) -> list[str]:
    """Keys of the chunks at these places of the grid. An array without axes has one chunk."""
    separator = array.separator
    if array.key.endswith("/"):  # zarr 2
        return [array.key + (separator.join(map(str, place)) or "0") for place in places]
    return [separator.join((array.key, *map(str, place))) for place in places]


def _checked(array: Array) -> Array:
    if len(array.shape) != len(array.chunks) or 0 in array.chunks:
        raise Unlike(f"chunks {list(array.chunks)} for shape {list(array.shape)}")
    if array.inner is not None and (
        len(array.inner.chunks) != len(array.chunks)
        or 0 in array.inner.chunks
        or any(whole % part for whole, part in zip(array.chunks, array.inner.chunks, strict=True))
    ):
        raise Unlike(f"inner chunks {list(array.inner.chunks)} for shards {list(array.chunks)}")
    if math.prod(array.shape) >= 2**59 or math.prod(array.chunks) >= 2**59:
        raise Unlike(f"shape {list(array.shape)} in chunks {list(array.chunks)}")
    if array.number > MOST_CHUNKS:
        raise Unlike(f"{array.number:,} chunks; at most {MOST_CHUNKS:,} are read")
    return array


def _codecs(found: Any) -> tuple[str, bool, Inner | None]:
    """Packing, byte order and inner chunks of a chain of codecs."""
    if not isinstance(found, list) or len(found) > 8:
        raise Unlike("no list of codecs")
    packing, big_endian, inner = "", False, None
    for codec in found:
        name = _named(codec, "name")
        settings = codec.get("configuration")
        settings = settings if isinstance(settings, dict) else {}
        if name == "bytes":
            big_endian = settings.get("endian") == "big"
        elif name == "sharding_indexed" and inner is None and len(found) == 1:
            inner, big_endian = _inner(settings)
        elif name in {"zstd", "gzip", "zlib", "blosc", "crc32c"} and not packing:
            packing = {"gzip": "zlib"}.get(name, name)
        else:
            raise Unlike(f"the codec {name[:40]!r} at this place is not read here")
    return packing, big_endian, inner


def _inner(settings: dict[str, Any]) -> tuple[Inner, bool]:
    packing, big_endian, nested = _codecs(settings.get("codecs"))
    index = settings.get("index_codecs")
    names = [_named(codec, "name") for codec in index] if isinstance(index, list) and len(index) <= 4 else []
    if nested is not None or names not in (["bytes"], ["bytes", "crc32c"]):
        raise Unlike("shards within shards, or a packed index, are not read here")
    sizes = _sizes(settings.get("chunk_shape"), "chunk_shape")
    return Inner(sizes, packing, len(names) == 2, settings.get("index_location", "end") == "end"), big_endian


def _configured(found: Any, name: str) -> dict[str, Any]:
    if _named(found, "name") != name:
        raise Unlike(f"{_named(found, 'name')[:40]!r} is not read here, only {name!r}")
    settings = found.get("configuration", {})
    return settings if isinstance(settings, dict) else {}


def _named(found: Any, key: str) -> str:
    name = found.get(key) if isinstance(found, dict) else None
    if not isinstance(name, str):
        raise Unlike(f"a part without {key}")
    return name


def _sizes(found: Any, what: str) -> tuple[int, ...]:
    sizes = counts(found, 2**59)
    if sizes is None:
        raise Unlike(f"a {what} that is no list of sizes")
    return sizes


def _dtype(found: Any) -> str:
    """Our name of a dtype: zarr writes those of numpy ("<f4") or of ml_dtypes ("bfloat16")."""
    name = found if isinstance(found, str) else ""
    if len(name) == 3 and name[0] in "<>|" and name[1] in _NUMPY_LETTERS and name[2].isdigit():
        name = "bool" if name == "|b1" else f"{_NUMPY_LETTERS[name[1]]}{8 * int(name[2])}"
    elif name in ("<c16", ">c16"):
        name = "complex128"
    if name not in BITS or BITS[name] % 8:
        raise Unlike(f"the dtype {str(found)[:40]!r} is not read here")
    return name
