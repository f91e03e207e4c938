"""Mixtures of experts whose layers are alike but for the feed-forward part: which have experts, what these hold."""

from collections.abc import Callable
from typing import NamedTuple

from ckptplan.architectures.blocks import At, Feed, Parts, gated_mlp, matrix, single
from ckptplan.architectures.decoder import ALL_BIASES, DECODERS, Decoder, Flag, QueryKeyNorm
from ckptplan.architectures.dimensions import Dimensions
from ckptplan.cost.architecture import Experts, TensorKind

Layers = Callable[[Dimensions, int], tuple[int, ...]]


class Mixture(NamedTuple):
    """Names, keys and rules of a family with one tensor for each matrix of an expert."""

    layers: Layers
    module: str = "mlp"
    router: str = "gate"
    correction: str = ""  # a bias for balancing, by expert
    correction_trained: bool = False
    matrices: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj")
    number: str = "num_local_experts"
    used: str = "num_experts_per_tok"
    width: str = "moe_intermediate_size"
    shared: Callable[[Dimensions, int], int] | None = None  # width of the shared expert
    shared_name: str = "shared_experts"
    shared_gate: bool = False
    bias: Flag = False  # of dense layers and of the shared expert
    dense: str = "mlp"  # module of a layer without experts


def everywhere(_config: Dimensions, layers: int) -> tuple[int, ...]:
    """Every layer has experts."""
    return tuple(range(layers))


def after_the_first(config: Dimensions, layers: int) -> tuple[int, ...]:
    """All but the first few layers have experts."""
    config.refuse("moe_layer_freq", (1,), "experts in some of the layers only are not known in this family")
    kinds = config.words("mlp_layer_types", layers, ("dense", "sparse"))
    first = config.count("first_k_dense_replace", 1)
    if first > layers and "first_k_dense_replace" in config.values:
        said = f"{first:,} dense layers, but the model has {layers:,}"
        config.contradiction(("first_k_dense_replace", "num_hidden_layers"), said)
    if kinds is None:
        return tuple(range(min(first, layers), layers))
    sparse = tuple(n for n, kind in enumerate(kinds) if kind == "sparse")
    if "first_k_dense_replace" in config.values and sparse != tuple(range(first, layers)):
        config.contradiction(
            ("mlp_layer_types", "first_k_dense_replace"),
            f"disagrees with first_k_dense_replace = {first}",
            "keep one of the two",
        )
    return sparse


def every_few(config: Dimensions, layers: int) -> tuple[int, ...]:
    """Each ``decoder_sparse_step``-th layer has experts, but for those that are listed as dense."""
    step = config.size("decoder_sparse_step")
    dense = frozenset(config.numbers("mlp_only_layers", layers))
    return tuple(n for n in range(step - 1, layers, step) if n not in dense)


def _in_interval(config: Dimensions, layers: int) -> tuple[int, ...]:
    step, start = config.size("moe_layer_interval"), config.count("moe_layer_start_index")
    given = config.value("moe_layer_end_index", -1)
    end = layers - 1 if given == -1 else config.count("moe_layer_end_index")
    return tuple(n for n in range(step - 1, layers, step) if start <= n <= end)


def shared_of(key: str) -> Callable[[Dimensions, int], int]:
    """Width of a shared expert that stands for a number of them."""

    def width(config: Dimensions, expert: int) -> int:
        return expert * (config.maybe(key, 0, least=0) or 0)

    return width


def _shared_own(config: Dimensions, _expert: int) -> int:
    return config.size("shared_expert_intermediate_size")


QWEN2_MOE = Mixture(
    every_few,
    number="num_experts",
    shared=_shared_own,
    shared_name="shared_expert",
    shared_gate=True,
)
BLOCK_SPARSE = Mixture(everywhere, module="block_sparse_moe", matrices=("w1", "w3", "w2"), width="intermediate_size")
DEEPSEEK_V2 = Mixture(after_the_first, number="n_routed_experts", shared=shared_of("n_shared_experts"))
DEEPSEEK_V3 = DEEPSEEK_V2._replace(correction="gate.e_score_correction_bias")
KIMI_LINEAR = DEEPSEEK_V3._replace(
    module="block_sparse_moe",
    matrices=("w1", "w3", "w2"),
    number="num_experts",
    used="num_experts_per_token",
    shared=shared_of("num_shared_experts"),
)

MIXTURES: dict[str, tuple[Decoder, Mixture]] = {
    "mixtral": (Decoder(), BLOCK_SPARSE),
    "minimax_m2": (
        Decoder(query_key=QueryKeyNorm.ALL),
        BLOCK_SPARSE._replace(correction="e_score_correction_bias"),
    ),
    "phimoe": (
        Decoder(norm_bias=True, qkv_bias=ALL_BIASES, out_bias=ALL_BIASES, head_bias="lm_head_bias"),
        BLOCK_SPARSE,
    ),
    "olmoe": (
        Decoder(qkv_bias=ALL_BIASES, out_bias=ALL_BIASES, query_key=QueryKeyNorm.ALL),
        Mixture(everywhere, number="num_experts", width="intermediate_size"),
    ),
    "qwen2_moe": (Decoder(qkv_bias="qkv_bias"), QWEN2_MOE),
    "qwen3_moe": (DECODERS["qwen3"], Mixture(every_few)),
    "glm4_moe": (
        Decoder(qkv_bias=ALL_BIASES, query_key=QueryKeyNorm.HEAD, query_key_if="use_qk_norm"),
        DEEPSEEK_V3,
    ),
    "dots1": (DECODERS["qwen3"], DEEPSEEK_V3),
    "ernie4_5_moe": (
        DECODERS["ernie4_5"]._replace(head_bias="use_bias"),
        Mixture(
            _in_interval,
            correction="moe_statics.e_score_correction_bias",
            correction_trained=True,
            number="moe_num_experts",
            used="moe_k",
            shared=shared_of("moe_num_shared_experts"),
            bias="use_bias",
        ),
    ),
}


def minimax_m2_feed(config: Dimensions, at: At, hidden: int, layers: int) -> Feed:
    """Experts of MiniMax M2, in the variant that is published."""
    config.refuse("shared_intermediate_size", (None, 0), "a shared expert is not known in this family")
    config.refuse("qk_norm_type", (None, "per_layer"), "other norms of queries and keys are not known in this family")
    config.refuse("use_routing_bias", (None, True), "a router without a bias is not known in this family")
    return experts_feed(MIXTURES["minimax_m2"][1])(config, at, hidden, layers)


def experts_feed(mixture: Mixture) -> Callable[[Dimensions, At, int, int], Feed]:
    """Feed-forward parts of a family: dense layers, router, routed and shared experts."""

    def feed(config: Dimensions, at: At, hidden: int, layers: int) -> Feed:
        sparse = mixture.layers(config, layers)
        kept = frozenset(sparse)
        dense = tuple(n for n in range(layers) if n not in kept)
        bias = config.flag(mixture.bias) if isinstance(mixture.bias, str) else mixture.bias
        tensors: Parts = []
        if dense:
            tensors += gated_mlp(
                at.only(dense).under(mixture.dense), hidden, config.size("intermediate_size"), bias=bias
            )
        if not sparse:
            return Feed(tensors)
        inner = mixture_layer(config, mixture, at.only(sparse).under(mixture.module), hidden, bias)
        return Feed(tensors + inner.tensors, inner.experts)

    return feed


def mixture_layer(config: Dimensions, mixture: Mixture, at: At, hidden: int, bias: bool = False) -> Feed:
    """Router, routed experts and shared expert of the layers that have them."""
    number, per_token = routed(config, mixture.number, mixture.used)
    width = config.size(mixture.width)
    tensors = matrix(at, mixture.router, (number, hidden), TensorKind.ROUTER)
    if mixture.correction:
        shape = (1, number) if mixture.correction_trained else (number,)
        tensors += single(at, mixture.correction, shape, TensorKind.ROUTER, buffer=not mixture.correction_trained)
    each = at.under("experts.{}").many(number)
    tensors += gated_mlp(each, hidden, width, mixture.matrices, kind=TensorKind.EXPERT)
    shared = mixture.shared(config, width) if mixture.shared else 0
    if shared:
        inside = at.under(mixture.shared_name)
        tensors += gated_mlp(inside, hidden, shared, bias=bias, kind=TensorKind.SHARED_EXPERT)
    if mixture.shared_gate:
        tensors += matrix(at, "shared_expert_gate", (1, hidden), TensorKind.SHARED_EXPERT)
    return Feed(tensors, Experts(number, per_token, len(at.layers), 3 * width * hidden))


def routed(config: Dimensions, number_key: str, per_token_key: str) -> tuple[int, int]:
    """Experts of a layer, and how many of them a token uses."""
    number, per_token = config.size(number_key), config.size(per_token_key)
    if per_token > number:
        config.contradiction((per_token_key, number_key), f"{per_token:,} of {number:,} experts")
    return number, per_token
