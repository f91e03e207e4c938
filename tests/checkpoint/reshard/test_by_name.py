"""Where tensors lie by their names: fsdp, tensor, expert and pipeline parallelism of the usual trainers."""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Tensor
from ckptplan.checkpoint.reshard.by_name import by_name, model_of
from ckptplan.checkpoint.reshard.layout import Layout, parse_layout
from ckptplan.errors import InputError
from tests.checkpoint.reshard.from_truth import Shard, shards


def parameter(key: str, *shape: int) -> Tensor:
    """A parameter in one shard."""
    return Tensor(key, StateKind.PARAMETER, "float32", shape, shards(len(shape), [Shard((0,) * len(shape), shape, 0)]))


def placed(key: str, shape: tuple[int, ...], layout: str, *others: Tensor) -> str:
    """Placements by name, as text."""
    asked = parse_layout(layout)
    model = model_of([parameter(key, *shape), *others], asked)
    return " ".join(map(str, by_name(key, shape, asked, model)[0]))


@pytest.mark.parametrize(
    ("key", "shape", "expected"),
    [
        ("layers.0.attention.wq.weight", (8, 8), "_S(0, 2) S(0)"),
        ("model.layers.0.self_attn.k_proj.bias", (8,), "_S(0, 2) S(0)"),
        ("model.layers.0.self_attn.o_proj.weight", (8, 8), "S(0) S(1)"),
        ("model.layers.0.self_attn.o_proj.bias", (8,), "S(0) R"),
        ("layers.0.feed_forward.w2.weight", (8, 32), "S(0) S(1)"),
        ("model.layers.3.mlp.gate_up_proj.weight", (64, 8), "_S(0, 2) S(0)"),
        ("gpt_neox.layers.0.attention.dense.weight", (8, 8), "S(0) S(1)"),
        ("model.layers.0.input_layernorm.weight", (8,), "S(0) R"),
        ("transformer.h.0.ln_1.weight", (8,), "S(0) R"),
        ("model.layers.0.mlp.gate.weight", (4, 8), "S(0) R"),
        ("model.layers.0.self_attn.kv_a_proj_with_mqa.weight", (4, 8), "S(0) R"),
        ("model.embed_tokens.weight", (40, 8), "_S(0, 2) S(0)"),
        ("lm_head.weight", (40, 8), "_S(0, 2) S(0)"),
        ("transformer.wpe.weight", (40, 8), "S(0) R"),
        ("fp32:layers.0.attention.wv.weight", (8, 8), "_S(0, 2) S(0)"),
        ("temperature", (), "R R"),
    ],
)
def test_fsdp_and_tensor_parallelism(key: str, shape: tuple[int, ...], expected: str) -> None:
    """Out of column-parallel matrices with their biases, in of row-parallel ones, rows of embedding and head."""
    assert placed(key, shape, "fsdp=2,tp=2") == expected


@pytest.mark.parametrize(
    ("key", "shape", "expected"),
    [
        ("decoder.layers.self_attention.linear_qkv.weight", (4, 48, 16), "S(0) S(1)"),
        ("decoder.layers.self_attention.linear_qkv.bias", (4, 48), "S(0) S(1)"),
        ("decoder.layers.self_attention.linear_proj.weight", (4, 16, 16), "S(0) S(2)"),
        ("decoder.layers.mlp.linear_fc1.layer_norm_weight", (4, 16), "S(0) R"),
        ("decoder.layers.0.self_attention.linear_qkv.weight", (48, 16), "R S(0)"),
        ("embedding.word_embeddings.weight", (32, 16), "R S(0)"),
    ],
)
def test_stacked_layers_are_cut_by_the_pipeline(key: str, shape: tuple[int, ...], expected: str) -> None:
    """Megatron's tensors [layers, ...]: pp along axis 0, and tensor parallelism one axis further."""
    assert placed(key, shape, "pp=2,tp=2") == expected


@pytest.mark.parametrize(
    ("key", "shape", "layout", "expected"),
    [
        ("layers.0.moe.experts.w1", (4, 12, 16), "fsdp=2,ep=2", "S(1) S(0)"),
        ("layers.0.feed_forward.w2", (4, 12, 16), "ep=4", "S(0)"),
        ("layers.0.moe.experts.w2", (4, 16, 12), "fsdp=2", "S(0)"),
        ("layers.0.moe.experts.w1", (4, 12, 16), "fsdp=2,tp=2", "S(0) S(1)"),
        ("layers.0.moe.experts.w2", (4, 16, 12), "fsdp=2,tp=2", "S(0) S(2)"),
        ("layers.0.moe.experts.w1", (4, 12, 16), "fsdp=2,ep=2,tp=2", "_S(1, 2) S(0) S(1)"),
        ("layers.0.moe.router.gate.weight", (4, 16), "fsdp=2,ep=2", "S(0) R"),
        ("model.layers.0.mlp.shared_experts.up_proj.weight", (12, 16), "fsdp=2,ep=2", "S(0) R"),
        ("layers.0.mlp.experts.gate_up_proj_bias", (4, 24), "fsdp=2,ep=2", "S(1) S(0)"),
        ("decoder.layers.mlp.experts.experts.linear_fc2.weight", (8, 4, 16, 12), "pp=2,ep=2,tp=2", "S(0) S(1) S(3)"),
        ("layers.0.attention.wq.weight", (8, 8), "replicate=2,fsdp=2,cp=2", "R S(0) R"),
    ],
)
def test_experts_and_copies(key: str, shape: tuple[int, ...], layout: str, expected: str) -> None:
    """Stacked experts by ep along their axis, fsdp then behind it; what is no expert is whole along ep; cp copies."""
    assert placed(key, shape, layout) == expected


def places(layout: str, *tensors: Tensor, stages: tuple[int, ...] = ()) -> dict[str, object]:
    """Which places of the mesh hold each tensor."""
    asked = parse_layout(layout)._replace(layers_per_stage=stages)
    model = model_of(tensors, asked)
    return {tensor.key: by_name(tensor.key, tensor.shape, asked, model)[1] for tensor in tensors}


def layers(number: int) -> list[Tensor]:
    """One tensor for each layer."""
    return [parameter(f"layers.{n}.wq.weight", 8, 8) for n in range(number)]


def test_stages_hold_consecutive_layers() -> None:
    """The embedding is in the first stage, norm and head in the last, what is neither in all."""
    ends = [parameter("tok_embeddings.weight", 8, 8), parameter("norm.weight", 8), parameter("output.weight", 8, 8)]
    found = places("pp=2,fsdp=2", *layers(4), *ends, parameter("rope.table", 8, 8))
    assert found == {
        "layers.0.wq.weight": ((0, (0,)),), "layers.1.wq.weight": ((0, (0,)),), "layers.2.wq.weight": ((0, (1,)),),
        "layers.3.wq.weight": ((0, (1,)),), "tok_embeddings.weight": ((0, (0,)),), "norm.weight": ((0, (1,)),),
        "output.weight": ((0, (1,)),), "rope.table": (),
    }  # fmt: skip


def test_a_tied_embedding_is_in_the_first_and_the_last_stage() -> None:
    """Without an output projection of its own the last stage needs the embedding."""
    found = places("pp=4", *layers(4), parameter("model.embed_tokens.weight", 8, 8))
    assert found["model.embed_tokens.weight"] == ((0, (0, 3)),)


def test_interleaved_stages_go_round() -> None:
    """Four stages on two ranks: rank 0 has the first and the third."""
    found = places("pp=2", *layers(8), parameter("lm_head.weight", 8, 8), stages=(1, 2, 3, 2))
    where = [found[f"layers.{n}.wq.weight"][0][1][0] for n in range(8)]
    assert where == [0, 1, 1, 0, 0, 0, 1, 1]
    assert found["lm_head.weight"] == ((0, (1,)),)


def test_stages_that_do_not_add_up_are_refused() -> None:
    """Seven layers in stages for eight."""
    with pytest.raises(InputError, match="adds up to 8, and the checkpoint has 7 layers"):
        places("pp=2", *layers(7), stages=(4, 4))


def test_experts_by_name_go_to_the_ranks_in_order() -> None:
    """Six experts over four ranks: two each, and none for the last, as torch.chunk would."""
    tensors = [parameter(f"model.layers.0.mlp.experts.{n}.up_proj.weight", 8, 8) for n in range(6)]
    found = places("fsdp=2,ep=4", *tensors)
    assert [only[0] for only in found.values()] == [(1, (0,)), (1, (0,)), (1, (1,)), (1, (1,)), (1, (2,)), (1, (2,))]


def test_a_gated_projection_is_told_by_its_shape() -> None:
    """linear_fc1 that puts out twice what linear_fc2 takes in holds two projections; at the same size it holds one."""
    fc1 = "decoder.layers.mlp.linear_fc1.weight"
    wide = parameter("decoder.layers.mlp.linear_fc2.weight", 2, 16, 12)
    assert placed(fc1, (2, 24, 16), "tp=2", wide) == "P(1, 2)"
    assert placed(fc1, (2, 12, 16), "tp=2", wide) == "S(1)"
    assert placed(fc1, (2, 24, 16), "tp=1", wide) == "S(1)"


def test_a_name_that_no_table_has_is_whole_and_said_to_be_unknown() -> None:
    """Only where tensor parallelism would have to cut it."""
    for layout, sure in (("fsdp=2,tp=2", False), ("fsdp=4", True)):
        asked: Layout = parse_layout(layout)
        found = by_name("layers.0.c_attn.weight", (8, 24), asked, model_of([], asked))
        assert (str(found[0][-1]), found[2]) == ("R" if not sure else "S(0)", sure)
