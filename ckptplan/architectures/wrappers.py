"""Models of text and images: a language model, a vision tower, and what leads from one to the other."""

from collections.abc import Callable

from ckptplan.architectures.blocks import (
    At,
    Draft,
    Heads,
    Parts,
    attention,
    fused_attention,
    matrix,
    mlp,
    norm,
    per_head,
    single,
)
from ckptplan.architectures.dimensions import Dimensions, shown
from ckptplan.cost.architecture import TensorKind, Tensors

_VISION, _PROJECTOR = TensorKind.VISION, TensorKind.PROJECTOR
_LAYER_NORMS = ("input_layernorm", "post_attention_layernorm")


def _as_vision(parts: Parts) -> Parts:
    return [t._replace(kind=_VISION) for t in parts]


def _language(
    config: Dimensions, text_type: str, build: Callable[[Dimensions], Draft], rename: Callable[[str], str]
) -> Draft:
    """The language model under ``text_config``, with the names that it has inside the wrapper."""
    text = config.group("text_config", text_type)
    if not text.values:
        config.fault("text_config", "missing: it holds the dimensions of the language model")
    given = text.values.get("model_type", text_type)
    if given != text_type:
        text.fault("model_type", f"is not {text_type}, the language model of {config.model_type}")
    text.values = {**text.values, "tie_word_embeddings": _tied(config, text)}
    draft = build(text)
    text.check_unread()
    return draft._replace(family=config.model_type, tensors=[t._replace(name=rename(t.name)) for t in draft.tensors])


def _tied(config: Dimensions, text: Dimensions) -> bool:
    """Whether the head is tied: said at the top, or under ``text_config``, or by the class of the wrapper."""
    key = "tie_word_embeddings"
    said = text if key in text.values and key not in config.values else config
    tied = said.flag(key)
    if key in config.values and key in text.values and text.values[key] != config.values[key]:
        config.fault(key, "differs from the one under text_config", "keep the one that the model was trained with")
    return tied


def _behind(prefix: str) -> Callable[[str], str]:
    return lambda name: f"{prefix}{name}"


def _qwen_name(name: str) -> str:
    return name.replace("model.", "model.language_model.", 1) if name.startswith("model.") else name


def gemma3(build: Callable[[Dimensions], Draft]) -> Callable[[Dimensions], Draft]:
    """Gemma 3: a SigLIP tower."""

    def family(config: Dimensions) -> Draft:
        draft = _language(config, "gemma3_text", build, _behind("language_model."))
        vision = config.group("vision_config", "siglip_vision_model")
        use_head = vision.values.get("vision_use_head", True)
        if use_head is not False:
            said = f"{shown(use_head)}" if "vision_use_head" in vision.values else "missing, which means true"
            hint = 'Gemma 3 as published has none: write "vision_use_head": false'
            vision.fault("vision_use_head", f"{said}: the pooling head of the tower is not known", hint)
        hidden = vision.size("hidden_size")
        text = next(t.shape[1] for t in draft.tensors if t.kind is TensorKind.EMBEDDING)
        tensors = [
            *_siglip(vision, hidden),
            *single(At("multi_modal_projector."), "mm_input_projection_weight", (hidden, text), _PROJECTOR),
            *single(At("multi_modal_projector."), "mm_soft_emb_norm.weight", (hidden,), _PROJECTOR),
        ]
        return draft._replace(tensors=[*draft.tensors, *tensors])

    return family


def _patches(config: Dimensions) -> int:
    """Patches along one side of an image."""
    image, patch = config.size("image_size"), config.size("patch_size")
    if image < patch:
        config.contradiction(("image_size", "patch_size"), f"{image:,} is below patch_size = {patch:,}")
    return max(1, image // patch)


def _siglip(config: Dimensions, hidden: int) -> Parts:
    heads, side = config.size("num_attention_heads"), _patches(config)
    widths = Heads(hidden, heads, heads, per_head(config, hidden, heads))
    outside, patch = At("vision_tower."), config.size("patch_size")
    at = At("vision_tower.encoder.layers.{}.", (), config.size("num_hidden_layers"))
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    shape = (hidden, config.size("num_channels", 3), patch, patch)
    return _as_vision(
        [
            *matrix(outside, "embeddings.patch_embedding", shape, _VISION, bias=True),
            *matrix(outside, "embeddings.position_embedding", (side * side, hidden), _VISION),
            *attention(at.under("self_attn"), widths, names, bias=True, out_bias=True),
            *mlp(at.under("mlp"), hidden, config.size("intermediate_size"), ("fc1", "fc2"), bias=True),
            *(t for name in ("layer_norm1", "layer_norm2") for t in norm(at, name, hidden, bias=True)),
            *norm(outside, "post_layernorm", hidden, bias=True),
        ]
    )


def llama4(build: Callable[[Dimensions], Draft]) -> Callable[[Dimensions], Draft]:
    """Llama 4: a tower whose patches are shuffled together before they reach the language model."""

    def family(config: Dimensions) -> Draft:
        draft = _language(config, "llama4_text", build, _behind("language_model."))
        vision = config.group("vision_config", "llama4_vision_model")
        text = next(t.shape[1] for t in draft.tensors if t.kind is TensorKind.EMBEDDING)
        width = vision.size("vision_output_dim")
        for key in ("projector_input_dim", "projector_output_dim"):
            if vision.size(key) != width:
                vision.contradiction((key, "vision_output_dim"), f"is not vision_output_dim, {width:,}")
        projector = matrix(At("multi_modal_projector."), "linear_1", (text, width), _PROJECTOR)
        return draft._replace(tensors=[*draft.tensors, *_llama4_tower(vision, width), *projector])

    return family


def _llama4_tower(config: Dimensions, output: int) -> Parts:
    hidden, heads, side = config.size("hidden_size"), config.size("num_attention_heads"), _patches(config)
    widths = Heads(hidden, heads, heads, per_head(config, hidden, heads))
    inner, patch = config.size("intermediate_size"), config.size("patch_size")
    outside = At("vision_model.")
    at = At("vision_model.model.layers.{}.", (), config.size("num_hidden_layers"))
    channels = config.size("num_channels", 3)
    return _as_vision(
        [
            *single(outside, "class_embedding", (hidden,), _VISION),
            *single(outside, "positional_embedding_vlm", (side * side + 1, hidden), _VISION),
            *matrix(outside, "patch_embedding.linear", (hidden, channels * patch * patch), _VISION),
            *(t for name in ("layernorm_pre", "layernorm_post") for t in norm(outside, name, hidden, bias=True)),
            *attention(at.under("self_attn"), widths, bias=True, out_bias=True),
            *mlp(at.under("mlp"), hidden, inner, ("fc1", "fc2"), bias=True),
            *(t for name in _LAYER_NORMS for t in norm(at, name, hidden, bias=True)),
            *matrix(outside, "vision_adapter.mlp.fc1", (config.size("projector_input_dim"), inner), _VISION),
            *matrix(outside, "vision_adapter.mlp.fc2", (output, output), _VISION),
        ]
    )


def qwen3_vl(text_type: str, build: Callable[[Dimensions], Draft]) -> Callable[[Dimensions], Draft]:
    """Qwen3-VL: a tower with mergers for several of its layers."""

    def family(config: Dimensions) -> Draft:
        draft = _language(config, text_type, build, _qwen_name)
        vision = config.group("vision_config", "qwen3_vl_vision")
        text = next(t.shape[1] for t in draft.tensors if t.kind is TensorKind.EMBEDDING)
        if vision.size("out_hidden_size") != text:
            vision.contradiction(("out_hidden_size",), f"is not the width of the language model, {text:,}")
        return draft._replace(tensors=[*draft.tensors, *_qwen_tower(vision, text)])

    return family


def _qwen_tower(config: Dimensions, text: int) -> Parts:
    hidden, heads, depth = config.size("hidden_size"), config.size("num_heads"), config.size("depth")
    widths = Heads(hidden, heads, heads, per_head(config, hidden, heads, ("hidden_size", "num_heads")))
    patch, outside = config.size("patch_size"), At("model.visual.")
    joined = hidden * config.size("spatial_merge_size") ** 2
    at = At("model.visual.blocks.{}.", (), depth)
    shape = (hidden, config.size("in_channels"), config.size("temporal_patch_size"), patch, patch)
    stacked = len(config.numbers("deepstack_visual_indexes", depth))
    deep = At("model.visual.deepstack_merger_list.{}.", (), stacked)
    return _as_vision(
        [
            *matrix(outside, "patch_embed.proj", shape, _VISION, bias=True),
            *matrix(outside, "pos_embed", (config.size("num_position_embeddings"), hidden), _VISION),
            *(t for name in ("norm1", "norm2") for t in norm(at, name, hidden, bias=True)),
            *fused_attention(at.under("attn"), widths, ("qkv", "proj"), bias=True, out_bias=True),
            *mlp(at.under("mlp"), hidden, config.size("intermediate_size"), ("linear_fc1", "linear_fc2"), bias=True),
            *_merger(outside.under("merger"), hidden, joined, text),
            *_merger(deep, joined, joined, text),
        ]
    )


def _merger(at: At, normed: int, joined: int, text: int) -> list[Tensors]:
    """Patches of a square joined and brought to the width of the language model."""
    return [
        *norm(at, "norm", normed, bias=True),
        *matrix(at, "linear_fc1", (joined, joined), _VISION, bias=True),
        *matrix(at, "linear_fc2", (text, joined), _VISION, bias=True),
    ]
