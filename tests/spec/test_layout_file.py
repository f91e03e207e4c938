"""Layout files: what they describe, and that every fault is told with its line."""

import json
from pathlib import Path

import pytest

from ckptplan.checkpoint.manifest import Mesh
from ckptplan.checkpoint.reshard.placement import Replicate, Shard, StridedShard
from ckptplan.errors import InputError, Problem
from ckptplan.spec.layout_file import read_layout

CASES = sorted((Path(__file__).parents[3] / "shared" / "fixtures" / "reshard").glob("*.json"))


def faults(text: str | bytes) -> tuple[Problem, ...]:
    """The problems of a layout file."""
    with pytest.raises(InputError) as caught:
        read_layout(text if isinstance(text, bytes) else text.encode(), "layout.yaml")
    return caught.value.problems


def test_yaml_and_json_say_the_same() -> None:
    """A mesh as a text, with rules for patterns in their order."""
    yaml = b'mesh: "fsdp=4,tp=2"\nplacements:\n  "*.wo.weight": ["S(0)", "S(1)"]\n  "*.norm": null\n'
    layout = read_layout(yaml, "layout.yaml")
    assert layout.mesh == Mesh((4, 2), ("fsdp", "tp"))
    assert [(rule.pattern, rule.placements) for rule in layout.rules] == [
        ("*.wo.weight", (Shard(0), Shard(1))),
        ("*.norm", (Replicate(), Replicate())),
    ]
    same = {"mesh": [4, 2], "names": ["fsdp", "tp"], "placements": {"*.wo.weight": ["S(0)", "S(1)"], "*.norm": None}}
    assert read_layout(json.dumps(same).encode(), "layout.json")._replace(places=layout.places) == layout


@pytest.mark.skipif(not CASES, reason="the shared fixtures are not here")
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_placements_as_torch_prints_them_are_read(case: Path) -> None:
    """Every layout of the oracle is a layout file: one rule for each key, in torch's spelling."""
    oracle = json.loads(case.read_text())
    load = oracle["load"]
    document = {"mesh": load["mesh"], "names": load["names"], "placements": oracle["placements"]}
    layout = read_layout(json.dumps(document).encode(), case.name)
    assert layout.ranks == load["world_size"]
    assert [rule.pattern for rule in layout.rules] == list(oracle["placements"])
    strided = [key for key, one in oracle["placements"].items() if one and any(text.startswith("_S(") for text in one)]
    for rule in layout.rules:
        assert any(isinstance(one, StridedShard) for one in rule.placements or ()) == (rule.pattern in strided)


def test_every_fault_has_the_line_of_its_key() -> None:
    """Unknown keys, sizes that are none, placements that are none: all in one run."""
    found = faults(
        "mesh: {fsdp: 4, tp: 2}\n"
        "plcements: {}\n"
        "layers_per_stage: [1, x]\n"
        "placements:\n"
        '  "a.weight": ["S(0)", "Q(1)"]\n'
        '  b: ["S(0)"]\n'
        "  c: {stage: 1}\n"
    )
    assert sorted((problem.place.line, problem.place.column) for problem in found if problem.place) == [
        (2, 1),
        (3, 1),
        (5, 3),
        (6, 3),
        (7, 7),
    ]
    assert all(problem.place and problem.place.file == "layout.yaml" for problem in found)


def test_a_key_that_is_given_twice_is_a_fault_beside_the_others() -> None:
    """As in a spec."""
    found = faults("mesh: fsdp=2\nmesh: fsdp=4\nother: 1\n")
    assert [problem.message.split(",")[0] for problem in found] == ["the key is given twice", "is not known here"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("- fsdp=4\n", "not a mapping"),
        ("mesh: [4, 2]\n", "no mesh"),
        ("mesh: fsdp=0\n", "not a number of ranks"),
        ("mesh: fsdp=1e9\n", "not a number of ranks"),
        ("mesh: 99999999\n", "ranks; at most"),
        ("mesh: {fsdp: 4\n", "not YAML"),
        ("mesh: !!python/object fsdp=4\n", "tags"),
        ("a: " + "[" * 5000, "nested"),
        (b"\xff\xfem\0", "UTF-16"),
        (b"mesh: \0", "control character"),
        ("mesh: fsdp=2\nplacements: {x: [S(0), S(1)]}\n", "one placement for each axis"),
        ("mesh: fsdp=2\nplacements: {x: {shape: [-1]}}\n", "whole numbers"),
    ],
)
def test_what_is_no_layout_is_refused(text: str | bytes, said: str) -> None:
    """Each with a message of its own, and no traceback."""
    assert said in faults(text)[0].message


def test_an_empty_file_is_told_what_a_layout_is() -> None:
    """Not how a spec begins."""
    assert "placements" in (faults("")[0].hint or "")


def test_a_mesh_that_is_none_makes_no_faults_of_placements() -> None:
    """How many axes there should be is not known then; a text that is no placement is a fault all the same."""
    found = faults(
        'mesh: {fsdp: 0, tp: 2}\nplacements:\n  a: ["S(0)", "R"]\n  b: ["S(0)", "Q"]\n  c: ["R", "R", "R"]\n'
    )
    assert [(problem.key, problem.place and problem.place.line) for problem in found] == [
        ("mesh", 1),
        ("placements.b", 4),
    ]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("mesh: fsdp=2\nlayers_per_stage: [2, 2]\n", 2, "without an axis pp"),
        ("mesh: fsdp=2\nplacements:\n  a: {stages: 1}\n", 3, "the mesh has no axis pp"),
        ("mesh: pp=2\nplacements:\n  a: {stages: [0, 2]}\n", 3, "stage 2: the stages are 0 to 1"),
        ("mesh: {fsdp: 2, foo: 2}\n", 1, "'foo' is no axis of a layout"),
        ('mesh: fsdp=2\nplacements:\n  "*b": {shape: [3]}\n', 3, "a shape is of one tensor"),
    ],
)
def test_what_would_say_nothing_is_a_fault(text: str, line: int, said: str) -> None:
    """Stages without a pipeline, an axis that nothing cuts, the shape of a pattern: each with its line."""
    (only,) = faults(text)
    assert said in only.message
    assert only.place is not None
    assert only.place.line == line


def test_an_axis_of_any_name_may_be_cut_by_placements() -> None:
    """Names are the user's own then."""
    layout = read_layout(b'mesh: {fsdp: 2, foo: 2}\nplacements: {"*": ["S(0)", "S(1)"]}\n', "layout.yaml")
    assert layout.mesh == Mesh((2, 2), ("fsdp", "foo"))


def test_a_file_that_names_every_key_of_a_large_checkpoint_is_read() -> None:
    """Fifty thousand keys, which no spec could have."""
    document = {"mesh": "fsdp=8", "placements": {f"layers.{n}.weight": ["S(0)"] for n in range(50_000)}}
    assert len(read_layout(json.dumps(document).encode(), "layout.json").rules) == 50_000
