"""Mixtures that hold all experts of a layer in one tensor: gpt-oss, Granite, Llama 4."""

from ckptplan.architectures.blocks import At, Feed, Parts, gated_mlp, matrix
from ckptplan.architectures.dimensions import Dimensions
from ckptplan.architectures.mixtures import routed
from ckptplan.cost.architecture import Cut, Experts, Section, TensorKind, Tensors


def stacked(
    at: At, name: str, shape: tuple[int, ...], cut: Cut, axis: int, *, sections: tuple[Section, ...] = ()
) -> Parts:
    """All experts of a layer in one tensor, the expert first."""
    return [
        Tensors(
            f"{at.prefix}{name}", shape, TensorKind.EXPERT, at.layers, at.each, cut,
            axis=axis, sections=sections, experts=shape[0],
        )
    ]  # fmt: skip


def halves(width: int) -> tuple[Section, ...]:
    """Gate and up beside one another."""
    return (Section(width, width), Section(width, width))


def gpt_oss_feed(config: Dimensions, at: At, hidden: int, layers: int) -> Feed:
    """Experts of gpt-oss: stacked, ``[expert, in, out]``, with biases, and a router with one."""
    number, per_token = routed(config, "num_local_experts", "num_experts_per_tok")
    width, inside = config.size("intermediate_size"), at.under("mlp")
    each = at.under("mlp.experts")
    tensors = [
        *matrix(inside, "router", (number, hidden), TensorKind.ROUTER, bias=True),
        *stacked(each, "gate_up_proj", (number, hidden, 2 * width), Cut.COLUMN, 2, sections=halves(width)),
        *stacked(each, "gate_up_proj_bias", (number, 2 * width), Cut.COLUMN, 1, sections=halves(width)),
        *stacked(each, "down_proj", (number, width, hidden), Cut.ROW, 1),
        *stacked(each, "down_proj_bias", (number, hidden), Cut.REPLICATED, 1),
    ]
    return Feed(tensors, Experts(number, per_token, layers, 3 * width * hidden + 2 * width + hidden))


def granite_feed(config: Dimensions, at: At, hidden: int, layers: int) -> Feed:
    """Experts of Granite: stacked, ``[expert, out, in]``."""
    number, per_token = routed(config, "num_local_experts", "num_experts_per_tok")
    width, inside = config.size("intermediate_size"), at.under("block_sparse_moe")
    tensors = [
        *stacked(inside, "input_linear.weight", (number, 2 * width, hidden), Cut.COLUMN, 1, sections=halves(width)),
        *stacked(inside, "output_linear.weight", (number, hidden, width), Cut.ROW, 2),
        *matrix(inside, "router.layer", (number, hidden), TensorKind.ROUTER),
    ]
    return Feed(tensors, Experts(number, per_token, layers, 3 * width * hidden))


def llama4_feed(config: Dimensions, at: At, hidden: int, layers: int) -> Feed:
    """Experts of Llama 4: stacked, ``[expert, in, out]``, in every few layers, with a shared one of the same width."""
    step = config.size("interleave_moe_layer_step")
    listed = config.has("moe_layers")
    sparse = config.numbers("moe_layers", layers) if listed else tuple(range(step - 1, layers, step))
    sparse = tuple(sorted(set(sparse)))
    dense = tuple(sorted(set(range(layers)) - set(sparse)))
    inside = at.under("feed_forward")
    tensors: Parts = []
    if dense:
        tensors += gated_mlp(inside.only(dense), hidden, config.size("intermediate_size_mlp"))
    if not sparse:
        return Feed(tensors)
    number, per_token = routed(config, "num_local_experts", "num_experts_per_tok")
    width, inside = config.size("intermediate_size"), inside.only(sparse)
    each = inside.under("experts")
    tensors += stacked(each, "gate_up_proj", (number, hidden, 2 * width), Cut.COLUMN, 2, sections=halves(width))
    tensors += stacked(each, "down_proj", (number, width, hidden), Cut.ROW, 1)
    tensors += matrix(inside, "router", (number, hidden), TensorKind.ROUTER)
    tensors += gated_mlp(inside.under("shared_expert"), hidden, width, kind=TensorKind.SHARED_EXPERT)
    return Feed(tensors, Experts(number, per_token, len(sparse), 3 * width * hidden))
