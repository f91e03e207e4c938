"""Layouts from short texts."""

from __future__ import annotations

import pytest

from ckptplan.checkpoint.manifest import Mesh
from ckptplan.checkpoint.reshard.layout import parse_layout
from ckptplan.errors import InputError


@pytest.mark.parametrize(
    ("text", "shape", "names"),
    [
        ("fsdp=4", (4,), ("fsdp",)),
        ("960", (960,), ("fsdp",)),
        ("1_024", (1024,), ("fsdp",)),
        (" fsdp = 2 , tp = 2 ", (2, 2), ("fsdp", "tp")),
        ("tp=8,pp=4,dp=16", (4, 16, 8), ("pp", "fsdp", "tp")),
        ("replicate=2,fsdp=4", (2, 4), ("replicate", "fsdp")),
        ("dp_replicate=2,dp_shard=4,cp=2,tp=8", (2, 4, 2, 8), ("replicate", "fsdp", "cp", "tp")),
        ("ep=2,fsdp=3", (3, 2), ("fsdp", "ep")),
        ("zero3=7", (7,), ("fsdp",)),
    ],
)
def test_axes_stand_in_the_order_of_torch(text: str, shape: tuple[int, ...], names: tuple[str, ...]) -> None:
    """pp, replicate, fsdp, ep, cp, tp, whatever the order in the text; other names of the same axis are known."""
    layout = parse_layout(text)
    assert layout.mesh == Mesh(shape, names)
    assert layout.text == text.strip()


def test_sizes_by_name() -> None:
    """An axis that is not there has one rank."""
    layout = parse_layout("pp=2,fsdp=8")
    assert (layout.ranks, layout.size("fsdp"), layout.size("tp"), layout.axis("tp")) == (16, 8, 1, None)


@pytest.mark.parametrize(
    ("text", "fragment", "hint"),
    [
        ("fdsp=4", "'fdsp' is no axis", "did you mean fsdp?"),
        ("rows=4", "'rows' is no axis", "pp"),
        ("fsdp=0", "fsdp is '0'", "fsdp=8"),
        ("fsdp=-4", "fsdp is '-4'", "fsdp=8"),
        ("fsdp=4.5", "fsdp is '4.5'", "fsdp=8"),
        ("", "fsdp is ''", "fsdp=8"),
        ("fsdp=²", "fsdp is", "fsdp=8"),
        ("dp=2,fsdp=4", "has fsdp twice", "dp_shard"),
        ("fsdp=4000,tp=4000", "16,000,000 ranks", None),
        ("fsdp=" + "9" * 50, "not a number of ranks", "fsdp=8"),
    ],
)
def test_what_is_no_layout_is_refused(text: str, fragment: str, hint: str | None) -> None:
    """Names that are not known, sizes that are none, axes given twice, more ranks than any machine has."""
    with pytest.raises(InputError) as error:
        parse_layout(text)
    problem = error.value.problems[0]
    assert fragment in problem.message
    assert hint is None or hint in (problem.hint or "")


def test_all_faults_are_said_at_once() -> None:
    """Each part of the text is judged."""
    with pytest.raises(InputError) as error:
        parse_layout("fdsp=4,tp=x,pp=2,pp=2")
    assert len(error.value.problems) == 3
