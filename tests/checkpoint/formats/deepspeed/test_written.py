"""ZeRO checkpoints made by the tests: every stage, number of ranks and group, whole or with files missing."""

from __future__ import annotations

import numpy as np
import pytest

from ckptplan.checkpoint.folder import CheckpointFolder
from ckptplan.checkpoint.formats.deepspeed import read, recognised
from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Flaw, Manifest, Mesh, Tensor
from ckptplan.errors import InputError
from tests.checkpoint.formats.deepspeed.written import SLOTS, File, Run, frozen_values, values_of, write
from tests.checkpoint.shared_fixtures import whole

GROUPS = [
    {"embed.weight": (7, 5), "norm.weight": (5,), "scale": (), "head.weight": (11, 5)},
    {"bias": (3,), "wide.bias": (41,)},
]
NONE: dict[str, tuple[int, ...]] = {"empty": (0, 4), "one": (1,)}


def manifest_of(root) -> Manifest:
    """What is read from a folder."""
    folder = CheckpointFolder(root)
    assert recognised(folder)
    return read(folder)


def tensors_of(manifest: Manifest) -> dict[str, Tensor]:
    """Tensors by key."""
    return {tensor.key: tensor for tensor in manifest.tensors}


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("groups", [GROUPS[:1], GROUPS, [*GROUPS, NONE]])
@pytest.mark.parametrize("mapped", [True, False])
def test_every_state_of_every_parameter(tmp_path, stage, ranks, groups, mapped):
    """Parameters that straddle ranks, padding at the end of groups and of parameters, more ranks than elements."""
    run = Run(stage, ranks, groups, mapped=mapped)
    write(run, tmp_path)
    manifest = manifest_of(tmp_path)
    assert manifest.faults == ()
    expected = values_of(run)
    found = tensors_of(manifest)
    for slot in SLOTS:
        for name, values in expected[slot].items():
            tensor = found[f"{slot}:{name}"]
            assert (tensor.shape, tensor.dtype) == (values.shape, "float32")
            assert whole(manifest, tensor) == values.tobytes()
    assert (manifest.step, manifest.world_size, manifest.mesh) == (5, ranks, Mesh((ranks,), ("data parallel",)))
    modules = {key for key in found if key.startswith("module:")}
    weights = {f"module:{name}" for group in groups for name in group} if stage < 3 else set()
    empty = {key for key in modules if found[key].elements == 0}
    assert modules - empty == weights - {"module:empty"} | {"module:norm.running_mean"}
    assert found["module:norm.running_mean"].kind is StateKind.BUFFER


@pytest.mark.parametrize("stage", [1, 3])
@pytest.mark.parametrize("gone", [{0}, {1}, {3}, {1, 2}, {0, 3}, {0, 1, 2}])
@pytest.mark.parametrize("groups", [GROUPS[:1], GROUPS, [{"a": (2,), "huge": (40, 9), "b": (2,)}]])
def test_with_files_missing_what_is_there_is_right(tmp_path, stage, gone, groups):
    """Every piece at hand is the part of the parameter that it is said to be; the rest is stored nowhere."""
    run = Run(stage, 4, groups)
    folder = write(run, tmp_path)
    for rank in gone:
        (folder / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt").unlink()
    manifest = manifest_of(tmp_path)
    missing = [fault for fault in manifest.faults if fault.flaw is Flaw.MISSING_FILE]
    assert {fault.file for fault in missing} == {
        f"global_step5/zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in gone
    }
    expected, found = values_of(run), tensors_of(manifest)
    assert len(missing) == len(manifest.faults)
    for slot in SLOTS:
        for name, values in expected[slot].items():
            _check_pieces(manifest, found[f"{slot}:{name}"], values.reshape(-1))


def _check_pieces(manifest: Manifest, tensor: Tensor, values: np.ndarray) -> None:
    end = 0
    for row in range(tensor.shards.number):
        at, size = int(tensor.shards.offsets[row, 0]), int(tensor.shards.sizes[row, 0])
        assert at == end
        end = at + size
        if tensor.shards.files[row] < 0:
            with pytest.raises(InputError, match="is not there"):
                manifest.source.read(tensor, row)
        else:
            assert manifest.source.read(tensor, row).tobytes() == values[at:end].tobytes()
    assert end == values.size


def test_prefixes_of_the_precision(tmp_path):
    """Files of bf16 and fp16 runs have other names."""
    for prefix in ("bf16_", "fp16_"):
        run = Run(2, 2, GROUPS, prefix=prefix)
        folder = write(run, tmp_path / prefix)
        assert manifest_of(folder).faults == ()
        (folder / f"{prefix}zero_pp_rank_1_mp_rank_00_optim_states.pt").unlink()
        assert [fault.file for fault in manifest_of(folder).faults] == [
            f"{prefix}zero_pp_rank_1_mp_rank_00_optim_states.pt"
        ]


@pytest.mark.parametrize("stage", [1, 3])
def test_slices_of_tensor_parallelism_stay_apart(tmp_path, stage):
    """No file says along which axis they were cut: each has keys of its own."""
    run = Run(stage, 2, GROUPS, model_ranks=2)
    write(run, tmp_path)
    manifest = manifest_of(tmp_path)
    found = tensors_of(manifest)
    for model_rank in range(2):
        for slot in SLOTS:
            for name, values in values_of(run, model_rank)[slot].items():
                assert whole(manifest, found[f"mp_rank_{model_rank:02d}:{slot}:{name}"]) == values.tobytes()
    assert (manifest.world_size, manifest.mesh) == (4, Mesh((2, 2), ("data parallel", "model parallel")))
    assert any("axis" in remark for remark in manifest.remarks)


@pytest.mark.parametrize("stage", [2, 3])
def test_frozen_parameters_are_parameters(tmp_path, stage):
    """They have no moments; stage 3 cuts them as it cuts all others."""
    run = Run(stage, 3, GROUPS, frozen={"frozen.weight": (4, 5), "frozen.bias": (2,)})
    write(run, tmp_path)
    manifest = manifest_of(tmp_path)
    for number, (name, shape) in enumerate(run.frozen.items()):
        tensor = tensors_of(manifest)[f"frozen:{name}"]
        assert (tensor.kind, tensor.shape) == (StateKind.PARAMETER, shape)
        assert whole(manifest, tensor) == frozen_values(number, shape).tobytes()


def test_random_states_of_every_rank_are_told(tmp_path):
    """Client state of stage 3 is in the file of each rank; scheduler and progress are told once."""
    run = Run(3, 3, GROUPS, client={"rng_state": {"python": (3, (1, 2, 3), None)}, "tokens": 12})
    write(run, tmp_path)
    manifest = manifest_of(tmp_path)
    random_states = [entry for entry in manifest.objects if entry.kind is StateKind.RANDOM]
    assert sorted(entry.rank for entry in random_states) == [0, 1, 2]
    assert sum(entry.kind is StateKind.SCHEDULER for entry in manifest.objects) == 1


def test_the_weights_of_stage_3_are_there_through_the_masters(tmp_path):
    """Empty tensors are no weights, and a moment belongs to its master."""
    write(Run(3, 2, GROUPS), tmp_path)
    manifest = manifest_of(tmp_path)
    assert [kind for kind, _ in manifest.elsewhere] == [StateKind.PARAMETER]
    assert tensors_of(manifest)["exp_avg:bias"].parameter == "fp32:bias"
    write(Run(1, 2, GROUPS), tmp_path / "other")
    manifest = manifest_of(tmp_path / "other")
    assert manifest.elsewhere == ()
    assert tensors_of(manifest)["exp_avg:bias"].parameter == "module:bias"


@pytest.mark.parametrize("tag", ["../outside", "/etc", "a/../../b", "..", "", "a\0b", "x" * 5000])
def test_a_tag_outside_of_the_folder_is_refused(tmp_path, tag):
    """`latest` names a folder beside it."""
    write(Run(1, 1, GROUPS), tmp_path / "run")
    (tmp_path / "run" / "latest").write_text(tag)
    with pytest.raises(InputError, match="does not name a folder beside it"):
        read(CheckpointFolder(tmp_path / "run"))


def test_files_of_pipeline_layers_are_told(tmp_path):
    """Their tensors are parameters under the name of the file."""
    folder = write(Run(1, 2, GROUPS, weights=False), tmp_path)
    file = File()
    file.write(folder / "layer_03-model_00-model_states.pt", {"attention.weight": file.stored(np.ones((2, 3), "f4"))})
    (folder / "layer_04-model_00-model_states.pt").write_bytes(b"broken")
    manifest = manifest_of(tmp_path)
    layer = tensors_of(manifest)["layer_03-model_00-model_states.pt:attention.weight"]
    assert layer.kind is StateKind.PARAMETER
    assert whole(manifest, layer) == np.ones((2, 3), "f4").tobytes()
    assert [fault.file for fault in manifest.faults] == ["global_step5/layer_04-model_00-model_states.pt"]
    assert any(remark.startswith("2 files of pipeline layers") for remark in manifest.remarks)


def test_the_program_beside_it_is_listed_and_not_run(tmp_path):
    """DeepSpeed leaves a copy of zero_to_fp32.py."""
    write(Run(1, 1, GROUPS), tmp_path)
    (file,) = [one for one in manifest_of(tmp_path).files if one.name.endswith(".py")]
    assert "not run" in file.holds


def test_a_thousand_parameters_on_many_ranks(tmp_path):
    """Rows are made by arrays: 300 parameters x 256 ranks x 3 states."""
    run = Run(3, 256, [{f"layers.{n}.weight": (16, 33) for n in range(300)}])
    write(run, tmp_path)
    manifest = manifest_of(tmp_path)
    assert manifest.faults == ()
    assert sum(tensor.shards.number for tensor in manifest.tensors if tensor.shards.flat) >= 3 * 300 * 176
