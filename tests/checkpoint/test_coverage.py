"""Whether boxes tile a tensor, against a count of every element."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptplan.checkpoint import coverage_search as room
from ckptplan.checkpoint.coverage import Coverage, coverage


def _boxes(rows):
    axes = len(rows[0][0]) if rows else 0
    offsets = np.array([row[0] for row in rows], dtype=np.int64).reshape(len(rows), axes)
    sizes = np.array([row[1] for row in rows], dtype=np.int64).reshape(len(rows), axes)
    return offsets, sizes


def _covered(shape, rows, flat=False):
    extent = (math.prod(shape),) if flat else tuple(shape)
    return coverage(shape, *(part.reshape(len(rows), len(extent)) for part in _boxes(rows)), flat=flat)


def _counted(shape, rows):
    """How often each element is covered, whose boxes share one, and which boxes leave the tensor, one by one."""
    held: dict[tuple[int, ...], list[int]] = {at: [] for at in itertools.product(*(range(n) for n in shape))}
    outside = []
    for number, (offset, size) in enumerate(rows):
        if any(o < 0 or s < 0 or o + s > n for o, s, n in zip(offset, size, shape, strict=True)):
            outside.append(number)
        for at in itertools.product(*(range(o, o + s) for o, s in zip(offset, size, strict=True))):
            if at in held:
                held[at].append(number)
    sharing = {row for rows_at in held.values() if len(rows_at) > 1 for row in rows_at}
    missing = [at for at, rows_at in held.items() if not rows_at]
    pairs = {pair for rows_at in held.values() for pair in itertools.combinations(sorted(rows_at), 2)}
    return tuple(outside), len(sharing), len(missing), pairs, set(missing)


@st.composite
def _any_boxes(draw):
    shape = draw(st.lists(st.integers(0, 6), min_size=0, max_size=3))
    number = draw(st.integers(0, 9))
    rows = []
    for _ in range(number):
        offset = [draw(st.integers(-1, n + 1)) for n in shape]
        rows.append((offset, [draw(st.integers(-1, 4)) for _ in shape]))
    return shape, rows


def _agrees(shape, rows, found: Coverage) -> None:
    outside, sharing, missing, pairs, missing_at = _counted(shape, rows)
    assert (found.outside, found.overlapping, found.missing) == (outside, sharing, missing)
    assert set(found.overlaps) <= pairs
    assert bool(found.overlaps) == bool(pairs)
    assert bool(found.holes) == bool(missing)
    for offset, size in found.holes:
        assert set(itertools.product(*(range(o, o + s) for o, s in zip(offset, size, strict=True)))) <= missing_at
    assert found.tiles == (not (outside or sharing or missing))


@given(_any_boxes())
@settings(max_examples=400, deadline=None)
def test_any_boxes_are_judged_as_by_counting_every_element(case):
    """Rows outside, boxes that overlap, and missing elements equal those of a count of every element."""
    shape, rows = case
    found = _covered(shape, rows)
    assert found.decided
    _agrees(shape, rows, found)


@given(_any_boxes())
@settings(max_examples=300, deadline=None)
def test_cutting_and_comparing_agree_with_counting_where_they_decide(case):
    """Without room to paint, regions are cut and boxes compared: the same answer, or the least that is known."""
    shape, rows = case
    cells = room._MOST_CELLS
    room._MOST_CELLS = 1
    try:
        found = _covered(shape, rows)
    finally:
        room._MOST_CELLS = cells
    outside, sharing, missing, pairs, _ = _counted(shape, rows)
    assert found.outside == outside
    assert found.overlapping == sharing
    assert set(found.overlaps) <= pairs
    assert found.missing <= missing
    if found.decided:
        assert (found.missing, found.tiles) == (missing, not (outside or sharing or missing))


@st.composite
def _grids(draw):
    shape = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    cuts = [sorted({0, n, *draw(st.lists(st.integers(0, n), max_size=3))}) for n in shape]
    cells = itertools.product(*(list(itertools.pairwise(cut)) for cut in cuts))
    rows = [([low for low, _ in cell], [high - low for low, high in cell]) for cell in cells]
    return shape, draw(st.permutations(rows))


@given(_grids(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_a_grid_in_any_order_tiles_and_does_not_without_a_cell_or_with_one_twice(case, random):
    """The cells of a grid tile a tensor; one left out is a hole of its size; one twice is an overlap of two."""
    shape, rows = case
    assert _covered(shape, rows).tiles
    at = random.randrange(len(rows))
    _agrees(shape, rows[:at] + rows[at + 1 :], _covered(shape, rows[:at] + rows[at + 1 :]))
    doubled = [*rows, rows[at]]
    found = _covered(shape, doubled)
    assert (found.overlapping, found.overlaps, found.missing) == (2, ((at, len(rows)),), 0)


def test_empty_shards_are_skipped_wherever_torch_puts_them():
    """Ten rows over eight ranks: five boxes of two rows and one empty box at the global size."""
    rows = [([2 * r, 0], [2, 4]) for r in range(5)] + [([10, 0], [0, 4])]
    assert _covered((10, 4), rows).tiles
    assert _covered((10, 4), [*rows, ([10, 0], [0, 4])]).tiles


def test_a_scalar_is_one_element():
    """A tensor without axes is covered by one box, missing without, and covered twice by two."""
    assert _covered((), [((), ())]).tiles
    assert _covered((), []).missing == 1
    assert _covered((), [((), ()), ((), ())]).overlaps == ((0, 1),)


def test_a_tensor_without_elements_needs_no_box():
    """[0, 4] has nothing to cover."""
    assert coverage((0, 4), np.zeros((0, 2), np.int64), np.zeros((0, 2), np.int64)).tiles


def test_flat_ranges_are_of_the_elements_in_row_major_order():
    """A [4, 6] tensor as 24 elements: 0 to 10 and 10 to 24 tile it, 0 to 10 and 11 to 24 leave one out."""
    assert _covered((4, 6), [((0,), (10,)), ((10,), (14,))], flat=True).tiles
    found = _covered((4, 6), [((0,), (10,)), ((11,), (13,))], flat=True)
    assert (found.missing, found.holes) == (1, (((10,), (1,)),))


def test_a_box_beyond_the_border_is_named_and_cut_there():
    """A box of one row too many leaves the tensor, but neither overlaps nor leaves a hole."""
    found = _covered((16, 8), [([0, 0], [8, 8]), ([8, 0], [9, 8])])
    assert found == Coverage((1,), 0, (), 0, (), True)


@pytest.mark.parametrize(
    ("offset", "size"), [(2**63 - 1, 2**63 - 1), (-(2**63), 5), (0, 2**63 - 1), (2**63 - 1, 0), (-5, 2**63 - 1)]
)
def test_absurd_numbers_leave_the_tensor(offset, size):
    """Offsets and sizes at the ends of 64 bits do not wrap around."""
    found = _covered((8,), [((0,), (8,)), ((offset,), (size,))])
    assert 1 in found.outside


def test_a_tensor_beyond_64_bits_is_not_decided():
    """Such a tensor exists nowhere."""
    assert not _covered((2**40, 2**40), [((0,), (2**62,))], flat=True).decided


def test_elements_beyond_64_bits_are_counted_exactly():
    """Two of the eight corners of a tensor of 10^27 elements are missing: two eighths of them."""
    half = 5 * 10**8
    corners = list(itertools.product((0, half), repeat=3))
    found = _covered((10**9,) * 3, [(corner, (half,) * 3) for corner in corners[:3] + corners[4:7]])
    assert found.missing == 2 * half**3


def test_bands_cut_differently_are_decided_without_their_common_grid():
    """1,000 bands of rows, each cut into 100 columns of its own, have a grid of far too many cells; cutting decides."""
    generator = np.random.default_rng(5)
    rows = []
    for band in range(1000):
        cuts = np.concatenate([[0], np.sort(generator.choice(np.arange(1, 10**6), 99, replace=False)), [10**6]])
        rows += [([band * 3, int(low)], [3, int(high - low)]) for low, high in itertools.pairwise(cuts)]
    assert _covered((3000, 10**6), rows).tiles
    gone = rows.pop(54_321)
    found = _covered((3000, 10**6), rows)
    assert (found.missing, found.holes) == (math.prod(gone[1]), (tuple(map(tuple, gone)),))


@pytest.mark.parametrize("reach", [3, 10**5, 10**8])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_hundred_thousand_random_boxes_end_with_an_answer(axes, reach):
    """Hostile boxes are judged in bounded work: overlaps are found, or it is said that it could not be decided."""
    generator = np.random.default_rng(7)
    shape = (10**9,) * axes
    offsets = generator.integers(0, 10**9 - reach, (100_000, axes))
    found = coverage(shape, offsets, generator.integers(1, reach, (100_000, axes)))
    assert not found.tiles
    assert found.outside == ()
    assert found.missing > 0 or found.overlapping > 0 or not found.decided


def test_a_hundred_thousand_equal_boxes_overlap():
    """The same box again and again: every one of them overlaps."""
    found = coverage((4, 4), np.zeros((100_000, 2), np.int64), np.full((100_000, 2), 4))
    assert (found.overlapping, found.missing) == (100_000, 0)


def test_alternating_slices_end_with_an_answer():
    """A box peeled off one axis after the other, 2,000 times: cutting stays within its budget."""
    rows = []
    high = [4000, 4000]
    low = [0, 0]
    for turn in range(2000):
        axis = turn % 2
        size = [high[0] - low[0], high[1] - low[1]]
        size[axis] = 1
        rows.append((list(low), size))
        low[axis] += 1
    rows.append((list(low), [high[0] - low[0], high[1] - low[1]]))
    cells = room._MOST_CELLS
    room._MOST_CELLS = 64
    try:
        found = _covered((4000, 4000), rows)
    finally:
        room._MOST_CELLS = cells
    assert found.tiles
