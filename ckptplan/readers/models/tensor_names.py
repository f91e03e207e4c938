"""What a tensor is for, read from its name in published files, where no configuration says it."""

from __future__ import annotations

import re
from typing import NamedTuple

from ckptplan.cost.architecture import Cut, TensorKind

_LAYER = re.compile(r"(?:^|(?<=\.))(?:layers|h|blocks|block|layer)\.([0-9]{1,6})(?=\.)")
_EXPERT = re.compile(r"(?<=\.experts\.)([0-9]{1,6})(?=\.)")
_OTHER_TOWERS = re.compile(r"(^|\.)(vision\w*|visual|image\w*|audio\w*|speech\w*)\.", re.IGNORECASE)
_PROJECTOR = re.compile(r"(projector|mm_proj|connector|embed_vision)", re.IGNORECASE)
_EXTRA = re.compile(r"(^|\.)(mtp|nextn)\w*\.", re.IGNORECASE)

# Values that can be recomputed, statistics, and what quantization adds: no optimizer trains them.
_BUFFER = re.compile(
    r"(inv_freq|position_ids|masked_bias|num_batches_tracked|running_mean|running_var|(?<!moe_statics\.)e_score_correction_bias|"
    r"(weight|_proj|_blocks)_scale(_inv|_2)?|_scales|\.scales|\.qzeros|\.g_idx|absmax|quant_map|weight_shape|SCB|weight_format|quant_state\.\w+|"
    r"(input|k|v|kv)_scale|slope_rate|(diagonal|key|query)_decay)$"
)
_MASK = re.compile(r"\.(attn|attention)\.bias$")  # a causal mask, if it is no vector
_PACKED = re.compile(r"(\.qweight|_blocks|\.weight_packed)$")
_NORM = re.compile(r"norm[^.]*(\.(weight|bias))?$|(^|\.)ln_?\w*\.(weight|bias)$")

# The first that fits. Within the layers:
_IN_LAYERS = (
    (TensorKind.SHARED_EXPERT, re.compile(r"shared_expert")),
    (TensorKind.EXPERT, re.compile(r"\.experts\.|moe\.(input|output)_linear")),
    (TensorKind.ROUTER, re.compile(r"router|(mlp|moe|feed_forward|ffn|mixer)\.gate(\.|$)")),
    (TensorKind.INDEXER, re.compile(r"indexer")),
    (TensorKind.NORM, _NORM),
    (TensorKind.ATTENTION, re.compile(r"mixer\.([qkvo]_proj|Wqkv)")),
    (TensorKind.LINEAR_ATTENTION, re.compile(r"linear_attn")),
    (TensorKind.SSM, re.compile(r"mamba|mixer|conv1d|A_log|dt_(proj|bias)|ssm")),
    (TensorKind.ATTENTION, re.compile(r"attn|attention|[qkv]_proj|qkv|wq|wk|wv|wo")),
    (TensorKind.MLP, re.compile(r"mlp|ffn|feed_forward|fc_?[12]|dense|gate_proj|up_proj|down_proj|w[123]\.")),
)
# Outside of them:
_OUTSIDE = (
    (TensorKind.POSITION, re.compile(r"wpe|position|pos_emb")),
    (TensorKind.NORM, _NORM),
    (TensorKind.EMBEDDING, re.compile(r"embed_tokens|wte|word_embeddings|tok_embeddings|embed_in|embedding")),
    (TensorKind.HEAD, re.compile(r"lm_head|embed_out|(^|\.)(output|head)\.")),
    (TensorKind.PROJECTION, re.compile(r"project_(in|out)")),
)
_FIRST = re.compile(r"embed|project_in|wte|wpe")
_ROW = re.compile(r"(o_proj|out_proj|down_proj|\.wo|\.w2|fc2|fc_out|dense_4h_to_h|attention\.dense|self_attn\.dense)\.")
_LOW_RANK = re.compile(r"(q_a_proj|kv_a_proj)")  # every tensor-parallel rank holds them whole
_COLUMN_BIAS = re.compile(r"([qkv]_proj|qkv\w*|query_key_value|gate_proj|up_proj|fc1|fc_in|dense_h_to_4h)\.bias$")


class Role(NamedTuple):
    """What a name says. ``pattern`` is the name with {} for the numbers of layer and expert."""

    pattern: str
    kind: TensorKind
    layer: int | None
    expert: int | None
    cut: Cut
    buffer: bool
    extra: bool  # of a module beside the model: multi-token prediction
    at_end: bool  # outside of the layers: after them


def role_of(name: str, axes: int) -> Role:
    """What a tensor of this name, with so many axes, is for."""
    extra = _EXTRA.search(name) is not None
    tower = _tower(name)
    layer = None if extra or tower else _LAYER.search(name)
    expert = None if layer is None else _EXPERT.search(name)
    pattern = name
    for found in (expert, layer):  # from the back, so that places stay true
        if found is not None:
            pattern = f"{pattern[: found.start(1)]}{{}}{pattern[found.end(1) :]}"
    kind = tower or _kind(name, _IN_LAYERS if layer else _OUTSIDE)
    return Role(
        pattern,
        kind,
        None if layer is None else int(layer[1]),
        None if expert is None else int(expert[1]),
        _cut(name, kind, axes),
        _BUFFER.search(name) is not None or (axes > 1 and _MASK.search(name) is not None),
        extra,
        at_end=layer is None and tower is None and _FIRST.search(name) is None,
    )


def is_packed(name: str, dtype: str) -> bool:
    """Whether a tensor holds several weights in each element, so that its shape does not count them."""
    packed_types = {"U8", "I32", "U32"}
    return dtype in packed_types and (_PACKED.search(name) is not None or name.endswith(".weight"))


def is_no_weight(name: str, dtype: str) -> bool:
    """Whether a tensor of whole numbers is no weight in few bits but a position, a mask or a count."""
    return dtype in {"I64", "U64", "I32", "U32", "I16", "U16", "U8", "BOOL"} and not name.endswith(".weight")


def _tower(name: str) -> TensorKind | None:
    if _PROJECTOR.search(name):
        return TensorKind.PROJECTOR
    return TensorKind.VISION if _OTHER_TOWERS.search(name) else None


def _kind(name: str, kinds: tuple[tuple[TensorKind, re.Pattern[str]], ...]) -> TensorKind:
    return next((kind for kind, pattern in kinds if pattern.search(name)), TensorKind.OTHER)


def _cut(name: str, kind: TensorKind, axes: int) -> Cut:
    whole = {TensorKind.NORM, TensorKind.ROUTER, TensorKind.POSITION, TensorKind.VISION, TensorKind.PROJECTOR}
    if kind in whole or _LOW_RANK.search(name):
        return Cut.REPLICATED
    if axes < 2:
        column = axes == 1 and (_COLUMN_BIAS.search(name) or kind is TensorKind.HEAD)
        return Cut.COLUMN if column else Cut.REPLICATED
    return Cut.ROW if _ROW.search(f"{name}.") else Cut.COLUMN
