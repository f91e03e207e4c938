"""What the name of a tensor says on how it is cut: its layer, its expert, the side that tensor parallelism cuts.

Names are read by their parts between dots (and colons), never by substrings.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple


class Side(StrEnum):
    """Which side of a matrix [out, in] tensor-parallel ranks share."""

    COLUMN = "out"  # column-parallel: rows of the stored matrix, and the bias
    ROW = "in"  # row-parallel: columns of the stored matrix; the bias is whole
    WHOLE = "none"
    UNKNOWN = "unknown"


class Where(StrEnum):
    """Part of the model along the pipeline."""

    FIRST = "first stage"
    LAYER = "a layer"
    LAST = "last stage"
    ANYWHERE = "every stage"


class Name(NamedTuple):
    """What a name says."""

    side: Side
    where: Where
    bias: bool
    layer: int | None  # of a tensor of one layer
    expert: int | None  # of a tensor of one expert
    stacked_layers: bool  # axis 0 is the layer, as Megatron has it
    experts: bool  # it belongs to experts: stacked, unless `expert` says which
    gated: bool  # Megatron's linear_fc1, which may hold gate and up projection, one after another
    head: bool  # the output projection
    embedding: bool  # of tokens


_LAYER = re.compile(r"(?:^|(?<=[.:/]))(?:layers|h|blocks|block|layer)\.([0-9]{1,6})(?=\.|$)")
_EXPERT = re.compile(r"(?:^|(?<=[.:/]))(?:experts|local_experts)\.([0-9]{1,6})(?=\.|$)")
_BETWEEN = re.compile(r"[.:/]")
_COLUMN = frozenset({
    "wq", "wk", "wv", "wqkv", "Wqkv", "w1", "w3", "q_proj", "k_proj", "v_proj", "qkv_proj", "q_b_proj", "kv_b_proj",
    "wq_b", "wkv_b", "gate_proj", "up_proj", "gate_up_proj", "fc1", "fc_in", "linear_fc1", "linear_qkv", "linear_q",
    "linear_kv", "linear_q_up_proj", "linear_kv_up_proj", "query_key_value", "dense_h_to_4h", "gate_up_proj_bias",
    "q_lin", "k_lin", "v_lin", "lin1", "query", "key", "value", "to_q", "to_k", "to_v",
})  # fmt: skip
_ROW = frozenset({
    "wo", "w2", "o_proj", "out_proj", "down_proj", "fc2", "fc_out", "linear_fc2", "linear_proj", "dense_4h_to_h",
    "down_proj_bias", "out_lin", "lin2",
})  # fmt: skip
_DENSE = frozenset({"attention", "self_attention", "self_attn", "attn"})  # `dense` in one of these is row-parallel
_EMBEDDING = frozenset({"tok_embeddings", "embed_tokens", "word_embeddings", "wte", "embed_in", "embeddings"})
_HEAD = frozenset({"output", "lm_head", "output_layer", "embed_out", "head"})
_FIRST = _EMBEDDING | {
    "embedding",
    "position_embeddings",
    "wpe",
    "embed_positions",
    "emb_ln",
    "word_embeddings_layernorm",
}
_LAST = _HEAD | {"norm", "final_layernorm", "final_layer_norm", "final_norm", "ln_f", "norm_f", "model_norm"}
_WHOLE = frozenset({
    "router", "gate", "wpe", "position_embeddings", "embed_positions", "rope", "rotary_emb", "q_a_proj",
    "kv_a_proj_with_mqa", "wq_a", "wkv_a", "linear_q_down_proj", "linear_kv_down_proj", "inv_freq", "sinks",
    "shared_expert_gate",
})  # fmt: skip
_NORM = re.compile(r"(\w*norm\w*|ln(_\w+|\d*))")  # a part of a name, whole
_OF_A_MODULE = frozenset({"weight", "bias"})
_MLP = frozenset({"w1", "w2", "w3", "gate_proj", "up_proj", "gate_up_proj", "down_proj", "linear_fc1", "linear_fc2"})


@lru_cache(maxsize=1 << 17)
def read_name(name: str, axes: int) -> Name:
    """What the name of a tensor with so many axes says."""
    parts = [part for part in _BETWEEN.split(name) if part]
    layer, expert = (int(found[1]) if found else None for found in (_LAYER.search(name), _EXPERT.search(name)))
    bias = parts[-1:] == ["bias"] or (bool(parts) and parts[-1].endswith("_bias"))
    own = parts[:-1] if parts and parts[-1] in _OF_A_MODULE else parts
    module = own[-1] if own else ""
    stacked = layer is None and "layers" in parts[:-1]
    inner = axes - stacked
    experts = expert is not None or "experts" in parts or (inner == 3 and module in _MLP)
    where = _where(parts, layer is not None or stacked)
    return Name(
        _side(own, inner), where, bias, layer, expert, stacked, experts,
        module == "linear_fc1", bool(_HEAD.intersection(own)) and where is Where.LAST, module in _EMBEDDING,
    )  # fmt: skip


def _where(parts: list[str], in_layers: bool) -> Where:
    if in_layers:
        return Where.LAYER
    if _FIRST.intersection(parts):
        return Where.FIRST
    return Where.LAST if _LAST.intersection(parts) else Where.ANYWHERE


def _side(own: list[str], axes: int) -> Side:
    module = own[-1] if own else ""
    parent = own[-2] if len(own) > 1 else ""
    if module in _WHOLE or module in {"layer_norm_weight", "layer_norm_bias"} or _NORM.fullmatch(module):
        return Side.WHOLE
    if module in _COLUMN or module in _EMBEDDING or module in _HEAD:
        return Side.COLUMN
    if module in _ROW or (module == "dense" and parent in _DENSE):
        return Side.ROW
    return Side.UNKNOWN if axes >= 2 else Side.WHOLE
