"""Whether tensors are all of one model and nothing else, by their names: no layer missing, no adapter, no optimizer."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from ckptplan.checkpoint.formats.safetensors_header import StoredTensor, refused, shown
from ckptplan.readers.models.tensor_names import Role, is_no_weight

_MOST_LISTED = 10
_JOINS_INPUTS = ".eh_proj."  # of a module for multi-token prediction, which is numbered as if it were a layer
_NO_MODEL = (
    (
        re.compile(
            r"(^|\.)lora_(A|B|embedding_A|embedding_B|magnitude_vector)(\.|$)|(^|\.)(hada_w[12]_[ab]|lokr_w\w+)$"
        ),
        "an adapter (LoRA), not a model",
        "name the files of the base model; model.trainable_fraction says what part of it is trained",
    ),
    (
        re.compile(r"(^|[._])((max_)?exp_avg(_sqs?)?|momentum_buffer)(\.|$)|(^|\.)(optimizer|optim)(_states?)?\."),
        "the state of an optimizer, which model.state counts",
        "name the files of the weights alone, or write config: ./config.json",
    ),
    (
        re.compile(r"(^|\.)(model_ema|ema_model|ema_params)\."),
        "a moving average of the weights, a second copy of the model",
        "name the files of the weights alone; model.state: [adam-14, ema] counts the average",
    ),
)
_ANY = re.compile("lora|hada_w|lokr_w|exp_avg|momentum|optim|ema")  # what each of these has in its name


def refuse_what_is_no_model(path: str | Path, tensors: Iterable[StoredTensor]) -> None:
    """Refuse adapters, states of an optimizer and averages: their tensors are no parameters of the model."""
    for tensor in tensors:
        if _ANY.search(tensor.name) is None:
            continue
        for pattern, what, hint in _NO_MODEL:
            if pattern.search(tensor.name):
                raise refused(path, f"the tensor {shown(tensor.name)} is of {what}", hint)


def missing_parts(tensors: Iterable[tuple[StoredTensor, Role]]) -> list[str]:
    """Sentences on numbers that are left out: layers of a stack, experts of a layer.

    Parameters
    ----------
    tensors : iterable of StoredTensor and Role
        Every tensor of the files with what its name says.

    Returns
    -------
    list of str
        Empty where the layers of every stack, and the experts of every layer, are numbered from 0 without a hole. That
        the last layers are missing cannot be seen.
    """
    stacks: dict[str, set[int]] = defaultdict(set)
    experts: dict[tuple[str, int], set[int]] = defaultdict(set)
    joining: set[tuple[str, int]] = set()
    for tensor, role in tensors:
        if role.layer is None or role.buffer or role.extra or is_no_weight(tensor.name, tensor.dtype):
            continue
        stack = role.pattern.partition("{}")[0]
        stacks[stack].add(role.layer)
        if _JOINS_INPUTS in role.pattern:
            joining.add((stack, role.layer))
        if role.expert is not None:
            experts[role.pattern, role.layer].add(role.expert)
    said = [_of_stack(stack, layers, {n for s, n in joining if s == stack}) for stack, layers in stacks.items()]
    said += [_of_layer(pattern, layer, numbers) for (pattern, layer), numbers in experts.items()]
    return [text for text in said if text]


def _of_stack(stack: str, layers: set[int], joining: set[int]) -> str:
    """The layers of one stack that are left out; a module beside the model may be left out."""
    own = layers - joining
    missing = _left_out(own or layers)
    return f"no tensor of {stack}{missing}" if missing else ""


def _of_layer(pattern: str, layer: int, experts: set[int]) -> str:
    missing = _left_out(experts)
    return f"no tensor {shown(pattern.replace('{}', str(layer), 1))} of expert {missing}" if missing else ""


def _left_out(numbers: set[int]) -> str:
    """The numbers below the highest one that are not there, the first ten of them."""
    found: list[int] = []
    count = max(numbers) + 1 - len(numbers)
    for number in range(max(numbers)):
        if len(found) == min(count, _MOST_LISTED):
            break
        if number not in numbers:
            found.append(number)
    more = f" and {count - len(found):,} more" if count > len(found) else ""
    return ", ".join(str(number) for number in found) + more
