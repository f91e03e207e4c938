"""State-space layers, and models of nothing else: Mamba and Mamba 2."""

from typing import NamedTuple

from ckptplan.architectures.blocks import (
    At,
    Draft,
    Ends,
    Parts,
    embedding,
    head,
    matrix,
    norm,
    single,
)
from ckptplan.architectures.dimensions import Dimensions
from ckptplan.cost.architecture import Cut, Section, TensorKind

_SSM = TensorKind.SSM
BACKBONE = Ends("backbone.embeddings", "backbone.norm_f", "lm_head")


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
    inner = Inner(
        hidden, width, config.size("state_size"), config.size("conv_kernel"), step_rank(config, "time_step_rank")
    )
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
        config.model_type,
        layers,
        [*around(config, BACKBONE, hidden, tied=tied), *mixers, *norm(at, "norm", hidden)],
        tied,
    )


def around(config: Dimensions, ends: Ends, hidden: int, *, tied: bool) -> Parts:
    """Embedding, final norm and head."""
    vocabulary = config.size("vocab_size")
    return [
        *embedding(ends.embedding, vocabulary, hidden),
        *norm(At(""), ends.norm, hidden, end=True),
        *head(ends.head, vocabulary, hidden, tied=tied),
    ]


def step_rank(config: Dimensions, key: str) -> int:
    """Rank of the time step; ``auto`` is a sixteenth of the hidden size, rounded up."""
    return -(-config.size("hidden_size") // 16) if config.value(key) == "auto" else config.size(key)
