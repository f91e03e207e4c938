"""Models by the files that a spec names: what follows from them, and every way in which that fails."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ckptplan.errors import InputError, Problem
from ckptplan.load import load
from tests.checkpoint.formats.test_safetensors_header import save
from tests.spec.broken import GOOD

CONFIG = {
    "model_type": "mixtral",
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 1,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 1_000,
    "tie_word_embeddings": False,
    "max_position_embeddings": 64,
}
COLLECTION = Path(__file__).parents[3] / "shared" / "data" / "models"
IN_EXPERTS = 4 * 8 * 3 * 8 * 16
# Two vocabulary matrices and the last norm; each layer attention, two norms, a router and its experts.
PARAMETERS = 2 * 1_000 * 8 + 8 + 4 * (4 * 64 + 2 * 8 + 8 * 8) + IN_EXPERTS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A spec that names a configuration, with the configuration and a checkpoint beside it."""
    inside = tmp_path / "run"
    inside.mkdir()
    (inside / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (inside / "weights").mkdir()
    save(inside / "weights" / "model.safetensors", {"model.layers.0.mlp.up_proj.weight": ("BF16", (4, 8))})
    spec(inside, "config: config.json")
    return inside


def spec(folder: Path, source: str, layout: str = "tensor: 8, pipeline: 4, data: 16, shard: zero1") -> Path:
    """The good spec with another source of its model, and another layout."""
    text = GOOD.replace("parameters: 70e9", source).replace("tensor: 8, pipeline: 4, data: 16, shard: zero1", layout)
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(path: Path | str, *sets: str) -> tuple[Problem, ...]:
    """The problems of a spec; each has a hint, and none is a traceback."""
    with pytest.raises(InputError) as caught:
        load(str(path), sets=sets, environment={})
    assert all(problem.hint for problem in caught.value.problems)
    return caught.value.problems


def test_a_config_gives_parameters_experts_and_layers(folder: Path) -> None:
    """What follows is in force, with the file as its origin."""
    read = load(str(folder / "run.yaml"), environment={})
    model = read.scenario.model
    assert (model.parameters, model.expert_parameters) == (PARAMETERS, IN_EXPERTS)
    assert model.architecture is not None
    assert model.architecture.layers == 4
    shown = {value.key: (value.si, value.origin) for value in read.values}
    assert shown["model.config"][0] == "config.json"
    assert shown["model.parameters"] == (PARAMETERS, "follows from model.config")
    assert shown["model.expert_parameters"] == (IN_EXPERTS, "follows from model.config")
    assert read.warnings == ()


def test_a_checkpoint_gives_what_its_headers_say(folder: Path) -> None:
    """The headers of a folder of files, by their folder or their name."""
    for name in ("weights", "./weights/model.safetensors"):
        path = spec(folder, f"checkpoint: {name}", "data: 512")
        model = load(str(path), environment={}).scenario.model
        assert (model.parameters, model.expert_parameters) == (32, 0)


def test_remarks_of_a_checkpoint_are_warnings(folder: Path) -> None:
    """A configuration beside the files that does not fit them is told at the key."""
    (folder / "weights" / "config.json").write_bytes((folder / "config.json").read_bytes())
    (warning,) = load(str(spec(folder, "checkpoint: weights")), environment={}).warnings
    assert warning.key == "model.checkpoint"
    assert "hold 32 parameters" in warning.message


def test_a_flag_names_another_source(folder: Path) -> None:
    """--set of one source replaces the others, and what followed from them."""
    path = spec(folder, "parameters: 70e9, expert_parameters: 1e9", "data: 512")
    read = load(str(path), sets=["model.config=config.json"], environment={})
    assert (read.scenario.model.parameters, read.scenario.model.expert_parameters) == (PARAMETERS, IN_EXPERTS)
    read = load(str(spec(folder, "config: config.json")), sets=["model.parameters=1e9"], environment={})
    assert (read.scenario.model.parameters, read.scenario.model.architecture) == (1e9, None)
    read = load(str(path), sets=["model.checkpoint=weights", "cluster.layout={data: 512}"], environment={})
    assert (read.scenario.model.parameters, read.scenario.model.expert_parameters) == (32, 0)


def test_a_config_wins_over_a_preset(folder: Path) -> None:
    """A key written beside a preset wins, another source of the same as well."""
    path = spec(folder, "preset: llama3-70b, config: config.json")
    assert load(str(path), environment={}).scenario.model.parameters == PARAMETERS


def test_a_preset_that_a_flag_names_wins_over_a_config(folder: Path) -> None:
    """A preset of the command line replaces the source of the file; a source beside it on the command line wins."""
    path = spec(folder, "config: config.json")
    read = load(str(path), sets=["model.preset=llama3-70b"], environment={})
    assert read.scenario.model.parameters == 70_553_706_496
    read = load(str(path), sets=["model.preset=llama3-70b", "model.config=config.json"], environment={})
    assert read.scenario.model.parameters == PARAMETERS
    read = load(str(path), sets=["model.config=config.json", "model.preset=llama3-70b"], environment={})
    assert read.scenario.model.parameters == PARAMETERS


def test_files_of_a_spec_from_standard_input_lie_in_the_working_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spec that is piped in, and a shipped one, name files beside the work."""
    monkeypatch.chdir(folder)
    assert load("run.yaml", environment={}).scenario.model.parameters == PARAMETERS
    read = load("llama3-405b", sets=["model.config=config.json", "cluster.layout={}"], environment={})
    assert read.scenario.model.parameters == PARAMETERS


def test_muon_updates_the_matrices_of_the_layers(folder: Path) -> None:
    """The part of the parameters in hidden matrices follows from the layers: nothing is assumed, nothing warned of."""
    spec_file = spec(folder, "config: config.json")
    read = load(str(spec_file), sets=["model.state=muon"], environment={})
    matrices = 4 * (4 * 64 + 8 * 8) + IN_EXPERTS
    shown = {value.key: (value.si, value.origin) for value in read.values}
    assert shown["model.matrix_fraction"] == (matrices / PARAMETERS, "follows from the layers")
    assert read.warnings == ()
    read = load(str(spec_file), sets=["model.state=muon", "model.matrix_fraction=0.5"], environment={})
    assert {value.key: value.si for value in read.values}["model.matrix_fraction"] == 0.5


def test_experts_that_agree_may_be_given(folder: Path) -> None:
    """The number that follows is no fault; another one is."""
    path = spec(folder, f"config: config.json, expert_parameters: {IN_EXPERTS}")
    assert load(str(path), environment={}).scenario.model.expert_parameters == IN_EXPERTS
    (fault,) = faults(spec(folder, "config: config.json, expert_parameters: 9"))
    assert fault.key == "model.expert_parameters"
    assert f"{IN_EXPERTS:,}" in fault.message


@pytest.mark.parametrize(
    ("layout", "key", "message"),
    [
        ("pipeline: 8, shard: zero1", "cluster.layout.pipeline", "8 stages, but layers of the model: 4"),
        ("expert: 16, shard: zero1", "cluster.layout.expert", "16 expert-parallel ranks, but the model has 8 experts"),
        ("pipeline: 2, layers_per_stage: [1, 2]", "cluster.layout.layers_per_stage", "3 layers together"),
        ("pipeline: 2, layers_per_stage: [1, 2, 1]", "cluster.layout.layers_per_stage", "layers of 3 stages"),
    ],
)
def test_layouts_that_the_layers_do_not_fill_are_refused(folder: Path, layout: str, key: str, message: str) -> None:
    """More stages than layers, more expert groups than experts, layers that are not those of the model."""
    (fault,) = faults(spec(folder, "config: config.json", layout))
    assert (fault.key, fault.place.line if fault.place else None) == (key, 3)
    assert message in fault.message


@pytest.mark.parametrize(
    ("layout", "key", "message", "hint"),
    [
        ("tensor: 16", "cluster.layout.tensor", "8 attention heads do not divide by 16 ranks", "tensor: 8,"),
        ("data: 128, expert: 4, tensor: 4", None, "", ""),
        ("context: 2, data: 256, expert: 4, tensor: 1", None, "", ""),
        ("pipeline: 4, layers_per_stage: [1, 1, 1, 1]", None, "", ""),
    ],
)
def test_layouts_that_divide_unevenly_are_warned_of(
    folder: Path, layout: str, key: str | None, message: str, hint: str
) -> None:
    """Heads that do not divide by tensor-parallel ranks, which Megatron Core refuses; an even layout has no word."""
    found = load(str(spec(folder, "config: config.json", layout)), environment={}).warnings
    assert [warning.key for warning in found] == ([] if key is None else [key])
    assert all(message in warning.message and hint in (warning.hint or "") for warning in found)


def test_stages_and_experts_that_do_not_divide_are_warned_of(folder: Path) -> None:
    """The hint is a list of layers that is accepted, and a number of ranks that divides the experts."""
    (folder / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": 5}), encoding="utf-8")
    path = spec(folder, "config: config.json", "pipeline: 2, data: 256")
    (warning,) = load(str(path), environment={}).warnings
    assert (warning.key, "5 layers do not divide by 2 stages" in warning.message) == ("cluster.layout.pipeline", True)
    assert warning.hint == "write layers_per_stage: [3, 2]"
    sets = ["cluster.layout={pipeline: 2, layers_per_stage: [3, 2]}"]
    assert load(str(path), sets=sets, environment={}).warnings == ()
    (folder / "config.json").write_text(json.dumps(CONFIG | {"num_local_experts": 6}), encoding="utf-8")
    (warning,) = load(str(spec(folder, "config: config.json", "expert: 4")), environment={}).warnings
    assert (warning.key, "6 experts do not divide by 4 ranks" in warning.message) == ("cluster.layout.expert", True)
    assert (warning.hint or "").startswith("write expert: 3,")


def test_a_model_of_unknown_heads_has_no_word_on_them(folder: Path) -> None:
    """Names of tensors do not tell how many heads there are."""
    assert load(str(spec(folder, "checkpoint: weights", "tensor: 64")), environment={}).warnings == ()


@pytest.mark.parametrize("written", ["[0, 4]", "[2, x]", "4", "[1e30, 1]", "[1, 2, 3]", "[2, 3]"])
def test_hints_of_layers_by_stage_are_accepted_lists(folder: Path, written: str) -> None:
    """Every fault of the list hints at a list, never at one number."""
    (fault,) = faults(spec(folder, "config: config.json", f"pipeline: 2, layers_per_stage: {written}"))
    assert fault.key == "cluster.layout.layers_per_stage"
    assert "layers_per_stage: [" in (fault.hint or "")


def test_dimensions_that_the_file_lacks_are_warned_of(folder: Path) -> None:
    """Width and depth by default are another model: a warning at the key, and the number of assumed keys as origin."""
    (folder / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    read = load(str(spec(folder, "config: config.json", "data: 512")), environment={})
    (warning,) = read.warnings
    assert warning.key == "model.config"
    assert "num_hidden_layers = 32 and 2 more" in warning.message
    origins = {value.key: value.origin for value in read.values}
    assert origins["model.parameters"] == "follows from model.config, 8 assumed"


@pytest.mark.skipif(not COLLECTION.is_dir(), reason="the collection of configurations is not here")
def test_published_files_say_how_large_they_are(folder: Path) -> None:
    """No configuration of the collection is warned of on one GPU."""
    (folder / "run.yaml").write_text(GOOD.replace("parameters: 70e9", "config: config.json"), encoding="utf-8")
    alone = ["cluster={gpus: 1, layout: {data: 1}}"]
    for path in sorted(COLLECTION.glob("*/config.json")):
        (folder / "config.json").write_bytes(path.read_bytes())
        read = load(str(folder / "run.yaml"), sets=alone, environment={})
        assert not [warning for warning in read.warnings if warning.key == "model.config"], path


def test_a_configuration_in_place_of_a_spec_is_recognised(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A config.json, and a folder that holds one, named as a spec: one fault that says where it belongs."""
    (fault,) = faults(folder / "config.json")
    assert "config.json of a model, not a spec" in fault.message
    assert "model: {config:" in (fault.hint or "")
    (fault,) = faults(folder)
    assert "a folder with the config.json of a model" in fault.message
    assert "model: {config:" in (fault.hint or "")
    (folder / "config.json").rename(folder / "weights" / "config.json")
    (fault,) = faults(folder)
    assert "it is a directory" in fault.message
    monkeypatch.chdir(folder.parent)
    (folder.parent / "llama3-405b").mkdir()
    (folder.parent / "llama3-405b" / "config.json").write_text("{}", encoding="utf-8")
    assert load("llama3-405b", environment={}).scenario.cluster.gpus == 16_384


def test_a_spec_with_a_key_of_a_configuration_is_a_spec(folder: Path) -> None:
    """One key too many beside the groups of a spec is an unknown key."""
    path = folder / "run.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "model_type: llama\n", encoding="utf-8")
    (fault,) = faults(path)
    assert (fault.key, fault.message) == ("model_type", "unknown key")


def test_experts_of_a_dense_model_are_refused(folder: Path) -> None:
    """Expert parallelism without experts."""
    (fault,) = faults(spec(folder, "checkpoint: weights", "expert: 2, shard: zero1"))
    assert "no experts" in fault.message


def test_layers_by_stage_are_used_and_shown(folder: Path) -> None:
    """A first stage with fewer layers; without layers they have no effect, which is said."""
    read = load(str(spec(folder, "config: config.json", "pipeline: 2, layers_per_stage: [1, 3]")), environment={})
    assert read.scenario.cluster.layout.layers_per_stage == (1, 3)
    assert {value.key: value.text for value in read.values}["cluster.layout.layers_per_stage"] == "1, 3"
    json.dumps(read.si)
    read = load(str(spec(folder, "parameters: 1e9", "pipeline: 2, layers_per_stage: [1, 3]")), environment={})
    assert "no effect" in read.warnings[0].message


def _outside(folder: Path) -> None:
    (folder.parent / "out.json").write_text("{}", encoding="utf-8")


def _link(folder: Path) -> None:
    _outside(folder)
    (folder / "link.json").symlink_to(folder.parent / "out.json")


def _link_in_folder(folder: Path) -> None:
    _outside(folder)
    (folder / "linked").mkdir()
    (folder / "linked" / "config.json").symlink_to(folder.parent / "out.json")


def _hub(folder: Path) -> None:
    """A snapshot of a cache: links to files beside it."""
    (folder / "hub").mkdir()
    (folder / "hub" / "a.safetensors").symlink_to(folder / "weights" / "model.safetensors")


def _written(name: str, data: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(data) and None  # type: ignore[func-returns-value]


def _header(text: bytes) -> Callable[[Path], None]:
    """A safetensors file with this header and eight bytes of data."""
    return _written("a.safetensors", len(text).to_bytes(8, "little") + text + bytes(8))


def _nothing(_: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("source", "prepare", "message"),
    [
        ("config: missing.json", _nothing, "No such file"),
        ("config: ../out.json", _outside, "not in the folder of the spec"),
        ("config: /etc/passwd", _nothing, "not in the folder of the spec"),
        ("config: link.json", _link, "not in the folder of the spec"),
        ("config: linked", _link_in_folder, "not in the folder of the spec"),
        ("config: loop", lambda folder: (folder / "loop").symlink_to("loop"), "not in the folder of the spec"),
        ("config: pipe", lambda folder: os.mkfifo(folder / "pipe"), "not a regular file"),
        ("config: weights", _nothing, "No such file"),
        ("config: a.json", _written("a.json", b"{"), ""),
        ("config: a.json", _written("a.json", b'{"model_type": "never-heard-of"}'), "never-heard-of"),
        ("config: a.json", _written("a.json", b"\x00" * 100), ""),
        ("checkpoint: missing", _nothing, "no such file"),
        ("checkpoint: a.safetensors", lambda folder: (folder / "a.safetensors").mkdir(), "no checkpoint is recognised"),
        ("checkpoint: odd", lambda folder: (folder / "odd" / "a.safetensors").mkdir(parents=True), "is a folder"),
        ("config: odd", lambda folder: (folder / "odd" / "config.json").mkdir(parents=True), "is a folder"),
        ("checkpoint: hub", _hub, "a link that leads out of the folder"),
        ("checkpoint: ..", _nothing, "not in the folder of the spec"),
        ("checkpoint: link.json", _link, "not in the folder of the spec"),
        ("checkpoint: pipe", lambda folder: os.mkfifo(folder / "pipe"), "pipe"),
        ("checkpoint: empty", lambda folder: (folder / "empty").mkdir(), "no checkpoint is recognised"),
        ("checkpoint: a.bin", _written("a.bin", b"\x80\x02}."), "no checkpoint is recognised"),
        ("checkpoint: a.safetensors", _written("a.safetensors", b"\xff" * 8), "100,000,000 are the most"),
        ("checkpoint: a.safetensors", _written("a.safetensors", b"\x09" + b"\0" * 7 + b"{}"), "cut off"),
        ("checkpoint: a.safetensors", _header(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'), "hole of 4"),
        (
            "checkpoint: a.safetensors",
            _header(b'{"a":{"dtype":"F99","shape":[1],"data_offsets":[0,8]}}'),
            "unknown type",
        ),
    ],
)
def test_files_that_cannot_be_used_are_refused(
    folder: Path, source: str, prepare: Callable[[Path], None], message: str
) -> None:
    """One fault with a hint, at the key or in the file, for every kind of file that gives no model."""
    prepare(folder)
    (fault,) = faults(spec(folder, source))
    assert message in fault.message
    assert fault.place is not None
    assert fault.message.isascii()


def test_a_study_reads_the_file_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scenario built anew for other values does not read the configuration again."""
    path = spec(folder, "config: config.json")
    path.write_text(path.read_text(encoding="utf-8").replace("50_000 h", "40_000 h .. 60_000 h"), encoding="utf-8")
    read = load(str(path), environment={})
    (folder / "config.json").unlink()
    again = read.with_values({"failures.mtbf_per_gpu": 1.8e8})
    assert again.model == read.scenario.model
