"""Checkpoints that were never written: against the boxes of each rank, and against the size of the ledger."""

import numpy as np
import pytest

from ckptplan.checkpoint.coverage import coverage
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Manifest
from ckptplan.checkpoint.reshard.file_reads import count_runs
from ckptplan.checkpoint.reshard.from_model import saved_as
from ckptplan.checkpoint.reshard.layout import parse_layout
from ckptplan.checkpoint.reshard.plan import plan
from ckptplan.cost.architecture import Architecture, Cut, TensorKind, Tensors
from ckptplan.cost.ledgers import named_ledger
from ckptplan.errors import InputError

LAYERS = tuple(range(4))
SMALL = Architecture(
    "llama",
    4,
    (
        Tensors("model.embed_tokens.weight", (30, 8), TensorKind.EMBEDDING, cut=Cut.COLUMN),
        Tensors("model.layers.{}.self_attn.q_proj.weight", (8, 8), TensorKind.ATTENTION, LAYERS, cut=Cut.COLUMN),
        Tensors("model.layers.{}.self_attn.o_proj.weight", (8, 8), TensorKind.ATTENTION, LAYERS, cut=Cut.ROW),
        Tensors("model.layers.{}.mlp.experts.{}.up_proj.weight", (12, 8), TensorKind.EXPERT, LAYERS, each=2),
        Tensors("model.layers.{}.input_layernorm.weight", (8,), TensorKind.NORM, LAYERS),
        Tensors("model.norm.weight", (8,), TensorKind.NORM, at_end=True),
        Tensors("lm_head.weight", (30, 8), TensorKind.HEAD, cut=Cut.COLUMN, at_end=True),
        Tensors("model.layers.{}.rotary", (4,), TensorKind.OTHER, LAYERS, buffer=True),
    ),
)
PARAMETERS = 2 * 240 + 4 * (64 + 64 + 2 * 96 + 8) + 8
LAYOUTS = ["1", "3", "fsdp=2,tp=2", "pp=2,fsdp=3", "replicate=2,fsdp=2", "pp=2,replicate=2,fsdp=2,tp=2", "fsdp=50"]


def saved(layout: str, ledger: str = "adam-14") -> Manifest:
    """The small model as a layout would save it."""
    return saved_as(SMALL, named_ledger(ledger, 0.95), parse_layout(layout))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_tensor_is_stored_once_whatever_the_layout(layout: str) -> None:
    """The boxes of each tensor tile it; all bytes are those of the ledger, and files hold what their items do."""
    manifest = saved(layout)
    for tensor in manifest.tensors:
        assert coverage(tensor.shape, tensor.shards.offsets, tensor.shards.sizes).tiles
    buffers = 4 * 4 * 2
    assert sum(tensor.stored_bytes for tensor in manifest.tensors) == 14 * PARAMETERS + buffers
    held = np.zeros(len(manifest.files), dtype=np.int64)
    for tensor in manifest.tensors:
        np.add.at(held, tensor.shards.files, tensor.shards.item_bytes)
    assert held.tolist() == [file.size_bytes for file in manifest.files]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_items_of_a_file_lie_one_after_another(layout: str) -> None:
    """No two items of one file share a byte, and none lies behind its end."""
    manifest = saved(layout)
    items: dict[int, list[tuple[int, int]]] = {}
    for tensor in manifest.tensors:
        shards = tensor.shards
        for file, at, size in zip(
            shards.files.tolist(), shards.item_offsets.tolist(), shards.item_bytes.tolist(), strict=True
        ):
            items.setdefault(file, []).append((at, at + size))
    for file, spans in items.items():
        spans.sort()
        assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
        assert spans[-1][1] == manifest.files[file].size_bytes


def test_replicas_share_the_writing() -> None:
    """With two replicas of everything each rank writes about half of what it holds, as torch DCP balances it."""
    sizes = [file.size_bytes for file in saved("replicate=2,fsdp=2").files]
    assert max(sizes) - min(sizes) <= 4 * 30 * 8
    assert sum(sizes) == 14 * PARAMETERS + 32


@pytest.mark.parametrize("old", LAYOUTS)
@pytest.mark.parametrize("new", LAYOUTS)
def test_any_layout_can_be_planned_from_any_other(old: str, new: str) -> None:
    """Every rank gets what it wants, and in all exactly once if nothing is replicated."""
    manifest = saved(old)
    found = plan(manifest, parse_layout(new))
    if new in ("1", "3", "fsdp=50"):
        buffers = found.layout.ranks * 4 * 4 * 2  # whole on every rank
        assert int(found.totals.wanted_bytes.sum()) == 14 * PARAMETERS + buffers
    assert not count_runs(found, most=0).exact


def test_names_and_kinds_are_those_of_the_model() -> None:
    """Numbers of layers and experts in their places; a state names its parameter."""
    manifest = saved("1")
    by_key = {tensor.key: tensor for tensor in manifest.tensors}
    expert = by_key["model.layers.3.mlp.experts.1.up_proj.weight"]
    assert (expert.kind, expert.dtype, expert.shape) == (StateKind.PARAMETER, "bfloat16", (12, 8))
    moment = by_key["optimizer.second_moment.model.norm.weight"]
    assert (moment.kind, moment.dtype, moment.parameter) == (StateKind.SECOND_MOMENT, "float32", "model.norm.weight")
    assert by_key["model.layers.0.rotary"].kind is StateKind.BUFFER
    assert len([key for key in by_key if key.endswith("rotary")]) == 4


def test_the_ledger_says_what_is_stored() -> None:
    """adam-12 holds masters as the parameters; Muon has one momentum for matrices and two for the rest."""
    kinds = {tensor.kind for tensor in saved("1", "adam-12").tensors if "norm" in tensor.key}
    assert kinds == {StateKind.PARAMETER, StateKind.FIRST_MOMENT, StateKind.SECOND_MOMENT}
    muon = [tensor.key for tensor in saved("1", "muon").tensors]
    assert "optimizer.momentum_of_matrices.model.layers.0.self_attn.q_proj.weight" in muon
    assert "optimizer.second_moment_of_the_rest.model.layers.0.self_attn.q_proj.weight" not in muon
    assert "optimizer.second_moment_of_the_rest.lm_head.weight" in muon
    assert any("left out" in remark for remark in saved("1", "adafactor").remarks)


def test_nothing_can_be_read() -> None:
    """There is no byte of it anywhere, and asking is an error that says so."""
    manifest = saved("2")
    tensor = manifest.tensors[0]
    for read in (manifest.source.raw, manifest.source.read):
        with pytest.raises(InputError, match="planned and not written"):
            read(tensor, 0)
