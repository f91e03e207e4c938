"""What a new layout does not take over: by hand-made manifests, and by real checkpoints."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckptplan.checkpoint.formats.detect import read_manifest
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Fault, Flaw, Format, Manifest, Mesh, Object, Shards, Tensor
from ckptplan.checkpoint.reshard.batch import GlobalBatch, batch_splits, recorded_batch
from ckptplan.checkpoint.reshard.carry_over import data_parallel, not_carried_over
from ckptplan.checkpoint.reshard.layout import parse_layout
from tests.checkpoint.shared_fixtures import folder_of, needs_collection

NO_ROW = np.empty((0, 1), dtype=np.int64)
NOTHING = Shards(NO_ROW, NO_ROW, NO_ROW[:, 0], NO_ROW[:, 0], NO_ROW[:, 0], NO_ROW[:, 0])


class Values:
    """A source that knows objects only."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def raw(self, tensor: Tensor, row: int) -> Any:
        """There are no tensors."""
        raise AssertionError(tensor.key, row)

    read = raw

    def value(self, entry: Object) -> Any:
        """An object."""
        return self._values[entry.key]


def manifest(*objects: Object, **fields: Any) -> Manifest:
    """A checkpoint of objects."""
    format_ = fields.pop("format", Format.DCP)
    source = Values(fields.pop("values", {}))
    return Manifest(format_, Path("run"), fields.pop("tensors", ()), objects, (), source, **fields)


def random_of(ranks: range, key: str = "rng.rank_{}") -> tuple[Object, ...]:
    """One random-number state for each rank."""
    return tuple(Object(key.format(rank), StateKind.RANDOM, 0, rank=rank) for rank in ranks)


def test_ranks_without_a_state_and_states_without_a_rank_are_told() -> None:
    """More ranks ask for keys that are not there; fewer drop states; as many lose nothing."""
    four = manifest(*random_of(range(4)), step=500)
    assert not_carried_over(four, parse_layout("4")) == ()
    (more,) = not_carried_over(four, parse_layout("8"))
    assert more.state == "random-number states"
    assert "new ranks 4 to 7 ask for keys like rng.rank_4, which are not there" in more.message
    assert (more.ends, more.ranks) == (True, "ranks 4 to 7")
    assert "step 500" in more.remedy
    assert not more.refuses
    (fewer,) = not_carried_over(four, parse_layout("2"))
    assert "those of ranks 2 and 3 are dropped without a word" in fewer.message
    assert not fewer.ends
    (one,) = not_carried_over(four, parse_layout("5"))
    assert "new rank 4 asks for rng.rank_4, which is not there, and a torch DCP load ends there" in one.message
    (padded,) = not_carried_over(manifest(*random_of(range(4), "rng_2/rank_{:05d}")), parse_layout("5"))
    assert "asks for rng_2/rank_00004," in padded.message


def test_what_is_left_out_of_the_load_ends_none() -> None:
    """Its kind is told as left out, with what to do instead; other kinds end the load as before."""
    steps = tuple(Object(f"loader.rank_{n}", StateKind.DATA_POSITION, 0, rank=n) for n in range(4))
    of, layout = manifest(*random_of(range(4)), *steps), parse_layout("8")
    assert [one.ends for one in not_carried_over(of, layout)] == [True, True]
    some = not_carried_over(of, layout, without=frozenset({StateKind.RANDOM, StateKind.FP8}))
    assert [(one.state, one.ends) for one in some] == [("data position", True), ("random-number states", False)]
    assert some[1].message == "left out of the load"
    both = not_carried_over(of, layout, without=frozenset({StateKind.RANDOM, StateKind.DATA_POSITION}))
    assert not any(one.ends for one in both)


def test_any_kind_of_state_that_a_rank_has_of_its_own_ends_a_load_by_keys() -> None:
    """Not only random-number states and positions: torch asks for every key of the state dict."""
    own = tuple(Object(f"progress.rank_{n}", StateKind.PROGRESS, 0, rank=n) for n in range(2))
    (more,) = not_carried_over(manifest(*own), parse_layout("3"))
    assert (more.ends, more.state) == (True, "progress")
    assert not_carried_over(manifest(*own), parse_layout("2")) == ()


def test_the_trainer_and_accelerate_go_on_without_a_file_of_random_states() -> None:
    """Both write a line into their logs; from one process to several the Trainer finds none at all."""
    several = random_of(range(2), "rng_state_{}.pth:cpu")
    (more,) = not_carried_over(manifest(*several, format=Format.TRAINER), parse_layout("4"))
    assert not more.ends
    assert "new ranks 2 and 3 find no file of their own, and the Trainer goes on without" in more.message
    (alone,) = not_carried_over(manifest(*several, format=Format.TRAINER), parse_layout("1"))
    assert "none is taken up" in alone.message
    (none,) = not_carried_over(
        manifest(*random_of(range(1), "rng_state.pth:cpu"), format=Format.TRAINER), parse_layout("2")
    )
    assert "none is taken up" in none.message
    (third,) = not_carried_over(
        manifest(*random_of(range(2), "random_states_{}.pkl:x"), format=Format.ACCELERATE), parse_layout("3")
    )
    assert not third.ends
    assert "new rank 2 finds no file of its own, and accelerate goes on without" in third.message


def test_iterators_of_processes_load_on_as_many_processes_only() -> None:
    """Grain's files have the number of processes in their names: fewer and more find none of theirs."""
    iterators = tuple(Object(f"iter.process_{n}", StateKind.DATA_POSITION, 0, rank=n) for n in range(2))
    of = manifest(*iterators, format=Format.ORBAX, world_size=8)
    assert not_carried_over(of, parse_layout("fsdp=4,tp=2")) == ()
    for ranks, processes in (("4", "1 look"), ("16", "4 look")):
        (lost,) = not_carried_over(of, parse_layout(ranks))
        assert lost.ends
        assert f"states of 2 processes of 4 devices: {processes}" in lost.message


def test_metadata_of_single_ranks_is_read_by_ranks_of_that_number_only() -> None:
    """No element that another rank wrote is loaded, and nothing says so: no other layout loads it."""
    of = manifest(format=Format.DCP_RANK_LOCAL, world_size=2)
    assert not_carried_over(of, parse_layout("2")) == ()
    for layout in ("1", "3"):
        (refused,) = not_carried_over(of, parse_layout(layout))
        assert refused.refuses
        assert "2 ranks" in refused.remedy
    known = of._replace(mesh=Mesh((2,), ("fsdp",)))
    assert not_carried_over(known, parse_layout("2")) == ()
    assert not_carried_over(known, parse_layout("tp=2"))[0].refuses


def test_states_of_data_parallel_ranks_count_data_parallel_ranks() -> None:
    """Eight ranks of two replicas in tensor and pipeline parallelism have two loaders."""
    loaders = tuple(Object(f"dataloader.dp_rank_{n}", StateKind.DATA_POSITION, 0, rank=n) for n in range(2))
    layout = parse_layout("pp=2,fsdp=2,tp=2")
    assert data_parallel(layout) == 2
    assert not_carried_over(manifest(*loaders), layout) == ()
    (lost,) = not_carried_over(
        manifest(*loaders), parse_layout("pp=2,fsdp=4,tp=2"), GlobalBatch(64, "given", None, 6400)
    )
    assert (
        "states of 2 data-parallel ranks for 4: new data-parallel ranks 2 and 3 ask for keys like dataloader.dp_rank_2,"
        in lost.message
    )
    assert "sample 6,400" in lost.remedy


def test_megatrons_sharded_objects_belong_to_their_grid() -> None:
    """Another pipeline or tensor size loses the streams; another data-parallel size does not."""
    grid = tuple(Object(f"rng_state/shard_0.{t}_1.2", StateKind.RANDOM, 0, rank=t) for t in range(2))
    of = manifest(*grid, format=Format.MEGATRON_DIST)
    assert not_carried_over(of, parse_layout("fsdp=8,tp=2")) == ()
    (lost,) = not_carried_over(of, parse_layout("tp=4"))
    assert "pipeline x tensor = 1 x 2 ranks, and 1 x 4 will load" in lost.message
    assert not lost.ends


def test_as_many_ranks_in_another_mesh_take_up_streams_of_others() -> None:
    """The keys fit, the places in the model do not."""
    of = manifest(*random_of(range(4)), world_size=4, mesh=Mesh((4,), ("fsdp",)))
    assert not_carried_over(of, parse_layout("4")) == ()
    (lost,) = not_carried_over(of, parse_layout("fsdp=2,tp=2"))
    assert "another mesh" in lost.message


@pytest.mark.parametrize(
    ("format_", "word"), [(Format.FSDP1_FLAT, "SHARDED_STATE_DICT"), (Format.MEGATRON_LEGACY, "convert")]
)
def test_formats_that_cannot_be_resharded_refuse(format_: Format, word: str) -> None:
    """With what to do instead, before all that is merely lost."""
    found = not_carried_over(manifest(*random_of(range(4)), format=format_), parse_layout("8"))
    assert [one.refuses for one in found] == [True, False]
    assert word in found[0].remedy


def test_zero_loads_on_as_many_ranks_only(tmp_path: Path) -> None:
    """ds_to_universal is the way to others."""
    zero = manifest(format=Format.DEEPSPEED, world_size=4)
    assert not_carried_over(zero, parse_layout("4")) == ()
    (refused,) = not_carried_over(zero, parse_layout("3"))
    assert refused.refuses
    assert "ds_to_universal" in refused.remedy
    (tmp_path / "global_step3_universal").mkdir()
    both = zero._replace(root=tmp_path / "global_step3")
    assert "global_step3_universal is" in not_carried_over(both, parse_layout("3"))[0].remedy


def test_damage_refuses_and_foreign_code_does_not() -> None:
    """A file that is cut off stops any loader; a hostile object is for the audit."""
    faults = (Fault(Flaw.TRUNCATED, "cut off", "__0_0.distcp"), Fault(Flaw.FOREIGN_CODE, "os.system"))
    (only,) = not_carried_over(manifest(faults=faults), parse_layout("2"))
    assert only.refuses
    assert only.message == "__0_0.distcp: cut off"


@pytest.mark.parametrize(("listed", "layout", "said"), [(1, "2", "lists 1 of 2"), (2, "pp=2", "at the next save")])
def test_nested_groups_of_parameters_and_pipelines(listed: int, layout: str, said: str) -> None:
    """One key for all stages: it shows in the list that survived, or it will at the next save."""
    key = "optim.param_groups.0.params"
    group = Object(key, StateKind.HYPERPARAMETERS, 0, path=("optim", "param_groups", 0, "params"))
    moments = tuple(
        Tensor(f"optim.state.{name}.exp_avg", StateKind.FIRST_MOMENT, "float32", (0,), NOTHING, (), name)
        for name in ("a", "b")
    )
    of = manifest(group, tensors=moments, values={key: ["a", "b"][:listed]})
    (lost,) = not_carried_over(of, parse_layout(layout))
    assert said in lost.message
    assert "flatten_optimizer_state_dict" in lost.remedy


def test_flattened_groups_lose_nothing_to_pipelines() -> None:
    """Every parameter has keys of its own."""
    path = ("optim", "param_groups", "layers.0.weight", "lr")
    flat = Object("optim.param_groups.layers.0.weight.lr", StateKind.HYPERPARAMETERS, 0, path=path)
    assert not_carried_over(manifest(flat), parse_layout("pp=4")) == ()


def test_ways_to_keep_the_global_batch() -> None:
    """All factorisations of 48 sequences on 8 replicas; on 7 there is none, and 6 and 8 are next."""
    found = batch_splits(GlobalBatch(48, "given"), 8)
    assert [(one.micro_batch, one.micro_batches) for one in found.even] == [(6, 1), (3, 2), (2, 3), (1, 6)]
    assert all(one.micro_batch * one.micro_batches * 8 == 48 for one in found.even)
    none = batch_splits(GlobalBatch(48, "given"), 7)
    assert none.even == ()
    assert (none.nearest.below, none.nearest.above) == (6, 8)
    assert batch_splits(GlobalBatch(4, "given"), 7).nearest.above is None


@needs_collection
@pytest.mark.parametrize(
    ("name", "sequences", "micro"),
    [("deepspeed-zero3-4rank", 4, 1), ("deepspeed-zero1-2rank", 2, 1), ("hf-trainer-1proc", 2, 2)],
)
def test_the_global_batch_of_real_checkpoints(name: str, sequences: int, micro: int) -> None:
    """From the configuration of DeepSpeed, and from the arguments of the Trainer, unpickled as data."""
    found = recorded_batch(read_manifest(folder_of(name)))
    assert found is not None
    assert (found.sequences, found.micro_batch) == (sequences, micro)


@needs_collection
def test_the_stages_of_a_real_pipeline_are_told_apart() -> None:
    """Two of the real checkpoints: flattened states of a pipeline lose nothing; saved states of two ranks do."""
    states = {one.state for one in not_carried_over(read_manifest(folder_of("dcp-pp2-fsdp2")), parse_layout("3"))}
    assert "hyperparameters" not in states
    partial = not_carried_over(read_manifest(folder_of("dcp-partial-rng-dataloader")), parse_layout("4"))
    assert {one.state for one in partial} == {"random-number states", "data position"}
