"""Whether tensors are one whole model, by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptplan.checkpoint.formats.safetensors_header import StoredTensor
from ckptplan.errors import InputError
from ckptplan.readers.models.stored_model import read_stored_model
from ckptplan.readers.models.tensor_names import role_of
from ckptplan.readers.models.whole_models import missing_parts, refuse_what_is_no_model
from tests.checkpoint.formats.test_safetensors_header import save
from tests.readers.models.test_stored_model import SMALL, TRUTH, counted, tensors_of

TEN = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
UP = "model.layers.{}.mlp.up_proj.weight"
EXPERT = "model.layers.{}.mlp.experts.{}.up_proj.weight"


def tensors(*names: str) -> list[StoredTensor]:
    """Small matrices with these names."""
    return [StoredTensor(name, "BF16", (4, 8)) for name in names]


def missing(stored: list[StoredTensor]) -> list[str]:
    """What is said of tensors with what their names say."""
    return missing_parts((tensor, role_of(tensor.name, len(tensor.shape))) for tensor in stored)


@counted
@pytest.mark.parametrize("name", SMALL or ["none"])
def test_every_counted_model_is_whole(name: str) -> None:
    """No published model has a hole, an adapter or a state of an optimizer by its names."""
    stored = [StoredTensor(key, *value) for key, value in tensors_of(TRUTH[name]).items()]
    refuse_what_is_no_model(name, stored)
    assert missing(stored) == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([UP.format(n) for n in (0, 1, 3)], ["no tensor of model.layers.2"]),
        ([UP.format(5)], ["no tensor of model.layers.0, 1, 2, 3, 4"]),
        ([UP.format(0), UP.format(100)], [f"no tensor of model.layers.{TEN} and 89 more"]),
        (
            [UP.format(0), UP.format(999_999)],
            [f"no tensor of model.layers.{TEN} and 999,988 more"],
        ),
        (["a.layers.0.w", "b.layers.1.w"], ["no tensor of b.layers.0"]),
        (
            [EXPERT.format(0, 0), EXPERT.format(0, 1), EXPERT.format(1, 1)],
            ["no tensor 'model.layers.1.mlp.experts.{}.up_proj.weight' of expert 0"],
        ),
        ([UP.format(0), UP.format(1)], []),
        ([UP.format(0), "model.layers.1.eh_proj.weight", UP.format(1)], []),
        ([UP.format(0), "model.layers.7.rotary_emb.inv_freq"], []),
        ([UP.format(0), "mtp.layers.3.w", "visual.blocks.9.attn.weight"], []),
    ],
)
def test_numbers_that_are_left_out_are_named(names: list[str], said: list[str]) -> None:
    """Layers of each stack and experts of each layer; buffers, towers and modules beside a model are not."""
    assert missing(tensors(*names)) == said


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", "an adapter"),
        ("base_model.model.layers.0.q_proj.lora_B.default.weight", "an adapter"),
        ("optimizer.exp_avg.model.layers.0.mlp.up_proj.weight", "the state of an optimizer"),
        ("model.layers.0.mlp.up_proj.weight.exp_avg_sq", "the state of an optimizer"),
        ("optim.state.0.step", "the state of an optimizer"),
        ("model_ema.layers.0.mlp.up_proj.weight", "a moving average"),
    ],
)
def test_what_is_no_model_is_refused(name: str, what: str, tmp_path: Path) -> None:
    """Adapters, states of an optimizer and averages are refused with one tensor of theirs, configuration or not."""
    save(tmp_path / "model.safetensors", {UP.format(0): ("BF16", (4, 8)), name: ("BF16", (4, 8))})
    with pytest.raises(InputError, match=what) as caught:
        read_stored_model(tmp_path)
    assert repr(name)[:40] in caught.value.problems[0].message
    assert caught.value.problems[0].hint


def test_a_hole_is_refused(tmp_path: Path) -> None:
    """A checkpoint without one of its layers is no model, with every stack that lacks one."""
    names = [*(UP.format(n) for n in (0, 2)), *(f"encoder.layers.{n}.w" for n in (0, 3))]
    save(tmp_path / "model.safetensors", dict.fromkeys(names, ("BF16", (4, 8))))
    with pytest.raises(InputError) as caught:
        read_stored_model(tmp_path)
    assert [problem.message for problem in caught.value.problems] == [
        "a part of a model: no tensor of model.layers.1",
        "a part of a model: no tensor of encoder.layers.1, 2",
    ]


def test_a_hole_beside_a_configuration_is_remarked(tmp_path: Path) -> None:
    """With a config.json the count is that of the whole model, and the hole is said."""
    save(tmp_path / "model.safetensors", {UP.format(n): ("BF16", (4, 8)) for n in (0, 2)})
    (tmp_path / "config.json").write_text('{"model_type": "llama", "num_hidden_layers": 3}', encoding="utf-8")
    found = read_stored_model(tmp_path)
    assert found.architecture.layers == 3
    assert "the files are a part of the model: no tensor of model.layers.1" in found.remarks


def test_a_config_that_is_not_used_is_told_with_line_and_key(tmp_path: Path) -> None:
    """Where the fault of the configuration is, and how many more there are."""
    save(tmp_path / "model.safetensors", {UP.format(0): ("BF16", (4, 8))})
    text = '{"model_type": "llama",\n"num_hidden_layers": "2",\n"hidden_size": -1}'
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    (remark,) = read_stored_model(tmp_path).remarks
    assert "line 2: num_hidden_layers: '2' is not a whole number (and 1 more fault)" in remark
