"""Databases and arrays that tensorstore writes with other settings than Orbax chose, read back without it."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax import read
from ckptplan.checkpoint.formats.orbax.ocdbt import read_database
from ckptplan.checkpoint.formats.orbax.stores import value_bytes
from tests.checkpoint.shared_fixtures import whole

tensorstore = pytest.importorskip("tensorstore")

SETTINGS = {
    "as it comes": {},
    "not packed": {"compression": None},
    "small nodes": {"max_decoded_node_bytes": 2000, "max_inline_value_bytes": 8},
    "all inline": {"max_decoded_node_bytes": 4000, "max_inline_value_bytes": 1000},
    "numbered manifests": {"manifest_kind": "numbered"},
    "numbered, small nodes": {
        "manifest_kind": "numbered",
        "max_decoded_node_bytes": 1000,
        "version_tree_arity_log2": 1,
    },
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_every_key_and_value_of_a_database(tmp_path, name, seed):
    """Trees of several levels, values in nodes and outside of them, keys that share prefixes, keys deleted again."""
    draw = random.Random(seed)  # noqa: S311
    spec = {"driver": "ocdbt", "base": f"file://{tmp_path}/", "config": SETTINGS[name]}
    store = tensorstore.KvStore.open(spec).result()
    for _ in range(6):
        batch = tensorstore.Transaction()
        for _ in range(draw.randrange(1, 60)):
            key = draw.choice(["params.", "opt.", "", "params.layer/"]) + str(draw.randrange(10**6))
            store.with_transaction(batch)[key] = draw.randbytes(draw.choice([0, 3, 40, 900]))
        batch.commit_async().result()
    gone = [key for key in store.list().result() if draw.random() < 0.2]
    for key in gone:
        del store[key]
    folder = CheckpointFolder(tmp_path)
    found = {key: value_bytes(folder, value) for key, value in read_database(folder, "").values.items()}
    assert found == {key.decode(): store.read(key).result().value for key in store.list().result()}
    assert found


def test_an_empty_database(tmp_path):
    """All keys were deleted again."""
    store = tensorstore.KvStore.open({"driver": "ocdbt", "base": f"file://{tmp_path}/"}).result()
    store["key"] = b"value"
    del store["key"]
    assert read_database(CheckpointFolder(tmp_path), "").values == {}


DTYPES = ["float32", "bfloat16", "int32", "uint32", "float16", "bool", "uint8", "int64", "float8_e4m3fn", "complex64"]
WAYS = {
    "zarr, zstd": ("zarr", {"compressor": {"id": "zstd", "level": 1}}),
    "zarr, zlib": ("zarr", {"compressor": {"id": "zlib", "level": 1}}),
    "zarr, not packed": ("zarr", {"compressor": None}),
    "zarr, column-major": ("zarr", {"compressor": None, "order": "F"}),
    "zarr, slashes": ("zarr", {"compressor": None, "dimension_separator": "/"}),
    "zarr3": ("zarr3", {"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}),
    "zarr3, zstd": ("zarr3", {"codecs": ["bytes", {"name": "zstd", "configuration": {"level": 1}}]}),
    "zarr3, gzip": ("zarr3", {"codecs": ["bytes", {"name": "gzip", "configuration": {"level": 1}}]}),
    "zarr3, big-endian": ("zarr3", {"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]}),
    "zarr3, shards": ("zarr3", {"sharded": True}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ocdbt", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_element_of_arrays(tmp_path, way, ocdbt, seed):
    """Types, shapes with chunks that reach beyond the end, arrays without axes or elements, and fill values."""
    draw = random.Random(f"{way} {ocdbt} {seed}")  # noqa: S311
    kvstore = {"driver": "ocdbt", "base": f"file://{tmp_path}/"} if ocdbt else f"file://{tmp_path}/"
    expected = {}
    for number, dtype in enumerate(DTYPES):
        shape = tuple(draw.randrange(0 if seed == 3 else 1, 9) for _ in range(draw.randrange(0, 4)))
        name = f"params.{number}"
        expected[name] = dtype, shape, _write(way, kvstore, name, dtype, shape, draw)
    (tmp_path / "_METADATA").write_text(json.dumps({"tree_metadata": {}, "use_ocdbt": ocdbt}))
    manifest = read(CheckpointFolder(tmp_path))
    assert manifest.faults == ()
    found = {one.key: (one.dtype, one.shape, whole(manifest, one)) for one in manifest.tensors}
    assert found == expected


def _write(way, kvstore, name, dtype, shape, draw):
    """One array by tensorstore, and its elements."""
    driver, settings = WAYS[way]
    chunks = [max(1, min(size, draw.randrange(1, 5))) for size in shape]
    if driver == "zarr":
        metadata = {"shape": shape, "chunks": chunks, **settings}
        if len(shape) < 2:
            metadata.pop("order", None)  # tensorstore knows no column-major order of one axis
    elif settings.get("sharded"):
        inner = {"chunk_shape": chunks, "codecs": ["bytes", {"name": "zstd", "configuration": {"level": 1}}]}
        metadata = {
            "shape": shape,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2 * size for size in chunks]}},
            "codecs": [{"name": "sharding_indexed", "configuration": inner}],
        }
    else:
        grid = {"name": "regular", "configuration": {"chunk_shape": chunks}}
        metadata = {"shape": shape, "chunk_grid": grid, **settings}
    held = {**kvstore, "path": f"{name}/"} if isinstance(kvstore, dict) else f"{kvstore}{name}/"
    spec = {"driver": driver, "kvstore": held, "metadata": metadata, "create": True}
    array = tensorstore.open(spec, dtype=getattr(tensorstore, dtype)).result()
    values = np.array(
        [draw.randrange(0, 2 if dtype == "bool" else 100) for _ in range(int(np.prod(shape)))], np.uint8
    ).reshape(shape)
    filled = values.astype(getattr(tensorstore, dtype).numpy_dtype)
    if draw.random() < 0.8:  # else nothing is stored, and all elements are the fill value
        array.write(filled).result()
        return filled.tobytes()
    return np.zeros_like(filled).tobytes()
