"""Stored elements as floating-point numbers, and back: rounded once, to nearest even; an overflow is counted."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[Any]  # float32 or float64

# Types whose elements are numbers that a mean has a meaning for, with the type of their real parts.
REAL_PARTS = {
    "float64": "float64",
    "float32": "float32",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
    "complex64": "float32",
    "complex128": "float64",
}
# The largest numbers; of FP8 they do not matter, since nothing is converted to it.
_LARGEST = {
    "float64": float.fromhex("0x1.fffffffffffffp1023"),
    "float32": float.fromhex("0x1.fffffep127"),
    "bfloat16": float.fromhex("0x1.fep127"),
    "float16": 65504.0,
}
_DIGITS = {"float64": 53, "float32": 24, "bfloat16": 8, "float16": 11}
_NARROW = np.uint32(0x8FFFE000)  # the bits of a float16, moved to those of a float32
_REBIAS = np.float32(2.0**112)  # from the exponents of float16 to those of float32
_HALF_INFINITY = 0x7C00
# Constants of words as arrays without axes: a call with one takes half as long as with a number.
_ONE, _SIXTEEN = (np.array(number, dtype=np.uint32) for number in (1, 16))
_UPPER = np.array(0xFFFF0000, dtype=np.uint32)
_BELOW_HALF = np.array(0x7FFF, dtype=np.uint32)  # of the last place of a bfloat16 in a float32, less one unit


def real_bytes(dtype: str) -> int:
    """Bytes of one real part. [bytes]."""
    return {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}.get(REAL_PARTS[dtype], 1)


def arithmetic(*dtypes: str) -> type[np.float32 | np.float64]:
    """The type to compute in: float32 has 13 bits more than types of 16 bits, float64 29 more than float32."""
    return np.float64 if any(real_bytes(dtype) > 2 for dtype in dtypes) else np.float32


def decode(raw: Bytes, dtype: str, out: Floats) -> None:
    """Stored bytes as numbers, exactly.

    Parameters
    ----------
    raw : ndarray of uint8
        Elements of one type, little-endian, in any shape.
    dtype : str
        One of REAL_PARTS; complex numbers are two real parts.
    out : ndarray of float32 or float64
        One place for each real part along the last axis. float32 holds every type of up to 32 bits. A NaN may raise
        numpy's warning of an invalid value: compute within ``numpy.errstate``.
    """
    part = REAL_PARTS[dtype]
    if part == "bfloat16" and out.dtype == np.float32:
        np.left_shift(raw.view(np.uint16), 16, out=out.view(np.uint32), dtype=np.uint32)
    elif part == "float16" and out.dtype == np.float32:
        _decode_half(raw, out)
    elif real_bytes(part) == 1:
        np.take(_table(part), raw, out=out, mode="clip") if out.dtype == np.float32 else np.copyto(
            out, _table(part)[raw]
        )
    elif part == "bfloat16":
        np.copyto(out, np.left_shift(raw.view(np.uint16), 16, dtype=np.uint32).view(np.float32))
    else:
        np.copyto(out, raw.view(part), casting="same_kind")


def _decode_half(raw: Bytes, out: Floats) -> None:
    """By shifting bits: four times as fast as the conversion of numpy, and as exact, subnormal numbers included."""
    largest = (raw.view(np.int16).max(initial=0), raw.view(np.uint16).max(initial=0) - 0x8000)  # of either sign
    if max(map(int, largest)) >= _HALF_INFINITY:
        np.copyto(out, raw.view(np.float16))
        return
    bits = out.view(np.uint32)
    np.left_shift(raw.view(np.int16), 13, out=out.view(np.int32), dtype=np.int32)
    np.bitwise_and(bits, _NARROW, out=bits)
    np.multiply(out, _REBIAS, out=out)


def decode_pairs(raw: Bytes, out: Floats) -> None:
    """What ``decode`` does for an even number of bfloat16, in another order and in two thirds of its time.

    Parameters
    ----------
    raw : ndarray of uint8
        Rows of elements that start at multiples of 4 bytes.
    out : ndarray of float32
        First the elements at even places of each row, then those at odd ones: words of two elements are shifted and
        masked as they are, with no conversion to wider ones.
    """
    pairs, bits = raw.view(np.uint32), out.view(np.uint32)
    np.left_shift(pairs, _SIXTEEN, out=bits[..., : pairs.shape[-1]])
    np.bitwise_and(pairs, _UPPER, out=bits[..., pairs.shape[-1] :])


def encode_pairs(values: Floats, out: Bytes, scratch: NDArray[np.uint32]) -> None:
    """What ``encode`` does to bfloat16 for finite float32 in the order of ``decode_pairs``.

    Parameters
    ----------
    values : ndarray of float32
        An even number of them; none is infinite or NaN.
    out : ndarray of uint8
        Room for the elements, from a multiple of 4 bytes on.
    scratch : ndarray of uint32
        As many as there are values.
    """
    pairs = out.view(np.uint32)
    even, odd = scratch[: pairs.size], scratch[pairs.size :]
    _round_bfloat(values.view(np.uint32), scratch)
    np.bitwise_and(odd, _UPPER, out=odd)
    np.right_shift(even, _SIXTEEN, out=even)
    np.bitwise_or(even, odd, out=pairs)


def encode(
    values: Floats, dtype: str, out: Bytes, *, finite: bool = False, scratch: NDArray[np.uint32] | None = None
) -> None:
    """Numbers as stored bytes, rounded once to nearest, ties to even; too large ones become infinite (or NaN).

    Parameters
    ----------
    values : ndarray of float32 or float64
        Used up: their memory serves as scratch.
    dtype : str
        One of REAL_PARTS.
    out : ndarray of uint8
        Room for the elements.
    finite : bool
        None of them is infinite or NaN: saves a pass.
    scratch : ndarray of uint32, optional
        As many as there are values; else memory is asked for, which a loop over blocks should not do.
    """
    part = REAL_PARTS[dtype]
    scratch = np.empty(values.size, dtype=np.uint32) if scratch is None else scratch
    if part == "bfloat16":
        _encode_bfloat(values, out, scratch, finite=finite)
    elif part == "float16" and values.dtype == np.float32 and finite:
        _encode_half(values, out, scratch)
    elif part in ("float16", "float32", "float64"):
        np.copyto(out.view(part), values, casting="same_kind")
    else:
        np.copyto(out, _to_odd(values).astype(_small(part)).view(np.uint8))


def _encode_bfloat(values: Floats, out: Bytes, last: NDArray[np.uint32], *, finite: bool) -> None:
    values = _to_odd(values)
    if not finite and not np.isfinite(values).all():
        np.copyto(out.view(np.uint16), values.astype(_small("bfloat16")).view(np.uint16))
        return
    bits = values.view(np.uint32)
    _round_bfloat(bits, last)
    np.right_shift(last, _SIXTEEN, out=bits)
    np.copyto(out.view(np.uint16), bits, casting="unsafe")


def _round_bfloat(bits: NDArray[np.uint32], rounded: NDArray[np.uint32]) -> None:
    """The bits of finite float32 so that the upper half is the nearest bfloat16; the lower half is of no meaning."""
    np.right_shift(bits, _SIXTEEN, out=rounded)
    np.bitwise_and(rounded, _ONE, out=rounded)
    np.add(rounded, _BELOW_HALF, out=rounded)  # half of the last place, one unit less if that place is even
    np.add(bits, rounded, out=rounded)


def _encode_half(values: Floats, out: Bytes, step: NDArray[np.uint32]) -> None:
    """By shifting bits: three times as fast as the conversion of numpy, and the same.

    Adding and taking away 2^13 times the power of two below a number rounds it to the 11 bits of float16; below 2^-14
    its last place stays that of the subnormal numbers.
    """
    bits = values.view(np.uint32)
    halves = out.view(np.uint16)
    np.right_shift(bits, 16, out=step)
    np.bitwise_and(step, 0x8000, out=halves, casting="unsafe")  # the signs
    np.bitwise_and(bits, 0x7FFFFFFF, out=bits)
    np.minimum(values, np.float32(65536.0), out=values)
    np.bitwise_and(bits, 0x7F800000, out=step)
    np.maximum(step, np.uint32(113 << 23), out=step)
    np.add(step, np.uint32(13 << 23), out=step)
    np.add(values, step.view(np.float32), out=values)
    np.subtract(values, step.view(np.float32), out=values)
    np.multiply(values, np.float32(2.0**-112), out=values)
    np.right_shift(bits, 13, out=bits)
    np.bitwise_or(bits, halves, out=halves, casting="unsafe")


def _to_odd(values: Floats) -> NDArray[np.float32]:
    """Double to single precision so that a second rounding gives what a single one would.

    Rounded to odd: what is not exact has the last bit set (Boldo and Melquiond 2008, IEEE Trans. Comput. 57, theorem 3:
    innocuous where two bits are to spare).
    """
    if values.dtype == np.float32:
        return values
    rounded = values.astype(np.float32)
    back = rounded.astype(np.float64)
    bits = rounded.view(np.uint32)
    beyond = np.abs(back) > np.abs(values)
    bits -= beyond.view(np.uint8)  # one place towards zero
    bits |= (back != values).view(np.uint8)
    return rounded


def can_overflow(dtype: str, to: str) -> bool:
    """Whether one type holds numbers that another would round to infinity."""
    part, other = REAL_PARTS[dtype], REAL_PARTS[to]
    return _LARGEST.get(part, 0.0) > _LARGEST.get(other, math.inf)


def overflows(values: Floats, dtype: str) -> NDArray[np.bool_]:
    """Which finite numbers a type would hold as infinite: from half a last place above its largest number on."""
    part = REAL_PARTS[dtype]
    half_a_place = math.ulp(_LARGEST[part]) * 2.0 ** (52 - _DIGITS[part])
    return np.isfinite(values) & (np.abs(values) >= _LARGEST[part] + half_a_place)


@cache
def _small(part: str) -> np.dtype[Any]:
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, part))
    return found


@cache
def _table(part: str) -> NDArray[np.float32]:
    """The number behind each of the 256 bytes."""
    return np.arange(256, dtype=np.uint8).view(_small(part)).astype(np.float32)
