"""Models from the headers of their files: held against counted models, tensor by tensor."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest

from ckptplan.checkpoint.formats.safetensors_header import StoredTensor
from ckptplan.cost.architecture import TensorKind
from ckptplan.errors import InputError
from ckptplan.readers.models.stored_model import architecture_of, read_stored_model
from tests.checkpoint.formats.test_safetensors_header import save

COLLECTION = Path(__file__).parents[4] / "shared" / "data" / "models"
TRUTH = (
    json.loads((COLLECTION / "truth.json").read_text(encoding="utf-8"))["models"]
    if (COLLECTION / "truth.json").is_file()
    else {}
)
MOST = 10_000  # tensors; larger models have the same names
# Experts run together along the rows of a matrix are not told apart by its shape.
RUN_TOGETHER = {"dbrx"}


def numbers(text: str) -> list[str]:
    """Numbers of a list of ranges such as 0-2,5."""
    ranges = (part.partition("-") for part in text.split(","))
    return [str(n) for first, _, last in ranges for n in range(int(first), int(last or first) + 1)]


def tensors_of(model: dict) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Every tensor of a counted model by name."""
    found = {}
    for tensor in model["tensors"]:
        parts = re.split(r"\{([^}]*)\}", tensor["name"])
        choices = [[part] if place % 2 == 0 else numbers(part) for place, part in enumerate(parts)]
        found |= {"".join(chosen): ("BF16", tuple(tensor["shape"])) for chosen in product(*choices)}
    return found


SMALL = [name for name, model in TRUTH.items() if sum(t["repeat"] for t in model["tensors"]) <= MOST]
counted = pytest.mark.skipif(not TRUTH, reason="the collection of counted models is not here")


@counted
@pytest.mark.parametrize("name", SMALL or ["none"])
def test_names_tell_parameters_layers_and_experts(name: str) -> None:
    """Parameters, tied head, layers and experts follow from names and shapes alone, without a config.json."""
    model = TRUTH[name]
    found = architecture_of(StoredTensor(key, *value) for key, value in tensors_of(model).items())
    assert found.total == model["counts"]["total"]
    assert found.tied_head == model["tied"]
    layers = [numbers(kind["layers"]) for kind in model["layer_kinds"] if "vis" not in kind["prefix"]]
    assert found.layers == max(int(last) for _, *_, last in [[0, *one] for one in layers]) + 1
    if name in RUN_TOGETHER:
        return
    experts = model.get("experts")
    assert (found.experts is None) == (not experts)
    if found.experts and experts:
        assert found.experts.routed == experts["routed"]
        assert found.experts.layers == experts["moe_layers"]
        assert found.experts.parameters_each == experts["parameters_per_routed_expert"]


@counted
@pytest.mark.parametrize("name", ["llama-3.2-1b", "mixtral-8x7b-v0.1", "gemma-3-4b", "deepseek-v2-lite"])
def test_the_config_beside_the_files_gives_the_layers(name: str, tmp_path: Path) -> None:
    """With the config.json in the folder the active parameters are known too, and the counts agree without a word."""
    save(tmp_path / "model.safetensors", tensors_of(TRUTH[name]))
    (tmp_path / "config.json").write_bytes((COLLECTION / name / "config.json").read_bytes())
    found = read_stored_model(tmp_path)
    assert found.remarks == ()
    assert found.architecture.total == TRUTH[name]["counts"]["total"]
    assert found.architecture.active == TRUTH[name]["counts"].get("active", found.architecture.total)


@counted
def test_a_config_of_another_model_is_remarked(tmp_path: Path) -> None:
    """Files and configuration that do not belong together are told with both counts."""
    save(tmp_path / "model.safetensors", tensors_of(TRUTH["llama-3.2-1b"]))
    (tmp_path / "config.json").write_bytes((COLLECTION / "llama-3.1-8b" / "config.json").read_bytes())
    (remark,) = read_stored_model(tmp_path).remarks
    assert "1,235,814,400" in remark
    assert "8,030,261,248" in remark


PLAIN = {
    "model.embed_tokens.weight": ("BF16", (100, 8)),
    "model.layers.0.self_attn.q_proj.weight": ("F8_E4M3", (8, 8)),
    "model.layers.0.self_attn.q_proj.weight_scale_inv": ("F32", (1, 1)),
    "model.layers.0.self_attn.rotary_emb.inv_freq": ("F32", (4,)),
    "model.layers.1.input_layernorm.weight": ("F32", (8,)),
    "model.layers.1.mlp.gate.e_score_correction_bias": ("F32", (7,)),
    "model.norm.weight": ("F32", (8,)),
    "model.position_ids": ("I64", (512,)),
    "mtp.layers.0.eh_proj.weight": ("BF16", (8, 16)),
    "model.layers.2.eh_proj.weight": ("BF16", (8, 16)),
    "model.layers.2.input_layernorm.weight": ("F32", (8,)),
    "visual.blocks.5.attn.weight": ("BF16", (3, 3)),
}


def test_scales_buffers_and_prediction_modules_are_no_parameters(tmp_path: Path) -> None:
    """Scales, positions and correction biases are buffers; prediction modules stand apart; towers have no layer."""
    save(tmp_path / "model.safetensors", PLAIN)
    found = read_stored_model(tmp_path / "model.safetensors")
    architecture = found.architecture
    assert architecture.total == 800 + 64 + 8 + 8 + 9
    assert architecture.buffers == 1 + 4 + 7 + 512
    assert sum(t.total for t in architecture.extra) == 2 * 128 + 8
    assert architecture.layers == 2
    assert architecture.of_kind(TensorKind.VISION) == 9
    assert dict(found.elements_by_type)["F8_E4M3"] == 64
    assert architecture.assumed == ("the output matrix is the input table",)
    assert "12 tensors" in architecture.source


def test_a_model_without_numbered_layers_is_one_stage(tmp_path: Path) -> None:
    """Any safetensors file counts, whatever its names."""
    save(tmp_path / "model.safetensors", {"weight": ("F32", (3, 4)), "bias": ("F32", ()), "empty": ("F32", (0, 9))})
    architecture = read_stored_model(tmp_path).architecture
    assert (architecture.total, architecture.layers, architecture.tied_head) == (13, 1, False)


@pytest.mark.parametrize(
    "name", ["l.layers.0.q_proj.qweight", "l.layers.0.mlp.experts.gate_up_proj_blocks", "l.layers.0.q_proj.weight"]
)
def test_packed_weights_need_a_config(name: str, tmp_path: Path) -> None:
    """Weights of four bits in bytes or words are not counted by their shapes."""
    save(tmp_path / "model.safetensors", {name: ("U8", (4, 4))})
    with pytest.raises(InputError, match="packed") as caught:
        read_stored_model(tmp_path)
    assert "config" in (caught.value.problems[0].hint or "")


def test_a_config_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    """An unknown family beside the files: names are used, and why."""
    save(tmp_path / "model.safetensors", {"model.layers.0.mlp.up_proj.weight": ("BF16", (4, 4))})
    (tmp_path / "config.json").write_text('{"model_type": "never-heard-of"}', encoding="utf-8")
    found = read_stored_model(tmp_path)
    assert found.architecture.total == 16
    assert "is not used" in found.remarks[0]
    assert "never-heard-of" in found.remarks[0]


def test_names_without_end_are_refused() -> None:
    """Tens of thousands of different tensors are no layers."""
    with pytest.raises(InputError, match="20,000 kinds"):
        architecture_of(StoredTensor(f"tensor{n}", "F32", (1,)) for n in range(20_001))


def test_files_without_weights_are_refused(tmp_path: Path) -> None:
    """Positions alone are no model."""
    save(tmp_path / "model.safetensors", {"position_ids": ("I64", (5,))})
    with pytest.raises(InputError, match="no tensor of weights"):
        read_stored_model(tmp_path)
