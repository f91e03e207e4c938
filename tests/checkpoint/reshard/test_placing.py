"""Which rule places a tensor, and how the state of the optimizer follows its parameter."""

from __future__ import annotations

from typing import Any

import pytest

from ckptplan.checkpoint.kinds import StateKind
from ckptplan.checkpoint.manifest import Tensor
from ckptplan.checkpoint.reshard.document import layout_of
from ckptplan.checkpoint.reshard.placing import Placing, place
from ckptplan.errors import InputError, Place
from tests.checkpoint.reshard.from_truth import Shard, manifest, shards


def state(key: str, kind: StateKind, shape: tuple[int, ...], of: str | None = None) -> Tensor:
    """One tensor in one shard."""
    stored = shards(len(shape), [Shard((0,) * len(shape), shape, 0)])
    return Tensor(key, kind, "float32", shape, stored, (key,), of)


W = "layers.0.attention.wq.weight"
TENSORS = [
    state(W, StateKind.PARAMETER, (8, 4), W),
    state(f"optim.state.{W}.exp_avg", StateKind.FIRST_MOMENT, (8, 4), W),
    state(f"optim.state.{W}.exp_avg_sq_row", StateKind.SECOND_MOMENT, (8,), W),
    state(f"optim.state.{W}.step", StateKind.OPTIMIZER_STEP, (), W),
    state(f"optim.state.{W}.momentum", StateKind.OTHER, (8, 4), W),
    state("layers.0.attention.rope.inv_freq", StateKind.BUFFER, (8,)),
    state("train_state.step", StateKind.PROGRESS, ()),
    state("histogram", StateKind.OTHER, (64, 64)),
]


def placed(**document: Any) -> Placing:
    """All tensors in the layout of a document."""
    return place(manifest(TENSORS), layout_of(document))


def texts(found: Placing) -> list[str]:
    """Placements of each tensor."""
    return [" ".join(map(str, one.placements)) for one in found.placed]


def test_moments_lie_as_their_parameter_and_all_else_is_whole() -> None:
    """Moments, factored ones by the axes they keep, and other state of a parameter are cut; steps and buffers not."""
    assert texts(placed(mesh="fsdp=2,tp=2")) == [
        "_S(0, 2) S(0)", "_S(0, 2) S(0)", "_S(0, 2) S(0)", "R R", "_S(0, 2) S(0)", "R R", "R R", "R R",
    ]  # fmt: skip


def test_a_rule_for_a_parameter_holds_for_its_state() -> None:
    """And one for the state itself comes before it."""
    rules = {W: ["S(1)"], f"optim.state.{W}.momentum": ["R"], "histogram": ["S(0)"]}
    assert texts(placed(mesh=2, placements=rules)) == ["S(1)", "S(1)", "R", "R", "R", "R", "R", "S(0)"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"*": ["R"], W: ["S(1)"]}, "R"),
        ({W: ["S(1)"], "*": ["R"]}, "S(1)"),
        ({"*.wk.*": ["R"], "layers.?.attention.w?.weight": ["S(1)"]}, "S(1)"),
        ({"layers.[0-9].*": ["R"]}, "S(0)"),
    ],
)
def test_the_first_rule_that_fits_counts(rules: dict[str, list[str]], expected: str) -> None:
    """In the order of the document; * and ? stand for any characters, brackets for themselves."""
    assert texts(placed(mesh=2, placements=rules))[0] == expected


def test_a_pattern_for_all_cuts_what_lies_on_a_mesh() -> None:
    """Steps, buffers and progress stay whole: only a rule of their own would cut them."""
    found = texts(placed(mesh=2, placements={"layers.0.attention.rope.inv_freq": ["S(0)"], "*": ["S(0)"]}))
    assert found == ["S(0)", "S(0)", "S(0)", "R", "S(0)", "S(0)", "R", "S(0)"]


def test_a_pattern_cuts_a_factor_as_its_parameter() -> None:
    """The row factor of a matrix cut along its columns is whole; a rule of its own would cut it."""
    assert texts(placed(mesh=2, placements={"*": ["S(1)"]}))[1:3] == ["S(1)", "R"]
    own = {f"optim.state.{W}.exp_avg_sq_row": ["S(0)"], "*": ["S(1)"]}
    assert texts(placed(mesh=2, placements=own))[2] == "S(0)"


def test_brackets_of_a_pattern_are_no_classes_of_characters() -> None:
    """A key of a list, as some trainers write it."""
    key = "blocks[0].w"
    one = manifest([state(key, StateKind.PARAMETER, (8, 4), key)])
    for pattern, expected in (("blocks[0].*", "S(1)"), ("blocks[?].w", "S(1)"), ("blocks0*", "S(0)")):
        assert texts(place(one, layout_of({"mesh": 2, "placements": {pattern: ["S(1)"]}}))) == [expected]


def test_a_pattern_that_places_nothing_is_remarked() -> None:
    """A misspelt one, or one behind another that takes all."""
    copies = "fsdp 2 cuts no tensor: ranks along it are copies of each other"
    found = placed(mesh=2, placements={"*.wz.*": ["R"], "*.wq.*": ["R"]})
    assert found.remarks == ("places no tensor: *.wz.*", copies)
    found = placed(mesh=2, placements={"*": ["R"], "*.wq.*": ["S(0)"]})
    assert found.remarks == ("places no tensor: *.wq.*", copies)
    assert placed(mesh=2, placements={"*.wq.*": ["S(0)"], "*": ["R"]}).remarks == ()


def test_a_pattern_whose_cuts_are_not_made_is_remarked() -> None:
    """It fits steps and buffers only, which are whole; one that says so is right."""
    (remark,) = placed(mesh=2, placements={"*.step": ["S(0)"], "*inv_freq": ["R"]}).remarks
    assert remark.startswith("cuts no tensor, since a pattern cuts parameters and state of their shape only")
    assert remark.endswith(": *.step")


def test_an_axis_that_cuts_nothing_is_remarked() -> None:
    """Experts are asked to be cut where there are none; copies that are asked for are no remark."""
    assert placed(mesh="fsdp=2,ep=4").remarks == ("ep 4 cuts no tensor: ranks along it are copies of each other",)
    assert placed(mesh="replicate=2,fsdp=2,cp=2,tp=2").remarks == ()
    assert not any("cuts no tensor" in remark for remark in placed(mesh="pp=2,fsdp=2").remarks)


def test_stages_of_a_rule_hold_for_the_state_too() -> None:
    """What is in the second stage by rule is so with its moments; a rule may say stages alone."""
    found = placed(
        mesh="pp=2,fsdp=2", placements={W: {"stages": [1]}, "histogram": {"stages": 0, "placements": ["R", "S(0)"]}}
    )
    assert [one.only for one in found.placed] == [((0, (1,)),)] * 5 + [((0, (0,)),), (), ((0, (0,)),)]
    assert texts(found)[0] == "R S(0)"
    assert texts(found)[7] == "R S(0)"


def test_layers_per_stage_that_do_not_add_up_are_refused_with_their_place() -> None:
    """The tensors have one layer."""
    layout = layout_of({"mesh": "pp=2,fsdp=2", "layers_per_stage": [5, 5]})
    at = Place("layout.yaml", 2, 1)
    with pytest.raises(InputError) as error:
        place(manifest(TENSORS), layout._replace(places={"layers_per_stage": at}))
    (only,) = error.value.problems
    assert (only.place, only.key) == (at, "layers_per_stage")
    assert only.message == "adds up to 10, and the checkpoint has 1 layers"


def test_state_goes_to_the_stage_of_its_parameter() -> None:
    """Steps and buffers of a layer as well; progress goes everywhere."""
    found = placed(mesh="pp=2,fsdp=2", layers_per_stage=[0, 1])
    assert [one.only for one in found.placed] == [((0, (1,)),)] * 6 + [(), ()]
