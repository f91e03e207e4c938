"""Every configuration of the collection against its counted model, where the collection is at hand."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest

from ckptplan.architectures.families import architecture
from ckptplan.architectures.stored import stored
from ckptplan.cost.architecture import Quantization, TensorKind
from ckptplan.cost.stages import stage_parameters

COLLECTION = Path(__file__).parents[3] / "shared" / "data" / "models"
TRUTH = (
    json.loads((COLLECTION / "truth.json").read_text(encoding="utf-8"))["models"]
    if (COLLECTION / "truth.json").is_file()
    else {}
)
pytestmark = pytest.mark.skipif(not TRUTH, reason="the collection of configurations is not here")
KINDS = {"ssm": "state space", "linear_attention": "linear attention", "shared_expert": "shared expert"}
# The collection calls these by a part of their name: a norm "embedding", and the second copy of a head "other".
# The attention of phi-2-msft lies under "mixer"; by layers the collection calls it "ssm", by tensors "attention".
MIXED_UP = ("phi-2-msft",)
OTHERWISE = {"mtp.pre_fc_norm_embedding.weight": "norm", "model.layers.{}.shared_head.head.weight": "head"}


def _model(name):
    return architecture(json.loads((COLLECTION / name / "config.json").read_text(encoding="utf-8")), name)


def _numbers(text):
    ranges = (part.partition("-") for part in text.split(","))
    return list(chain.from_iterable(range(int(a), int(b or a) + 1) for a, _, b in ranges))


def _expected(rows):
    """(name, shape, kind) -> layers, and how many each layer has."""
    found = {}
    for row in rows:
        name = re.sub(r"\{[^}]*\}", "{}", row["name"])
        kind = OTHERWISE.get(name, KINDS.get(row["kind"], row["kind"]))
        lists = [_numbers(text) for text in re.findall(r"\{([^}]*)\}", row["name"])]
        number = row["repeat"]
        assert number == len(lists[0] if lists else [0]) * len(lists[1] if len(lists) > 1 else [0])
        found[name, tuple(row["shape"]), kind] = (lists[0] if lists else [], number)
    return found


def _counted(tensors):
    found = defaultdict(lambda: ([], 0))
    for t in tensors:
        assert t.name.count("{}") <= 2
        first = list(t.layers) if t.layers else list(range(t.each)) if "{}" in t.name else []
        layers, number = found[t.name, t.shape, t.kind.value]
        found[t.name, t.shape, t.kind.value] = (sorted(layers + first), number + t.copies)
    return dict(found)


@pytest.mark.parametrize("name", TRUTH)
def test_tensors(name):
    """Names, shapes, kinds, layers and numbers of all tensors are those of the model."""
    model, truth = _model(name), TRUTH[name]
    extra = _expected(truth["mtp"]["tensors"]) if "mtp" in truth else {}
    extra = {key: (layers if "{}" in key[0] else [0] * 0, n) for key, (layers, n) in extra.items()}
    assert _counted(model.tensors) == _expected(truth["tensors"])
    assert _counted(t if "{}" in t.name else t._replace(layers=()) for t in model.extra) == extra


@pytest.mark.parametrize("name", TRUTH)
def test_the_class_of_every_model_is_known(name):
    """No class of the collection is taken for another family, or for one that nobody knows."""
    assert not any("has the tensors of" in note for note in _model(name).assumed)


@pytest.mark.parametrize("name", TRUTH)
def test_counts(name):
    """Totals, active parameters, buffers, and every part that the collection counts."""
    model, counts = _model(name), TRUTH[name]["counts"]
    kind = model.of_kind
    embedding, position, head = kind(TensorKind.EMBEDDING), kind(TensorKind.POSITION), kind(TensorKind.HEAD)
    towers = kind(TensorKind.VISION, TensorKind.PROJECTOR)
    text = model.total - towers
    own = [t for t in model.extra if not t.buffer]
    table = 0 if model.tied_head else embedding
    found = {
        "total": model.total,
        "with_tied_copies": model.with_tied_copies,
        "buffers": model.buffers,
        "embedding": embedding,
        "position_embedding": position,
        "head": head,
        "non_embedding": text - embedding - position - head,
        "text": text,
        "vision": kind(TensorKind.VISION),
        "vision_and_projector": towers,
        "active": model.active,
        "active_without_input_embedding": model.active - table,
        "active_non_embedding": model.active - towers - embedding - position - head,
        "active_text": model.active - towers,
        "mtp_own": sum(t.total for t in own if t.kind not in (TensorKind.EMBEDDING, TensorKind.HEAD)),
        "with_mtp": model.total + sum(t.total for t in own),
    }
    assert {key: found[key] for key in counts} == counts
    assert model.tied_head == TRUTH[name]["tied"]


@pytest.mark.parametrize("name", TRUTH)
def test_experts(name):
    """Experts, those that a token uses, the layers that have some, and the parameters of one."""
    model, truth = _model(name), TRUTH[name].get("experts")
    assert (model.experts is None) == (truth is None)
    if truth:
        assert tuple(model.experts) == tuple(
            truth[key] for key in ("routed", "per_token", "moe_layers", "parameters_per_routed_expert")
        )
        assert model.of_kind(TensorKind.EXPERT) == (
            model.experts.routed * model.experts.layers * model.experts.parameters_each
        )


@pytest.mark.parametrize("name", TRUTH)
def test_layers(name):
    """Elements of each layer of the language model, by kind."""
    model = _model(name)
    prefixes = {t.name.partition(".{}")[0] for t in model.tensors if t.layers}
    for truth in TRUTH[name]["layer_kinds"]:
        if truth["prefix"] not in prefixes:
            continue
        for layer in _numbers(truth["layers"]):
            kinds = defaultdict(int)
            for t in model.tensors:
                if layer in t.layers:
                    kinds[t.kind.value] += t.each * t.elements
            names = {**KINDS, "ssm": "attention"} if name in MIXED_UP else KINDS
            assert kinds == {names.get(kind, kind): n for kind, n in truth["by_kind"].items()}
            assert sum(kinds.values()) == truth["elements_each"]


@pytest.mark.parametrize("name", [name for name in TRUTH if "stored_fp8" in TRUTH[name]])
def test_fp8_files(name):
    """Elements in fp8 files: 8-bit weights, their scales, the biases of the routers, and the rest."""
    found, truth = stored(_model(name)), TRUTH[name]["stored_fp8"]
    assert found[:4] == (truth["weights"], truth["scales"], truth["router_bias"], truth["rest"])


@pytest.mark.parametrize("name", [name for name in TRUTH if "stored_mxfp4" in TRUTH[name]])
def test_mxfp4_files(name):
    """Elements and bytes of mxfp4 files."""
    model, truth = _model(name), TRUTH[name]["stored_mxfp4"]
    found = stored(model._replace(quantization=Quantization("mxfp4")))  # one of them has no quantization_config
    keys = ("quantised_elements", "scale_bytes", "bf16_elements", "bytes")
    assert (found.quantized, found.scales, found.half, found.bytes) == tuple(truth[key] for key in keys)


@pytest.mark.parametrize("name", [name for name in TRUTH if "tp8_pp4" in TRUTH[name]])
def test_stages(name):
    """Parameters per rank on 8 tensor-parallel and 4 pipeline ranks equal stages built with Megatron Core."""
    truth = TRUTH[name]["tp8_pp4"]
    stages = stage_parameters(_model(name), 8, 4)
    for stage, expected in zip(stages, truth["stages"], strict=True):
        assert stage.dense_per_rank + stage.expert_per_rank == expected["parameters_per_rank"]
        assert list(range(stage.first_layer, stage.first_layer + stage.layers)) == _numbers(expected["layers"])


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.parametrize(("tensor", "pipeline"), [(1, 1), (2, 1), (8, 1), (4, 2)])
def test_nothing_is_lost_in_stages(name, tensor, pipeline):
    """Ranks together hold at least the model, no rank more than its stage, and the stages sum to the model."""
    model = _model(name)
    stages = stage_parameters(model, tensor, pipeline, pad_vocabulary=False)
    assert sum(s.total_dense + s.total_expert for s in stages) == model.total
    for s in stages:
        whole = s.total_dense + s.total_expert
        tied = model.of_kind(TensorKind.EMBEDDING) if model.tied_head and pipeline > 1 else 0
        assert whole <= tensor * (s.dense_per_rank + s.expert_per_rank)
        assert s.dense_per_rank + s.expert_per_rank <= whole + tied
    if tensor == pipeline == 1:
        assert stages[0].dense_per_rank + stages[0].expert_per_rank == model.total
