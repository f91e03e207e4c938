"""Checkpoints that torch writes here and now, compared with what was given to it."""

from __future__ import annotations

import argparse
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.dcp import reader
from ckptplan.checkpoint.formats.dcp.items import check_crc, check_items
from ckptplan.checkpoint.formats.megatron import legacy
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Manifest

torch = pytest.importorskip("torch")
dcp = pytest.importorskip("torch.distributed.checkpoint")

FIRST, SECOND, STEP, OTHER = (
    StateKind.FIRST_MOMENT,
    StateKind.SECOND_MOMENT,
    StateKind.OPTIMIZER_STEP,
    StateKind.OTHER,
)
OPTIMIZERS = {
    "AdamW": ({}, {FIRST: 1, SECOND: 1, STEP: 1}),
    "Adam": ({"amsgrad": True}, {FIRST: 1, SECOND: 2, STEP: 1}),
    "SGD": ({"momentum": 0.9}, {FIRST: 1}),
    "RMSprop": ({"centered": True, "momentum": 0.9}, {FIRST: 2, SECOND: 1, STEP: 1}),
    "Adagrad": ({}, {SECOND: 1, STEP: 1}),
    "Adamax": ({}, {FIRST: 1, SECOND: 1, STEP: 1}),
    "NAdam": ({}, {FIRST: 1, SECOND: 1, STEP: 1, OTHER: 1}),
}


def model() -> torch.nn.Module:
    """A model whose parameters are called like states, with buffers."""
    torch.manual_seed(5)
    found = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4))
    found.register_parameter("exp_avg", torch.nn.Parameter(torch.randn(3)))
    found.register_module("state", torch.nn.Linear(4, 2, bias=False))
    found.register_module("step", torch.nn.Linear(2, 2))
    return found


def trained(name: str) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """A model after one step of an optimizer."""
    net = model()
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.1, **OPTIMIZERS[name][0])
    for parameter in net.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    return net, optimizer


def saved(state: dict[str, object], folder: object, **options: object) -> Manifest:
    """What is read of a state that torch saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save(state, storage_writer=dcp.FileSystemWriter(folder, **options), no_dist=True)
    manifest = reader.read(CheckpointFolder(folder))
    assert manifest.faults == check_items(manifest) == check_crc(manifest) == ()
    return manifest


def same_elements(manifest: Manifest, key: str, expected: torch.Tensor) -> bool:
    """Whether the elements that are stored are those of a tensor."""
    tensor = next(tensor for tensor in manifest.tensors if tensor.key == key)
    assert tensor.shape == tuple(expected.shape)
    assert tensor.dtype == str(expected.dtype).removeprefix("torch.")
    stored = manifest.source.read(tensor, 0)
    return np.array_equal(stored, expected.detach().contiguous().flatten().view(torch.uint8).numpy())


@pytest.mark.parametrize("flattened", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_of_optimizers(name, flattened, tmp_path):
    """Every state that an optimizer of torch keeps is of its kind and of its parameter, in both layouts."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict

    net, optimizer = trained(name)
    options = StateDictOptions(flatten_optimizer_state_dict=flattened)
    weights, states = get_state_dict(net, optimizer, options=options)
    manifest = saved({"model": weights, "optim": states, "step": 1}, tmp_path / "ckpt")
    parameters = {f"model.{key}" for key, _ in net.named_parameters()}
    kinds = {tensor.key: tensor.kind for tensor in manifest.tensors}
    assert {key for key, kind in kinds.items() if kind is StateKind.PARAMETER} == parameters
    buffers = {f"model.{key}" for key, _ in net.named_buffers()}
    assert {key for key, kind in kinds.items() if kind is StateKind.BUFFER} == buffers
    for parameter in parameters:
        counts: dict[StateKind, int] = {}
        for tensor in manifest.tensors:
            if tensor.parameter == parameter and tensor.key != parameter:
                counts[tensor.kind] = counts.get(tensor.kind, 0) + 1
        assert counts == OPTIMIZERS[name][1], parameter
    groups = [entry.kind for entry in manifest.objects if "param_groups" in entry.key]
    assert set(groups) == {StateKind.HYPERPARAMETERS}
    assert manifest.step == 1
    for key, value in net.state_dict().items():
        assert same_elements(manifest, f"model.{key}", value)


@pytest.mark.parametrize("name", ["AdamW", "SGD"])
def test_states_by_number(name, tmp_path):
    """The raw state dict: parameters by their order, which all shapes agree with."""
    net, optimizer = trained(name)
    manifest = saved({"model": net.state_dict(), "optim": optimizer.state_dict()}, tmp_path / "ckpt")
    moments = [tensor for tensor in manifest.tensors if tensor.kind is FIRST]
    names = [f"model.{key}" for key, _ in net.named_parameters()]
    assert {moment.path[2]: moment.parameter for moment in moments} in (
        dict(enumerate(names)),
        {str(number): key for number, key in enumerate(names)},
    )


@pytest.mark.parametrize("options", [{}, {"thread_count": 3}, {"single_file_per_rank": False}])
def test_types_views_and_layouts_of_files(options, tmp_path):
    """Every type of elements, odd strides, no elements and no axes, in one file, several, and one for each item."""
    state = {
        "bf16": torch.randn(4, 3).bfloat16(), "half": torch.randn(5).half(), "double": torch.randn(2, 2).double(),
        "int": torch.arange(6, dtype=torch.int64), "bool": torch.tensor([True, False]), "none": torch.empty(0, 7),
        "scalar": torch.tensor(3.5), "column": torch.randn(4, 6).t(), "every": torch.randn(10, 8)[::2, 1::3],
        "e4m3": torch.randn(16).to(torch.float8_e4m3fn), "e5m2": torch.randn(16).to(torch.float8_e5m2),
        "complex": torch.randn(3, dtype=torch.complex64), "view": torch.randn(64, 4)[10:12],
        "text": "some text", "values": {"a": [1, 2, {"b": None}], "c": (1.5, "x")},
    }  # fmt: skip
    manifest = saved(state, tmp_path / "ckpt", **options)
    for key, value in state.items():
        if isinstance(value, torch.Tensor):
            assert same_elements(manifest, key, value), key
    values = {entry.key: manifest.source.value(entry) for entry in manifest.objects}
    assert values["text"] == "some text"
    assert values["values.c"] == (1.5, "x")
    assert all(file.referenced for file in manifest.files)


def test_extra_states_as_bytes_in_tensors(tmp_path):
    """Some libraries keep extra state as a pickle in a tensor of bytes: FP8 where scales are in it, empty elsewhere."""
    inner = torch.frombuffer(bytearray(pickle.dumps({"scale_fwd": 1.0, "recipe": None})), dtype=torch.uint8)
    other = torch.frombuffer(bytearray(pickle.dumps({"seen": 12})), dtype=torch.uint8)
    state = {"a.weight": torch.randn(4), "a._extra_state": inner, "b._extra_state": torch.empty(0, dtype=torch.uint8)}
    manifest = saved({"model": {**state, "c._extra_state": other}}, tmp_path / "ckpt")
    assert {tensor.key: tensor.kind for tensor in manifest.tensors} == {
        "model.a.weight": StateKind.PARAMETER,
        "model.a._extra_state": StateKind.FP8,
        "model.b._extra_state": OTHER,
        "model.c._extra_state": OTHER,
    }


def test_an_extra_state_with_a_hostile_pickle_inside(tmp_path, monkeypatch):
    """Libraries unpickle what lies in extra states: what that would call is told."""

    class Hostile:
        def __reduce__(self):
            return (open, ("CKPTPLAN_PICKLE_EXECUTED", "w"))

    monkeypatch.chdir(tmp_path)
    inner = torch.frombuffer(bytearray(pickle.dumps(Hostile())), dtype=torch.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save({"model": {"a._extra_state": inner}}, storage_writer=dcp.FileSystemWriter("ckpt"), no_dist=True)
    manifest = reader.read(CheckpointFolder(tmp_path / "ckpt"))
    assert [(fault.flaw, fault.key) for fault in manifest.faults] == [(Flaw.FOREIGN_CODE, "model.a._extra_state")]
    assert "io.open" in manifest.faults[0].message
    assert not (tmp_path / "CKPTPLAN_PICKLE_EXECUTED").exists()


def test_flat_buckets_of_megatrons_distributed_optimizer(tmp_path):
    """The older layout keeps them in a file of their own: masters and moments by their last key."""
    folder = tmp_path / "iter_0000001" / "mp_rank_00"
    folder.mkdir(parents=True)
    arguments = argparse.Namespace(
        tensor_model_parallel_size=1, pipeline_model_parallel_size=1, data_parallel_size=2, world_size=2
    )
    state = {"args": arguments, "iteration": 1, "model": {"a.weight": torch.randn(4).bfloat16()}}
    torch.save(state, folder / "model_optim_rng.pt")
    flat = {name: torch.randn(8) for name in ("param", "exp_avg", "exp_avg_sq")}
    bucket = {0: {(torch.bfloat16, torch.float32): {**flat, "numel_unpadded": 4}}, "buckets_coalesced": True}
    torch.save(bucket, folder / "distrib_optim.pt")
    manifest = legacy.read(CheckpointFolder(tmp_path / "iter_0000001"))
    assert sorted(tensor.kind.name for tensor in manifest.tensors) == [
        "FIRST_MOMENT", "MASTER", "PARAMETER", "SECOND_MOMENT",
    ]  # fmt: skip
    assert manifest.faults == check_items(manifest) == check_crc(manifest) == ()
    assert (manifest.step, manifest.world_size) == (1, 2)


@pytest.mark.parametrize("key", ["train_state.step", "progress.global_step", "step"])
def test_the_step_of_a_flat_state_dict(key: str, tmp_path: Path) -> None:
    """A path of one part with dots in it ends as one of several parts does."""
    assert saved({"model.w": torch.zeros(3), key: torch.tensor(7)}, tmp_path / "ckpt").step == 7
