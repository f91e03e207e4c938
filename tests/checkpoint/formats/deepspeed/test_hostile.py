"""DeepSpeed checkpoints made to harm: an answer or one error, in bounded memory, and nothing of them runs."""

from __future__ import annotations

import os
import random
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.deepspeed import read, recognised
from ckptplan.checkpoint.manifest import Flaw, Manifest
from ckptplan.errors import InputError
from tests.checkpoint.archives.torch_zip import Call, Storage, saved, tensor
from tests.checkpoint.formats.deepspeed.written import Run, write
from tests.checkpoint.mutations import MOST_BYTES, each_mutated, read_all, refused
from tests.checkpoint.shared_fixtures import folder_of, needs_collection

GROUPS = [{"a.weight": (5, 3), "b.weight": (4,)}, {"c.bias": (7,)}]


def touched(root: Path) -> Manifest | None:
    """Read all that can be read."""
    folder = CheckpointFolder(root)
    if not recognised(folder):
        return None
    found = read(folder)
    read_all(found)
    return found


@pytest.mark.parametrize("stage", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_mutations_give_an_answer_or_an_error(tmp_path, stage, seed):
    """Each file in turn is changed at random: nothing but an InputError is ever raised."""
    draw = random.Random(f"{stage} {seed}")  # noqa: S311
    write(Run(stage, 2, GROUPS), tmp_path)
    files = [path for path in sorted(tmp_path.rglob("*")) if path.suffix == ".pt" or path.name == "latest"]
    whole = 0
    for _ in each_mutated(files, draw, 150):
        whole += not refused(lambda: touched(tmp_path)) and recognised(CheckpointFolder(tmp_path))
    assert whole > 0
    found = touched(tmp_path)
    assert found is not None
    assert found.faults == ()
    assert not list(Path().glob("CKPTPLAN_PICKLE_EXECUTED"))


@needs_collection
@pytest.mark.parametrize("name", ["deepspeed-zero1-2rank", "deepspeed-zero3-4rank", "deepspeed-zero3-2rank-universal"])
def test_mutations_of_what_deepspeed_wrote(tmp_path, name):
    """The same of real files, the universal layout included."""
    draw = random.Random(name)  # noqa: S311
    root = folder_of(name)
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    start = tmp_path / "global_step3_universal" if name.endswith("universal") else tmp_path
    files = sorted(start.rglob("*.pt"))
    for _ in each_mutated(files, draw, 120):
        refused(lambda: touched(start))
    assert touched(start) is not None


def one_file(root: Path, **states: Any) -> Path:
    """A checkpoint of one rank whose optimizer file holds these."""
    storages = {"0": bytes(40)}
    vector = tensor(Storage("float32", "0", 10), (10,), (1,))
    base = {"state": {0: {"exp_avg": vector}}, "param_groups": []}
    default = {"zero_stage": 1, "partition_count": [1], "base_optimizer_state": base,
               "single_partition_of_fp32_groups": [vector]}  # fmt: skip
    root.mkdir(exist_ok=True)
    value = {"optimizer_state_dict": {**default, **states}}
    (root / "zero_pp_rank_0_mp_rank_00_optim_states.pt").write_bytes(saved(value, storages))
    shapes = [{"w": Call("torch", "Size", ((10,),))}]
    model = {"module": {}, "param_shapes": shapes, "dp_world_size": 1, "global_steps": 1}
    (root / "mp_rank_00_model_states.pt").write_bytes(saved(model, {}))
    return root


def address(number: object, start: object) -> Call:
    """What a map says of one parameter."""
    return Call("deepspeed.utils.tensor_fragment", "fragment_address", (number, start))


@pytest.mark.parametrize(
    "mapping",
    [
        {"w": address(11, 0)},
        {"w": address(10, 1)},
        {"w": address(2**61, 0)},
        {"w": address(4, 2**61)},
        {"w": address(6, 0), "v": address(6, 4)},
        {"w": address(5, 0), "v": address(5, 0)},
    ],
)
def test_maps_that_contradict_the_partition(tmp_path, mapping):
    """Beyond its end, or two parameters on the same elements: a fault, and no element of it is given out."""
    found = touched(one_file(tmp_path, param_slice_mappings=[mapping]))
    assert found is not None
    assert Flaw.CORRUPT in {fault.flaw for fault in found.faults}
    for one in found.tensors:
        assert (one.shards.files == -1).all()


@pytest.mark.parametrize(
    "states",
    [
        {"param_slice_mappings": [{"w": address(-1, 0)}]},
        {"param_slice_mappings": [{"w": 5}]},
        {"param_slice_mappings": [{"w": address("a", None)}]},
        {"param_slice_mappings": "text"},
        {"partition_count": "many"},
        {"partition_count": [-5]},
        {"base_optimizer_state": None},
        {"base_optimizer_state": {"state": [], "param_groups": 3}},
        {"base_optimizer_state": {"state": {0: 5, "x": {"step": {}}}, "param_groups": {}}},
        {"zero_stage": {}},
        {"loss_scaler": {"a": [{}]}},
    ],
)
def test_parts_of_the_wrong_kind_are_passed_over(tmp_path, states):
    """The masters are found by the order of the parameters then."""
    found = touched(one_file(tmp_path, **states))
    assert found is not None
    master = next(one for one in found.tensors if one.key == "fp32:w")
    assert found.source.read(master, 0).tobytes() == bytes(40)


@pytest.mark.parametrize("states", [{"single_partition_of_fp32_groups": "x"}, {"single_partition_of_fp32_groups": [5]}])
def test_a_file_without_partitions_is_a_fault(tmp_path, states):
    """The model states are read all the same."""
    found = touched(one_file(tmp_path, **states))
    assert found is not None
    assert found.step == 1
    assert {fault.flaw for fault in found.faults} >= {Flaw.CORRUPT}


@pytest.mark.parametrize("count", [10**5, 10**6, 2**40, 2**61, 10**30])
def test_absurd_numbers_of_ranks(tmp_path, count):
    """A hundred thousand ranks are missing, or the number is refused; nothing is allocated for each."""
    one_file(tmp_path, partition_count=[count])
    tracemalloc.start()
    try:
        found = touched(tmp_path)
        assert found is not None
        assert found.world_size in (1, 10**5)
        assert len(found.faults) < 50
    except InputError as error:
        assert "ranks" in error.problems[0].message  # noqa: PT017 - either outcome is right
    finally:
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
        tracemalloc.stop()


def test_a_rank_in_a_file_name_is_bounded(tmp_path):
    """A name with a rank of a hundred digits is no file of a rank."""
    one_file(tmp_path)
    (tmp_path / f"zero_pp_rank_{'9' * 100}_mp_rank_00_optim_states.pt").write_bytes(b"")
    (tmp_path / "zero_pp_rank_9999999_mp_rank_00_optim_states.pt").write_bytes(b"")
    with pytest.raises(InputError, match="ranks"):
        touched(tmp_path)


def test_code_in_a_file_is_told_and_does_not_run(tmp_path):
    """A name that loading the file with torch would call."""
    mark = tmp_path / "ran"
    one_file(tmp_path, loss_scaler=Call("os", "mkdir", (str(mark),)))
    found = touched(tmp_path)
    assert found is not None
    fault = next(one for one in found.faults if one.flaw is Flaw.FOREIGN_CODE)
    assert "os.mkdir" in fault.message
    assert not mark.exists()


def test_links_and_pipes_are_not_opened(tmp_path):
    """A file of a rank that is a link is as good as missing; a pipe does not hang."""
    folder = write(Run(1, 3, GROUPS), tmp_path / "run")
    inside = folder / "zero_pp_rank_1_mp_rank_00_optim_states.pt"
    inside.rename(tmp_path / "outside.pt")
    inside.symlink_to(tmp_path / "outside.pt")
    piped = folder / "zero_pp_rank_2_mp_rank_00_optim_states.pt"
    piped.unlink()
    os.mkfifo(piped)
    found = touched(tmp_path / "run")
    assert found is not None
    assert [fault.flaw for fault in found.faults] == [Flaw.MISSING_FILE] * 2


def test_a_truncated_file_is_told_and_the_others_are_read(tmp_path):
    """One broken rank does not hide the rest."""
    folder = write(Run(3, 4, GROUPS), tmp_path)
    broken = folder / "zero_pp_rank_2_mp_rank_00_optim_states.pt"
    broken.write_bytes(broken.read_bytes()[:500])
    found = touched(tmp_path)
    assert found is not None
    assert {fault.file for fault in found.faults} == {f"global_step5/{broken.name}"}
    whole = [one for one in found.tensors if one.shards.flat]
    assert all((one.shards.files == -1).any() and (one.shards.files >= 0).any() for one in whole)


def test_partitions_of_unequal_length(tmp_path):
    """A file of another run among those of this one."""
    folder = write(Run(3, 2, GROUPS), tmp_path / "one")
    other = write(Run(3, 2, [{"a.weight": (50, 3), "b.weight": (4,)}, {"c.bias": (7,)}]), tmp_path / "two")
    name = "zero_pp_rank_1_mp_rank_00_optim_states.pt"
    (folder / name).write_bytes((other / name).read_bytes())
    found = touched(tmp_path / "one")
    assert found is not None
    assert any("other lengths" in fault.message for fault in found.faults)
