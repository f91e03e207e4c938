"""State-space layers, alone (Mamba, Mamba 2) and between attention and experts (Jamba, Nemotron H)."""

from typing import NamedTuple

from ckptplan.architectures.blocks import (
    At,
    Draft,
    Ends,
    Parts,
    attention,
    embedding,
    gated_mlp,
    head,
    heads_of,
    matrix,
    mlp,
    norm,
    single,
)
from ckptplan.architectures.dimensions import MOST_LAYERS, Dimensions
from ckptplan.architectures.mixtures import routed
from ckptplan.cost.architecture import Cut, Experts, Section, TensorKind, Tensors

_SSM = TensorKind.SSM
_BACKBONE = Ends("backbone.embeddings", "backbone.norm_f", "lm_head")
_LETTERS = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
_WORDS = {"linear_attention": "mamba", "full_attention": "attention"}
_SHARED_WIDTH = 7688  # moe_shared_expert_intermediate_size where it is absent, transformers 5.24


class Inner(NamedTuple):
    """Widths of a Mamba layer."""

    hidden: int
    width: int
    state: int
    kernel: int
    rank: int  # of the time step


def mamba_mixer(at: At, w: Inner, *, bias: bool, conv_bias: bool) -> Parts:
    """A Mamba layer (Gu and Dao, arXiv 2312.00752); its inner width is cut."""
    twice = (Section(w.width, w.width), Section(w.width, w.width))
    return [
        *single(at, "A_log", (w.width, w.state), _SSM, Cut.COLUMN),
        *single(at, "D", (w.width,), _SSM, Cut.COLUMN),
        *matrix(at, "conv1d", (w.width, 1, w.kernel), _SSM, Cut.COLUMN, bias=conv_bias),
        *matrix(at, "in_proj", (2 * w.width, w.hidden), _SSM, Cut.COLUMN, sections=twice, bias=bias),
        *matrix(at, "x_proj", (w.rank + 2 * w.state, w.width), _SSM, Cut.ROW),
        *matrix(at, "dt_proj", (w.width, w.rank), _SSM, Cut.COLUMN, bias=True),
        *matrix(at, "out_proj", (w.hidden, w.width), _SSM, Cut.ROW, bias=bias),
    ]


class Groups(NamedTuple):
    """Widths of a Mamba 2 layer."""

    hidden: int
    heads: int
    size: int
    groups: int
    state: int
    kernel: int


def mamba2_mixer(at: At, w: Groups, *, bias: bool, conv_bias: bool) -> Parts:
    """A Mamba 2 layer (Dao and Gu, arXiv 2405.21060); heads and groups are cut."""
    width, grouped = w.heads * w.size, w.groups * w.state
    inner = Section(width, w.heads)
    mixed = (inner, Section(grouped, w.groups), Section(grouped, w.groups))
    into = (inner, *mixed, Section(w.heads, w.heads))
    rows = sum(section.rows for section in mixed)
    return [
        *(t for name in ("dt_bias", "A_log", "D") for t in single(at, name, (w.heads,), _SSM, Cut.COLUMN)),
        *matrix(at, "conv1d", (rows, 1, w.kernel), _SSM, Cut.COLUMN, sections=mixed, bias=conv_bias),
        *matrix(at, "in_proj", (width + rows + w.heads, w.hidden), _SSM, Cut.COLUMN, sections=into, bias=bias),
        *matrix(at, "norm", (width,), TensorKind.NORM, Cut.COLUMN, heads=w.heads),
        *matrix(at, "out_proj", (w.hidden, width), _SSM, Cut.ROW, heads=w.heads, bias=bias),
    ]


def mamba(config: Dimensions) -> Draft:
    """Mamba."""
    hidden, layers = config.size("hidden_size"), config.size("num_hidden_layers")
    width = config.size("expand") * hidden
    if config.has("intermediate_size") and config.size("intermediate_size") != width:
        config.contradiction(
            ("intermediate_size", "expand", "hidden_size"), f"is not expand x hidden_size, {width:,}", "leave it out"
        )
    inner = Inner(hidden, width, config.size("state_size"), config.size("conv_kernel"), _rank(config, "time_step_rank"))
    flags = {"bias": config.flag("use_bias"), "conv_bias": config.flag("use_conv_bias")}
    at = At("backbone.layers.{}.", tuple(range(layers)))
    return _alone(config, hidden, layers, mamba_mixer(at.under("mixer"), inner, **flags))


def mamba2(config: Dimensions) -> Draft:
    """Mamba 2."""
    hidden, layers = config.size("hidden_size"), config.size("num_hidden_layers")
    w = Groups(
        hidden,
        config.size("num_heads"),
        config.size("head_dim"),
        config.size("n_groups"),
        config.size("state_size"),
        config.size("conv_kernel"),
    )
    if config.size("expand") * hidden != w.heads * w.size:
        config.contradiction(
            ("num_heads", "head_dim", "expand", "hidden_size"),
            f"x head_dim is {w.heads * w.size:,}, not expand x hidden_size",
        )
    flags = {"bias": config.flag("use_bias"), "conv_bias": config.flag("use_conv_bias")}
    at = At("backbone.layers.{}.", tuple(range(layers)))
    return _alone(config, hidden, layers, mamba2_mixer(at.under("mixer"), w, **flags))


def _alone(config: Dimensions, hidden: int, layers: int, mixers: Parts) -> Draft:
    tied = config.flag("tie_word_embeddings")
    at = At("backbone.layers.{}.", tuple(range(layers)))
    return Draft(
        config.model_type, layers, [*_ends(config, _BACKBONE, hidden, tied), *mixers, *norm(at, "norm", hidden)], tied
    )


def _ends(config: Dimensions, ends: Ends, hidden: int, tied: bool) -> Parts:
    vocabulary = config.size("vocab_size")
    return [
        *embedding(ends.embedding, vocabulary, hidden),
        *norm(At(""), ends.norm, hidden, end=True),
        *head(ends.head, vocabulary, hidden, tied=tied),
    ]


def _rank(config: Dimensions, key: str) -> int:
    """Rank of the time step; ``auto`` is a sixteenth of the hidden size, rounded up."""
    return -(-config.size("hidden_size") // 16) if config.value(key) == "auto" else config.size(key)


def _periodic(config: Dimensions, period: str, offset: str, layers: int) -> tuple[int, ...]:
    every, first = config.size(period), config.count(offset)
    if first >= every:
        config.contradiction((offset, period), f"{first:,} is not below {period} = {every:,}")
    return tuple(range(first, layers, every))


def jamba(config: Dimensions) -> Draft:
    """Jamba: attention in every few layers, Mamba in the others, experts in every second (arXiv 2403.19887)."""
    h, layers = heads_of(config, own_size=False), config.size("num_hidden_layers")
    attending = _periodic(config, "attn_layer_period", "attn_layer_offset", layers)
    others = tuple(n for n in range(layers) if n not in set(attending))
    at = At("model.layers.{}.", tuple(range(layers)))
    inner = Inner(
        h.hidden,
        config.size("mamba_expand") * h.hidden,
        config.size("mamba_d_state"),
        config.size("mamba_d_conv"),
        _rank(config, "mamba_dt_rank"),
    )
    mixers = at.only(others).under("mamba")
    flags = {"bias": config.flag("mamba_proj_bias"), "conv_bias": config.flag("mamba_conv_bias")}
    widths = (("dt_layernorm", inner.rank), ("b_layernorm", inner.state), ("c_layernorm", inner.state))
    feed, experts = _jamba_feed(config, at, h.hidden, layers)
    tied = config.flag("tie_word_embeddings")
    tensors = [
        *_ends(config, Ends(norm="model.final_layernorm"), h.hidden, tied),
        *attention(at.only(attending).under("self_attn"), h),
        *mamba_mixer(mixers, inner, **flags),
        *(t for name, width in widths for t in norm(mixers, name, width)),
        *feed,
        *norm(at, "input_layernorm", h.hidden),
        *norm(at, "pre_ff_layernorm", h.hidden),
    ]
    return Draft(config.model_type, layers, tensors, tied, experts)


def _jamba_feed(config: Dimensions, at: At, hidden: int, layers: int) -> tuple[Parts, Experts | None]:
    number, per_token = routed(config, "num_experts", "num_experts_per_tok")
    width = config.size("intermediate_size")
    sparse = _periodic(config, "expert_layer_period", "expert_layer_offset", layers) if number > 1 else ()
    dense = tuple(n for n in range(layers) if n not in set(sparse))
    inside = at.only(sparse).under("feed_forward")
    parts = [
        *gated_mlp(at.only(dense).under("feed_forward"), hidden, width),
        *matrix(inside, "router", (number, hidden), TensorKind.ROUTER),
        *gated_mlp(inside.under("experts.{}").many(number), hidden, width, kind=TensorKind.EXPERT),
    ]
    return parts, Experts(number, per_token, len(sparse), 3 * width * hidden) if sparse else None


def nemotron_h(config: Dimensions) -> Draft:
    """Nemotron H and Nemotron 3: one mixer a layer, of the kind that a pattern names."""
    kinds, h = _pattern(config), heads_of(config)
    layers = len(kinds)
    at = At("backbone.layers.{}.", tuple(range(layers)))
    of = {name: at.only(tuple(n for n, k in enumerate(kinds) if k == name)) for name in _LETTERS.values()}
    groups = Groups(
        h.hidden,
        config.size("mamba_num_heads"),
        config.size("mamba_head_dim"),
        config.size("n_groups"),
        config.size("ssm_state_size"),
        config.size("conv_kernel"),
    )
    flags = {"bias": config.flag("use_bias"), "conv_bias": config.flag("use_conv_bias")}
    config.refuse("num_nextn_predict_layers", (None, 0), "its modules for multi-token prediction are not known")
    tied = config.flag("tie_word_embeddings")
    feed, experts = _nemotron_experts(config, of["moe"], h.hidden) if of["moe"].each else ([], None)
    tensors = [
        *_ends(config, _BACKBONE, h.hidden, tied),
        *norm(at, "norm", h.hidden),
        *mamba2_mixer(of["mamba"].under("mixer"), groups, **flags),
        *attention(of["attention"].under("mixer"), h),
        *_nemotron_mlp(config, of["mlp"], h.hidden),
        *feed,
    ]
    return Draft(config.model_type, layers, tensors, tied, experts)


def _nemotron_mlp(config: Dimensions, at: At, hidden: int) -> Parts:
    if not at.each:
        return []
    return mlp(at.under("mixer"), hidden, config.size("intermediate_size"), bias=config.flag("mlp_bias"))


def _nemotron_experts(config: Dimensions, at: At, hidden: int) -> tuple[Parts, Experts]:
    config.refuse("moe_latent_size", (None,), "experts of a narrower width are not known")
    config.refuse("n_shared_experts", (1,), "more or fewer shared experts than one are not known")
    number, per_token = routed(config, "n_routed_experts", "num_experts_per_tok")
    width, inside = config.size("moe_intermediate_size"), at.under("mixer")
    shared = config.size("moe_shared_expert_intermediate_size", _SHARED_WIDTH)
    bias = config.flag("mlp_bias")
    if bias:
        config.fault("mlp_bias", "true, and biases of experts are not known")
    parts: list[Tensors] = [
        *matrix(inside, "gate", (number, hidden), TensorKind.ROUTER),
        *single(inside, "gate.e_score_correction_bias", (number,), TensorKind.ROUTER, buffer=True),
        *mlp(inside.under("experts.{}").many(number), hidden, width, kind=TensorKind.EXPERT),
        *mlp(inside.under("shared_experts"), hidden, shared, kind=TensorKind.SHARED_EXPERT),
    ]
    return parts, Experts(number, per_token, len(at.layers), 2 * width * hidden)


def _pattern(config: Dimensions) -> tuple[str, ...]:
    """The kind of each layer, from the pattern of letters or from the list of words."""
    text = config.value("hybrid_override_pattern", None)
    key = "hybrid_override_pattern"
    if text is None:
        key = "layers_block_type" if config.has("layers_block_type") else "layer_types"
        given = config.value(key, None)
        length = len(given) if isinstance(given, list) and 0 < len(given) <= MOST_LAYERS else 1
        words = config.words(key, length, (*_LETTERS.values(), *_WORDS))
        if words is None:
            config.fault(key, "missing: which layer is of which kind", "write it, or hybrid_override_pattern: M-M*-ME")
        kinds = tuple(_WORDS.get(word, word) for word in words or ("mamba",))
    elif not isinstance(text, str) or not 0 < len(text) <= MOST_LAYERS or set(text) - set(_LETTERS):
        config.fault(key, "is not a text of the letters M, *, E and -, one for each layer")
        kinds = ("mamba",)
    else:
        kinds = tuple(_LETTERS[letter] for letter in text)
    if config.has("num_hidden_layers") and config.size("num_hidden_layers") != len(kinds):
        config.contradiction(("num_hidden_layers", key), f"is not the {len(kinds):,} layers of {key}")
    return kinds
