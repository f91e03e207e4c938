"""Arrays of the shared Orbax checkpoints as tensorstore reads them, where it is installed."""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.orbax import read
from ckptplan.checkpoint.formats.orbax.ocdbt import read_database
from ckptplan.checkpoint.formats.orbax.stores import value_bytes
from tests.checkpoint.shared_fixtures import COLLECTION, needs_collection, whole

tensorstore = pytest.importorskip("tensorstore")
pytestmark = needs_collection

STATES = ["orbax-ocdbt-8dev/ckpt/3/state/", "orbax-uncommitted/ckpt/3.orbax-checkpoint-tmp/state/"]


@pytest.mark.parametrize("name", STATES)
def test_the_database_has_the_keys_and_values_of_tensorstore(name):
    """Every key, and every byte of its value."""
    store = tensorstore.KvStore.open({"driver": "ocdbt", "base": f"file://{COLLECTION / name}"}).result()
    folder = CheckpointFolder(COLLECTION / name)
    found = read_database(folder, "").values
    assert {key: value_bytes(folder, value) for key, value in found.items()} == {
        key.decode(): store.read(key).result().value for key in store.list().result()
    }


@pytest.mark.parametrize("name", STATES)
def test_arrays_are_those_of_tensorstore(name):
    """Shape and elements of every array."""
    manifest = read(CheckpointFolder(COLLECTION / name))
    for tensor in manifest.tensors:
        spec = {
            "driver": "zarr",
            "kvstore": {"driver": "ocdbt", "base": f"file://{COLLECTION / name}", "path": f"{tensor.key}/"},
        }
        array = tensorstore.open(spec).result()
        assert array.shape == tensor.shape
        assert array.read().result().tobytes() == whole(manifest, tensor)
