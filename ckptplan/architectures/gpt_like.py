"""Models with the layout of GPT: LayerNorms with biases, a plain MLP, and names of their own for everything."""

from ckptplan.architectures.blocks import (
    At,
    Draft,
    Ends,
    Heads,
    Parts,
    attention,
    embedding,
    fused_attention,
    gated_mlp,
    head,
    matrix,
    mlp,
    norm,
    per_head,
    positions,
)
from ckptplan.architectures.dimensions import Dimensions
from ckptplan.architectures.mixtures import routed
from ckptplan.architectures.stacked_experts import stacked
from ckptplan.cost.architecture import Cut, Experts, Section, TensorKind, Tensors

_H = "transformer.h.{}."
_GPT2 = Ends("transformer.wte", "transformer.ln_f", "lm_head")
_EACH_NORMS = ("ln_1", "ln_2")


def _heads(config: Dimensions, hidden: str, queries: str, keys: int | None = None) -> Heads:
    width, number = config.size(hidden), config.size(queries)
    kept = keys or number
    if number % kept:
        config.contradiction(
            (queries, "num_kv_heads", "num_key_value_heads"),
            f"{number:,} is not a multiple of the {kept:,} key-value heads",
        )
    return Heads(width, number, kept, per_head(config, width, number, (hidden, queries)))


def _model(
    config: Dimensions, ends: Ends, at: At, hidden: int, layer: Parts, *,
    norms: tuple[str, ...], norm_bias: bool = True, head_bias: bool = False, learned: int = 0,
) -> Draft:  # fmt: skip
    """Layers with what is around them."""
    vocabulary, tied = config.size("vocab_size"), config.flag("tie_word_embeddings")
    tensors = [
        *embedding(ends.embedding, vocabulary, hidden),
        *(positions("transformer.wpe", learned, hidden) if learned else []),
        *layer,
        *(part for name in norms for part in norm(at, name, hidden, bias=norm_bias)),
        *norm(At(""), ends.norm, hidden, bias=norm_bias, end=True),
        *head(ends.head, vocabulary, hidden, tied=tied, bias=head_bias),
    ]
    return Draft(config.model_type, len(at.layers), tensors, tied)


def _turned(parts: Parts) -> Parts:
    """The same matrices stored ``[in, out]``, so that the cuts lie along the other axis."""
    other = {Cut.COLUMN: 1, Cut.ROW: 0}
    return [t._replace(shape=t.shape[::-1], axis=other.get(t.cut)) if len(t.shape) == 2 else t for t in parts]


def gpt2(config: Dimensions) -> Draft:
    """GPT-2, and GPT BigCode (StarCoder), whose matrices are stored ``[out, in]`` and which may have one key head."""
    config.refuse("add_cross_attention", (False, None), "cross attention is not known")
    code = config.model_type == "gpt_bigcode"
    one = code and config.flag("multi_query")
    h = _heads(config, "n_embd", "n_head", 1 if one else None)
    inner = config.maybe("n_inner", 4 * h.hidden) or 1
    at = At(_H, tuple(range(config.size("n_layer"))))
    layer = [
        *fused_attention(at.under("attn"), h, ("c_attn", "c_proj"), bias=True, out_bias=True),
        *mlp(at.under("mlp"), h.hidden, inner, ("c_fc", "c_proj"), bias=True),
    ]
    layer = layer if code else _turned(layer)
    return _model(config, _GPT2, at, h.hidden, layer, norms=_EACH_NORMS, learned=config.size("n_positions"))


def gpt_neo(config: Dimensions) -> Draft:
    """GPT-Neo."""
    h = _heads(config, "hidden_size", "num_heads")
    at = At(_H, tuple(range(config.size("num_layers"))))
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    layer = [
        *attention(at.under("attn.attention"), h, names, out_bias=True),
        *mlp(
            at.under("mlp"),
            h.hidden,
            config.maybe("intermediate_size", 4 * h.hidden) or 1,
            ("c_fc", "c_proj"),
            bias=True,
        ),
    ]
    return _model(config, _GPT2, at, h.hidden, layer, norms=_EACH_NORMS, learned=config.size("max_position_embeddings"))


def gptj(config: Dimensions) -> Draft:
    """GPT-J, and CodeGen with queries, keys and values in one matrix."""
    h = _heads(config, "n_embd", "n_head")
    at = At(_H, tuple(range(config.size("n_layer"))))
    inner = config.maybe("n_inner", 4 * h.hidden) or 1
    if config.model_type == "codegen":
        attending = fused_attention(at.under("attn"), h, ("qkv_proj", "out_proj"))
    else:
        attending = attention(at.under("attn"), h, ("q_proj", "k_proj", "v_proj", "out_proj"))
    layer = [*attending, *mlp(at.under("mlp"), h.hidden, inner, ("fc_in", "fc_out"), bias=True)]
    return _model(config, _GPT2, at, h.hidden, layer, norms=("ln_1",), head_bias=True)


_NEOX_NAMES = ("query_key_value", "dense")
_NEOX_MLP = ("dense_h_to_4h", "dense_4h_to_h")
_NEOX_NORMS = ("input_layernorm", "post_attention_layernorm")


def gpt_neox(config: Dimensions) -> Draft:
    """GPT-NeoX and Pythia."""
    h, bias = _heads(config, "hidden_size", "num_attention_heads"), config.flag("attention_bias")
    at = At("gpt_neox.layers.{}.", tuple(range(config.size("num_hidden_layers"))))
    layer = [
        *fused_attention(at.under("attention"), h, _NEOX_NAMES, bias=bias, out_bias=bias),
        *mlp(at.under("mlp"), h.hidden, config.size("intermediate_size"), _NEOX_MLP, bias=True),
    ]
    ends = Ends("gpt_neox.embed_in", "gpt_neox.final_layer_norm", "embed_out")
    return _model(config, ends, at, h.hidden, layer, norms=_NEOX_NORMS)


def bloom(config: Dimensions) -> Draft:
    """BLOOM: a norm on the embedding too."""
    h = _heads(config, "hidden_size", "n_head")
    at = At(_H, tuple(range(config.size("n_layer"))))
    layer = [
        *fused_attention(at.under("self_attention"), h, _NEOX_NAMES, bias=True, out_bias=True),
        *mlp(at.under("mlp"), h.hidden, 4 * h.hidden, _NEOX_MLP, bias=True),
        *norm(At("transformer."), "word_embeddings_layernorm", h.hidden, bias=True),
    ]
    ends = Ends("transformer.word_embeddings", "transformer.ln_f", "lm_head")
    return _model(config, ends, at, h.hidden, layer, norms=_NEOX_NORMS)


def falcon(config: Dimensions) -> Draft:
    """Falcon: key-value heads and norms follow from three flags."""
    new, parallel = config.flag("new_decoder_architecture"), config.flag("parallel_attn")
    queries = config.size("num_attention_heads")
    read = new or config.has("num_kv_heads")  # it has no say in the first architecture
    given = (config.maybe("num_kv_heads", queries) if read else None) or 1
    h = _heads(
        config, "hidden_size", "num_attention_heads", given if new else 1 if config.flag("multi_query") else None
    )
    at, bias = At(_H, tuple(range(config.size("num_hidden_layers")))), config.flag("bias")
    layer = [
        *fused_attention(at.under("self_attention"), h, _NEOX_NAMES, bias=bias, out_bias=bias),
        *mlp(at.under("mlp"), h.hidden, config.maybe("ffn_hidden_size", 4 * h.hidden) or 1, _NEOX_MLP, bias=bias),
    ]
    two = (config.maybe("num_ln_in_parallel_attn") if config.has("num_ln_in_parallel_attn") else 2 if new else 1) == 2
    norms = (("ln_attn", "ln_mlp") if two else ("input_layernorm",)) if parallel else _NEOX_NORMS
    ends = Ends("transformer.word_embeddings", "transformer.ln_f", "lm_head")
    return _model(config, ends, at, h.hidden, layer, norms=norms)


def mpt(config: Dimensions) -> Draft:
    """MPT: no biases, positions by ALiBi."""
    config.refuse("no_bias", (True,), "biases are not known in this family")
    config.refuse("expansion_ratio", (4,), "another width of the MLP is not known in this family")
    group = config.group("attn_config")
    group.refuse("attn_type", ("multihead_attention",), "other attention is not known in this family")
    group.refuse("qk_ln", (False, None), "norms of queries and keys are not known in this family")
    group.refuse("alibi", (True,), "learned positions are not known in this family")
    h = _heads(config, "d_model", "n_heads")
    at = At("transformer.blocks.{}.", tuple(range(config.size("n_layers"))))
    layer = [
        *fused_attention(at.under("attn"), h, ("Wqkv", "out_proj")),
        *mlp(at.under("ffn"), h.hidden, 4 * h.hidden),
    ]
    ends = Ends("transformer.wte", "transformer.norm_f", "lm_head")
    return _model(config, ends, at, h.hidden, layer, norms=("norm_1", "norm_2"), norm_bias=False)


def dbrx(config: Dimensions) -> Draft:
    """DBRX: dimensions in groups, and a layer's experts stacked along the rows of one matrix."""
    attending, feeding = config.group("attn_config"), config.group("ffn_config")
    h = _heads(config, "d_model", "n_heads", attending.size("kv_n_heads"))
    number, per_token = routed(feeding, "moe_num_experts", "moe_top_k")
    width = feeding.size("ffn_hidden_size")
    at = At("transformer.blocks.{}.", tuple(range(config.size("n_layers"))))
    rows, inside = number * width, at.under("ffn.experts.mlp")
    each = (Section(rows, width),)
    layer = [
        *fused_attention(at.under("norm_attn_norm.attn"), h, ("Wqkv", "out_proj")),
        *matrix(at, "ffn.router.layer", (number, h.hidden), TensorKind.ROUTER),
        *(t for name in ("w1", "v1") for t in stacked(inside, name, (rows, h.hidden), Cut.COLUMN, 0, sections=each)),
        *stacked(inside, "w2", (rows, h.hidden), Cut.ROW, 0, sections=each),
    ]
    layer = [t._replace(experts=number) if t.kind is TensorKind.EXPERT else t for t in layer]
    ends = Ends("transformer.wte", "transformer.norm_f", "lm_head")
    norms = ("norm_attn_norm.norm_1", "norm_attn_norm.norm_2")
    draft = _model(config, ends, at, h.hidden, layer, norms=norms, norm_bias=False)
    return draft._replace(experts=Experts(number, per_token, len(at.layers), 3 * width * h.hidden))


_OPT_OFFSET = 2  # rows of the position table before the first position


def opt(config: Dimensions) -> Draft:
    """OPT: a narrower embedding with projections, norms before or after."""
    h, bias = _heads(config, "hidden_size", "num_attention_heads"), config.flag("enable_bias")
    affine = config.flag("layer_norm_elementwise_affine", default=True)
    at = At("model.decoder.layers.{}.", tuple(range(config.size("num_hidden_layers"))))
    narrow = config.maybe("word_embed_proj_dim", h.hidden) or 1
    vocabulary, tied = config.size("vocab_size"), config.flag("tie_word_embeddings")
    outside, kind = At("model.decoder."), TensorKind.PROJECTION
    last = affine and config.flag("do_layer_norm_before") and not config.flag("_remove_final_layer_norm")
    into = matrix(outside, "project_in", (h.hidden, narrow), kind) if narrow != h.hidden else []
    back = matrix(outside, "project_out", (narrow, h.hidden), kind) if narrow != h.hidden else []
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    tensors: list[Tensors] = [
        *embedding("model.decoder.embed_tokens", vocabulary, narrow),
        *positions("model.decoder.embed_positions", config.size("max_position_embeddings") + _OPT_OFFSET, h.hidden),
        *into,
        *attention(at.under("self_attn"), h, names, bias=bias, out_bias=bias),
        *mlp(at, h.hidden, config.size("ffn_dim"), ("fc1", "fc2"), bias=bias),
        *(norm(at, "self_attn_layer_norm", h.hidden, bias=True) if affine else []),
        *(norm(at, "final_layer_norm", h.hidden, bias=True) if affine else []),
        *(norm(outside, "final_layer_norm", h.hidden, bias=True, end=True) if last else []),
        *(t._replace(at_end=True) for t in back),
        *head("lm_head", vocabulary, narrow, tied=tied),
    ]
    return Draft(config.model_type, len(at.layers), tensors, tied)


def internlm2(config: Dimensions) -> Draft:
    """InternLM2, from its published names."""
    queries = config.size("num_attention_heads")
    h = _heads(config, "hidden_size", "num_attention_heads", config.maybe("num_key_value_heads", queries))
    at, bias = At("model.layers.{}.", tuple(range(config.size("num_hidden_layers")))), config.flag("bias")
    layer = [
        *fused_attention(at.under("attention"), h, ("wqkv", "wo"), bias=bias, out_bias=bias),
        *gated_mlp(at.under("feed_forward"), h.hidden, config.size("intermediate_size"), ("w1", "w3", "w2")),
    ]
    ends = Ends("model.tok_embeddings", "model.norm", "output")
    return _model(config, ends, at, h.hidden, layer, norms=("attention_norm", "ffn_norm"), norm_bias=False)


def phi_msft(config: Dimensions) -> Draft:
    """The first published form of Phi 1.5 and 2, with the names of its files."""
    queries = config.size("n_head")
    h = _heads(config, "n_embd", "n_head", config.maybe("n_head_kv", queries))
    at = At(_H, tuple(range(config.size("n_layer"))))
    layer = [
        *fused_attention(at.under("mixer"), h, ("Wqkv", "out_proj"), bias=True, out_bias=True),
        *mlp(at.under("mlp"), h.hidden, config.maybe("n_inner", 4 * h.hidden) or 1, ("fc1", "fc2"), bias=True),
    ]
    ends = Ends("transformer.embd.wte", "lm_head.ln", "lm_head.linear")
    return _model(config, ends, at, h.hidden, layer, norms=("ln",), head_bias=True)
