"""Layouts from documents."""

from __future__ import annotations

from typing import Any

import pytest

from ckptplan.checkpoint.manifest import Mesh
from ckptplan.checkpoint.reshard.document import layout_of
from ckptplan.checkpoint.reshard.layout import Rule
from ckptplan.checkpoint.reshard.placement import Replicate, Shard, StridedShard
from ckptplan.errors import InputError


@pytest.mark.parametrize(
    ("document", "mesh"),
    [
        ({"mesh": "tp=2,fsdp=4"}, Mesh((4, 2), ("fsdp", "tp"))),
        ({"mesh": 960}, Mesh((960,), ("fsdp",))),
        ({"mesh": {"tp": 2, "dp_shard": 4}}, Mesh((2, 4), ("tp", "fsdp"))),
        (
            {"mesh": [2, 3], "names": ["dp_replicate", "mine"], "placements": {"*": ["R", "S(0)"]}},
            Mesh((2, 3), ("replicate", "mine")),
        ),
    ],
)
def test_a_mesh_is_a_text_a_mapping_or_a_list(document: dict[str, Any], mesh: Mesh) -> None:
    """A mapping or a list keeps its order; a short text has that of torch."""
    assert layout_of(document).mesh == mesh


def test_placements_by_key_and_pattern() -> None:
    """Null is whole on every rank, a list is one placement for each axis, a mapping adds stages and the shape."""
    layout = layout_of({
        "mesh": {"pp": 2, "fsdp": 2, "tp": 2},
        "layers_per_stage": [3, 5],
        "placements": {
            "model.rope": None,
            "*.wq.weight": ["R", "_S(0, 2)", "S(0)"],
            "norm": {"stages": 1, "shape": [64]},
        },
    })  # fmt: skip
    whole = (Replicate(),) * 3
    assert layout.rules == (
        Rule("model.rope", whole),
        Rule("*.wq.weight", (Replicate(), StridedShard(0, 2), Shard(0))),
        Rule("norm", None, (1,)),
    )
    assert layout.layers_per_stage == (3, 5)
    assert layout.shapes == (("norm", (64,)),)
    assert layout.text == "pp=2,fsdp=2,tp=2"


@pytest.mark.parametrize(
    ("document", "key", "fragment"),
    [
        ({}, "mesh", "no mesh"),
        ({"mesh": True}, "mesh", "no mesh"),
        ({"mesh": []}, "mesh", "no mesh"),
        ({"mesh": [2]}, "mesh", "no mesh"),
        ({"mesh": [2, 2], "names": ["fsdp"]}, "mesh", "2 axes with 1 names"),
        ({"mesh": [1] * 9, "names": list("abcdefghi")}, "mesh", "at most 8"),
        ({"mesh": [2, 2], "names": ["dp", "fsdp"]}, "mesh", "two axes are the same"),
        ({"mesh": [2, 0], "names": ["a", "b"]}, "mesh", "numbers of ranks"),
        ({"mesh": [2, True], "names": ["a", "b"]}, "mesh", "numbers of ranks"),
        ({"mesh": [1 << 40], "names": ["a"]}, "mesh", "at most"),
        ({"mesh": [2], "names": [3]}, "mesh", "texts"),
        ({"mesh": "fdsp=2"}, "mesh", "no axis"),
        ({"mesh": 2, "colour": 1}, "colour", "not known here"),
        ({"mesh": 2, "placements": [1]}, "placements", "must map"),
        ({"mesh": 2, "placements": {"a": ["S(0)", "R"]}}, "placements.a", "one placement for each axis"),
        ({"mesh": 2, "placements": {"a": "S(0)"}}, "placements.a", "one placement for each axis"),
        ({"mesh": 2, "placements": {"a": ["S(x)"]}}, "placements.a", "is no placement"),
        ({"mesh": 2, "placements": {"a": {"stage": 1}}}, "placements.a.stage", "not known here"),
        ({"mesh": 2, "placements": {"a": {"stages": "1"}}}, "placements.a.stages", "whole numbers"),
        ({"mesh": 2, "placements": {"a": {"shape": [1.5]}}}, "placements.a.shape", "whole numbers"),
        ({"mesh": "pp=2", "layers_per_stage": [1, 2, 3]}, "layers_per_stage", "3 stages"),
        ({"mesh": "pp=2", "layers_per_stage": "many"}, "layers_per_stage", "whole numbers"),
    ],
)
def test_faults_name_their_key(document: dict[str, Any], key: str, fragment: str) -> None:
    """Each fault says where it is and what would be right."""
    with pytest.raises(InputError) as error:
        layout_of(document)
    assert any(problem.key == key and fragment in problem.message for problem in error.value.problems)


def test_all_faults_are_said_at_once_and_counted_beyond_twenty() -> None:
    """A file of bad placements gives twenty messages and a number."""
    with pytest.raises(InputError) as error:
        layout_of({"mesh": 2, "placements": {f"k{n}": ["x"] for n in range(30)}})
    assert len(error.value.problems) == 21
    assert error.value.problems[-1].message == "and 10 more faults"
