"""Models in which most layers have linear attention: MiniMax, Kimi Linear, Qwen3-Next."""

from ckptplan.architectures.blocks import At, Draft, Parts, attention, heads_of, matrix, norm, single
from ckptplan.architectures.decoder import Decoder, QueryKeyNorm, decoder, query_key_norms
from ckptplan.architectures.dimensions import Dimensions
from ckptplan.architectures.latent_attention import latent_attention
from ckptplan.architectures.mixtures import BLOCK_SPARSE, KIMI_LINEAR, QWEN2_MOE, experts_feed
from ckptplan.cost.architecture import Cut, Section, TensorKind

_LINEAR = TensorKind.LINEAR_ATTENTION
_KINDS = ("full_attention", "linear_attention")
_DECAY_BLOCK = 256  # block_size where it is absent, transformers 5.24


def _full_and_linear(config: Dimensions, at: At, interval: int) -> tuple[At, At]:
    """Layers with full attention and with linear attention; without a list, each ``interval``-th is full."""
    layers = len(at.layers)
    kinds = config.words("layer_types", layers, _KINDS)
    if kinds is None:
        full = tuple(range(interval - 1, layers, interval))
    else:
        full = tuple(n for n, kind in enumerate(kinds) if kind == "full_attention")
    kept = frozenset(full)
    return at.only(full), at.only(tuple(n for n in at.layers if n not in kept))


def minimax(config: Dimensions) -> Draft:
    """MiniMax-Text-01: lightning attention with decay tables that the files hold too (arXiv 2501.08313)."""

    def attend(config: Dimensions, at: At) -> Parts:
        h = heads_of(config)
        first = [n for n in at.layers if n % 2 == 0]  # without layer_types: full in layers 0, 2, 4, ...
        if config.has("layer_types"):
            full, linear = _full_and_linear(config, at, 1)
        else:
            full, linear = at.only(tuple(first)), at.only(tuple(n for n in at.layers if n % 2))
        return attention(full.under("self_attn"), h) + _lightning(config, linear.under("self_attn"), h.hidden)

    return decoder(config, Decoder(), experts_feed(BLOCK_SPARSE), attend)


def _lightning(config: Dimensions, at: At, hidden: int) -> Parts:
    h = heads_of(config)
    heads, wide, block = h.queries, h.queries * h.size, config.size("block_size", _DECAY_BLOCK)
    kind, third = TensorKind.ATTENTION, Section(wide, heads)
    tables = {
        "slope_rate": (heads, 1, 1),
        "query_decay": (heads, block, 1),
        "key_decay": (heads, block, 1),
        "diagonal_decay": (1, heads, block, block),
    }
    return [
        *matrix(at, "qkv_proj", (3 * wide, hidden), kind, Cut.COLUMN, sections=(third, third, third)),
        *matrix(at, "output_gate", (wide, hidden), kind, Cut.COLUMN, heads=heads),
        *matrix(at, "out_proj", (hidden, wide), kind, Cut.ROW, heads=heads),
        *matrix(at, "norm", (wide,), TensorKind.NORM, Cut.COLUMN, heads=heads),
        *(t for name, shape in tables.items() for t in single(at, name, shape, kind, buffer=True)),
    ]


def kimi_linear(config: Dimensions) -> Draft:
    """Kimi Linear: gated delta attention, and latent attention in every fourth layer (arXiv 2510.26692)."""

    def attend(config: Dimensions, at: At) -> Parts:
        group = config.group("linear_attn_config")
        full, linear = _listed(group, at) if group.values else _full_and_linear(config, at, 4)
        given = group if group.values else config
        names = ("num_heads", "head_dim", "short_conv_kernel_size") if group.values else _OWN_KEYS
        heads, size, kernel = (given.size(name) for name in names)
        inside = linear.under("self_attn")
        hidden = config.size("hidden_size")
        return latent_attention(config, full.under("self_attn")) + _delta(inside, hidden, heads, size, kernel)

    return decoder(config, Decoder(), experts_feed(KIMI_LINEAR), attend)


_OWN_KEYS = ("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim")


def _listed(group: Dimensions, at: At) -> tuple[At, At]:
    """Layers of both kinds as Kimi lists them, counted from 1; each layer is in one list."""
    most = len(at.layers) + 1
    lists = [group.numbers(key, most) for key in ("full_attn_layers", "kda_layers")]
    if sorted(number for listed in lists for number in listed) != list(range(1, most)):
        group.contradiction(
            ("full_attn_layers", "kda_layers"), f"and kda_layers do not hold each layer from 1 to {most - 1:,} once"
        )
        return at, at.only(())
    full, linear = (at.only(tuple(sorted(number - 1 for number in listed))) for listed in lists)
    return full, linear


def _delta(at: At, hidden: int, heads: int, size: int, kernel: int) -> Parts:
    """A layer of Kimi delta attention."""
    wide = heads * size
    parts: Parts = []
    for name in ("q", "k", "v"):
        parts += matrix(at, f"{name}_proj", (wide, hidden), TensorKind.ATTENTION, Cut.COLUMN, heads=heads)
        parts += matrix(at, f"{name}_conv1d", (wide, 1, kernel), _LINEAR, Cut.COLUMN, heads=heads)
    for name in ("f", "g"):
        parts += matrix(at, f"{name}_a_proj", (size, hidden), _LINEAR)
        parts += matrix(at, f"{name}_b_proj", (wide, size), _LINEAR, Cut.COLUMN, heads=heads)
    by_head = single(at, "A_log", (1, 1, heads, 1), _LINEAR, Cut.COLUMN)
    return [
        *parts,
        *(t._replace(axis=2) for t in by_head),
        *(t._replace(sections=(Section(wide, heads),)) for t in single(at, "dt_bias", (wide,), _LINEAR, Cut.COLUMN)),
        *matrix(at, "b_proj", (heads, hidden), _LINEAR, Cut.COLUMN),
        *norm(at, "o_norm", size),
        *matrix(at, "o_proj", (hidden, wide), TensorKind.ATTENTION, Cut.ROW, heads=heads),
    ]


def qwen3_next(config: Dimensions) -> Draft:
    """Qwen3-Next: gated delta networks, and gated full attention in every fourth layer.

    The published files hold a module for multi-token prediction, of which the configuration says nothing.
    """
    interval = config.size("full_attention_interval", 4)

    def attend(config: Dimensions, at: At) -> Parts:
        full, linear = _full_and_linear(config, at, interval)
        return _gated_attention(config, full.under("self_attn")) + _delta_network(config, linear.under("linear_attn"))

    feed = experts_feed(QWEN2_MOE)
    draft = decoder(config, Decoder(), feed, attend)
    at, hidden = At("mtp.layers.{}.", (0,)), config.size("hidden_size")
    ends = ("mtp.pre_fc_norm_embedding", "mtp.pre_fc_norm_hidden", "mtp.norm")
    layer = [t for t in draft.tensors if t.layers and draft.layers - 1 in t.layers and "mlp." in t.name]
    extra = [
        *(t._replace(name=t.name.replace("model.layers.{}.", at.prefix, 1), layers=at.layers) for t in layer),
        *_gated_attention(config, at.under("self_attn")),
        *(t for name in ("input_layernorm", "post_attention_layernorm") for t in norm(at, name, hidden)),
        *matrix(At(""), "mtp.fc", (hidden, 2 * hidden), TensorKind.OTHER),
        *(t for name in ends for t in norm(At(""), name, hidden)),
    ]
    return draft._replace(extra=extra)


def _gated_attention(config: Dimensions, at: At) -> Parts:
    """Full attention whose query projection carries a gate for the output."""
    h, bias = heads_of(config), config.flag("attention_bias")
    parts = attention(at, h, bias=bias, out_bias=bias, query_parts=2)
    return parts + query_key_norms(at, h, QueryKeyNorm.HEAD)


def _delta_network(config: Dimensions, at: At) -> Parts:
    """A gated delta network (arXiv 2412.06464)."""
    hidden, kernel = config.size("hidden_size"), config.size("linear_conv_kernel_dim")
    keys, values = config.size("linear_num_key_heads"), config.size("linear_num_value_heads")
    key = Section(keys * config.size("linear_key_head_dim"), keys)
    size = config.size("linear_value_head_dim")
    value = Section(values * size, values)
    mixed, both = (key, key, value), Section(values, values)
    into = (*mixed, value)
    return [
        *matrix(at, "in_proj_qkvz", (_rows(into), hidden), _LINEAR, Cut.COLUMN, sections=into),
        *matrix(at, "in_proj_ba", (2 * values, hidden), _LINEAR, Cut.COLUMN, sections=(both, both)),
        *matrix(at, "conv1d", (_rows(mixed), 1, kernel), _LINEAR, Cut.COLUMN, sections=mixed),
        *single(at, "dt_bias", (values,), _LINEAR, Cut.COLUMN),
        *single(at, "A_log", (values,), _LINEAR, Cut.COLUMN),
        *norm(at, "norm", size),
        *matrix(at, "out_proj", (hidden, value.rows), _LINEAR, Cut.ROW, heads=values),
    ]


def _rows(sections: tuple[Section, ...]) -> int:
    return sum(section.rows for section in sections)
