"""``ckptplan size`` with the file of a model: counts, kinds and stages as tables, Markdown and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from ckptplan.render.schemas import output_schema
from tests.checkpoint.formats.test_safetensors_header import save
from tests.cli.harness import ckptplan
from tests.spec.broken import GOOD

# Llama 3.1 8B, and what Megatron Core 0.16.1 puts on each rank of tensor 8 and pipeline 4, two bytes per parameter.
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
BYTES_PER_RANK = [568_459_264, 436_338_688, 436_338_688, 568_467_456]
MIXTRAL = LLAMA | {"model_type": "mixtral", "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2}
WEIGHTS_ALONE = GOOD.replace("parameters: 70e9, state: adam-14", "config: config.json, state: weights-only").replace(
    "zero1", "none"
)


def run(folder: Path, config: dict[str, object], *arguments: str, text: str = WEIGHTS_ALONE) -> str:
    """What size prints for a spec with this configuration beside it."""
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    done = ckptplan("size", "run.yaml", *arguments, cwd=folder)
    assert done.code == 0, done.err
    return done.out


def test_stages_are_those_that_megatron_builds(tmp_path: Path) -> None:
    """Bytes of every stage equal those of a model built by Megatron Core, to the byte; totals are the model's."""
    document = json.loads(run(tmp_path, LLAMA, "--format", "json"))
    jsonschema.validate(document, output_schema("size"))
    model = document["architecture"]
    assert [stage["held_per_rank_bytes"] for stage in model["stages"]] == BYTES_PER_RANK
    assert [stage["first_layer"] for stage in model["stages"]] == [0, 8, 16, 24]
    assert sum(stage["parameters"] for stage in model["stages"]) == model["parameters"] == 8_030_261_248
    assert sum(kind["parameters"] for kind in model["kinds"]) == model["parameters"]
    small = sum(s["size_bytes"] for s in document["states"] if s["scope"] != "parameter")
    assert document["size"]["total_bytes"] == pytest.approx(2 * 8_030_261_248 + small, abs=1)
    assert document["size"]["held_per_rank_bytes"] == pytest.approx(max(BYTES_PER_RANK), rel=1e-3)


def test_the_table_joins_stages_that_weigh_the_same(tmp_path: Path) -> None:
    """Two stages in the middle stand in one row; kinds have their shares."""
    out = run(tmp_path, LLAMA)
    assert "1-2    8-23 (8 each)" in out
    assert "Model: llama, 32 layers" in out
    assert "Read from config.json." in out
    assert "used by a token" not in out


def test_experts_show_what_a_token_uses(tmp_path: Path) -> None:
    """A mixture prints active parameters, in the table and in a sentence."""
    out = run(tmp_path, MIXTRAL)
    assert "A token uses 2 of 8 experts in 32 layers: 12,879,925,248 parameters are active." in out
    assert "used by a token" in out
    document = json.loads(run(tmp_path, MIXTRAL, "--format", "json"))
    jsonschema.validate(document, output_schema("size"))
    kinds = {kind["kind"]: kind for kind in document["architecture"]["kinds"]}
    assert kinds["expert"]["active_parameters"] * 4 == kinds["expert"]["parameters"]
    assert document["architecture"]["experts"]["routed"] == 8


def test_markdown_has_the_tables_too(tmp_path: Path) -> None:
    """Kinds and stages as Markdown."""
    out = run(tmp_path, LLAMA, "--format", "markdown")
    assert "| stage | layers |" in out
    assert "- Model: llama" in out
    titles = ["Layout", "Model", "What a save takes", "What a save without it costs", "What is not saved"]
    assert [line for line in out.splitlines() if line.startswith("###")] == [f"### {title}" for title in titles]
    before, _, after = out.partition("### What a save without it costs")
    assert "\n- 16-bit weights: the model\n" in after
    assert "\n- Model: llama, 32 layers\n" in before.partition("### Model")[2]


def test_narrow_screens_name_stage_and_layers(tmp_path: Path) -> None:
    """Where the table of stages does not fit, each row says what its numbers are."""
    run(tmp_path, LLAMA)
    narrow = ckptplan("size", "run.yaml", cwd=tmp_path, env={"COLUMNS": "40"})
    assert "\nstage 1-2, layers 8-23 (8 each)\n" in narrow.out


def test_quantized_files_are_counted_as_they_are_trained(tmp_path: Path) -> None:
    """A quantization_config has a word beside the same count."""
    out = run(tmp_path, LLAMA | {"quantization_config": {"quant_method": "fp8"}})
    assert "Published weights are quantized (quantization_config)" in out
    assert "8,030,261,248 parameters" in out
    assert "quantized" not in run(tmp_path, LLAMA)


def test_optimize_names_what_the_file_leaves_out(tmp_path: Path) -> None:
    """Assumed dimensions stand under what is assumed; a file that says everything has no such line."""
    said = "the file of the model does not say, and is taken: "
    (tmp_path / "run.yaml").write_text(WEIGHTS_ALONE, encoding="utf-8")
    for config, line in (({"model_type": "llama"}, f"{said}num_hidden_layers = 32; "), (LLAMA | {"head_dim": 128}, "")):
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        done = ckptplan("optimize", "run.yaml", cwd=tmp_path)
        assert done.code == 0, done.err
        assert (said in done.out) == bool(line)
        assert line in done.out


def test_without_a_pipeline_there_is_no_table_of_stages(tmp_path: Path) -> None:
    """One stage is the whole model."""
    out = run(tmp_path, LLAMA, "--set", "cluster.layout={data: 512}")
    assert "parameters/GPU" not in out
    assert "attention" in out


def test_what_is_assumed_is_said(tmp_path: Path) -> None:
    """A key that the configuration leaves out, with the value that was taken; a trained part is even."""
    config = {key: value for key, value in LLAMA.items() if key != "tie_word_embeddings"}
    out = run(tmp_path, config, "--set", "model.trainable_fraction=1 %", "--set", "cluster.layout.pipeline=5",
              "--set", "cluster.layout.data=8", "--set", "cluster.gpus=320")  # fmt: skip
    assert "Assumed, as the file does not say it: tie_word_embeddings = false" in out
    assert "taken evenly from all layers" in out
    assert "32 layers over 5 stages: the first 2 take one more" in out


def test_a_checkpoint_shows_what_its_files_hold(tmp_path: Path) -> None:
    """Types of the elements and what the names do not tell."""
    shapes = {"model.embed_tokens.weight": ("BF16", (100, 8)), "model.layers.0.mlp.up_proj.weight": ("F32", (4, 8))}
    save(tmp_path / "model.safetensors", shapes)
    text = GOOD.replace("parameters: 70e9", "checkpoint: model.safetensors").replace(
        "pipeline: 4, data: 16", "data: 64"
    )
    (tmp_path / "run.yaml").write_text(text, encoding="utf-8")
    done = ckptplan("size", "run.yaml", cwd=tmp_path)
    assert done.code == 0
    assert "2 tensors; elements: BF16 800, F32 32" in done.out
    assert "Assumed, as the file does not say it: the output matrix is the input table." in done.out


def test_experts_that_a_checkpoint_leaves_unknown_are_not_called_active(tmp_path: Path) -> None:
    """Without a configuration beside the files nobody knows how many experts a token uses."""
    names = {
        f"model.layers.{layer}.mlp.experts.{n}.up_proj.weight": ("BF16", (4, 8)) for layer in (0, 1) for n in range(4)
    }
    save(tmp_path / "model.safetensors", names)
    text = GOOD.replace("parameters: 70e9", "checkpoint: .").replace("pipeline: 4, data: 16", "data: 64")
    (tmp_path / "run.yaml").write_text(text, encoding="utf-8")
    done = ckptplan("size", "run.yaml", cwd=tmp_path)
    assert done.code == 0
    assert "a token uses every expert" in done.out
    assert "parameters are active" not in done.out
    assert "used by a token" not in done.out


def test_a_number_of_parameters_has_no_layers() -> None:
    """Without a file the document says null, and nothing is printed of layers."""
    document = json.loads(ckptplan("size", "llama3-70b", "--format", "json").out)
    jsonschema.validate(document, output_schema("size"))
    assert document["architecture"] is None


def test_plans_use_the_layers(tmp_path: Path) -> None:
    """The heaviest stage sets the time of a save that its writers bind."""
    text = WEIGHTS_ALONE.replace("write_bandwidth: 10 GB/s,", "write_bandwidth_per_writer: 1 MB/s,")
    even = text.replace("config: config.json", "parameters: 8030261248")
    (tmp_path / "even.yaml").write_text(even, encoding="utf-8")
    run(tmp_path, LLAMA, text=text)
    stalls = []
    for name in ("even.yaml", "run.yaml"):
        document = json.loads(ckptplan("size", name, "--format", "json", cwd=tmp_path).out)
        stalls.append(next(save["stall_s"] for save in document["saves"] if save["strategy"] == "sharded"))
    # The last stage holds 8 layers, the last norm and the head: 2 bytes each over 8 x 16 ranks, at 1 MB/s.
    last = 8 * (4096 * (4096 * 2 + 1024 * 2) + 3 * 4096 * 14336 + 2 * 4096) + 4096 + 128256 * 4096
    assert stalls[0] == pytest.approx(2 * 8_030_261_248 / 512 / 1e6, rel=1e-3)
    assert stalls[1] == pytest.approx(2 * last / 128 / 1e6, rel=1e-3)
