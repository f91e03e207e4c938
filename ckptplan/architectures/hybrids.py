"""State-space layers between attention and experts: Jamba, Nemotron H."""

from ckptplan.architectures.blocks import (
    At,
    Draft,
    Ends,
    Parts,
    attention,
    gated_mlp,
    heads_of,
    matrix,
    mlp,
    norm,
    single,
)
from ckptplan.architectures.class_facts import MOST_LAYERS
from ckptplan.architectures.dimensions import Dimensions
from ckptplan.architectures.mixtures import routed
from ckptplan.architectures.state_space import (
    BACKBONE,
    Groups,
    Inner,
    around,
    mamba2_mixer,
    mamba_mixer,
    step_rank,
)
from ckptplan.cost.architecture import Experts, TensorKind, Tensors

_LETTERS = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
_WORDS = {"linear_attention": "mamba", "full_attention": "attention"}
_SHARED_WIDTH = 7688  # moe_shared_expert_intermediate_size where it is absent, transformers 5.24


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
        step_rank(config, "mamba_dt_rank"),
    )
    mixers = at.only(others).under("mamba")
    flags = {"bias": config.flag("mamba_proj_bias"), "conv_bias": config.flag("mamba_conv_bias")}
    widths = (("dt_layernorm", inner.rank), ("b_layernorm", inner.state), ("c_layernorm", inner.state))
    feed, experts = _jamba_feed(config, at, h.hidden, layers)
    tied = config.flag("tie_word_embeddings")
    tensors = [
        *around(config, Ends(norm="model.final_layernorm"), h.hidden, tied=tied),
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
        *around(config, BACKBONE, h.hidden, tied=tied),
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
