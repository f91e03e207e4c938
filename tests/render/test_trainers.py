"""Trainer-ready settings: valid in each framework's own format, complete, and documented."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ckptplan.errors import InputError, UsageError
from ckptplan.render.trainers import TRAINERS, Format, TrainerSetting, snippet
from ckptplan.render.trainers.page import trainers_page

NAMES = ("megatron", "torchtitan", "nemo", "deepspeed", "lightning", "huggingface", "maxtext")
PAGE = Path(__file__).parents[2] / "docs" / "trainers.md"


def setting(**changes: Any) -> TrainerSetting:
    """A plan of 223 steps."""
    values = {
        "steps": 223,
        "asynchronous": False,
        "keep": 3,
        "strategy": "synchronous",
        "interval_s": 1116.3,
    }
    return TrainerSetting(**{**values, **changes})


def flags(name: str, **changes: Any) -> argparse.Namespace:
    """The snippet read by a parser that knows the framework's flags and no others."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    if name == "megatron":
        parser.add_argument("--save-interval", "--persistent-save-interval", type=int)
        parser.add_argument("--save-retain-interval", type=int)
        parser.add_argument("--ckpt-format", choices=("torch", "torch_dist", "torch_dcp", "fsdp_dtensor"))
        parser.add_argument("--async-save", action="store_true")
        parser.add_argument("--use-persistent-ckpt-worker", action="store_true")
    else:
        parser.add_argument("--checkpoint.enable", action="store_true", dest="enable")
        parser.add_argument("--checkpoint.interval", type=int, dest="interval")
        parser.add_argument("--checkpoint.keep_latest_k", type=int, dest="keep_latest_k")
        modes = ("disabled", "async", "async_with_pinned_mem")
        parser.add_argument("--checkpoint.async_mode", choices=modes, dest="async_mode")
    return parser.parse_args(shlex.split(snippet(name, setting(**changes)), comments=True))


def call(text: str, function: str) -> dict[str, Any]:
    """The literal keyword arguments of the one call of a function in a Python snippet."""
    calls = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == function
    ]
    assert len(calls) == 1
    return {k.arg or "": ast.literal_eval(k.value) for k in calls[0].keywords if not _computed(k.value)}


def mapping(text: str) -> dict[str, Any]:
    """A YAML snippet, read."""
    import yaml

    read = yaml.safe_load(text)
    assert isinstance(read, dict)
    return read


def _computed(node: ast.expr) -> bool:
    return any(isinstance(inner, ast.Name | ast.Call) for inner in ast.walk(node))


def test_the_seven_trainers_are_there() -> None:
    """Every name of --for has a trainer, under its own name."""
    assert tuple(TRAINERS) == NAMES
    assert [trainer.name for trainer in TRAINERS.values()] == list(NAMES)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_snippet_is_ascii_and_names_the_plan(name: str, asynchronous: bool) -> None:
    """The first line is a comment with strategy, steps and seconds; nothing is outside ASCII or too wide."""
    text = snippet(name, setting(asynchronous=asynchronous))
    assert text.isascii()
    assert text.startswith("# ckptplan: synchronous: save every 223 optimizer steps, 1,116 s of work\n")
    assert text.endswith("\n")
    assert max(map(len, text.splitlines())) <= 132
    assert re.search(r"\b223\b", "\n".join(text.splitlines()[1:]))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_snippet_sets_only_known_keys(name: str, asynchronous: bool) -> None:
    """What a snippet sets is in the trainer's list of keys, and parses in its format."""
    text = snippet(name, setting(asynchronous=asynchronous))
    trainer = TRAINERS[name]
    match trainer.format:
        case Format.SHELL:
            used = {word for word in shlex.split(text, comments=True) if word.startswith("--")}
        case Format.YAML:
            used = set(mapping(text))
        case Format.PYTHON:
            tree = ast.parse(text)
            used = {k.arg for node in ast.walk(tree) if isinstance(node, ast.Call) for k in node.keywords}
            used -= {"callbacks", "plugins", "output_dir", "client_state"}
    assert used <= set(trainer.keys), used


def test_megatron() -> None:
    """Megatron-LM: the interval, and for asynchronous saves the worker without which they are dropped."""
    plain = flags("megatron")
    assert (plain.save_interval, plain.async_save) == (223, False)
    background = flags("megatron", asynchronous=True)
    assert (background.async_save, background.use_persistent_ckpt_worker) == (True, True)
    assert background.ckpt_format == "torch_dist"


def test_megatron_suggests_a_multiple_and_deletes_nothing_by_itself() -> None:
    """Its retention flag is no count: it is named in a comment, as a multiple of the interval, and not set."""
    assert flags("megatron").save_retain_interval is None
    (suggested,) = re.findall(r"--save-retain-interval (\d+)", snippet("megatron", setting()))
    assert int(suggested) % 223 == 0
    assert int(suggested) > 223  # equal to the interval it would keep everything


def test_torchtitan() -> None:
    """torchtitan: saves are enabled, since an interval alone does nothing, and the mode is explicit."""
    plain = flags("torchtitan")
    assert (plain.enable, plain.interval, plain.keep_latest_k) == (True, 223, 3)
    assert plain.async_mode == "disabled"
    assert flags("torchtitan", asynchronous=True).async_mode == "async_with_pinned_mem"


def test_torchtitan_never_keeps_one() -> None:
    """It refuses keep_latest_k of 1, so that becomes 2, and the snippet says so."""
    assert flags("torchtitan", keep=1).keep_latest_k == 2
    assert "at least 2" in snippet("torchtitan", setting(keep=1))


@pytest.mark.parametrize("asynchronous", [False, True])
def test_nemo(asynchronous: bool) -> None:
    """NeMo: the newest by step are kept, no second copy is written, and the switch, on by default, is explicit."""
    text = snippet("nemo", setting(asynchronous=asynchronous))
    callback = call(text, "ModelCheckpoint")
    assert (callback["every_n_train_steps"], callback["save_top_k"]) == (223, 3)
    assert (callback["monitor"], callback["mode"], callback["save_last"]) == ("step", "max", "link")
    assert "{step}" in callback["filename"]
    assert call(text, "MegatronStrategy") == {"ckpt_async_save": asynchronous}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_lightning(asynchronous: bool) -> None:
    """Lightning: the newest by step are kept; the plug-in is there for asynchronous saves only."""
    text = snippet("lightning", setting(asynchronous=asynchronous))
    callback = call(text, "ModelCheckpoint")
    assert (callback["every_n_train_steps"], callback["save_top_k"]) == (223, 3)
    assert (callback["monitor"], callback["mode"]) == ("step", "max")
    assert ("AsyncCheckpointIO" in text) is asynchronous
    assert ("FSDP" in text) is asynchronous


@pytest.mark.parametrize("asynchronous", [False, True])
def test_huggingface(asynchronous: bool) -> None:
    """Hugging Face: steps and limit; an asynchronous plan is told that it does not hold."""
    text = snippet("huggingface", setting(asynchronous=asynchronous))
    arguments = call(text, "TrainingArguments")
    assert (arguments["save_strategy"], arguments["save_steps"]) == ("steps", 223)
    assert arguments["save_total_limit"] == 3
    assert ("synchronously only" in text) is asynchronous
    assert not TRAINERS["huggingface"].writes_in_background


class Engine:
    """The part of a DeepSpeed engine that the loop of the snippet uses."""

    def __init__(self, global_steps: int) -> None:
        self.global_steps = global_steps
        self.saved: list[int] = []

    def save_checkpoint(self, save_dir: str, client_state: dict[str, int]) -> None:
        """Note the step."""
        self.saved.append(client_state["step"])


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("start", [0, 446])
def test_deepspeed_loop_saves_once_per_interval(asynchronous: bool, start: int) -> None:
    """Run with four micro-batches per optimizer step, the loop saves once every 223 steps, also after a resume."""
    text = snippet("deepspeed", setting(asynchronous=asynchronous))
    before, _, loop = text.partition("# in the loop")
    names: dict[str, Any] = {"model_engine": Engine(start), "save_dir": "folder", "ds_config": {}}
    exec(before, names)  # noqa: S102 - the snippet is ours
    body = compile("#" + loop, "loop", "exec")
    for micro_batch in range(1, 4 * 700):
        names["model_engine"].global_steps = start + micro_batch // 4
        exec(body, names)  # noqa: S102 - the snippet is ours
    assert names["model_engine"].saved == [start + 223, start + 446, start + 669]
    decoupled = names["ds_config"].get("checkpoint", {}).get("writer", {}).get("decoupled", False)
    assert decoupled is asynchronous


@pytest.mark.parametrize("asynchronous", [False, True])
def test_maxtext(asynchronous: bool) -> None:
    """MaxText: valid YAML with the period, and the asynchronous switch said either way."""
    keys = mapping(snippet("maxtext", setting(asynchronous=asynchronous)))
    assert keys["enable_checkpointing"] is True
    assert keys["async_checkpointing"] is asynchronous
    assert (keys["checkpoint_period"], keys["max_num_checkpoints_to_keep"]) == (223, 3)


@pytest.mark.parametrize("name", NAMES)
def test_strategy_names_cannot_break_out_of_the_comment(name: str) -> None:
    """A strategy called anything stays on one ASCII comment line."""
    odd = snippet(name, setting(strategy='two\nlines "quoted" \u00e9\u2028; rm'))
    plain = snippet(name, setting())
    assert odd.isascii()
    assert odd.splitlines()[1:] == plain.splitlines()[1:]
    assert odd.splitlines()[0].startswith("# ckptplan: two lines")


@pytest.mark.parametrize(("change", "word"), [({"steps": 0}, "steps"), ({"keep": 0}, "keep")])
def test_impossible_settings_are_refused(change: dict[str, int], word: str) -> None:
    """Less than one step or one checkpoint is an error of the input."""
    with pytest.raises(InputError, match=word):
        setting(**change)


def test_unknown_trainer_is_refused_with_the_names() -> None:
    """A name that is not there is a usage error whose hint lists those that are."""
    with pytest.raises(UsageError) as caught:
        snippet("keras", setting())
    assert all(name in caught.value.render() for name in NAMES)


def test_page_is_fresh() -> None:
    """docs/trainers.md is what trainers_page() writes."""
    assert PAGE.read_text(encoding="utf-8") == trainers_page()


@pytest.mark.parametrize("name", NAMES)
def test_page_cites_each_trainer(name: str) -> None:
    """The page gives each trainer's version, sources pinned to a commit or a release, and gotchas."""
    text = PAGE.read_text(encoding="utf-8")
    trainer = TRAINERS[name]
    assert f"`{name}`" in text
    assert f"## {trainer.title}\n" in text
    assert trainer.version in text
    assert len(trainer.gotchas) >= 4
    for source in trainer.source:
        assert re.match(r"[\w.-]+/[\w.-]+@[0-9a-f]{8}: |[\w.-]+ \d+\.\d+\.\d+ wheel: ", source), source
    for key in trainer.keys:
        assert key.removeprefix("--") in text
