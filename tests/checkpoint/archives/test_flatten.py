"""Leaves of values with their paths: what is gone into, and the bounds."""

from __future__ import annotations

from typing import Any

import pytest

from ckptplan.checkpoint.archives.flatten import MOST_VALUES, dotted, leaves, type_name
from ckptplan.checkpoint.archives.stored import StoredTensor
from ckptplan.checkpoint.pickles.values import Built, Global, Reference
from ckptplan.errors import InputError

TENSOR = StoredTensor("float32", (2,), (1,), "0", 0, "f", 0, 0, 8)


def keys(value: Any) -> dict[str, Any]:
    """Leaves by their dotted keys."""
    return {dotted(path): leaf for path, leaf in leaves(value)}


def test_dicts_are_gone_into_and_lists_where_they_hold_a_tensor_or_a_dict() -> None:
    """The rule by which torch flattens state dicts since 2.4; tuples are treated as lists."""
    value = {
        "a": {"b": 1, 3: [1, 2], "empty": {}},
        "groups": [{"lr": 0.1, "betas": (0.9, 0.99)}, {"params": []}],
        "cuda": [TENSOR, TENSOR],
        "deep": [[(1, [TENSOR])], 5],
        "plain": ((1, 2), [3]),
    }
    assert keys(value) == {
        "a.b": 1, "a.3": [1, 2], "groups.0.lr": 0.1, "groups.0.betas": (0.9, 0.99), "groups.1.params": [],
        "cuda.0": TENSOR, "cuda.1": TENSOR, "deep.0.0.0": 1, "deep.0.0.1.0": TENSOR, "deep.1": 5,
        "plain": ((1, 2), [3]),
    }  # fmt: skip


def test_leaves_keep_the_order_of_the_file() -> None:
    """As the keys were saved."""
    assert [dotted(path) for path, _ in leaves({"z": 1, "a": {"y": 1, "b": [{"q": 1}]}, "m": 1})] == [
        "z", "a.y", "a.b.0.q", "m",
    ]  # fmt: skip


def test_attributes_of_objects_are_leaves() -> None:
    """A namespace, slots, a subclass of dict, and an array of numpy that stays one leaf."""
    space = Built(Global("argparse", "Namespace"), ())
    space.state = {"lr": 1, "model": {"w": TENSOR}}
    slots = Built(Global("my", "Slots"), ())
    slots.state = (None, {"x": 2})
    mapping = Built(Global("my", "Dict"), ())
    mapping.pairs = {("a", 1): 3}
    array = Built(Global("numpy._core.multiarray", "_reconstruct"), (Global("numpy", "ndarray"), (0,), b"b"))
    array.state = (1, (2,), Built(Global("numpy", "dtype"), ("f8", False, True)), False, b"0" * 16)
    assert keys({"args": space, "s": slots, "m": mapping, "n": array}) == {
        "args.lr": 1, "args.model.w": TENSOR, "s.x": 2, "m.tuple": 3, "n": array,
    }  # fmt: skip


def test_objects_that_know_each_other_are_gone_into_once() -> None:
    """A trainer with a model with a trainer."""
    trainer, model = Built(Global("my", "Trainer"), ()), Built(Global("my", "Model"), ())
    trainer.state, model.state = {"model": model, "step": 3}, {"trainer": trainer, "w": TENSOR}
    assert keys({"t": trainer}) == {"t.model.trainer": trainer, "t.model.w": TENSOR, "t.step": 3}


def test_types_are_named_as_reports_name_them() -> None:
    """Plain values by their type, objects by their class."""
    named = (1, 1.5, None, (1,), "x", Built(Global("my", "C"), ()), Global("my", "C"), Reference("s"), b"")
    assert [type_name(value) for value in named] == [
        "int", "float", "NoneType", "tuple", "str", "my.C", "class", "storage", "bytes",
    ]  # fmt: skip


def bomb(depth: int, width: int) -> Any:
    """Shared dicts in shared dicts: width to the power of depth leaves."""
    value: Any = {"leaf": 1}
    for _ in range(depth):
        value = {str(n): value for n in range(width)}
    return value


@pytest.mark.parametrize("value", [bomb(40, 2), bomb(6, 1000), bomb(12, 10), [bomb(3, 3000)]])
def test_shared_parts_cannot_exhaust_it(value: Any) -> None:
    """More leaves than any checkpoint has are refused after a bounded number of steps."""
    with pytest.raises(InputError, match=f"more than {MOST_VALUES:,} values"):
        leaves(value)


def test_depth_is_bounded() -> None:
    """A dict in itself, and one nested ten thousand deep."""
    circle: dict[str, Any] = {}
    circle["again"] = circle
    with pytest.raises(InputError, match="200 keys"):
        leaves(circle)
    deep: Any = 1
    for _ in range(10_000):
        deep = {"k": deep}
    with pytest.raises(InputError, match="200 keys"):
        leaves(deep)
