"""Bytes of published files, whose weights may be held in fewer bits than they are trained in."""

from typing import NamedTuple

from ckptplan.cost.architecture import Architecture, TensorKind, Tensors
from ckptplan.errors import InputError

_MXFP4_GROUP = 32  # elements that share a scale of one byte
_WIDE = (TensorKind.ROUTER, TensorKind.NORM, TensorKind.OTHER, TensorKind.EMBEDDING, TensorKind.HEAD)


class Stored(NamedTuple):
    """Elements of the files by their width; extra modules and buffers are in them."""

    quantized: int
    scales: int
    single: int  # 32-bit: biases of the routers, in fp8 files
    half: int  # 16-bit: all else
    bytes: int


def stored(architecture: Architecture) -> Stored:
    """What the published files of a model hold.

    Notes
    -----
    fp8 (DeepSeek-V3, README_WEIGHTS): every matrix inside of the layers is 8-bit but router, norms and the projection
    of multi-token prediction, with a 32-bit scale for each block of 128 x 128; the biases of the routers are 32-bit.
    mxfp4 (gpt-oss, arXiv 2508.10925): matrices of experts have 4 bits, and 8 bits of scale for each 32 elements.
    Otherwise 16 bits for everything.
    """
    held = (*architecture.tensors, *architecture.extra)
    everything = sum(t.total for t in held)
    form = architecture.quantization
    if form is None:
        return Stored(0, 0, 0, everything, 2 * everything)
    if form.method not in ("fp8", "mxfp4"):
        raise InputError(
            f"how the files of {architecture.source or architecture.family} hold quantized weights is not known",
            hint="fp8 in blocks and mxfp4 are; the number of parameters is not concerned",
        )
    if form.method == "mxfp4":
        few = sum(t.total for t in held if t.kind is TensorKind.EXPERT and len(t.shape) - (t.experts > 1) == 2)
        scales, half = few // _MXFP4_GROUP, everything - few
        return Stored(few, scales, 0, half, few // 2 + scales + 2 * half)
    matrices = [t for t in held if _in_fp8(t)]
    few, scales = sum(t.total for t in matrices), sum(_blocks(t, form.block) for t in matrices)
    single = sum(t.total for t in held if t.kind is TensorKind.ROUTER and t.buffer)
    half = everything - few - single
    return Stored(few, scales, single, half, few + 4 * (scales + single) + 2 * half)


def stored_bytes(architecture: Architecture) -> int:
    """Bytes of the published files, their headers left out."""
    return stored(architecture).bytes


def _in_fp8(t: Tensors) -> bool:
    return bool(t.layers) and len(t.shape) - (t.experts > 1) == 2 and t.kind not in _WIDE and not t.buffer


def _blocks(t: Tensors, block: tuple[int, int]) -> int:
    """Blocks that have a scale, in all tensors of the shape."""
    rows, columns = t.shape[-2:]
    each = -(-rows // block[0]) * -(-columns // block[1])
    return t.copies * (t.elements // (rows * columns)) * each
