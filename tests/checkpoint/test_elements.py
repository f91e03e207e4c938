"""Elements to numbers and back: every number of the small types, and rounding against the conversions of others."""

import ml_dtypes
import numpy as np
import pytest

from ckptplan.checkpoint.elements import (
    REAL_PARTS,
    arithmetic,
    can_overflow,
    decode,
    decode_pairs,
    encode,
    encode_pairs,
    overflows,
)
from tests.checkpoint.average.folders import numpy_type

SMALL = [name for name in REAL_PARTS if name not in ("float32", "float64", "complex64", "complex128")]


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_every_number_of_a_small_type_comes_back(dtype: str, number: type) -> None:
    """All bit patterns are decoded as numpy or ml_dtypes do, signs of zero too, and finite ones encoded to the same."""
    kind = numpy_type(dtype)
    patterns = np.arange(2 ** (8 * kind.itemsize), dtype=f"u{kind.itemsize}")
    with np.errstate(all="ignore"):
        expected = patterns.view(kind).astype(number)
        found = np.empty(len(patterns), number)
        decode(patterns.view(np.uint8), dtype, found)
    np.testing.assert_array_equal(found, expected)
    assert (np.signbit(found) == np.signbit(expected))[~np.isnan(expected)].all()
    finite = patterns[np.isfinite(expected)]
    numbers = np.empty(len(finite), number)
    decode(finite.view(np.uint8), dtype, numbers)
    for known in (False, True):
        back = np.empty(len(finite) * kind.itemsize, np.uint8)
        encode(numbers.copy(), dtype, back, finite=known)
        np.testing.assert_array_equal(back.view(finite.dtype), finite)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_of_singles_is_that_of_other_libraries(dtype: str) -> None:
    """Random numbers of all sizes, ties among them, are rounded as numpy and ml_dtypes do."""
    rng = np.random.default_rng(1)
    scales = 10.0 ** rng.uniform(-9.0, 4.0, 200_000)
    ties = rng.integers(0, 2**20, 100_000) * 2.0**-27
    values = np.concatenate([rng.standard_normal(200_000) * scales, ties, -ties]).astype(np.float32)
    expected = values.astype(numpy_type(dtype))
    for finite in (False, True):
        out = np.empty(2 * len(values), np.uint8)
        encode(values.copy(), dtype, out, finite=finite)
        np.testing.assert_array_equal(out.view(np.uint16), expected.view(np.uint16))


def test_pairs_are_decoded_and_encoded_as_elements_are() -> None:
    """Even places first, then odd ones: all bit patterns of bfloat16 in two rows, and all roundings, as one by one."""
    patterns = np.arange(2**16, dtype=np.uint16)
    rows = np.stack([patterns, patterns[::-1]])
    expected, found = np.empty((2, 2, 2**16), np.float32)
    decode(rows.view(np.uint8), "bfloat16", expected)
    decode_pairs(rows.view(np.uint8), found)
    np.testing.assert_array_equal(
        found.view(np.uint32), np.concatenate([expected[:, 0::2], expected[:, 1::2]], axis=1).view(np.uint32)
    )
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**32, 200_000, dtype=np.uint32)
    bits[::3] = bits[::3] & 0xFFFF0000 | 0x8000  # ties
    values = bits.view(np.float32)[np.isfinite(bits.view(np.float32))]
    values = values[: len(values) & ~1]
    one, pairs = np.empty((2, 2 * len(values)), np.uint8)
    encode(values.copy(), "bfloat16", one)
    encode_pairs(np.concatenate([values[0::2], values[1::2]]), pairs, np.empty(len(values), np.uint32))
    np.testing.assert_array_equal(pairs, one)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(pairs.view(np.uint16), values.astype(ml_dtypes.bfloat16).view(np.uint16))


def test_doubles_are_rounded_once() -> None:
    """Just above a tie of bfloat16, by less than the last place of float32, is up: two roundings would go to even."""
    above, below = 1.0 + 2.0**-8 + 2.0**-40, 1.0 + 2.0**-7 + 2.0**-8 - 2.0**-40
    out = np.empty(8, np.uint8)
    encode(np.array([above, below, -above, 1.0 + 2.0**-8]), "bfloat16", out)
    found = out.view(ml_dtypes.bfloat16).astype(np.float64)
    assert found.tolist() == [1.0 + 2.0**-7, 1.0 + 2.0**-7, -1.0 - 2.0**-7, 1.0]
    assert np.float32(above) == np.float32(1.0 + 2.0**-8)  # so that rounding twice gives 1.0


def test_overflow_starts_half_a_place_above_the_largest_number() -> None:
    """What is called an overflow is exactly what another library rounds to infinity."""
    for dtype, largest in (("float16", 65504.0), ("bfloat16", float(ml_dtypes.finfo(ml_dtypes.bfloat16).max))):
        values = largest * (1.0 + np.linspace(-1e-2, 1e-2, 20_001)).astype(np.float32).astype(np.float64)
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
            infinite = np.isinf(values.astype(numpy_type(dtype)).astype(np.float32))
        np.testing.assert_array_equal(overflows(values, dtype), infinite & np.isfinite(values))
        assert infinite.any()


def test_which_types_can_overflow_and_how_to_compute() -> None:
    """float16 holds less than bfloat16; sums of 16 bits are float32 unless the result has more."""
    assert can_overflow("bfloat16", "float16")
    assert can_overflow("float32", "bfloat16")  # the largest float32 rounds to infinity
    assert not can_overflow("float16", "float32")
    assert arithmetic("bfloat16", "bfloat16") is np.float32
    assert arithmetic("bfloat16", "float32") is np.float64
    assert arithmetic("float32", "bfloat16") is np.float64
