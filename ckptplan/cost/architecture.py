"""What a model consists of: its tensors with their shapes, layer by layer."""

import math
from enum import StrEnum
from typing import NamedTuple


class TensorKind(StrEnum):
    """What a tensor is for; decides where it lies and what one token uses of it."""

    EMBEDDING = "embedding"  # the input table
    POSITION = "position"  # learned positions
    HEAD = "head"  # the output matrix, and its bias
    NORM = "norm"
    ATTENTION = "attention"
    LINEAR_ATTENTION = "linear attention"
    SSM = "state space"
    INDEXER = "indexer"
    MLP = "mlp"
    ROUTER = "router"
    EXPERT = "expert"  # routed: a token uses some of them
    SHARED_EXPERT = "shared expert"  # every token uses it
    PROJECTION = "projection"
    SCALAR = "scalar"
    VISION = "vision"
    PROJECTOR = "projector"  # from another tower into the language model
    OTHER = "other"


class Cut(StrEnum):
    """How tensor parallelism divides a tensor, as Megatron Core does it."""

    COLUMN = "column"  # along the first axis: what leaves a layer's first matrices, and the vocabulary
    ROW = "row"  # along the second axis
    REPLICATED = "replicated"  # every rank holds all of it


class Section(NamedTuple):
    """Consecutive rows along the axis of a cut, in equal parts of which none is divided: heads, for example."""

    rows: int
    parts: int


class Tensors(NamedTuple):
    """Tensors of equal shape and purpose.

    ``name`` is that of the file, with ``{}`` for the number of the layer and a second one for that of the expert.
    ``layers`` are the layers of the language model that hold one (empty outside of them); ``each`` how many a layer
    holds, or how many there are outside of the layers. ``buffer``: a checkpoint holds it and no optimizer trains it.
    ``axis`` is the axis of the cut where it is not the usual one, and ``sections`` what must not be divided along it
    (empty: any row may be alone). ``experts`` is how many routed experts one tensor holds, stacked on its first axis.
    """

    name: str
    shape: tuple[int, ...]
    kind: TensorKind
    layers: tuple[int, ...] = ()
    each: int = 1
    cut: Cut = Cut.REPLICATED
    buffer: bool = False
    axis: int | None = None
    sections: tuple[Section, ...] = ()
    experts: int = 1
    at_end: bool = False  # outside of the layers: after them, not before

    @property
    def elements(self) -> int:
        """Elements of one tensor."""
        return math.prod(self.shape)

    @property
    def copies(self) -> int:
        """How many tensors of this shape there are."""
        return self.each * (len(self.layers) or 1)

    @property
    def total(self) -> int:
        """Elements of all of them."""
        return self.copies * self.elements


class Experts(NamedTuple):
    """Routed experts of a mixture; ``layers`` is how many layers have them."""

    routed: int
    per_token: int
    layers: int
    parameters_each: int


class Quantization(NamedTuple):
    """How published files hold most weights: in fewer bits, with one scale for each block."""

    method: str  # fp8, mxfp4, or other: a form that is not reckoned
    block: tuple[int, int] = (128, 128)  # rows and columns that share a scale; fp8 alone


class Architecture(NamedTuple):
    """Every tensor of a model. Layers outside of the language model (a vision tower) have no number."""

    family: str
    layers: int
    tensors: tuple[Tensors, ...]
    tied_head: bool = False  # the output matrix is the input table, stored once
    experts: Experts | None = None
    extra: tuple[Tensors, ...] = ()  # modules that the published files hold beside the model: multi-token prediction
    source: str = ""  # the file that it was read from
    assumed: tuple[str, ...] = ()  # keys that the configuration leaves out, with the values taken for them
    quantization: Quantization | None = None  # of the published files; what is trained is not quantized

    @property
    def total(self) -> int:
        """Parameters, a tied matrix counted once, buffers and extra modules left out."""
        return sum(t.total for t in self.tensors if not t.buffer)

    @property
    def active(self) -> int:
        """Parameters that one token uses: all but the routed experts that are not chosen."""
        if self.experts is None:
            return self.total
        unused = (self.experts.routed - self.experts.per_token) * self.experts.parameters_each * self.experts.layers
        return self.total - unused

    @property
    def with_tied_copies(self) -> int:
        """Parameters as a state dict lists them: a tied matrix twice."""
        return self.total + (self.of_kind(TensorKind.EMBEDDING) if self.tied_head else 0)

    @property
    def heads(self) -> int:
        """Attention heads of a layer, the most that one has; 0 where they are not known."""
        parts = (s.parts for t in self.tensors if t.kind is TensorKind.ATTENTION for s in t.sections)
        return max(parts, default=0)

    @property
    def buffers(self) -> int:
        """Elements that a checkpoint holds and no optimizer trains."""
        return sum(t.total for t in self.tensors if t.buffer)

    def of_kind(self, *kinds: TensorKind) -> int:
        """Parameters of some kinds."""
        return sum(t.total for t in self.tensors if t.kind in kinds and not t.buffer)
