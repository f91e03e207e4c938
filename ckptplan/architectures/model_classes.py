"""The class that a configuration names under ``architectures``: of which family it is, and what head it has."""

import re
from collections.abc import Iterable
from typing import Any

from ckptplan.architectures.dimensions import PARAMETERS, Dimensions, shown

_KEY = "architectures"
_CLASS = re.compile(r"(\w{1,80}?)(For[A-Z]\w{0,80}|LMHeadModel|DoubleHeadsModel|Model)?")
_HEADS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "ForImageTextToText")
_MOST_CLASSES = 20
# Classes whose names are not those of the family.
_OWN = {
    "gemma3_text": ("gemma3",),
    "llama4_text": ("llama4",),
    "qwen3_vl_text": ("qwen3vl",),
    "hunyuan_v1_dense": ("hunyuandensev1",),
    "kimi_k2": ("deepseekv3",),
    "phi-msft": ("phi", "mixformersequential"),
    "stablelm": ("stablelmepoch",),
    "minimax": ("minimaxtext01",),
}


def check_classes(config: Dimensions, tied: bool, families: Iterable[str]) -> None:
    """A fault for a class of another family and for a head that is none of a language model; another class is noted."""
    given = config.values.get(_KEY)
    names = [given] if isinstance(given, str) else given
    if names is None:
        return
    if not isinstance(names, list) or len(names) > _MOST_CLASSES or not all(isinstance(name, str) for name in names):
        config.fault(
            _KEY, f"{shown(given)} is not a list of names of classes", 'write for example ["LlamaForCausalLM"]'
        )
        return
    for name in names:
        _check(config, name, tied, families)


def family_of(given: Any, families: Iterable[str]) -> str | None:
    """The family whose class stands first under ``architectures``."""
    names = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    stem, _ = _parts(names[0]) if names and isinstance(names[0], str) else ("", "")
    return next((family for family in families if stem in _stems(family)), None)


def _check(config: Dimensions, name: str, tied: bool, families: Iterable[str]) -> None:
    stem, head = _parts(name)
    others = [family for family in families if stem in _stems(family)]
    if others and config.model_type not in others:
        said = f"{shown(name)} is of the family {others[0]}, but model_type is {config.model_type}"
        config.fault(_KEY, said, "correct one of the two")
    elif head == "Model" and not tied:
        config.fault(_KEY, f"{shown(name)} has no output matrix, which is counted here", PARAMETERS)
    elif others and head not in (*_HEADS, "Model"):
        config.fault(_KEY, f"{shown(name)} has another head than a language model", PARAMETERS)
    elif not others:
        config.assume(f"{shown(name)} has the tensors of {config.model_type}")


def _parts(name: str) -> tuple[str, str]:
    """The model and the head in the name of a class: ``gptneox`` and ``ForCausalLM``."""
    found = _CLASS.fullmatch(name)
    return (_plain(found[1]), found[2] or "") if found else (_plain(name[:200]), "")


def _stems(family: str) -> tuple[str, ...]:
    return (_plain(family), *_OWN.get(family, ()))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
