from __future__ import annotations

import json
import os
import re
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckptplan.errors import InputError
from ckptplan.readers.models import model_config
from ckptplan.readers.models.model_config import read_model_config

LLAMA3 = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
}


@pytest.fixture
def config(tmp_path):
    """Write a configuration and read it."""

    def read(content):
        path = tmp_path / "config.json"
        content = content if isinstance(content, bytes | str) else json.dumps(content, indent=2)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_model_config(path)

    return read


@pytest.fixture
def problems(config):
    """Faults of a configuration, each rendered whole and without a traceback."""

    def faults(content):
        with pytest.raises(InputError) as caught:
            config(content)
        assert caught.value.__suppress_context__ or caught.value.__cause__ is None
        assert all("Traceback" not in problem.render() for problem in caught.value.problems)
        return caught.value.problems

    return faults


def test_a_file_and_its_folder(config, tmp_path):
    """A configuration is read from the file, or from the folder that holds it."""
    model = config(LLAMA3)
    assert model.total == 8_030_261_248
    assert model.source.endswith("config.json")
    assert read_model_config(tmp_path) == model
    assert read_model_config(str(tmp_path)) == model


def test_other_names_and_marks(tmp_path):
    """Any file name will do, and a byte-order mark does no harm."""
    path = tmp_path / "my model.txt"
    path.write_text("\ufeff" + json.dumps(LLAMA3), encoding="utf-8")
    assert read_model_config(path).total == 8_030_261_248


def test_faults_have_lines(problems):
    """Each fault shows file, line, column, key and value."""
    found = problems({**LLAMA3, "hidden_size": "4096", "vocab_size": 0})
    assert [(p.key, p.place.line, p.place.column) for p in found] == [("hidden_size", 6, 3), ("vocab_size", 11, 3)]
    assert found[0].place.file.endswith("config.json")
    assert "'4096'" in found[0].message
    assert '"hidden_size": "4096"' in found[0].render()


def test_lines_inside_of_groups(problems):
    """A key of a group is found in the group, though the same name stands above it."""
    text = {"hidden_size": 1, "model_type": "gemma3", "text_config": {"hidden_size": -1}, "vision_config": {}}
    found = {p.key: p for p in problems(text)}
    assert found["text_config.hidden_size"].place.line == 5
    assert found["vision_config.hidden_size"].place.line == 7  # absent: the group that lacks it


def test_a_missing_key_points_at_no_line(problems):
    """What is absent at the top has the file, and no line."""
    given = {"n_head": 32, "n_layer": 32, "vocab_size": 51200, "n_inner": None, "n_head_kv": None}
    (found,) = problems({"model_type": "phi-msft", **given})
    assert (found.key, found.place.line) == ("n_embd", None)


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("", 1, "no JSON"),
        ("{", 1, "no JSON"),
        ('{"a": 1,\n"b" 2}', 2, "no JSON"),
        ('{"a": 1}\n{"b": 2}', 2, "no JSON"),
        ('{"a": 1,\n "hidden": 3,\n "a": 2}', 3, "twice"),
        ('{"a":\n NaN}', 2, "NaN"),
        ('{"a": [1,\n -Infinity]}', 2, "-Infinity"),
        ("[1, 2]", None, "no group"),
        ('"llama"', None, "no group"),
        ("null", None, "no group"),
        (b"\xff\xfe{\0}\0", 1, "UTF-8"),
        (b'{"a": 1,\n"b": "\xe9"}', 2, "0xE9"),
        (b"\0" * 100, 1, "no JSON"),
        (b"\x1f\x8b\x08\0\0", 1, "UTF-8"),
        ("model_type: llama\nhidden_size: 4096\n", 1, "no JSON"),
        ("[" * 100_000, None, "levels"),
        ('{"a":' * 100_000, None, "levels"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", None, "levels"),
        ("{}", None, "missing"),
    ],
)
def test_what_is_no_configuration(problems, content, line, said):
    """Other files are refused in one message, with the line where there is one."""
    (found,) = problems(content)
    assert said in found.message
    assert found.place.line == line


@pytest.mark.parametrize("digits", [40, 5_000, 1_000_000])
def test_long_numbers(problems, digits):
    """A number of any length is out of bounds, never a traceback."""
    text = json.dumps(LLAMA3).replace("4096", "9" * digits)
    (found,) = problems(text)
    assert found.key == "hidden_size"
    assert len(found.render()) < 500


def test_long_lines(problems):
    """A line of many characters is not shown."""
    (found,) = problems({**LLAMA3, "hidden_size": -1, "note": "x" * 1_000_000})
    assert len(found.render()) < 500
    (found,) = problems(json.dumps({**LLAMA3, "hidden_size": -1, "note": "x" * 1_000_000}))
    assert found.place.line == 1
    assert len(found.render()) < 500


def test_size_is_bounded(problems, monkeypatch):
    """A file is read up to the bound and no further."""
    monkeypatch.setattr(model_config, "LARGEST_FILE", 10_000)
    tracemalloc.start()
    (found,) = problems(b" " * 50_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "larger" in found.message
    assert peak < 51_000_000  # what the test itself writes


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    """A named pipe is refused at once."""
    os.mkfifo(tmp_path / "config.json")
    for path in (tmp_path, tmp_path / "config.json"):
        with pytest.raises(InputError, match="not a regular file"):
            read_model_config(path)


@pytest.mark.parametrize("name", ["absent.json", "absent/config.json", "a\0b", "x" * 5_000])
def test_no_such_file(tmp_path, name):
    """A name that leads nowhere is an error with that name."""
    with pytest.raises(InputError, match="cannot be read"):
        read_model_config(tmp_path / name)


def test_a_folder_without_a_configuration(tmp_path):
    """An empty folder is named, and so is a folder called config.json."""
    with pytest.raises(InputError, match="No such file"):
        read_model_config(tmp_path)
    (tmp_path / "config.json").mkdir()
    with pytest.raises(InputError):
        read_model_config(tmp_path)


def test_a_link_to_itself(tmp_path):
    """A link without an end is an error."""
    (tmp_path / "config.json").symlink_to(tmp_path / "config.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_model_config(tmp_path / "config.json")


def test_control_characters_do_not_reach_the_terminal(problems):
    """Names and values of the file are shown without control characters."""
    (found,) = problems({"model_type": "\x1b[2Jllama\n\x07"})
    assert re.search("[\x00-\x09\x0b-\x1f\x7f]", found.render()) is None


# fmt: off
KEYS = (
    "hidden_size", "num_hidden_layers", "layer_types", "text_config", "vision_config", "linear_attn_config",
    "n_embd", "vocab_size", "hybrid_override_pattern", "mlp_only_layers", "quantization_config",
    "tie_word_embeddings", "head_dim", "q_lora_rank", "mlp_layer_types", "num_experts", "mamba_dt_rank",
    "architectures", "model_type",
)
# fmt: on
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    family=st.sampled_from(
        ["llama", "qwen3_next", "jamba", "gemma3", "deepseek_v3", "gpt2", "nemotron_h", "kimi_linear"]
    ),
    keys=st.dictionaries(
        st.sampled_from(KEYS),
        _JSON,
        max_size=6,
    ),
)
def test_any_value_of_any_key(config, family, keys):
    """Whatever stands for a key, the answer is a model or faults."""
    try:
        model = config(json.dumps({"model_type": family, **keys}))
    except InputError as error:
        rendered = error.render()
    else:
        rendered = str(model.total)
        assert model.total > 0
    assert rendered


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_any_bytes(problems, content):
    """Bytes of any kind are refused with a message."""
    assert problems(content)


def test_a_folder_called_config_is_named(tmp_path):
    """A folder with the name of the file is told with its path."""
    (tmp_path / "config.json").mkdir()
    with pytest.raises(InputError, match="is a folder, not a file") as caught:
        read_model_config(tmp_path)
    assert caught.value.problems[0].place.file == str(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ('{\n"a": 1, // width\n"b": 2}', 2, "no comments"),
        ('{\n/* width */\n"a": 1}', 2, "no comments"),
        ('{"a": 1\n# width\n}', 2, "no comments"),
        ('{"a": 1,\n "b": 2,\n}', 3, "a comma after the last entry"),
        ('{"a": [1,\n 2,\n]}', 3, "a comma after the last entry"),
    ],
)
def test_slips_of_other_formats_are_named(problems, content, line, said):
    """Comments and a last comma, which JSON does not have, are called what they are, at their line."""
    (found,) = problems(content)
    assert said in found.message
    assert found.place.line in {line, line - 1}  # from Python 3.13 on the comma itself
    assert "delete" in found.hint
