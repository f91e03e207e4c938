"""From a model configuration to every tensor: model_type -> family."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ckptplan.architectures import gpt_like, hybrids, latent_attention, linear_attention, state_space, wrappers
from ckptplan.architectures.blocks import Draft
from ckptplan.architectures.decoder import DECODERS, Decoder, decoder
from ckptplan.architectures.dimensions import PARAMETERS, Dimensions, shown
from ckptplan.architectures.mixtures import MIXTURES, experts_feed, minimax_m2_feed
from ckptplan.architectures.model_classes import check_classes, family_of
from ckptplan.architectures.stacked_experts import gpt_oss_feed, granite_feed, llama4_feed
from ckptplan.cost.architecture import Architecture, Quantization
from ckptplan.errors import InputError, Place, Problem

Builder = Callable[[Dimensions], Draft]

_ALL = Decoder(qkv_bias="attention_bias", out_bias="attention_bias")
_PLAIN: dict[str, Builder] = {name: partial(decoder, family=family) for name, family in DECODERS.items()}
_MIXED: dict[str, Builder] = {
    name: partial(decoder, family=family, feed=experts_feed(mixture)) for name, (family, mixture) in MIXTURES.items()
}
_LLAMA4: Builder = partial(decoder, family=_ALL, feed=llama4_feed)
FAMILIES: Mapping[str, Builder] = {
    **_PLAIN,
    **_MIXED,
    "minimax_m2": partial(decoder, family=MIXTURES["minimax_m2"][0], feed=minimax_m2_feed),
    "gpt_oss": partial(decoder, family=_ALL._replace(sinks=True), feed=gpt_oss_feed),
    "granitemoe": partial(decoder, family=_ALL, feed=granite_feed),
    "llama4_text": _LLAMA4,
    **dict.fromkeys(
        ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe_lite"),
        latent_attention.deepseek,
    ),
    "glm4_moe": latent_attention.glm4_moe,
    "minimax": linear_attention.minimax,
    "kimi_linear": linear_attention.kimi_linear,
    "qwen3_next": linear_attention.qwen3_next,
    "mamba": state_space.mamba,
    "mamba2": state_space.mamba2,
    "jamba": hybrids.jamba,
    "nemotron_h": hybrids.nemotron_h,
    "gpt2": gpt_like.gpt2,
    "gpt_bigcode": gpt_like.gpt2,
    "gpt_neo": gpt_like.gpt_neo,
    "gptj": gpt_like.gptj,
    "codegen": gpt_like.gptj,
    "gpt_neox": gpt_like.gpt_neox,
    "bloom": gpt_like.bloom,
    "falcon": gpt_like.falcon,
    "mpt": gpt_like.mpt,
    "dbrx": gpt_like.dbrx,
    "opt": gpt_like.opt,
    "internlm2": gpt_like.internlm2,
    "phi-msft": gpt_like.phi_msft,
    "gemma3": wrappers.gemma3(_PLAIN["gemma3_text"]),
    "llama4": wrappers.llama4(_LLAMA4),
    "qwen3_vl": wrappers.qwen3_vl("qwen3_vl_text", _PLAIN["qwen3_vl_text"]),
}


def architecture(config: Mapping[str, Any], source: str = "") -> Architecture:
    """Every tensor of the model that a Hugging Face configuration describes.

    Parameters
    ----------
    config : mapping
        A ``config.json`` as read. An absent key means what the class of transformers 5.24 takes for it, and is named in
        ``assumed``; null means what follows from the other dimensions, where the family allows it.
    source : str
        The file, for messages.

    Returns
    -------
    Architecture
        Shapes of what is trained: ``quantization_config`` says only how the published files hold it.

    Raises
    ------
    InputError
        For a family or a variant that is not known, and with every fault of the dimensions, 20 at most.
    """
    name = config.get("model_type")
    if not isinstance(name, str) or name not in FAMILIES:
        raise InputError(_unknown(name, config, source))
    dimensions = Dimensions(config, name, source)
    draft = FAMILIES[name](dimensions)
    dimensions.check_unread()
    check_classes(dimensions, draft.tied, FAMILIES)
    quantization = _quantization(dimensions)
    dimensions.check()
    return Architecture(
        draft.family,
        draft.layers,
        tuple(t for t in draft.tensors if t.each),
        draft.tied,
        draft.experts,
        tuple(draft.extra),
        source,
        tuple(dimensions.assumed),
        quantization,
    )


def _unknown(name: object, config: Mapping[str, Any], source: str) -> Problem:
    """The fault of a model_type that is not in the table."""
    place = Place(source) if source else None
    if name is None:
        found = "missing: it names the family of the model"
        family = family_of(config.get("architectures"), FAMILIES)
        hint = f'add "model_type": "{family or "llama"}"'
        hint = hint if family else f"{hint}, or what the family is; is this the config.json of a model?"
        return Problem(found, place, "model_type", hint)
    from difflib import get_close_matches  # only an error needs it

    near = get_close_matches(name[:100].lower(), FAMILIES, n=3, cutoff=0.6) if isinstance(name, str) else []
    like = f"known and near: {', '.join(near)}; " if near else ""
    return Problem(f"{shown(name)} is not a family that can be counted", place, "model_type", f"{like}{PARAMETERS}")


def _quantization(config: Dimensions) -> Quantization | None:
    """How the published files hold the weights; ``other`` is a form that is not reckoned."""
    group = config.group("quantization_config")
    if not group.values:
        return None
    method, block = group.values.get("quant_method"), group.values.get("weight_block_size")
    if method == "mxfp4":
        return Quantization("mxfp4")
    if method != "fp8" or not isinstance(block, list) or len(block) != 2 or not _usual(group.values):
        return Quantization("other")
    sizes = [size for size in block if isinstance(size, int) and not isinstance(size, bool) and 0 < size <= 1 << 20]
    if len(sizes) != 2:
        group.fault("weight_block_size", "is not two positive numbers")
        return None
    return Quantization("fp8", (sizes[0], sizes[1]))


def _usual(group: Mapping[str, Any]) -> bool:
    """Whether fp8 leaves out only what it always does: routers, norms, embedding and head."""
    left = group.get("modules_to_not_convert") or []
    usual = ("gate", "e_score_correction_bias", "lm_head", "embed_tokens")
    return isinstance(left, list) and all(
        isinstance(name, str) and name.rpartition(".")[2].endswith((*usual, "norm")) for name in left
    )
