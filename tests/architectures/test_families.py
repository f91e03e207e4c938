from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckptplan.architectures.class_facts import defaults
from ckptplan.architectures.families import FAMILIES, architecture
from ckptplan.architectures.stored import stored, stored_bytes
from ckptplan.cost.architecture import Cut, TensorKind
from ckptplan.cost.stages import stage_parameters
from ckptplan.errors import InputError

ROOT = Path(__file__).parents[2]


def _llama3(hidden, inner, layers, heads, **keys):
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
        **keys,
    }


DEEPSEEK_V3 = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "vocab_size": 129280,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "num_nextn_predict_layers": 1,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}
MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}


def _faults(config):
    with pytest.raises(InputError) as caught:
        architecture(config, "config.json")
    return {problem.key: problem for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (_llama3(4096, 14336, 32, 32), 8_030_261_248),
        (_llama3(8192, 28672, 80, 64), 70_553_706_496),
        (_llama3(16384, 53248, 126, 128), 405_853_388_800),
        (GPT2, 124_439_808),
        ({**GPT2, "n_embd": 1600, "n_layer": 48, "n_head": 25}, 1_557_611_200),
        (MIXTRAL, 46_702_792_704),
        ({"model_type": "bloom", "hidden_size": 14336, "n_layer": 70, "n_head": 112}, 176_247_271_424),
        ({"model_type": "gpt_neox"}, 20_554_567_680),
        ({"model_type": "codegen", "n_embd": 1024, "n_layer": 20, "vocab_size": 51200}, 356_712_448),
        (DEEPSEEK_V3, 671_026_404_352),
    ],
    ids=[
        "llama-3-8b",
        "llama-3-70b",
        "llama-3-405b",
        "gpt2",
        "gpt2-xl",
        "mixtral",
        "bloom",
        "gpt-neox",
        "codegen-350m",
        "deepseek-v3",
    ],
)
def test_published_counts(config, parameters):
    """Parameters of published models, to the last digit."""
    assert architecture(config).total == parameters


EXAONE = {"model_type": "exaone4", "vocab_size": 102400, "num_key_value_heads": 8}


@pytest.mark.parametrize(
    ("config", "printed"),
    [
        (
            {
                **EXAONE,
                "hidden_size": 2048,
                "intermediate_size": 4096,
                "num_hidden_layers": 30,
                "num_attention_heads": 32,
                "head_dim": 64,
                "tie_word_embeddings": True,
            },
            "1.07B",
        ),
        (
            {
                **EXAONE,
                "hidden_size": 5120,
                "intermediate_size": 27392,
                "num_hidden_layers": 64,
                "num_attention_heads": 40,
                "head_dim": 128,
            },
            "30.95B",
        ),
    ],
    ids=["exaone-4-1.2b", "exaone-4-32b"],
)
def test_printed_without_embeddings(config, printed):
    """EXAONE 4 without embeddings has what its model cards print."""
    model = architecture(config)
    assert f"{(model.total - model.of_kind(TensorKind.EMBEDDING, TensorKind.HEAD)) / 1e9:.2f}B" == printed


def test_printed_of_dots():
    """dots.llm1 has 142 billion parameters, of which a token uses 14 billion (arXiv 2506.05767)."""
    config = {
        "model_type": "dots1",
        "hidden_size": 4096,
        "n_routed_experts": 128,
        "num_experts_per_tok": 6,
        "n_shared_experts": 2,
        "first_k_dense_replace": 1,
    }
    model = architecture(config)
    assert (model.total // 10**9, model.active // 10**9) == (142, 14)


def test_active_parameters():
    """Mixtral uses 12.9 billion parameters a token (arXiv 2401.04088: 13B), a dense model all of them."""
    assert architecture(MIXTRAL).active == 12_879_925_248
    dense = architecture(GPT2)
    assert dense.active == dense.total


def test_published_elements_of_deepseek_v3():
    """The files of DeepSeek-V3 hold 684,531,386,000 elements (model card: 685B), most of them in 8 bits."""
    model = architecture(DEEPSEEK_V3)
    found = stored(model)
    assert found.quantized + found.scales + found.single + found.half == 684_531_386_000
    assert stored_bytes(model) == found.quantized + 4 * (found.scales + found.single) + 2 * found.half
    assert stored_bytes(model._replace(quantization=None)) == 2 * (
        model.total + model.buffers + sum(t.total for t in model.extra)
    )


def test_other_quantization_is_refused():
    """Files in a form that is not known have no size; the count of parameters stands."""
    config = {**DEEPSEEK_V3, "quantization_config": {"quant_method": "awq", "bits": 4}}
    model = architecture(config)
    assert model.total == 671_026_404_352
    with pytest.raises(InputError, match="not known"):
        stored(model)


def test_dtype_and_window_change_nothing():
    """Keys that are no dimensions have no say, nor has quantization_config."""
    plain = _llama3(4096, 14336, 32, 32)
    more = {**plain, "torch_dtype": "float32", "sliding_window": 4096, "quantization_config": {"quant_method": "gptq"}}
    assert architecture(more).tensors == architecture(plain).tensors


def test_absent_keys_mean_what_the_class_takes():
    """What is taken for an absent key is said, and what was given is not."""
    assumed = architecture({"model_type": "mistral", "hidden_size": 4096}).assumed
    assert "num_key_value_heads = 8" in assumed
    assert "vocab_size = 32000" in assumed
    assert "tie_word_embeddings = false" in assumed
    assert not any("hidden_size" in note for note in assumed)
    assert architecture(_llama3(4096, 14336, 32, 32, head_dim=128)).assumed == ()


@pytest.mark.parametrize(
    ("config", "note"),
    [
        ({"model_type": "llama", "num_attention_heads": 32}, "num_key_value_heads = 32 (derived)"),
        ({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32}, "head_dim = 128 (derived)"),
        ({"model_type": "phi3", "num_attention_heads": 32}, "num_key_value_heads = 32 (derived)"),
        (GPT2, "n_inner = 3072 (derived)"),
        ({"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71}, "ffn_hidden_size = 18176 (derived)"),
        (
            {"model_type": "falcon", "new_decoder_architecture": True, "num_attention_heads": 71, "hidden_size": 4544},
            "num_kv_heads = 71 (derived)",
        ),
    ],
)
def test_what_follows_for_an_absent_key_is_named(config, note):
    """An absent key whose value follows from others is named with it; one that is given, be it as null, is not."""
    key = note.partition(" = ")[0]
    assert note in architecture(config).assumed
    assert not any(said.startswith(f"{key} = ") for said in architecture({**config, key: None}).assumed)


def test_keys_without_a_say_are_not_named():
    """Falcon with one key-value head for all does not ask how many there are."""
    notes = architecture({"model_type": "falcon", "multi_query": True}).assumed
    assert not any(note.startswith("num_kv_heads") for note in notes)


@pytest.mark.parametrize(
    ("config", "key", "said"),
    [
        (_llama3(4096, 14336, 32, 32, text_config={"hidden_size": 8}), "text_config", "llama does not have"),
        (_llama3(4096, 14336, 32, 32, vision_config={"hidden_size": 8}), "vision_config", "llama does not have"),
        ({"model_type": "gemma3", "audio_config": {"hidden_size": 8}}, "audio_config", "gemma3 does not have"),
        (
            {"model_type": "gemma3", "text_config": {"vision_config": {"hidden_size": 8}}},
            "text_config.vision_config",
            "gemma3_text does not have",
        ),
        (_llama3(4096, 14336, 32, 32, num_local_experts=8), "num_local_experts", "8 experts"),
        ({"model_type": "qwen3", "num_experts": 128}, "num_experts", "128 experts"),
        (
            {**DEEPSEEK_V3, "first_k_dense_replace": 62},
            "first_k_dense_replace",
            "62 dense layers, but",
        ),
        ({**GPT2, "architectures": ["MixtralForCausalLM"]}, "architectures", "of the family mixtral"),
        (_llama3(8, 8, 1, 8, architectures=["LlamaForSequenceClassification"]), "architectures", "another head"),
        (_llama3(8, 8, 1, 8, architectures=["LlamaForTokenClassification"]), "architectures", "another head"),
        (_llama3(8, 8, 1, 8, architectures=["LlamaModel"]), "architectures", "no output matrix"),
        (_llama3(8, 8, 1, 8, architectures=[["LlamaForCausalLM"]]), "architectures", "not a list of names"),
        (_llama3(8, 8, 1, 8, architectures={"a": 1}), "architectures", "not a list of names"),
        (_llama3(8, 8, 1, 8, architectures="MistralForCausalLM"), "architectures", "of the family mistral"),
    ],
)
def test_what_would_be_left_out_is_refused(config, key, said):
    """Groups, experts and classes that are not those of the family are refused, none of them ignored."""
    assert said in _faults(config)[key].message


@pytest.mark.parametrize(
    "more",
    [
        {"text_config": None},
        {"vision_config": {}},
        {"num_local_experts": 1},
        {"num_experts": None},
        {"architectures": None},
        {"architectures": ["LlamaForCausalLM"]},
        {"architectures": "LlamaForCausalLM"},
    ],
)
def test_keys_that_say_nothing_are_left_aside(more):
    """Null, an empty group, one expert and the class of the family change nothing and are not named."""
    plain = _llama3(4096, 14336, 32, 32)
    assert architecture({**plain, **more}) == architecture(plain)


def test_all_layers_may_be_dense():
    """As many dense layers as there are is the last number that is taken."""
    assert architecture({**DEEPSEEK_V3, "first_k_dense_replace": 61}).experts is None


def test_a_class_that_is_not_known_is_named():
    """A class of nobody's family may hold other tensors: it is said what was taken for granted."""
    config = _llama3(4096, 14336, 32, 32, architectures=["MyOwn\x1bForCausalLM"])
    (note,) = [note for note in architecture(config).assumed if "MyOwn" in note]
    assert note.endswith("has the tensors of llama")
    assert note.isprintable()


def test_a_bare_class_with_a_tied_head_is_counted():
    """Without a head of its own a model has the same parameters as with a tied one."""
    assert architecture({**GPT2, "architectures": ["GPT2Model"]}).total == 124_439_808


def test_a_missing_family_is_asked_for_by_name():
    """The hint is the very key, with the family of the class where one is known."""
    keys = {"hidden_size": 4096}
    assert '"model_type": "mixtral"' in _faults({**keys, "architectures": ["MixtralForCausalLM"]})["model_type"].hint
    assert '"model_type": "llama"' in _faults(keys)["model_type"].hint


def test_null_does_not_hint_at_a_default():
    """The default of the class is another model: the number is asked for."""
    assert "default" not in _faults(_llama3(None, 14336, 32, 32))["hidden_size"].hint


def test_slips_in_groups_without_defaults_are_named():
    """A key that is almost the missing one is shown, though the group has no defaults."""
    vision = {"hidden_sise": 1152, "vision_use_head": False}
    faults = _faults({"model_type": "gemma3", "text_config": {"hidden_size": 64}, "vision_config": vision})
    assert "hidden_size, which is missing" in faults["vision_config.hidden_sise"].message
    assert "vision_config.hidden_size" not in faults


def test_an_absent_head_of_a_tower_is_called_missing():
    """The message says that the key is absent, and the hint what to write."""
    faults = _faults({"model_type": "gemma3", "text_config": {"hidden_size": 64}, "vision_config": {"hidden_size": 8}})
    assert "missing" in faults["vision_config.vision_use_head"].message
    assert '"vision_use_head": false' in faults["vision_config.vision_use_head"].hint


@pytest.mark.parametrize(
    ("family", "tied"), [("bloom", True), ("gpt2", True), ("gemma2", True), ("llama", False), ("gpt_neox", False)]
)
def test_tied_by_default(family, tied):
    """Whether an absent tie_word_embeddings ties depends on the family; a tied head is stored once."""
    model = architecture({"model_type": family})
    assert model.tied_head == tied
    assert (model.of_kind(TensorKind.HEAD) == 0) == tied
    embedding = model.of_kind(TensorKind.EMBEDDING)
    assert model.with_tied_copies - model.total == (embedding if tied else 0)


def test_null_is_the_number_of_heads():
    """Null key-value heads are as many as heads, where the family allows null."""
    keys = {"num_attention_heads": 32, "hidden_size": 4096}
    given = architecture({"model_type": "llama", "num_key_value_heads": 32, **keys})
    null = architecture({"model_type": "llama", "num_key_value_heads": None, **keys})
    assert null.tensors == given.tensors
    assert (
        "null" in _faults({"model_type": "mistral", "num_key_value_heads": None, **keys})["num_key_value_heads"].message
    )


def test_two_names_of_one_dimension():
    """A family that takes two names takes either; both must agree."""
    other = {**GPT2, "hidden_size": 768}
    assert architecture(other).total == 124_439_808
    assert "disagree" in _faults({**GPT2, "hidden_size": 1024})["n_embd"].message


INCOMPLETE = {  # families whose classes have no default for these, and some more
    "dbrx": "attn_config.kv_n_heads",
    "deepseek_v2": "num_experts_per_tok",
    "dots1": "n_routed_experts",
    "gemma3": "text_config",
    "glm4_moe": "hidden_size",  # 4096 over 96 heads: published models give head_dim
    "internlm2": "hidden_size",
    "kimi_k2": "hidden_size",
    "kimi_linear": "linear_num_heads",
    "llama4": "text_config",
    "nemotron_h": "layer_types",
    "phi-msft": "n_embd",
    "qwen3_vl": "text_config",
}


@pytest.mark.parametrize("family", sorted(INCOMPLETE))
def test_families_without_defaults(family):
    """What a family has no default for is asked for by its key."""
    assert INCOMPLETE[family] in _faults({"model_type": family})


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - set(INCOMPLETE)))
def test_every_family_with_its_defaults(family):
    """The defaults of a family make a model: no name twice, no layer outside, nothing lost in stages."""
    model = architecture({"model_type": family})
    assert model.family == family
    assert {n for t in model.tensors for n in t.layers} <= set(range(model.layers))
    names = [t.name for t in model.tensors]
    assert len(set(names)) == len(names)
    for tensor, pipeline in ((1, 1), (2, 2), (7, 1)):
        stages = stage_parameters(model, tensor, pipeline, pad_vocabulary=False)
        assert sum(s.total_dense + s.total_expert for s in stages) == model.total


@pytest.mark.parametrize(
    ("family", "near"),
    [("lama", "llama"), ("qwen4_moe", "qwen3_moe"), ("gemma4_text", "gemma3_text"), ("deepseek_v4", "deepseek_v3")],
)
def test_unknown_families(family, near):
    """An unknown family is named, with those that are near and the way around."""
    problem = _faults({"model_type": family, "hidden_size": 4096})["model_type"]
    assert family in problem.message
    assert near in problem.hint
    assert "parameters:" in problem.hint


@pytest.mark.parametrize("family", [None, 3, ["llama"], {}, True, "", "x" * 100_000, "llama\x1b[31m"])
def test_no_family(family):
    """What is no name of a family is refused in one short, printable line."""
    problem = _faults({"model_type": family})["model_type"]
    assert len(problem.message) < 120
    assert problem.message.isprintable()


@pytest.mark.parametrize(
    "value",
    [0, -1, 4096.0, 1e9, "4096", True, [4096], {}, 10**12, 10**30, float("nan"), float("inf"), None],
)
def test_wrong_sizes(value):
    """A dimension is a whole number within reason; nothing else is taken for one."""
    assert set(_faults(_llama3(value, 14336, 32, 32))) == {"hidden_size"}


@pytest.mark.parametrize(
    ("key", "most"),
    [("num_hidden_layers", 10_000), ("hidden_size", 1_000_000), ("vocab_size", 100_000_000)],
)
def test_bounds(key, most):
    """The bounds are those that are said; the largest model is still a few dozen tensors."""
    config = _llama3(1_000_000, 14336, 32, 1)
    config = {**config, "num_key_value_heads": 1, key: most}
    assert len(architecture(config).tensors) < 20
    assert f"{most:,}" in _faults({**config, key: most + 1})[key].message


def test_many_experts_are_few_tensors():
    """Experts are counted, not listed: a layer with 100,000 of them is three lines."""
    config = {**MIXTRAL, "num_local_experts": 100_000}
    model = architecture(config)
    assert len(model.tensors) < 20
    assert model.of_kind(TensorKind.EXPERT) == 100_000 * 32 * 3 * 4096 * 14336


def test_all_faults_at_once():
    """Every fault of a configuration is named in one run."""
    faults = _faults(
        {**MIXTRAL, "hidden_size": "4096", "num_experts_per_tok": 9, "vocab_size": -1, "tie_word_embeddings": "yes"}
    )
    assert set(faults) == {"hidden_size", "num_experts_per_tok", "vocab_size", "tie_word_embeddings"}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (_llama3(4096, 14336, 32, 32, num_key_value_heads=5), "num_key_value_heads"),
        (_llama3(4095, 14336, 32, 32), "hidden_size"),
        (_llama3(4096, 14336, 32, 32, tie_word_embeddings=1), "tie_word_embeddings"),
        (_llama3(4096, 14336, 32, 32, num_hiden_layers=16) | {"num_hidden_layers": 32}, None),
        ({"model_type": "llama", "num_hiden_layers": 16}, "num_hiden_layers"),
        ({"model_type": "gpt2", "n_layers": 3}, "n_layers"),
        ({"model_type": "gpt2", "add_cross_attention": True}, "add_cross_attention"),
        ({"model_type": "mpt", "no_bias": False}, "no_bias"),
        ({"model_type": "mistral", "attention_bias": True}, "attention_bias"),
        ({"model_type": "cohere2", "use_qk_norm": True}, "use_qk_norm"),
        ({"model_type": "hunyuan_v1_dense", "use_qk_norm": False}, "use_qk_norm"),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M", "mamba_proj_bias": True}, "mamba_proj_bias"),
        ({"model_type": "gemma3", "text_config": {"mlp_bias": True}}, "text_config.mlp_bias"),
        ({"model_type": "minimax_m2", "shared_intermediate_size": 512}, "shared_intermediate_size"),
        ({"model_type": "mpt", "attn_config": {"alibi": False}}, "attn_config.alibi"),
        ({"model_type": "mpt", "attn_config": [1]}, "attn_config"),
        ({"model_type": "dbrx", "ffn_config": {}}, "ffn_config.ffn_hidden_size"),
        ({**DEEPSEEK_V3, "moe_layer_freq": 2}, "moe_layer_freq"),
        ({**DEEPSEEK_V3, "mlp_layer_types": ["dense"] * 61}, "mlp_layer_types"),
        ({**DEEPSEEK_V3, "num_nextn_predict_layers": 1_000_000}, "num_nextn_predict_layers"),
        ({"model_type": "glm_moe_dsa", "index_topk_freq": 4}, "index_topk_freq"),
        ({"model_type": "qwen3_moe", "mlp_only_layers": [24]}, "mlp_only_layers"),
        ({"model_type": "qwen3_moe", "mlp_only_layers": "all"}, "mlp_only_layers"),
        ({"model_type": "minimax", "layer_types": ["full_attention"] * 31}, "layer_types"),
        ({"model_type": "minimax", "layer_types": ["mamba"] * 32}, "layer_types"),
        ({"model_type": "minimax", "layer_types": [None] * 32}, "layer_types"),
        ({"model_type": "nemotron_h", "layer_types": [None, []]}, "layer_types"),
        ({"model_type": "jamba", "attn_layer_offset": 8}, "attn_layer_offset"),
        ({"model_type": "mamba", "intermediate_size": 1000}, "intermediate_size"),
        ({"model_type": "mamba2", "num_heads": 100}, "num_heads"),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "MXM"}, "hybrid_override_pattern"),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M" * 10_001}, "hybrid_override_pattern"),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M*", "num_hidden_layers": 3}, "num_hidden_layers"),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "ME", "moe_latent_size": 64}, "moe_latent_size"),
        (
            {"model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": [1], "kda_layers": [1]}},
            "linear_attn_config.full_attn_layers",
        ),
        ({"model_type": "gemma3", "text_config": 3}, "text_config"),
        ({"model_type": "gemma3", "text_config": {"hidden_size": 0}}, "text_config.hidden_size"),
        (
            {"model_type": "gemma3", "tie_word_embeddings": True, "text_config": {"tie_word_embeddings": False}},
            "tie_word_embeddings",
        ),
        ({"model_type": "llama", "quantization_config": "fp8"}, "quantization_config"),
    ],
)
def test_refused(config, key):
    """Dimensions that contradict one another and variants that are not known are refused by their key."""
    if key is None:
        assert architecture(config).layers == 32
    else:
        assert key in _faults(config)


def test_many_faults_are_counted():
    """Twenty faults are shown, the others counted."""
    with pytest.raises(InputError) as caught:
        architecture({"model_type": "qwen3_next", **dict.fromkeys(defaults()["qwen3_next"], "?"), "layer_types": 1})
    problems = caught.value.problems
    assert len(problems) <= 21
    assert len({problem.key for problem in problems}) == len(problems)


def test_head_that_is_cut_elsewhere():
    """GPT-2 stores its matrices turned, and the cuts lie along the other axis: the same share on every rank."""
    model = architecture(GPT2)
    into = next(t for t in model.tensors if t.name.endswith("c_attn.weight"))
    out = next(t for t in model.tensors if t.name.endswith("attn.c_proj.weight"))
    assert (into.shape, into.cut, into.axis) == ((768, 2304), Cut.COLUMN, 1)
    assert (out.shape, out.cut, out.axis) == ((768, 768), Cut.ROW, 0)
    per_layer = 4 * 768 * 768 + 8 * 768 * 768 + 3 * 768 + 4 * 768  # what is cut
    kept = 6 * 768  # two norms, and the biases of the two rows
    positions, final, table = 1024 * 768, 2 * 768, 50304 // 2 * 768
    (stage,) = stage_parameters(model, 2, 1)
    assert stage.dense_per_rank == 12 * (per_layer // 2 + kept) + positions + final + table + (50432 // 2 - 25152) * 768


def test_the_document_lists_every_family():
    """docs/model-configs.md names each model_type, and no other."""
    text = (ROOT / "docs" / "model-configs.md").read_text(encoding="utf-8")
    table = text.partition("<!-- families -->")[2].partition("<!-- end -->")[0]
    assert set(re.findall(r"`([^`]+)`", table)) == set(FAMILIES)
