"""The parts that layers are made of, as tensors: matrices that are cut by columns or rows, norms, attention, MLPs."""

from typing import NamedTuple

from ckptplan.architectures.dimensions import Dimensions
from ckptplan.cost.architecture import Cut, Experts, Section, TensorKind, Tensors

Parts = list[Tensors]


class At(NamedTuple):
    """Where tensors are: the start of their names, and the layers that hold them."""

    prefix: str
    layers: tuple[int, ...] = ()
    each: int = 1

    def under(self, name: str) -> "At":
        """A module inside."""
        return self._replace(prefix=f"{self.prefix}{name}.")

    def only(self, layers: tuple[int, ...]) -> "At":
        """The same module of some layers; of none, no tensor is left."""
        return self._replace(layers=layers, each=self.each if layers else 0)

    def many(self, number: int) -> "At":
        """A number of modules in each layer."""
        return self._replace(each=self.each * number)


class Ends(NamedTuple):
    """Names of what is outside of the layers."""

    embedding: str = "model.embed_tokens"
    norm: str = "model.norm"
    head: str = "lm_head"


class Heads(NamedTuple):
    """Widths of attention."""

    hidden: int
    queries: int
    keys: int  # key-value heads
    size: int


class Draft(NamedTuple):
    """A model as its family builds it, before it is checked."""

    family: str
    layers: int
    tensors: Parts
    tied: bool
    experts: Experts | None = None
    extra: Parts = []  # noqa: RUF012 - never changed


class Feed(NamedTuple):
    """Feed-forward tensors, and what they have in routed experts."""

    tensors: Parts
    experts: Experts | None = None


def matrix(
    at: At, name: str, shape: tuple[int, ...], kind: TensorKind, cut: Cut = Cut.REPLICATED, *, heads: int = 0,
    sections: tuple[Section, ...] = (), bias: bool = False,
) -> Parts:  # fmt: skip
    """A weight ``[out, in]`` and its bias; ``heads`` along the cut are not divided."""
    if heads:
        sections = (Section(shape[int(cut is Cut.ROW)], heads),)
    weight = Tensors(f"{at.prefix}{name}.weight", shape, kind, at.layers, at.each, cut, sections=sections)
    if not bias:
        return [weight]
    column = cut is Cut.COLUMN
    held = (cut, sections) if column else (Cut.REPLICATED, ())
    return [weight, Tensors(f"{at.prefix}{name}.bias", shape[:1], kind, at.layers, at.each, held[0], sections=held[1])]


def single(
    at: At, name: str, shape: tuple[int, ...], kind: TensorKind, cut: Cut = Cut.REPLICATED, *, buffer: bool = False
) -> Parts:
    """One tensor of any form."""
    return [Tensors(f"{at.prefix}{name}", shape, kind, at.layers, at.each, cut, buffer)]


def norm(at: At, name: str, width: int, *, bias: bool = False, end: bool = False) -> Parts:
    """Scale of a norm, with its shift in a LayerNorm."""
    return [
        Tensors(f"{at.prefix}{name}.{part}", (width,), TensorKind.NORM, at.layers, at.each, at_end=end)
        for part in (("weight", "bias") if bias else ("weight",))
    ]


def embedding(name: str, rows: int, width: int) -> Parts:
    """The input table."""
    return [Tensors(f"{name}.weight", (rows, width), TensorKind.EMBEDDING, cut=Cut.COLUMN)]


def positions(name: str, rows: int, width: int) -> Parts:
    """Learned positions, on every rank."""
    return [Tensors(f"{name}.weight", (rows, width), TensorKind.POSITION)]


def head(name: str, rows: int, width: int, *, tied: bool, bias: bool = False) -> Parts:
    """The output matrix where it is not the input table, and its bias in any case."""
    shapes = {"weight": (rows, width)} if not tied else {}
    shapes |= {"bias": (rows,)} if bias else {}  # type: ignore[dict-item]
    return [
        Tensors(f"{name}.{part}", shape, TensorKind.HEAD, cut=Cut.COLUMN, at_end=True) for part, shape in shapes.items()
    ]


def heads_of(config: Dimensions, *, own_size: bool = True) -> Heads:
    """Heads of a configuration with the usual keys; ``own_size``: a head_dim that is given counts."""
    hidden, queries = config.size("hidden_size"), config.size("num_attention_heads")
    keys = config.maybe("num_key_value_heads", queries) or 1
    if queries % keys:
        config.contradiction(
            ("num_key_value_heads", "num_attention_heads"), f"{keys:,} does not divide the {queries:,} heads"
        )
    said = "head_dim" in config.values or "head_dim" in config.defaulted
    if not own_size or not said:
        return Heads(hidden, queries, keys, per_head(config, hidden, queries))
    size = config.maybe("head_dim") if config.has("head_dim") or config.defaulted.get("head_dim") else None
    derived = size or per_head(config, hidden, queries)
    return Heads(hidden, queries, keys, size or config.maybe("head_dim", derived) or derived)


def per_head(
    config: Dimensions, hidden: int, queries: int, keys: tuple[str, str] = ("hidden_size", "num_attention_heads")
) -> int:
    """Width of a head where it follows from the hidden size."""
    if hidden % queries:
        config.contradiction(keys, f"{hidden:,} is not a multiple of the {queries:,} heads")
    return max(1, hidden // queries)


def attention(
    at: At, h: Heads, names: tuple[str, str, str, str] = ("q_proj", "k_proj", "v_proj", "o_proj"), *,
    bias: bool = False, out_bias: bool = False, query_parts: int = 1, kind: TensorKind = TensorKind.ATTENTION,
) -> Parts:  # fmt: skip
    """Queries, keys and values apart, and the way back; ``query_parts`` is 2 where queries carry a gate."""
    q, k, v, o = names
    wide, narrow = h.queries * h.size, h.keys * h.size
    return [
        *matrix(at, q, (query_parts * wide, h.hidden), kind, Cut.COLUMN, heads=h.queries, bias=bias),
        *matrix(at, k, (narrow, h.hidden), kind, Cut.COLUMN, heads=h.keys, bias=bias),
        *matrix(at, v, (narrow, h.hidden), kind, Cut.COLUMN, heads=h.keys, bias=bias),
        *matrix(at, o, (h.hidden, wide), kind, Cut.ROW, heads=h.queries, bias=out_bias),
    ]


def fused_attention(at: At, h: Heads, names: tuple[str, str], *, bias: bool = False, out_bias: bool = False) -> Parts:
    """Queries, keys and values in one matrix, and the way back."""
    wide, narrow = h.queries * h.size, h.keys * h.size
    parts = (Section(wide, h.queries), Section(narrow, h.keys), Section(narrow, h.keys))
    kind = TensorKind.ATTENTION
    return [
        *matrix(at, names[0], (wide + 2 * narrow, h.hidden), kind, Cut.COLUMN, sections=parts, bias=bias),
        *matrix(at, names[1], (h.hidden, wide), kind, Cut.ROW, heads=h.queries, bias=out_bias),
    ]


def gated_mlp(
    at: At, hidden: int, width: int, names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"), *,
    bias: bool = False, kind: TensorKind = TensorKind.MLP,
) -> Parts:  # fmt: skip
    """Gate, up and down."""
    gate, up, down = names
    return [
        *matrix(at, gate, (width, hidden), kind, Cut.COLUMN, bias=bias),
        *mlp(at, hidden, width, (up, down), bias=bias, kind=kind),
    ]


def fused_mlp(at: At, hidden: int, width: int) -> Parts:
    """Gate and up in one matrix, and down."""
    halves = (Section(width, width), Section(width, width))
    return [
        *matrix(at, "gate_up_proj", (2 * width, hidden), TensorKind.MLP, Cut.COLUMN, sections=halves),
        *matrix(at, "down_proj", (hidden, width), TensorKind.MLP, Cut.ROW),
    ]


def mlp(
    at: At, hidden: int, width: int, names: tuple[str, str] = ("up_proj", "down_proj"), *,
    bias: bool = False, kind: TensorKind = TensorKind.MLP,
) -> Parts:  # fmt: skip
    """Up and down, without a gate."""
    return [
        *matrix(at, names[0], (width, hidden), kind, Cut.COLUMN, bias=bias),
        *matrix(at, names[1], (hidden, width), kind, Cut.ROW, bias=bias),
    ]
