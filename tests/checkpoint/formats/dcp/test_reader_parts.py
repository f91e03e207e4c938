from __future__ import annotations

import io
import pickle
import struct

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp.assembling import manifest_of
from ckptplan.checkpoint.formats.dcp.looking import nested
from ckptplan.checkpoint.formats.dcp.metadata_types import DcpItem, DcpMetadata, DcpTensor
from ckptplan.checkpoint.formats.dcp.rank_local import behind_the_last, merge
from ckptplan.checkpoint.formats.dcp.scalars import step_of, whole_number
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Object, Shards, Tensor
from ckptplan.checkpoint.naming.fp8 import holds_fp8
from ckptplan.checkpoint.pickles.loading import load_pickle


def part(rank: int, dtype: str = "float32", objects: tuple[str, ...] = ()) -> DcpMetadata:
    """What one rank says of its two rows of a tensor of eight."""
    tensor = DcpTensor(
        "model.w", dtype, (8, 3), np.array([[2 * rank, 0]]), np.array([[2, 3]]), np.array([0]), np.array([0]),
        np.array([50]), None,
    )  # fmt: skip
    items = {key: DcpItem(0, 50, 10, None) for key in objects}
    return DcpMetadata({"model.w": tensor}, items, (f"__{rank}_0.distcp",), None, None, 1 + len(items), (), False)


def test_metadata_of_ranks_is_put_together():
    """Rows of one tensor by all ranks, each in the file of its rank; objects of several ranks are listed once."""
    merged, repeated, faults = merge(part(rank, objects=("step",)) for rank in range(4))
    tensor = merged.tensors["model.w"]
    assert tensor.offsets.tolist() == [[0, 0], [2, 0], [4, 0], [6, 0]]
    assert [merged.file_names[number] for number in tensor.files] == [f"__{rank}_0.distcp" for rank in range(4)]
    assert merged.objects == {"step": DcpItem(0, 50, 10, None)}
    assert repeated == ["step"]
    assert merged.entries == 8
    assert faults == []


def test_ranks_that_contradict_each_other():
    """Another type than the first rank's is a fault with the key; the others stay."""
    merged, _, faults = merge([part(0), part(1, "bfloat16"), part(2)])
    assert [(fault.flaw, fault.key) for fault in faults] == [(Flaw.CORRUPT, "model.w")]
    assert merged.tensors["model.w"].offsets.tolist() == [[0, 0], [4, 0]]


@pytest.mark.parametrize(("world", "lost"), [(None, 0), (2, 0), (3, 0), (4, 1), (1_000, 997)])
def test_ranks_behind_the_last_that_left_metadata(world, lost):
    """States of ranks, or the data loader, can tell of more ranks than those whose metadata is there."""
    faults = behind_the_last(world, {"__0.metadata": 0, "__2.metadata": 2})
    assert [fault.file for fault in faults] == (["__3.metadata"] if lost else [])
    assert all(f"{lost:,} of {world:,} ranks have no metadata: 3" in fault.message for fault in faults)


class Fixed:
    """A source whose values are given."""

    def __init__(self, values: dict[str, object]) -> None:
        self.values = values

    def read(self, tensor: Tensor, row: int) -> np.ndarray:
        """The bytes given for a tensor."""
        return np.frombuffer(self.values[tensor.key], dtype=np.uint8)

    def value(self, entry: Object) -> object:
        """The value given for an object."""
        return self.values[entry.key]


def scalar(key: str, kind: StateKind, dtype: str = "int64", shape: tuple[int, ...] = ()) -> Tensor:
    """A tensor of one shard."""
    axes = len(shape)
    box = np.zeros((1, axes), dtype=np.int64)
    one = np.zeros(1, dtype=np.int64)
    return Tensor(key, kind, dtype, shape, Shards(box, box, one, one, one, one), tuple(key.split(".")))


@pytest.mark.parametrize(
    ("dtype", "data", "expected"),
    [
        ("int64", struct.pack("<q", 7), 7), ("int32", struct.pack("<i", 7), 7), ("float32", struct.pack("<f", 3.0), 3),
        ("float32", struct.pack("<f", 3.5), None), ("float32", struct.pack("<f", float("nan")), None),
        ("float64", struct.pack("<d", 1e300), None), ("int64", struct.pack("<q", -1), None), ("int64", b"\1\2", None),
        ("bfloat16", b"\0\0", None), ("uint8", b"\5", 5),
    ],
)  # fmt: skip
def test_whole_numbers_in_tensors(dtype, data, expected):
    """A step is a count: nothing negative, broken, infinite or of another length is taken for one."""
    tensor = scalar("s", StateKind.PROGRESS, dtype)
    assert whole_number(tensor, Fixed({"s": data})) == expected


def test_the_step_of_the_run_comes_before_that_of_the_optimizer():
    """Progress is asked first, by its last name; a run that keeps none has the optimizer's step."""
    kept = scalar("optim.state.w.step", StateKind.OPTIMIZER_STEP, "float32")
    epoch = Object("epoch", StateKind.PROGRESS, 0, path=("epoch",))
    step = Object("train_state.step", StateKind.PROGRESS, 0, path=("train_state", "step"))
    source = Fixed({kept.key: struct.pack("<f", 9.0), "epoch": 2, step.key: 1000})
    assert step_of([kept], [epoch, step], source) == (1000, step.key)
    assert step_of([kept], [epoch], source) == (9, kept.key)
    assert step_of([], [epoch], source) == (None, None)
    assert step_of([], [step], Fixed({step.key: "many"})) == (None, None)
    # The optimizer may have begun later: where the run's own step cannot be read, no other is given for it.
    assert step_of([kept], [step], Fixed({kept.key: struct.pack("<f", 9.0), step.key: "many"})) == (None, None)


def test_what_libraries_pickle_into_bytes():
    """Bytes and streams in memory with a pickle inside are looked into, without running anything."""
    inner = pickle.dumps({"scale_fwd": 1.0})
    for outer in (inner, io.BytesIO(inner)):
        value = load_pickle(pickle.dumps(outer), "test", None).value
        found = nested(value)
        assert found is not None
        assert holds_fp8(found.value)
    for nothing in (None, b"", b"no pickle", 5, io.BytesIO()):
        assert nested(load_pickle(pickle.dumps(nothing), "test", None).value) is None


def test_a_run_with_thousands_of_extra_states_is_read_by_some(tmp_path):
    """Equal lengths are taken to be alike, so that 3,000 extra states cost no more than a few to open."""
    (tmp_path / "__0_0.distcp").write_bytes(bytes(100_000))
    objects = {f"model.{n}._extra_state": DcpItem(0, n, 20 + n % 2, None) for n in range(3000)}
    found = DcpMetadata({}, objects, ("__0_0.distcp",), None, None, 3000, (), False)
    manifest = manifest_of(CheckpointFolder(tmp_path), found)
    assert len(manifest.faults) == 6  # three of each length were opened, and none of them is an archive
    assert {entry.kind for entry in manifest.objects} == {StateKind.OTHER}
