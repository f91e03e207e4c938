"""What holds for every plan, on random tensors, meshes and pairs of layouts, with the plan carried out on arrays."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ckptplan.checkpoint.manifest import Mesh, Tensor
from ckptplan.checkpoint.reshard.boxes import boxes, unloadable
from ckptplan.checkpoint.reshard.layout import Layout, Rule
from ckptplan.checkpoint.reshard.placement import Placements, Replicate, Shard, StridedShard
from ckptplan.checkpoint.reshard.plan import Part, plan
from tests.checkpoint.reshard.following_plans import Array, cut, loaded, numbered, saved, saved_flat, stored_arrays
from tests.checkpoint.reshard.from_truth import manifest

SHAPES = st.lists(st.integers(0, 9), max_size=3).map(tuple) | st.tuples(st.integers(1, 40), st.integers(1, 3))
MESHES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(
    lambda sizes: Mesh(tuple(sizes), ("a", "b", "c")[: len(sizes)])
)


@st.composite
def placements(draw: st.DrawFn, shape: tuple[int, ...], mesh: Mesh) -> Placements:
    """Any cuts of a tensor by a mesh; half of the time the first is strided over later ones that cut the same axis."""
    if not shape:
        return (Replicate(),) * len(mesh.shape)
    axes = [draw(st.none() | st.integers(0, len(shape) - 1)) for _ in mesh.shape]
    found = [Replicate() if axis is None else Shard(axis) for axis in axes]
    split = math.prod(n for n, axis in zip(mesh.shape[1:], axes[1:], strict=True) if axis == axes[0])
    if axes[0] is not None and split > 1 and draw(st.booleans()):
        found[0] = StridedShard(axes[0], split)
    return tuple(found)


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Mesh, Placements]:
    """A mesh and cuts that torch can load."""
    mesh = draw(MESHES)
    cuts = draw(placements(shape, mesh).filter(lambda found: unloadable(shape, found, mesh) is None))
    return mesh, cuts


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Mesh, Placements], tuple[Mesh, Placements]]:
    """A tensor, the layout that saved it and the one that loads it."""
    shape = draw(SHAPES)
    return shape, draw(layouts(shape)), draw(layouts(shape))


def planned(tensor: Tensor, mesh: Mesh, cuts: Placements) -> Part:
    """The plan of one tensor."""
    return plan(manifest([tensor], 64), Layout(mesh, (Rule(tensor.key, cuts),))).parts[0]


def held(shape: tuple[int, ...], mesh: Mesh, cuts: Placements) -> list[Array]:
    """What every rank should hold, cut out of the whole tensor."""
    want = boxes(shape, cuts, mesh)
    pairs = zip(want.offsets.tolist(), want.sizes.tolist(), strict=True)
    return [cut(numbered(shape), tuple(offset), tuple(size)) for offset, size in pairs]


@settings(max_examples=300, deadline=None)
@given(cases())
def test_every_rank_reads_every_element_of_its_box_exactly_once(
    case: tuple[tuple[int, ...], tuple[Mesh, Placements], tuple[Mesh, Placements]],
) -> None:
    """Uneven cuts, more ranks than rows, no axes, empty axes, strided cuts, meshes of up to three axes."""
    shape, (old, old_cuts), (new, new_cuts) = case
    tensor = saved("w", shape, old_cuts, old)
    part = planned(tensor, new, new_cuts)
    found, wrong = loaded(part, stored_arrays(tensor, numbered(shape)))
    assert wrong == 0
    for rank, expected in enumerate(held(shape, new, new_cuts)):
        assert np.array_equal(found[rank], expected)
    assert (part.reads.lengths > 0).all()


@settings(max_examples=150, deadline=None)
@given(cases())
def test_there_and_back_is_the_identity(
    case: tuple[tuple[int, ...], tuple[Mesh, Placements], tuple[Mesh, Placements]],
) -> None:
    """What the new ranks loaded is saved and loaded by as many ranks as there were first: they hold what they held."""
    shape, (old, old_cuts), (new, new_cuts) = case
    tensor = saved("w", shape, old_cuts, old)
    there, _ = loaded(planned(tensor, new, new_cuts), stored_arrays(tensor, numbered(shape)))
    again = saved("w", shape, new_cuts, new)
    back, wrong = loaded(planned(again, old, old_cuts), [there[rank] for rank in again.shards.files.tolist()])
    assert wrong == 0
    for rank, expected in enumerate(held(shape, old, old_cuts)):
        assert np.array_equal(back[rank], expected)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_the_ranks_together_read_the_tensor_once_for_each_copy(
    case: tuple[tuple[int, ...], tuple[Mesh, Placements], tuple[Mesh, Placements]],
) -> None:
    """The sum over the ranks is the tensor when nothing is replicated, else the tensor times the copies."""
    shape, (old, old_cuts), (new, new_cuts) = case
    found = plan(manifest([saved("w", shape, old_cuts, old)], 64), Layout(new, (Rule("w", new_cuts),)))
    copies = math.prod(n for n, cuts in zip(new.shape, new_cuts, strict=True) if isinstance(cuts, Replicate))
    assert found.totals.wanted_bytes.sum() == 8 * math.prod(shape) * copies
    part = found.parts[0]
    counts = [part.reads_of(rank) for rank in range(found.layout.ranks)]
    assert found.totals.reads.tolist() == [len(reads.rows) for reads in counts]
    assert found.totals.files.tolist() == [len(set(part.tensor.shards.files[reads.rows].tolist())) for reads in counts]
    items = part.tensor.shards.item_bytes
    assert found.totals.whole_item_bytes.tolist() == [int(items[reads.rows].sum()) for reads in counts]


@st.composite
def flat_cases(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int], tuple[Mesh, Placements]]:
    """A tensor, where its flat ranges end, and the layout that loads it."""
    shape = draw(SHAPES)
    ends = draw(st.lists(st.integers(0, math.prod(shape)), max_size=6))
    return shape, ends, draw(layouts(shape))


@settings(max_examples=300, deadline=None)
@given(flat_cases())
def test_flat_ranges_give_every_element_exactly_once(
    case: tuple[tuple[int, ...], list[int], tuple[Mesh, Placements]],
) -> None:
    """Ranges of the flattened tensor, empty ones among them, read into boxes of any layout."""
    shape, ends, (mesh, cuts) = case
    tensor = saved_flat("w", shape, ends)
    found = plan(manifest([tensor], 64), Layout(mesh, (Rule("w", cuts),)))
    part = found.parts[0]
    own, wrong = loaded(part, stored_arrays(tensor, numbered(shape)))
    assert wrong == 0
    for rank, expected in enumerate(held(shape, mesh, cuts)):
        assert np.array_equal(own[rank], expected)
        rows = set(part.reads_of(rank).rows.tolist())
        assert found.totals.reads[rank] == len(rows)
        assert found.totals.whole_item_bytes[rank] == part.tensor.shards.item_bytes[sorted(rows)].sum()
