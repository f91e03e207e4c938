from __future__ import annotations

import pytest

from ckptplan.checkpoint.naming.fp8 import holds_fp8, named_fp8


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, False), ({}, False), (b"", False), ({"recipe": None}, False), (["scale_fwd"], False),
        ({"scale_fwd": 1.0, "amax_history_fwd": None}, True), ({"a": [{"b": ({"amax_history_bwd": 1},)}]}, True),
        ({"scale": 2.0, 3: None}, False), ({"fp8_scale_input": 1.0}, True),
    ],
)  # fmt: skip
def test_only_keys_of_scales_and_histories_make_fp8_state(value, expected):
    """None, nothing, and dicts of other things are no FP8 state, however an object is called."""
    assert holds_fp8(value) is expected


def test_looking_ends():
    """A value that contains itself many times over is looked at up to a bound."""
    inner: list[object] = []
    for _ in range(200):
        inner = [inner, inner]
    assert holds_fp8(inner) is False


@pytest.mark.parametrize(("leaf", "expected"), [("fp8_scale_weight", True), ("scale", False), ("myfp8scale", False)])
def test_leaves_are_compared_word_by_word(leaf, expected):
    """``fp8`` and ``scale`` must be words of the leaf, not letters in it."""
    assert named_fp8(leaf) is expected
