"""What is known of configuration classes: bounds, names that mean the same, defaults, and where null is refused."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from json import loads
from typing import Any

MOST_LAYERS = 10_000

MOST = 10_000_000  # of any dimension that is not below
BOUNDS = {
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth"), MOST_LAYERS),
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "n_embed", "num_heads", "num_attention_heads"), 1_000_000),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 100_000),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), 1_000_000_000),
    "vocab_size": 100_000_000,
}
# What means the same, by the families that take both (facts of the configuration classes of transformers 5.24).
_GPT = {
    "n_embd": ("hidden_size",),
    "n_positions": ("max_position_embeddings",),
    "n_head": ("num_attention_heads",),
    "n_layer": ("num_hidden_layers",),
}
_MPT = {"d_model": ("hidden_size",), "n_heads": ("num_attention_heads",), "n_layers": ("num_hidden_layers",)}
_EXPERTS = {"num_local_experts": ("num_experts",)}
_ROUTED = {"n_routed_experts": ("num_local_experts",), "num_nextn_predict_layers": ("num_mtp_layers",)}
ALIASES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("gpt2", "gpt_bigcode", "gptj", "codegen"), _GPT),
    **dict.fromkeys(("mpt", "dbrx"), _MPT),
    **dict.fromkeys(("mixtral", "qwen3_moe", "gpt_oss", "minimax", "minimax_m2"), _EXPERTS),
    **dict.fromkeys(("deepseek_v3", "deepseek_v32", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "nemotron_h"), _ROUTED),
    "bloom": {
        "hidden_size": ("n_embed",),
        "n_layer": ("num_hidden_layers",),
        "n_head": ("num_attention_heads",),
    },
    "falcon": {"hidden_size": ("n_embed",)},
    "gpt_neo": {"num_layers": ("num_hidden_layers",), "num_heads": ("num_attention_heads",)},
    "deepseek_v2": {"n_routed_experts": ("num_experts",)},
    "jamba": {"num_experts": ("num_local_experts",)},
    "olmoe": {"num_experts": ("num_local_experts",)},
    "ernie4_5_moe": {"moe_num_experts": ("num_experts",), "moe_k": ("num_experts_per_tok",)},
    "kimi_linear": {
        "num_experts": ("num_local_experts",),
        "num_experts_per_token": ("num_experts_per_tok",),
        "num_shared_experts": ("n_shared_experts",),
    },
}
# Families whose classes refuse null, which means the number of heads, or hidden size over heads, in the others.
# fmt: off
_STRICT = (
    "deepseek_v32", "gemma", "gemma2", "gemma3_text", "glm4", "glm_moe_dsa", "gpt_oss", "llama4_text", "minimax_m2",
    "ministral3", "nemotron_h", "qwen3_next",
)
NEVER_NULL: Mapping[str, tuple[str, ...]] = {
    "num_key_value_heads": (
        *_STRICT, "exaone4", "glm4_moe", "glm4_moe_lite", "jamba", "minimax", "mistral", "mixtral", "phimoe",
        "qwen3_moe", "stablelm", "starcoder2",
    ),
    "head_dim": (*_STRICT, "qwen3", "qwen3_vl_text"),
    "q_lora_rank": ("deepseek_v32", "glm_moe_dsa"),
    "n_shared_experts": ("deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa"),
}
# fmt: on
# Flags that add tensors: true, and unknown to the family, they would make the count wrong.
ADDING = (
    "attention_bias",
    "attention_out_bias",
    "lm_head_bias",
    "mamba_proj_bias",
    "mlp_bias",
    "qkv_bias",
    "use_bias",
    "use_qkv_bias",
    "use_qk_norm",
    "qk_layernorm",
    "qk_norm",
    "add_cross_attention",
)  # fmt: skip
# They are said of these, whose tensors have them in any case (or none with weights, in Llama 4).
ALWAYS: Mapping[str, tuple[str, ...]] = {
    "qwen2": ("attention_bias", "qkv_bias"),
    "phi": ("attention_bias",),
    "hunyuan_v1_dense": ("use_qk_norm",),
    "minimax_m2": ("use_qk_norm",),
    "llama4_text": ("use_qk_norm",),
}

# Groups of other models, and numbers of experts: given, and unknown to the family, they would be left out of the count.
GROUPS = ("text_config", "llm_config", "language_config", "vision_config", "audio_config")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")


@cache
def defaults() -> Mapping[str, Mapping[str, Any]]:
    """What an absent key means, by model_type; null is derived: from the heads, the hidden size, or left out."""
    found: Mapping[str, Mapping[str, Any]] = loads(
        resources.files("ckptplan.architectures").joinpath("defaults.json").read_text(encoding="utf-8")
    )
    return found
