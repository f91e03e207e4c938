"""The mean of blocks against 40-digit and exact arithmetic, for ordinary and for strange numbers."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from ckptplan.checkpoint.average.kernel import Kernel
from ckptplan.checkpoint.elements import REAL_PARTS, real_bytes
from tests.checkpoint.average.folders import numpy_type

WEIGHTS = (0.5, 0.25, 0.125, 0.125)  # exact, as is their sum
DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
LEAST = {"float64": -1074, "float32": -149, "float16": -24, "bfloat16": -133}
REAL = sorted(set(REAL_PARTS.values()))


def neighbours(dtype: str, elements: int, checkpoints: int = 4, apart: float = 1e-2) -> NDArray[np.generic]:
    """Checkpoints near each other, of numbers of all sizes."""
    rng = np.random.default_rng(elements)
    centre = rng.standard_normal(elements) * 10.0 ** rng.uniform(-4.0, 1.0, elements)
    moved = centre * (1.0 + apart * rng.standard_normal((checkpoints, elements)))
    return moved.astype(numpy_type(dtype))


def mean_of(values: NDArray[np.generic], to: str | None = None, weights: tuple[float, ...] = WEIGHTS) -> tuple:
    """The kernel's mean, and what it tells."""
    dtype = values.dtype.name
    out = np.empty(values.shape[1] * real_bytes(to or dtype), np.uint8)
    told = Kernel(dtype, to or dtype, weights).mean(values.view(np.uint8).reshape(len(values), -1), out)
    return out.view(numpy_type(to or dtype)), told


@pytest.mark.parametrize(
    ("dtype", "to", "beyond"),
    [
        # Beyond half a last place: rounding errors of the sum, in last places of the result.
        ("bfloat16", "bfloat16", 1e-4),  # 16 bits more than the result
        ("float16", "float16", 1e-3),  # 13 bits more
        ("float32", "float32", 1e-7),
        ("float32", "bfloat16", 1e-9),
        ("bfloat16", "float32", 1e-7),
        ("float64", "float64", 0.1),  # differences of at most 5 %: 5 roundings of 2^-6 places at most
    ],
)
def test_means_are_those_of_40_digits(dtype: str, to: str, beyond: float) -> None:
    """Each mean is within half a last place of the exact one, and what the sum itself may add."""
    values = neighbours(dtype, 3_000)
    found, _ = mean_of(values, to)
    with mpmath.workdps(40):
        for column, mean in zip(values.T.astype(np.float64).tolist(), found.astype(np.float64).tolist(), strict=True):
            exact = mpmath.fsum(mpmath.mpf(w) * mpmath.mpf(x) for w, x in zip(WEIGHTS, column, strict=True))
            exponent = max(int(mpmath.floor(mpmath.log(abs(exact), 2))) - DIGITS[to] + 1, LEAST[to])
            assert abs(mpmath.mpf(mean) - exact) <= mpmath.mpf(2) ** exponent * (0.5 + beyond)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_uniform_means_are_nearly_all_the_nearest_numbers(dtype: str) -> None:
    """Against exact fractions, not one mean in a thousand is another number than the nearest one."""
    values = neighbours(dtype, 4_000, checkpoints=3)
    found, _ = mean_of(values, weights=(1 / 3, 1 / 3, 1 / 3))
    exact = [sum(Fraction(x) for x in column) / 3 for column in values.T.astype(np.float64).tolist()]
    nearest = np.array([float(value) for value in exact]).astype(numpy_type(dtype))
    assert np.count_nonzero(found != nearest) <= len(exact) // 1000


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("checkpoints", [2, 3, 7])
def test_equal_checkpoints_give_the_same_bits(dtype: str, checkpoints: int) -> None:
    """Every bit pattern of the type, or random ones: zeros keep their sign, NaN their bits, infinities stay."""
    width = numpy_type(dtype).itemsize
    rng = np.random.default_rng(3)
    patterns = np.arange(2 ** (8 * width), dtype=f"u{width}") if width < 4 else rng.bytes(width * 70_000)
    raw = np.frombuffer(bytes(patterns), np.uint8)
    weights = tuple((rng.dirichlet(np.ones(checkpoints))).tolist())
    out = np.empty(raw.size, np.uint8)
    told = Kernel(dtype, dtype, weights).mean(np.tile(raw, (checkpoints, 1)), out)
    np.testing.assert_array_equal(out, raw)
    assert told.gram[1:].tolist() == np.zeros((checkpoints - 1, checkpoints)).tolist()


def test_signs_of_zero_and_subnormal_numbers_survive() -> None:
    """A block of nothing but the smallest numbers and zeros comes back as it is."""
    for dtype in ("float32", "bfloat16", "float16"):
        width = numpy_type(dtype).itemsize
        sign = 1 << (8 * width - 1)
        patterns = np.array([0, sign, 1, sign + 1, 5], dtype=f"u{width}")
        raw = np.tile(patterns.view(np.uint8), (3, 1))
        out = np.empty(raw.shape[1], np.uint8)
        Kernel(dtype, dtype, (0.2, 0.3, 0.5)).mean(raw, out)
        np.testing.assert_array_equal(out.view(patterns.dtype), patterns)


def test_infinities_and_nan_follow_the_arithmetic_and_are_counted() -> None:
    """Infinity with a number is infinity, two opposite ones and NaN are NaN, and the other elements are not touched."""
    values = np.array([[np.inf, np.inf, 1.0, 2.0, np.nan], [1.0, -np.inf, 3.0, np.inf, 1.0]], np.float32)
    found, told = mean_of(values, weights=(0.5, 0.5))
    np.testing.assert_array_equal(found, [np.inf, np.nan, 2.0, np.inf, np.nan])
    assert told.not_finite == (3, 2)
    assert told.gram.tolist() == [[5.0, 0.0], [0.0, 4.0]]


def test_the_largest_numbers_of_a_type_have_a_mean() -> None:
    """Differences of opposite huge numbers overflow; their mean does not."""
    for dtype in ("float64", "float32", "bfloat16", "float16"):
        kind = numpy_type(dtype)
        largest = {
            "float16": 65504.0,
            "float32": float(np.finfo(np.float32).max),
            "float64": float(np.finfo(float).max),
        }
        huge = np.array(largest.get(dtype, 3.3895313892515355e38)).astype(kind)
        values = np.array([[huge, huge, 1.0], [-huge, huge, 3.0]]).astype(kind)
        found, told = mean_of(values, weights=(0.5, 0.5))
        np.testing.assert_array_equal(found.astype(float), [0.0, float(huge), 2.0])
        assert told.not_finite == (0, 0)


def test_a_mean_too_large_for_the_type_is_counted() -> None:
    """bfloat16 to float16: 65,519 fits, 65,536 does not; to bfloat16 it would."""
    values = np.array([[65536.0, 60000.0], [65536.0, 70000.0]], np.float32)
    assert mean_of(values, "float16", (0.5, 0.5))[1].overflowed == 1
    assert mean_of(values, "bfloat16", (0.5, 0.5))[1].overflowed == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_means_do_not_depend_on_where_blocks_are_cut(dtype: str) -> None:
    """Whole passes, their remainders and odd numbers of elements: each element has the bits it has in a short block."""
    values = neighbours(dtype, 280_001, checkpoints=3)
    weights = (0.2, 0.3, 0.5)
    whole, _ = mean_of(values, weights=weights)
    for start, stop in ((0, 101), (139_002, 139_051), (262_100, 262_200), (279_900, 280_001)):
        alone, _ = mean_of(values[:, start:stop].copy(), weights=weights)
        np.testing.assert_array_equal(whole[start:stop], alone)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_inner_products_are_those_of_exact_sums(dtype: str) -> None:
    """Over several passes and pieces of unequal length: against float64 sums of the stored numbers."""
    values = neighbours(dtype, 300_001, checkpoints=3)
    _, told = mean_of(values, weights=(0.2, 0.3, 0.5))
    wide = values.astype(np.float64)
    apart = wide[0] - wide
    apart[0] = wide[0]
    expected = apart @ apart.T
    expected[0, 1:] = expected[1:, 0] = 0.0
    tolerance = 1e-13 if dtype == "float32" else 2e-6  # sums of 8,192 numbers are of the type of the arithmetic
    np.testing.assert_allclose(told.gram, expected, rtol=tolerance, atol=tolerance * expected[2, 2])


def test_differences_too_small_for_single_precision_are_not_lost() -> None:
    """Numbers near 1e-25, whose squares are nothing in float32, still have distances."""
    values = np.array([[1e-25] * 100, [2e-25] * 100]).astype(numpy_type("bfloat16"))
    apart = float(values[1, 0]) - float(values[0, 0])
    _, told = mean_of(values, weights=(0.5, 0.5))
    assert told.gram[1, 1] == pytest.approx(100 * apart**2, rel=1e-12)
