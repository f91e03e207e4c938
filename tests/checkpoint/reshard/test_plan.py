"""Plans of whole checkpoints: which rows come from where, what is shared, and every refusal."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Tensor
from ckptplan.checkpoint.reshard.document import layout_of
from ckptplan.checkpoint.reshard.layout import parse_layout
from ckptplan.checkpoint.reshard.plan import Plan, plan
from ckptplan.errors import InputError, Place
from tests.checkpoint.reshard.following_plans import loaded, numbered, saved_flat, stored_arrays
from tests.checkpoint.reshard.from_truth import Shard, manifest, shards


def rows(number: int, ranks: int, key: str = "w", kind: StateKind = StateKind.PARAMETER) -> Tensor:
    """A tensor [number, 4] in equal rows, one shard in the file of each rank."""
    each = number // ranks
    stored = [Shard((rank * each, 0), (each, 4), rank, 1500 + 16 * each) for rank in range(ranks)]
    return Tensor(key, kind, "float32", (number, 4), shards(2, stored), (key,), key)


def boxed(shape: tuple[int, ...], *stored: Shard, key: str = "w") -> Tensor:
    """A tensor of some stored boxes."""
    return Tensor(key, StateKind.PARAMETER, "float32", shape, shards(len(shape), list(stored)), (key,), key)


def refused(tensors: list[Tensor], layout: str = "fsdp=2") -> InputError:
    """The error of a plan."""
    with pytest.raises(InputError) as error:
        plan(manifest(tensors, 16), parse_layout(layout))
    return error.value


def test_24_rows_from_8_to_6_ranks() -> None:
    """New rank 2 needs rows 8 to 11: row 8 from old shard 2, rows 9 to 11 from old shard 3."""
    part = plan(manifest([rows(24, 8)], 8), parse_layout("6")).parts[0]
    assert part.shape_of(2) == (4, 4)
    reads = part.reads_of(2)
    assert reads.rows.tolist() == [2, 3]
    assert (reads.src.tolist(), reads.dst.tolist()) == ([[2, 0], [0, 0]], [[0, 0], [1, 0]])
    assert reads.lengths.tolist() == [[1, 4], [3, 4]]
    assert part.reads_of(6).rows.tolist() == []
    assert part.shape_of(6) is None


def test_reads_come_in_the_order_of_torchs_planner_whatever_the_order_of_the_shards() -> None:
    """By the end of the shard along the longest axis."""
    tensor = boxed((6, 2), Shard((4, 0), (2, 2), 0), Shard((0, 0), (1, 2), 1), Shard((1, 0), (3, 2), 2))
    assert plan(manifest([tensor], 3), parse_layout("1")).parts[0].reads_of(0).rows.tolist() == [1, 2, 0]


def test_tensors_of_one_geometry_share_their_reads() -> None:
    """A thousand equal tensors are planned once; another file or another item does not matter, another cut does."""
    tensors = [rows(24, 8, f"layers.{n}.w1.weight") for n in range(5)]
    parts = plan(manifest([*tensors, rows(24, 4, "layers.9.w1.weight")], 8), parse_layout("6")).parts
    assert len({id(part.reads) for part in parts[:5]}) == 1
    assert parts[5].reads is not parts[0].reads


def test_copies_are_one_class() -> None:
    """Ranks along replicate want the same: their reads stand there once."""
    found = plan(manifest([rows(24, 8)], 8), parse_layout("replicate=4,fsdp=6"))
    part = found.parts[0]
    assert (len(part.want.shapes), len(part.want.ranks)) == (6, 24)
    assert part.reads_of(2).rows.tolist() == part.reads_of(20).rows.tolist() == [2, 3]
    assert found.totals.reads.tolist() == [len(part.reads_of(rank).rows) for rank in range(24)]


def test_state_of_single_ranks_is_left_out() -> None:
    """A random-number state of an old rank belongs to no new one, with or without a rank in its entry."""
    state = rows(8, 1, "rng.rank_0", StateKind.RANDOM)._replace(rank=0)
    loader = rows(8, 1, "loader.rank_1", StateKind.DATA_POSITION)._replace(rank=1)
    nobody = rows(8, 1, "rng.cuda", StateKind.RANDOM)
    found = plan(manifest([rows(24, 8), state, loader, nobody], 8), parse_layout("2"))
    assert [part.tensor.key for part in found.parts] == ["w"]
    assert found.left_out == ("rng.rank_0", "loader.rank_1", "rng.cuda")


def test_empty_shards_are_skipped() -> None:
    """The empty box that torch stores at the end is read by nobody."""
    tensor = boxed((3, 4), *(Shard((n, 0), (1, 4), n) for n in range(3)), Shard((3, 0), (0, 4), 3))
    found = plan(manifest([tensor], 4), parse_layout("5"))
    assert found.totals.reads.tolist() == [1, 1, 1, 0, 0]
    assert found.totals.distinct_files == 3


def test_a_hole_names_key_rank_and_box() -> None:
    """Rows 4 and 5 are stored nowhere: rank 1 wants them."""
    problem = refused([boxed((8, 4), Shard((0, 0), (4, 4), 0), Shard((6, 0), (2, 4), 1))]).problems[0]
    assert problem.key == "w"
    assert problem.message == "8 of the 16 elements that rank 1 wants, [4:8, 0:4], are stored in no shard"


def test_a_shard_that_is_listed_and_lies_in_no_file_is_a_hole() -> None:
    """The metadata alone is no data."""
    problem = refused([boxed((8, 4), Shard((0, 0), (4, 4), 0), Shard((4, 0), (4, 4), -1))]).problems[0]
    assert "16 of the 16 elements that rank 1 wants, [4:8, 0:4], are stored in no file that is there" in problem.message


def test_equal_boxes_are_copies_of_which_the_first_that_is_there_is_read() -> None:
    """Metadata per rank lists a replicated tensor once for each rank; one box within another is no copy."""
    tensor = boxed((4, 4), Shard((0, 0), (4, 4), -1), Shard((0, 0), (4, 4), 1), Shard((0, 0), (4, 4), 2))
    found = plan(manifest([tensor], 3), parse_layout("2"))
    assert [found.parts[0].reads_of(rank).rows.tolist() for rank in range(2)] == [[1], [1]]
    assert found.remarks == ("w: stored in equal copies, of which the first is read",)
    step = boxed((), Shard((), (), 0), Shard((), (), 1))
    assert plan(manifest([step], 2), parse_layout("3")).totals.reads.tolist() == [1, 1, 1]
    refused([boxed((4, 4), Shard((0, 0), (4, 4), 0), Shard((0, 0), (2, 4), 1))])


def test_an_overlap_names_both_shards() -> None:
    """Row 3 is stored twice, and nothing says which copy counts."""
    problem = refused([boxed((8, 4), Shard((0, 0), (4, 4), 0), Shard((3, 0), (5, 4), 1))]).problems[0]
    assert "stored shards [0:4, 0:4] and [3:8, 0:4] overlap" in problem.message


def test_a_hole_and_an_overlap_of_equal_size_do_not_cancel() -> None:
    """As many elements as the tensor has are not enough."""
    refused([boxed((8, 4), Shard((0, 0), (4, 4), 0), Shard((2, 0), (4, 4), 1))], "1")


def test_a_shard_outside_its_tensor_is_refused() -> None:
    """Its rows would go nowhere."""
    problem = refused([boxed((8, 4), Shard((0, 0), (4, 4), 0), Shard((4, 0), (5, 4), 1))]).problems[0]
    assert "[4:9, 0:4] is not within the tensor" in problem.message


def test_a_layout_that_torch_saves_and_cannot_load_is_refused() -> None:
    """9 rows over fsdp 4 x tp 2, strided."""
    problem = refused([boxed((9, 4), Shard((0, 0), (9, 4), 0), key="layers.0.wq.weight")], "fsdp=4,tp=2").problems[0]
    assert "torch would not load this: axis 0 of 9 over (fsdp 4, tp 2)" in problem.message


def test_axes_beyond_the_tensor_are_refused_by_key() -> None:
    """A layout file that cuts axis 1 of a vector."""
    with pytest.raises(InputError) as error:
        plan(manifest([boxed((8,), Shard((0,), (8,), 0))]), layout_of({"mesh": 2, "placements": {"w": ["S(1)"]}}))
    assert (error.value.problems[0].key, "axis 1 is cut" in error.value.problems[0].message) == ("w", True)


def test_what_a_rule_misplaces_is_one_fault_with_its_place() -> None:
    """Three tensors that a pattern cuts along an axis that they do not have, and where the file says so."""
    layout = layout_of({"mesh": 2, "placements": {"*.wq": ["S(5)"], "*": ["S(0)"]}})
    place = Place("layout.yaml", 3, 3)
    tensors = [rows(8, 2, f"{n}.{name}") for n in range(3) for name in ("wq", "wo")]
    with pytest.raises(InputError) as error:
        plan(manifest(tensors, 2), layout._replace(places={"placements.*.wq": place}))
    (only,) = error.value.problems
    assert only.message == "axis 5 is cut of a tensor that has 2 axes: 3 tensors, such as 0.wq"
    assert (only.place, only.key, only.hint) == (place, "*.wq", "of shape [8, 4], placed as S(5)")


def test_holes_are_told_for_each_tensor_whatever_rule_placed_them() -> None:
    """They are faults of what is stored."""
    layout = layout_of({"mesh": 2, "placements": {"*": ["S(0)"]}})
    holes = [boxed((8, 4), Shard((0, 0), (4, 4), 0), key=f"w{n}") for n in range(2)]
    with pytest.raises(InputError) as error:
        plan(manifest(holes), layout)
    assert [problem.key for problem in error.value.problems] == ["w0", "w1"]


def test_keys_of_the_layout_that_are_not_there_and_other_shapes_are_refused_together() -> None:
    """A missing key comes with the nearest one; a shape that the run expects must be that of the checkpoint."""
    layout = layout_of({"mesh": 2, "placements": {"v.weight": ["R"], "w": {"shape": [8, 5]}, "w*": ["R"]}})
    with pytest.raises(InputError) as error:
        plan(manifest([rows(8, 2), rows(8, 2, "w.weight")], 2), layout)
    first, second = error.value.problems
    assert (first.key, first.hint) == ("v.weight", "the nearest is w.weight")
    assert (second.key, second.message) == ("w", "is [8, 4] in the checkpoint and [8, 5] in the layout")


def test_faults_are_collected_up_to_twenty() -> None:
    """Thirty tensors with holes: twenty messages and a number."""
    holes = [boxed((8, 4), Shard((0, 0), (4, 4), 0), key=f"w{n}") for n in range(30)]
    problems = refused(holes).problems
    assert len(problems) == 21
    assert problems[-1].message == "and 10 more of the kind"


def test_flat_parameters_of_fsdp1_cannot_be_planned() -> None:
    """Nothing says which elements are whose; the reader's own reason is given if it has one."""
    whole = manifest([rows(8, 2)], 2)
    with pytest.raises(InputError, match="flat parameters of FSDP1"):
        plan(whole._replace(format=Format.FSDP1_FLAT), parse_layout("2"))
    fault = Fault(Flaw.NOT_RESHARDABLE, "partitions without names")
    with pytest.raises(InputError, match="partitions without names"):
        plan(whole._replace(faults=(fault,)), parse_layout("2"))


def test_nothing_to_plan_is_said() -> None:
    """A checkpoint without tensors."""
    with pytest.raises(InputError, match="no tensors"):
        plan(manifest([]), parse_layout("2"))
    broken = manifest([])._replace(faults=(Fault(Flaw.CORRUPT, "cut short", ".metadata"),))
    with pytest.raises(InputError) as error:
        plan(broken, parse_layout("2"))
    assert [problem.message for problem in error.value.problems][1:] == ["cut short"]


def test_absurd_shapes_are_refused_without_memory() -> None:
    """More elements than can be numbered; and a huge tensor on few ranks is no burden."""
    huge = (1 << 40, 1 << 40)
    assert "beyond all measure" in refused([boxed(huge, Shard((0, 0), huge, 0))]).problems[0].message
    assert "beyond all measure" in refused([boxed((0, 1 << 70), key="empty")]).problems[0].message
    large = (1 << 40, 4)
    found = plan(manifest([boxed(large, Shard((0, 0), large, 0))]), parse_layout("3"))
    assert found.totals.wanted_bytes.sum() == 16 << 40


def test_hostile_boxes_are_refused_before_they_are_matched() -> None:
    """Twenty thousand shards that all overlap: an error within a second, not 400 million pairs."""
    number = 20_000
    stored = [Shard((n % 7, 0), (100 - n % 11, 4), 0) for n in range(number)]
    assert "overlap" in refused([boxed((200, 4), *stored)], "16384").problems[0].message


def test_a_flat_range_is_read_once_by_a_rank_however_many_boxes_it_takes() -> None:
    """ZeRO keeps ranges: elements 5 to 19 of a tensor [6, 4] are a part of row 1, rows 2 to 4 and none of row 5."""
    tensor = saved_flat("w", (6, 4), [5, 20])
    found = plan(manifest([tensor], 3), parse_layout("1"))
    reads = found.parts[0].reads_of(0)
    middle = reads.rows == 1
    assert reads.dst[middle].tolist() == [[1, 1], [2, 0]]
    assert reads.lengths[middle].tolist() == [[1, 3], [3, 4]]
    assert reads.src[middle].tolist() == [[0], [3]]
    assert found.totals.reads.tolist() == [3]
    assert found.totals.whole_item_bytes.tolist() == [8 * 24]


def gated(tp: int) -> Plan:
    """Megatron's gate and up projection in one, [2 layers, 2 x 12, 4], in one shard for each layer and half."""
    halves = [Shard((layer, half * 12, 0), (1, 12, 4), 0) for layer in range(2) for half in range(2)]
    inner = boxed((2, 4, 12), Shard((0, 0, 0), (2, 4, 12), 0), key="decoder.layers.mlp.linear_fc2.weight")
    return plan(
        manifest([boxed((2, 24, 4), *halves, key="decoder.layers.mlp.linear_fc1.weight"), inner]),
        parse_layout(f"tp={tp}"),
    )


def test_gate_and_up_projection_in_one_tensor_are_cut_each() -> None:
    """A rank of tp 3 gets 4 rows of the gate and the 4 of the other projection, not 8 rows of the gate."""
    found = gated(3)
    part = found.parts[0]
    whole = numbered((2, 24, 4))
    own, wrong = loaded(part, stored_arrays(part.tensor, whole))
    assert wrong == 0
    for rank in range(3):
        each = slice(4 * rank, 4 * rank + 4)
        assert np.array_equal(own[rank], np.concatenate([whole[:, :12][:, each], whole[:, 12:][:, each]], axis=1))
    assert found.totals.wanted_bytes.tolist() == [4 * (2 * 8 * 4 + 2 * 4 * 4)] * 3


@pytest.mark.parametrize("placements", [["P(0, 2)", "P(1, 2)"], ["_S(0, 3)", "P(0, 2)"]])
def test_parts_that_cannot_be_are_refused(placements: list[str]) -> None:
    """Parts along two axes, and a strided cut of parts that nothing makes."""
    with pytest.raises(InputError, match="together are no layout"):
        plan(manifest([rows(8, 2)], 2), layout_of({"mesh": "fsdp=2,tp=2", "placements": {"w": placements}}))


def test_parts_and_plain_cuts_combine() -> None:
    """Fsdp strided over tp, whose ranks hold a piece of each half: every row once, in the order of the halves."""
    layout = layout_of({"mesh": "fsdp=2,tp=2", "placements": {"w": ["_S(0, 2)", "P(0, 2)"]}})
    part = plan(manifest([rows(8, 2)], 2), layout).parts[0]
    own, wrong = loaded(part, stored_arrays(part.tensor, numbered((8, 4))))
    assert wrong == 0
    assert [(own[rank][:, 0] // 4).tolist() for rank in range(4)] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_what_is_not_known_is_remarked() -> None:
    """Tensor parallelism of a name that no table has, and how a pipeline shares out its layers."""
    strange = rows(8, 1, "layers.0.strange.weight")
    found = plan(manifest([strange, rows(8, 1, "layers.1.w1.weight")]), parse_layout("pp=2,tp=2"))
    assert "no rule says how tensor parallelism cuts layers.0.strange.weight" in found.remarks[0]
    assert found.remarks[1] == "layers of the 2 pipeline stages, by default: 1, 1"
