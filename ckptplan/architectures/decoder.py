"""Decoders that differ from Llama in norms, biases and names: one table, one builder."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from ckptplan.architectures.blocks import (
    At,
    Draft,
    Ends,
    Feed,
    Heads,
    Parts,
    attention,
    embedding,
    fused_attention,
    fused_mlp,
    gated_mlp,
    head,
    heads_of,
    mlp,
    norm,
    single,
)
from ckptplan.architectures.dimensions import Dimensions
from ckptplan.cost.architecture import Cut, TensorKind

Flag = bool | str  # a constant, or the key that says it


class QueryKeyNorm(Enum):
    """Norms of queries and keys."""

    HEAD = "of a head's width"
    ALL = "over all heads"
    EACH = "one for each head, in one tensor"
    PER_HEAD_MODULES = "a module for each head"


class Decoder(NamedTuple):
    """What makes a family; the defaults are those of Llama without biases."""

    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    norm_bias: bool = False
    final_norm: str = "model.norm"  # empty: none with weights
    qkv_bias: Flag = False
    out_bias: Flag = False
    fused_qkv: bool = False
    out: str = "o_proj"
    sinks: bool = False  # one number a head
    query_key: QueryKeyNorm | None = None
    query_key_if: Flag = True
    query_key_names: tuple[str, str] = ("q_norm", "k_norm")
    query_key_bias: bool = False
    own_head_dim: bool = True
    drops_last_norm_if: Flag = False  # parallel residual
    mlp: str = "gated"  # gated, fused or plain
    mlp_names: tuple[str, str] = ("up_proj", "down_proj")  # of a plain one
    mlp_bias: Flag = False
    head_bias: Flag = False


ALL_BIASES = "attention_bias"
_GEMMA2_NORMS = (
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)
_AFTER = ("post_attention_layernorm", "post_feedforward_layernorm")
_LLAMA = Decoder(qkv_bias=ALL_BIASES, out_bias=ALL_BIASES)

DECODERS: dict[str, Decoder] = {
    "llama": _LLAMA._replace(mlp_bias="mlp_bias"),
    "mistral": Decoder(),
    "ministral3": Decoder(),
    "qwen2": Decoder(qkv_bias=True),
    "qwen3": _LLAMA._replace(query_key=QueryKeyNorm.HEAD),
    "qwen3_vl_text": _LLAMA._replace(query_key=QueryKeyNorm.HEAD),
    "gemma": _LLAMA,
    "gemma2": _LLAMA._replace(norms=_GEMMA2_NORMS),
    "gemma3_text": _LLAMA._replace(norms=_GEMMA2_NORMS, query_key=QueryKeyNorm.HEAD),
    "glm": Decoder(qkv_bias=ALL_BIASES, mlp="fused"),
    "glm4": Decoder(
        qkv_bias=ALL_BIASES,
        mlp="fused",
        norms=("input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm"),
    ),
    "granite": _LLAMA._replace(mlp_bias="mlp_bias"),
    "cohere": _LLAMA._replace(norms=("input_layernorm",), query_key=QueryKeyNorm.EACH, query_key_if="use_qk_norm"),
    "cohere2": _LLAMA._replace(norms=("input_layernorm",)),
    "ernie4_5": Decoder(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias"),
    "exaone4": Decoder(norms=_AFTER, query_key=QueryKeyNorm.HEAD),
    "hunyuan_v1_dense": _LLAMA._replace(
        query_key=QueryKeyNorm.HEAD, query_key_names=("query_layernorm", "key_layernorm")
    ),
    "seed_oss": Decoder(qkv_bias=ALL_BIASES, out_bias="attention_out_bias", mlp_bias="mlp_bias"),
    "smollm3": _LLAMA._replace(mlp_bias="mlp_bias"),
    "olmo": _LLAMA._replace(norms=(), final_norm=""),
    "olmo2": _LLAMA._replace(norms=_AFTER, query_key=QueryKeyNorm.ALL),
    "olmo3": _LLAMA._replace(norms=_AFTER, query_key=QueryKeyNorm.ALL),
    "stablelm": Decoder(
        qkv_bias="use_qkv_bias",
        norm_bias=True,
        own_head_dim=False,
        drops_last_norm_if="use_parallel_residual",
        query_key=QueryKeyNorm.PER_HEAD_MODULES,
        query_key_if="qk_layernorm",
        query_key_names=("q_layernorm", "k_layernorm"),
    ),
    "starcoder2": Decoder(
        qkv_bias="use_bias",
        out_bias="use_bias",
        norm_bias=True,
        mlp="plain",
        mlp_names=("c_fc", "c_proj"),
        mlp_bias="use_bias",
    ),
    "phi": Decoder(
        norms=("input_layernorm",),
        norm_bias=True,
        final_norm="model.final_layernorm",
        qkv_bias=True,
        out_bias=True,
        out="dense",
        query_key=QueryKeyNorm.HEAD,
        query_key_if="qk_layernorm",
        query_key_names=("q_layernorm", "k_layernorm"),
        query_key_bias=True,
        mlp="plain",
        mlp_names=("fc1", "fc2"),
        mlp_bias=True,
        head_bias=True,
    ),
    "phi3": Decoder(fused_qkv=True, mlp="fused"),
    "nemotron": _LLAMA._replace(norm_bias=True, mlp="plain", mlp_bias="mlp_bias"),
}


def decoder(
    config: Dimensions,
    family: Decoder,
    feed: Callable[[Dimensions, At, int, int], Feed] | None = None,
    attend: Callable[[Dimensions, At], Parts] | None = None,
) -> Draft:
    """A model of one kind of layer, with attention and feed-forward parts of its own where they are given."""
    layers, hidden, vocabulary = config.size("num_hidden_layers"), config.size("hidden_size"), config.size("vocab_size")
    at, ends = At("model.layers.{}.", tuple(range(layers))), Ends(norm=family.final_norm)
    tied = config.flag("tie_word_embeddings")
    feeding = feed(config, at, hidden, layers) if feed else Feed(_mlp(config, family, at.under("mlp"), hidden))
    attending = attend(config, at) if attend else _attention(config, family, at.under("self_attn"))
    norms = family.norms[:-1] if _is(config, family.drops_last_norm_if) else family.norms
    tensors = [
        *embedding(ends.embedding, vocabulary, hidden),
        *attending,
        *feeding.tensors,
        *(part for name in norms for part in norm(at, name, hidden, bias=family.norm_bias)),
        *(norm(At(""), ends.norm, hidden, bias=family.norm_bias, end=True) if ends.norm else []),
        *head(ends.head, vocabulary, hidden, tied=tied, bias=_is(config, family.head_bias)),
    ]
    return Draft(config.model_type, layers, tensors, tied, feeding.experts)


def _attention(config: Dimensions, family: Decoder, at: At) -> Parts:
    h = heads_of(config, own_size=family.own_head_dim)
    bias, out_bias = _is(config, family.qkv_bias), _is(config, family.out_bias)
    if family.fused_qkv:
        parts = fused_attention(at, h, ("qkv_proj", family.out), bias=bias, out_bias=out_bias)
    else:
        parts = attention(at, h, ("q_proj", "k_proj", "v_proj", family.out), bias=bias, out_bias=out_bias)
    if family.sinks:
        parts += sinks(at, h)
    if family.query_key and _is(config, family.query_key_if):
        parts += query_key_norms(at, h, family.query_key, family.query_key_names, bias=family.query_key_bias)
    return parts


def sinks(at: At, h: Heads) -> Parts:
    """One learned logit for each head."""
    return single(at, "sinks", (h.queries,), TensorKind.ATTENTION, Cut.COLUMN)


def query_key_norms(
    at: At, h: Heads, form: QueryKeyNorm, names: tuple[str, str] = ("q_norm", "k_norm"), *, bias: bool = False
) -> Parts:
    """Norms of queries and keys in one of their forms."""
    parts: Parts = []
    for name, heads in zip(names, (h.queries, h.keys), strict=True):
        if form is QueryKeyNorm.HEAD:
            parts += norm(at, name, h.size, bias=bias)
        elif form is QueryKeyNorm.ALL:
            parts += norm(at, name, heads * h.size, bias=bias)
        elif form is QueryKeyNorm.EACH:
            parts += single(at, f"{name}.weight", (heads, h.size), TensorKind.NORM)
        else:
            parts += norm(at.under(f"{name}.norms").many(heads), "{}", h.size)
    return parts


def _mlp(config: Dimensions, family: Decoder, at: At, hidden: int) -> Parts:
    width, bias = config.size("intermediate_size"), _is(config, family.mlp_bias)
    if family.mlp == "plain":
        return mlp(at, hidden, width, family.mlp_names, bias=bias)
    return fused_mlp(at, hidden, width) if family.mlp == "fused" else gated_mlp(at, hidden, width, bias=bias)


def _is(config: Dimensions, flag: Flag) -> bool:
    return config.flag(flag) if isinstance(flag, str) else flag
